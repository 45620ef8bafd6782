"""Certificates are whole or not there."""

import pytest
from calibrated import certificate

from harness.calibration import keep, require_folder
from harness.certificate import read_certificate
from harness.errors import BadInput


def test_certificates_are_numbered(tmp_path):
    for number in (1, 2):
        path = keep(certificate(), tmp_path)
        assert path == tmp_path / "example-2c-8g" / f"000{number}.json"
        assert read_certificate(path) == certificate()


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_measured(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(BadInput, match=r"taken: certificates cannot be written .*; name another folder with --output"):
        require_folder(tmp_path / "taken")
