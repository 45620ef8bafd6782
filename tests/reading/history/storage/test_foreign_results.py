"""Files of pytest-benchmark alone: times without effects, for whoever asks for a history."""

import json
import math

import pytest
from runs import arm, run, save, trial

from harness.errors import BadInput, UnreadableResult
from harness.reading import find_results
from harness.reading.history.storage.index import history

MACHINE = {"python_version": "3.12.1", "system": "Linux", "cpu": {"brand_raw": "Example CPU @ 2 GHz", "count": 8}}


def document(*medians_s, **fields):
    entries = [
        {
            "group": None,
            "name": f"test_sort[{place}]",
            "fullname": f"tests/perf/test_sorting.py::test_sort[{place}]",
            "stats": {"median": median_s, "rounds": 7, "data": [median_s] * 7},
        }
        for place, median_s in enumerate(medians_s)
    ]
    return {"machine_info": MACHINE, "benchmarks": entries, "datetime": "2026-01-01T00:00:00", "version": "5"} | fields


def keep(place, told):
    place.write_text(json.dumps(told))
    return place


def test_their_medians_are_times_of_trials_without_effects(tmp_path):
    keep(tmp_path / "0001_main.json", document(2e-3, 4e-3))
    kept = history(tmp_path)
    (described,) = kept.runs.to_dict("records")
    assert (described["machine"], described["size"]) == ("example-cpu-2-ghz-8c", "")
    assert json.loads(described["configuration"]) == {"os": "Linux", "python": "3.12.1"}
    seen = kept.observations
    assert seen["trial"].tolist() == [f"tests/perf/test_sorting.py::test_sort[{place}]" for place in (0, 1)]
    assert seen["log_s"].tolist() == [math.log(2e-3), math.log(4e-3)]
    assert (set(seen["module"]), set(seen["unit"]), set(seen["baseline"])) == ({"test_sorting"}, {"call"}, {True})
    assert seen["log_effect"].isna().all()
    assert kept.formats == ("1 run of pytest-benchmark alone, times without effects: example-cpu-2-ghz-8c/0001_main",)


def test_they_stand_beside_runs_of_ours(tmp_path):
    keep(tmp_path / "0001_main.json", document(2e-3))
    save(run(trial(arm({"amp": "fp32"}, 1.0))), tmp_path / "ours" / "0001_a.json", taken="2026-01-02T00:00:00")
    kept = history(tmp_path)
    assert kept.runs["machine"].tolist() == ["example-cpu-2-ghz-8c", "example-2c-8g"]
    assert len(kept.observations) == 2


def test_a_report_of_one_still_refuses_it(tmp_path):
    with pytest.raises(UnreadableResult, match="not a result of accelbench"):
        find_results(keep(tmp_path / "0001_main.json", document(2e-3)))


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (document(-1.0), "not a result of accelbench"),
        (document("soon"), "not a result of accelbench"),
        (document(), "not a result of accelbench"),
        (document(1.0, machine_info=[1]), "not a result of accelbench"),
        (document(1.0, machine_info={"cpu": "x" * 5000}), "a text of 5,000 characters"),
        ([document(1.0)], "not a result of accelbench"),
    ],
)
def test_what_only_looks_like_one_is_one_line(tmp_path, told, words):
    keep(tmp_path / "0001_main.json", told)
    with pytest.raises(BadInput, match=words):
        history(tmp_path)


def test_what_their_texts_hold_stays_on_one_line(tmp_path):
    hostile = document(1.0, machine_info={"cpu": {"brand_raw": "\x1b[31mred\n", "count": True}})
    hostile["benchmarks"][0]["fullname"] = "a\x1b[2Jb::c"
    kept = history(keep(tmp_path / "0001_main.json", hostile))
    assert kept.observations["case"].iloc[0].isprintable()
    assert kept.runs["identity"].iloc[0].isprintable()
    assert kept.runs["machine"].tolist() == ["x1b-31mred-n-0c"]
