"""The certificate's schema: written certificates can always be read, and nothing else can."""

import json

import pytest

from accelbench.errors import BadInput, UnreadableResult
from accelbench.schema.certificate import from_bytes, read_certificate, require_writable, to_json, write_certificate
from certificates import STORED, certificate, comparison, store, whole


def test_what_is_written_is_read_back(tmp_path):
    assert read_certificate(store(whole(), tmp_path / "0001.json")) == whole()


def test_a_stored_certificate_of_version_1_is_read():
    stored = read_certificate(STORED)
    assert stored.schema_version == 1
    assert {comparison.through for comparison in stored.comparisons} == {"compare", "suite"}
    assert stored.not_measured != []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema_version": 99}, "schema version 99, this accelbench reads up to 2; upgrade"),
        ({"schema_version": None}, "not a calibration certificate; make one with accelbench calibrate"),
        ({"comparisons": "many"}, "does not follow schema version 2"),
        ({"waits": [{"requested_s": 0, "measured_s": 1}]}, "does not follow schema version 2"),
    ],
)
def test_a_file_that_is_no_certificate_is_one_line(change, words):
    with pytest.raises(UnreadableResult) as caught:
        from_bytes(json.dumps(to_json(whole()) | change).encode(), source="0001.json")
    assert str(caught.value).startswith("0001.json: ")
    assert words in str(caught.value)


def test_a_speedup_that_no_comparison_gives_is_refused():
    document = to_json(certificate(comparison()))
    document["comparisons"][0]["speedup"] = 0
    with pytest.raises(UnreadableResult):
        from_bytes(json.dumps(document).encode(), source="0001.json")


def test_certificates_are_numbered(tmp_path):
    for number in (1, 2):
        path = write_certificate(certificate(), tmp_path)
        assert path == tmp_path / "example-2c-8g" / f"000{number}.json"
        assert read_certificate(path) == certificate()


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(BadInput, match=r"taken: certificates cannot be written .*; name another folder with --output"):
        require_writable(tmp_path / "taken")
