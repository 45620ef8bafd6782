"""Runs as other trackers read them: what each of their formats asks for, and the same numbers."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from runs import EVERY_FIELD, arm, effect, run, save, trial

from accelbench.errors import BadInput
from accelbench.history.observations import History, describe_runs, observe
from accelbench.report.trackers import as_bmf, as_github_action_benchmark, write_asv
from accelbench.results import find_results
from accelbench.schema.result import VisitEffect

COMMITS = ["a" * 40, "b" * 40]


@pytest.fixture
def observed(tmp_path):
    """Observe a run of these trials."""

    def of(*trials):
        return observe(find_results(save(run(*trials), tmp_path / "0001_a.json")).results)

    return of


def amp(found, **fields):
    return trial(arm({"amp": "fp32"}, 2e-3), arm({"amp": "bf16"}, 1e-3, effect=found), id="t.py::t[net]", **fields)


def test_bencher_gets_nanoseconds_per_item_and_speedups_with_their_intervals(observed):
    assert as_bmf(observed(amp(effect(2.0, 1.9, 2.1, "faster")))) == {
        "t.py::t[net]|amp fp32": {"latency": {"value": 2e6}},
        "t.py::t[net]|amp bf16": {
            "latency": {"value": 1e6},
            "speedup": {"value": 2.0, "lower_value": 1.9, "upper_value": 2.1},
        },
    }


def test_an_interval_without_an_end_is_exported_without_it(observed):
    observations = observed(amp(effect(2.0, 0.0, None, "undecided")))
    assert as_bmf(observations)["t.py::t[net]|amp bf16"]["speedup"] == {"value": 2.0}
    assert "range" not in as_github_action_benchmark(observations)[-1]


def test_to_github_action_benchmark_smaller_is_better_in_every_entry(observed):
    *times, relative = as_github_action_benchmark(observed(amp(effect(2.0, 1.9, 2.1, "faster"))))
    assert times == [
        {"name": "t.py::t[net]|amp fp32: time", "unit": "ns/image", "value": 2e6},
        {"name": "t.py::t[net]|amp bf16: time", "unit": "ns/image", "value": 1e6},
    ]
    assert relative == {
        "name": "t.py::t[net]|amp bf16: relative time",
        "unit": "× the baseline's",
        "value": 0.5,
        "range": "± 0.0251",
        "extra": "speedup 2.00× (1.90–2.10) against amp fp32: faster, 50 pairs",
    }


def test_the_verdict_is_on_the_interval_beside_it_and_not_on_one_that_earlier_runs_narrowed(observed):
    visits = tuple(VisitEffect(visit=each, log_speedup=math.log(1.35), pairs=11) for each in range(2))
    joined = replace(effect(1.5, 1.2, 1.8, "faster"), joined_runs=8, visits=visits)
    observations = observed(amp(joined))
    said = as_github_action_benchmark(observations)[-1]["extra"]
    assert said == "speedup 1.35× (0.691–2.33) against amp fp32: undecided, 50 pairs"
    own = as_bmf(observations)["t.py::t[net]|amp bf16"]["speedup"]
    assert (own["value"], own["lower_value"]) == (pytest.approx(1.35), pytest.approx(1.35 / 1.25**3))


def test_names_that_are_too_long_stay_different(observed):
    long = [replace(amp(effect(2.0, 1.9, 2.1, "faster")), id=f"t.py::t[{'x' * 2000}{end}]") for end in "ab"]
    names = list(as_bmf(observed(*long)))
    assert len(set(names)) == 4
    assert max(map(len, names)) <= 1024


def test_every_number_of_a_whole_run_is_finite():
    observations = observe(find_results(EVERY_FIELD).results)
    text = json.dumps([as_bmf(observations), as_github_action_benchmark(observations)], allow_nan=False)
    assert len(text) > 10_000


def with_commit(path, commit):
    document = json.loads(path.read_text()) | {"commit_info": commit}
    path.write_text(json.dumps(document))


@pytest.fixture
def history(tmp_path):
    """Two commits, the second with two runs, and a run that names none."""
    for number, commit in enumerate([COMMITS[0], COMMITS[1], COMMITS[1], "../../x"], start=1):
        measured = run(amp(effect(float(number), number / 1.1, number * 1.1, "faster")))
        path = save(measured, tmp_path / "results" / f"{number:04}_a.json", taken=f"2026-01-0{number}T00:00:00+00:00")
        with_commit(path, {"id": commit, "time": "2026-01-01T00:00:00+00:00"})
    found = find_results(tmp_path / "results").results[::-1]
    return History(runs=describe_runs(found), observations=observe(found))


def test_asv_gets_a_file_per_machine_and_commit(history, tmp_path):
    commits, without, _ = write_asv(history, tmp_path / "asv")
    assert (commits, without) == (2, ["example-2c-8g/0004_a"])
    results = tmp_path / "asv" / "results"
    assert sorted(str(path.relative_to(results)) for path in results.rglob("*.json")) == [
        "benchmarks.json",
        "example-2c-8g/aaaaaaaa-existing.json",
        "example-2c-8g/bbbbbbbb-existing.json",
        "example-2c-8g/machine.json",
    ]
    last = json.loads((results / "example-2c-8g" / "bbbbbbbb-existing.json").read_text())
    assert (last["version"], last["commit_hash"], last["params"]["machine"]) == (2, COMMITS[1], "example-2c-8g")
    columns = {name: dict(zip(last["result_columns"], each, strict=True)) for name, each in last["results"].items()}
    assert columns["t.py::t[net]|amp bf16 (time)"]["result"] == [1e-3]
    assert columns["t.py::t[net]|amp bf16 (relative)"]["result"] == [pytest.approx(1 / 3)]
    benchmarks = json.loads((results / "benchmarks.json").read_text())
    assert set(benchmarks) == {"version", *columns}
    assert all(math.isfinite(each["result"][0]) for each in columns.values())


def test_a_run_without_a_measured_arm_is_not_said_to_name_no_commit(history, tmp_path):
    path = save(run(trial(arm({"amp": "fp32"}, outcome="failed"))), tmp_path / "results" / "0005_a.json")
    with_commit(path, {"id": COMMITS[0], "time": "2026-01-01T00:00:00+00:00"})
    runs = describe_runs(find_results(tmp_path / "results").results[::-1])
    assert "example-2c-8g/0005_a" in [*runs["run"]]
    assert write_asv(replace(history, runs=runs), tmp_path / "asv")[1] == ["example-2c-8g/0004_a"]


def test_runs_that_name_no_commit_or_measured_nothing_are_refused_and_nothing_is_written(history, tmp_path):
    nameless = replace(history, runs=history.runs.iloc[-1:])
    with pytest.raises(BadInput, match=r"^example-2c-8g/0004_a: no commit is named, .*; measure in a Git repository$"):
        write_asv(nameless, tmp_path / "asv")
    with pytest.raises(BadInput, match=r"^nothing was measured in these runs"):
        write_asv(replace(history, observations=history.observations[:0]), tmp_path / "asv")
    assert not (tmp_path / "asv").exists()


def test_what_a_user_set_in_the_configuration_of_asv_stays(history, tmp_path):
    own = tmp_path / "asv" / "asv.conf.json"
    own.parent.mkdir()
    own.write_text("{}")
    write_asv(history, own.parent)
    assert own.read_text() == "{}"


def test_a_machine_named_like_a_path_stays_below_the_folder(history, tmp_path):
    runs = history.runs.assign(machine="../../etc")
    write_asv(replace(history, runs=runs), tmp_path / "deep" / "asv")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["asv"]
    assert not Path(tmp_path / "etc").exists()
