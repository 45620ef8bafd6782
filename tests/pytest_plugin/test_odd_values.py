"""What an arm reports that no result file can hold costs this arm, and never the run."""

import pytest
from project import Project
from runs import read_run

QUIRKS = r'''
import numpy as np
import pytest
from accelbench import Arm, technique, toggles, workload

ITEMS = {"no-number": "many", "not-a-number": float("nan"), "infinite": float("inf"), "none": 0, "too-many": 10**400}
OBSERVED = {
    "nan": {"loss": float("nan")},
    "nested": {"losses": [1.0, {"deep": 2.0}]},
    "bytes": {"loss": b"aGk="},
    "unnamed": {1: 2.0},
    "scalars": {"rows": np.int64(3), "loss": np.float32(0.5), "done": np.bool_(True), "cut \ud800": 1},
}
SAID = {"approved": True, "object": object(), "surrogate": "half a pair \ud800\nand more"}


@technique("numpy", levels=("plain", *ITEMS))
def items(build, level):
    """How many items it claims."""
    return build(items=level)


@technique("numpy", levels=("plain", *OBSERVED))
def observed(build, level):
    """What it observes."""
    return build(observed=level)


@technique("numpy", levels=("plain", *SAID))
def said(build, level):
    """What its verification says."""
    return build(said=level)


@workload("numpy", unit="step")
def pier(setting, *, items="plain", observed="plain", said="plain"):
    """Stand there."""
    return Arm(
        step=lambda: 2.0,
        items=ITEMS.get(items, 1),
        observe=lambda: OBSERVED.get(observed, {}),
        verify=lambda _: SAID.get(said),
    )


@toggles("numpy", "items")
def test_items(measure):
    measure("pier")


@toggles("numpy", "observed")
def test_observed(measure):
    measure("pier")


@toggles("numpy", "said")
def test_said(measure):
    measure("pier")
'''


@pytest.mark.slow
def test_the_arm_that_reports_it_fails_with_a_sentence_and_the_others_are_saved(project: Project) -> None:
    project.write("test_pace.py", QUIRKS)
    result = project.run("--benchmark-json=out.json", "--accel-budget=0.02")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    trials = read_run(project.path / "out.json").trials
    found = {
        level: (arm.outcome, str(arm.reason)) for trial in trials for arm in trial.arms for level in arm.levels.values()
    }
    assert found.pop("plain") == ("measured", "None")
    assert found.pop("scalars") == ("measured", "None")
    assert found == {
        "no-number": ("failed", "items is 'many'; expected a number above 0, at most 10^18"),
        "not-a-number": ("failed", "items is nan; expected a number above 0, at most 10^18"),
        "infinite": ("failed", "items is inf; expected a number above 0, at most 10^18"),
        "none": ("failed", "items is 0; expected a number above 0, at most 10^18"),
        "too-many": ("failed", "items is an integer of 1,329 bits; expected a number above 0, at most 10^18"),
        "nan": ("failed", "'loss' in what observe returned is nan; expected a finite number"),
        "nested": ("failed", "'losses' in what observe returned is of type list; expected a finite number"),
        "bytes": ("failed", "'loss' in what observe returned is of type bytes; expected a finite number"),
        "unnamed": (
            "failed",
            "a name in what observe returned is 1; expected a text of at most 4,096 characters",
        ),
        "approved": (
            "failed",
            "what verify returned is True; expected a sentence, a reason, or None where the answer is right",
        ),
        "object": (
            "failed",
            "what verify returned is of type object; expected a sentence, a reason, or None where the answer is right",
        ),
        "surrogate": ("wrong-output", r"half a pair \ud800"),
    }
    (scalars,) = [arm for trial in trials for arm in trial.arms if "scalars" in arm.levels.values()]
    assert scalars.observed == {"rows": 3.0, "loss": 0.5, "done": 1.0, r"cut \ud800": 1.0}


@pytest.mark.slow
def test_an_option_that_no_file_holds_fails_its_tests_and_the_other_trials_are_saved(project: Project) -> None:
    project.benchmark(
        "slow",
        "quick",
        tests="""
@pytest.mark.parametrize("hills", [0, float("nan"), 10**30, "x" * 5000], ids=["none", "nan", "huge", "long"])
@toggles("numpy", "pace")
def test_walk(measure, hills):
    measure("walk", hills=hills)
""",
    )
    result = project.run("--benchmark-json=out.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    (trial,) = read_run(project.path / "out.json").trials
    assert trial.problem == {"hills": 0}
    result.stdout.fnmatch_lines(
        [
            "option hills is nan; expected a finite number",
            "option hills is an integer of 100 bits; expected an integer of at most 64 bits",
            "option hills is 'xxx*…'; expected a text of at most 4,096 characters",
        ]
    )
