"""Certificates are whole or not there."""

import pytest
from calibrated import certificate

from harness.calibration import keep, require_folder
from harness.certificate import read_certificate
from harness.errors import BadInput


def test_certificates_are_numbered_and_have_their_page_beside_them(tmp_path):
    for number in (1, 2):
        path = keep(certificate(), tmp_path, lambda _: "the page")
        assert path == tmp_path / "example-2c-8g" / f"000{number}.json"
        assert read_certificate(path) == certificate()
        assert path.with_suffix(".html").read_text() == "the page"


def test_a_page_that_fails_does_not_lose_what_was_measured(tmp_path):
    def fails(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        keep(certificate(), tmp_path, fails)
    assert [path.name for path in (tmp_path / "example-2c-8g").iterdir()] == ["0001.json"]


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_measured(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(BadInput, match=r"taken: certificates cannot be written .*; name another folder with --output"):
        require_folder(tmp_path / "taken")
