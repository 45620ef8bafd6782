"""The certificate's schema: what is written can be read for ever, and nothing else can."""

import json

import pytest
from calibrated import STORED, certificate, duel, store, whole

from harness.certificate import from_json, read_certificate, to_json
from harness.errors import UnreadableResult


def test_what_is_written_is_read_back(tmp_path):
    assert read_certificate(store(whole(), tmp_path / "0001.json")) == whole()


def test_a_stored_certificate_of_version_1_is_read():
    stored = read_certificate(STORED)
    assert stored.schema_version == 1
    assert {duel.through for duel in stored.duels} == {"compare", "suite"}
    assert {each.noise for each in stored.coverage} == {"independent", "spiky", "drifting", "autocorrelated"}


def test_a_stored_certificate_of_version_2_is_read():
    stored = read_certificate(STORED.with_name("certificate_v2.json"))
    assert stored.schema_version == 2
    assert stored.interrupted
    assert {duel.through for duel in stored.duels} == {"compare"}  # the suite would have come last


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema_version": 99}, "schema version 99, this accelbench reads up to 2; upgrade"),
        ({"schema_version": None}, "not a calibration certificate; make one with accelbench calibrate"),
        ({"duels": "many"}, "does not follow schema version 2"),
        ({"coverage": [{"noise": "a", "nominal": 0.9, "series": 1, "covered": 2, "pairs": 1}]}, "2 of 1 series"),
        ({"waits": [{"asked_s": 0, "measured_s": 1}]}, "does not follow schema version 2"),
    ],
)
def test_a_file_that_is_no_certificate_is_one_line(change, words):
    with pytest.raises(UnreadableResult) as caught:
        from_json(to_json(whole()) | change, source="0001.json")
    assert str(caught.value).startswith("0001.json: ")
    assert words in str(caught.value)


def test_a_speedup_that_no_comparison_gives_is_refused():
    document = json.loads(json.dumps(to_json(certificate(duel()))))
    document["duels"][0]["speedup"] = 0
    with pytest.raises(UnreadableResult):
        from_json(document, source="0001.json")
