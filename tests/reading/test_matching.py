"""The same effect in several runs."""

import pytest
from runs import arm, effect, run, save, trial

from harness.reading import find_results
from harness.reading.matching import matched

FASTER, SLOWER = effect(2.0, 1.9, 2.1, "faster"), effect(0.5, 0.45, 0.55, "slower")
FASTEST, SAME = effect(4.0, 3.9, 4.1, "faster"), effect(1.0, 0.995, 1.005, "same")
UNSURE = effect(1.95, 0.9, 3.0, "undecided")


def amp(found, **fields):
    return trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 1.0, effect=found), **fields)


@pytest.fixture
def matches(tmp_path):
    """Return the matches of runs, each a list of trials."""

    def of(*runs):
        paths = [save(run(*trials), tmp_path / f"{place:04}_a.json") for place, trials in enumerate(runs)]
        return matched([find_results(path).results[0] for path in paths])

    return of


@pytest.mark.parametrize(
    ("one", "other", "standing"),
    [
        (FASTER, SLOWER, "flips"),
        (FASTER, SAME, "differs"),
        (SAME, SLOWER, "differs"),
        (FASTER, FASTEST, "apart"),
        (UNSURE, FASTEST, "apart"),
        (UNSURE, FASTER, "undecided"),
        (UNSURE, UNSURE, "undecided"),
        (FASTER, FASTER, "agrees"),
        (effect(1.003, 1.002, 1.004, "same"), effect(0.997, 0.996, 0.998, "same"), "agrees"),
    ],
)
def test_how_two_findings_stand_to_each_other(matches, one, other, standing):
    (match,) = matches([amp(one)], [amp(other)])
    assert match.standing == standing


def test_a_third_run_can_make_a_verdict_flip(matches):
    (match,) = matches([amp(FASTER)], [amp(FASTER)], [amp(SLOWER)])
    assert match.standing == "flips"
    assert match.runs_with("faster") == [0, 1]


def test_an_effect_that_one_run_lacks_keeps_its_place_and_the_reason(matches):
    skipped = trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}))
    (match,) = matches([skipped], [amp(FASTER)])
    assert match.standing == "alone"
    assert match.rows[0]["reason"] == "not on this machine"
    (match,) = matches([], [amp(FASTER)])
    assert match.rows[0] is None


@pytest.mark.parametrize("other", [{"problem": {"elements": 2}}, {"fixed": {"threads": "1"}}, {"framework": "cupy"}])
def test_another_problem_is_another_effect(matches, other):
    assert [match.standing for match in matches([amp(FASTER)], [amp(FASTER, **other)])] == ["alone", "alone"]


def test_another_baseline_is_not_compared(matches):
    other = trial(arm({"amp": "tf32"}, 1.0), arm({"amp": "bf16"}, 1.0, effect=FASTER))
    (match,) = matches([amp(FASTER)], [other])
    assert match.standing == "not comparable"


def test_what_differs_comes_first_and_furthest_apart_on_top(matches):
    before = {"a": FASTER, "b": FASTER, "c": FASTER, "d": FASTER, "e": SLOWER}
    after = {"a": FASTER, "b": FASTEST, "c": SLOWER, "d": effect(8.0, 7.9, 8.1, "faster")}
    one, other = (
        [amp(found, id=f"t.py::t[{name}]", workload=name) for name, found in each.items()] for each in (before, after)
    )
    assert [match.first["workload"] for match in matches(one, other)] == ["c", "d", "b", "a", "e"]


def test_what_takes_a_burden_off_is_no_technique(matches):
    relief = trial(arm({"relief": "none"}, 1.0), arm({"relief": "decoded"}, 0.5, effect=FASTER))
    assert matches([relief], [relief]) == []


def test_runs_without_effects_have_no_matches(matches):
    assert matches([], [trial(arm({"amp": "fp32"}, 1.0))]) == []
