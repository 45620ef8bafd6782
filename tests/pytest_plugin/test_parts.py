"""A run in parts: each ends in order when its time is up, the same command goes on, and one file comes out."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from project import Project

from accelbench.errors import Unavailable
from accelbench.pytest_plugin.session import TimeSlice

LATER = 75
BAD_INPUT = 2
THREE_TRIALS = """
@pytest.mark.parametrize("hills", [0, 1, 2])
@toggles("numpy", "pace")
def test_walk(measure, hills):
    measure("hike", hills=hills)


@workload("numpy", unit="step")
def hike(setting, *, pace, hills):
    with open("hikes", "a") as file:
        file.write(str(hills))
    if pace == "slow" and hills == 2 and "BREAKS" in os.environ:
        raise RuntimeError("the boiler burst")
    if hills == 0 and "FALLS" in os.environ:
        os._exit(3)
    return Arm(step=lambda: 1.0)
"""
# One trial fits into this time, since the first always may.
A_MOMENT = ("--benchmark-save=long", "--accel-budget=0.02", "--accel-minutes=0.0001")


@pytest.fixture
def hikes(project: Project) -> Project:
    """A project of three trials that notes which of them were built."""
    project.configure("accelbench_results = results")
    project.benchmark("slow", "quick", tests=THREE_TRIALS)
    return project


@pytest.fixture
def begun(hikes: Project, shelf: Path) -> Project:
    """The project after the first part, which is measured once for all tests."""
    if shelf.exists():
        shutil.copytree(shelf, hikes.path, dirs_exist_ok=True)
    else:
        assert_part(hikes.run(*A_MOMENT), hikes, measured=1, left="2 trials")
        shutil.copytree(hikes.path, shelf)
    return hikes


def assert_part(part: pytest.RunResult, project: Project, *, measured: int, left: str) -> None:
    """Check that a part stopped early, kept the trials that it ``measured``, and says how many are ``left``."""
    assert part.ret == LATER
    part.assert_outcomes(passed=2 * measured, skipped=6 - 2 * measured)
    part.stdout.fnmatch_lines(
        ["what was measured is kept in *; the same command continues the run", f"*Interrupted: {left} left; repeat *"]
    )
    (file,) = files(project)
    assert len(run_in(file)["trials"]) == measured
    assert run_in(file)["interrupted"]


def files(project: Project) -> list[Path]:
    return sorted((project.path / "results").rglob("*.json"))


def run_in(file: Path) -> dict[str, Any]:
    run: dict[str, Any] = json.loads(file.read_text())["accelbench"]
    return run


@pytest.mark.slow
def test_the_same_command_measures_part_after_part_and_leaves_one_file(begun: Project) -> None:
    assert_part(begun.run(*A_MOMENT), begun, measured=2, left="1 trial")
    last = begun.run(*A_MOMENT)
    assert last.ret == 0
    last.assert_outcomes(passed=6)
    (file,) = files(begun)
    assert len(run_in(file)["trials"]) == 3
    assert not run_in(file)["interrupted"]
    assert not list((begun.path / "results").rglob("*.journal"))
    assert "".join(sorted(set((begun.path / "hikes").read_text()))) == "012"


@pytest.mark.slow
def test_a_part_that_ends_between_two_passes_leaves_the_visits_that_are_to_come(hikes: Project) -> None:
    passes = (*A_MOMENT, "--accel-visits=2", "-k", "not 2-")
    visits = []
    while (part := hikes.run(*passes)).ret == LATER:
        part.stdout.fnmatch_lines(["*Interrupted: * left; repeat the command to continue*"])
        (file,) = files(hikes)
        visits.append([len(trial["visits"]) for trial in run_in(file)["trials"]])
    assert part.ret == 0
    assert visits == [[1], [1, 1], [2, 1]] or visits == [[1], [1, 1], [1, 2]]
    assert all(len(trial["visits"]) >= 2 for trial in run_in(*files(hikes))["trials"])


@pytest.mark.slow
def test_every_trial_is_left_until_it_has_the_visits_that_none_goes_without(hikes: Project) -> None:
    passes = (*A_MOMENT, "--accel-visits=3")
    for _ in range(3):
        part = hikes.run(*passes)
        assert part.ret == LATER
        part.stdout.fnmatch_lines(["*Interrupted: 3 trials left; repeat the command to continue*"])


@pytest.mark.slow
def test_a_part_does_not_go_on_with_another_run(begun: Project) -> None:
    other = begun.run(*A_MOMENT, "--accel-noise=0.02")
    assert other.ret == LATER
    other.stdout.fnmatch_lines(["accelbench: an unfinished run is in *; it is another run: noise was 0.01, is 0.02; *"])
    assert [len(run_in(file)["trials"]) for file in files(begun)] == [1, 1]


@pytest.mark.slow
def test_the_file_of_a_part_is_left_alone_where_somebody_changed_it(begun: Project) -> None:
    (file,) = files(begun)
    file.write_text("{}")
    begun.run(*A_MOMENT)
    assert file.read_text() == "{}"
    assert len(files(begun)) == 2


@pytest.mark.slow
def test_a_failure_is_told_by_the_last_part(hikes: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BREAKS", "the last trial")
    parts = [hikes.run(*A_MOMENT).ret for _ in range(3)]
    assert parts == [LATER, LATER, pytest.ExitCode.TESTS_FAILED]


@pytest.mark.slow
def test_a_trial_that_every_part_loses_does_not_keep_the_run_from_ending(
    hikes: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FALLS", "always")
    only = ("-k", "not 2-")
    parts = 1
    while (status := hikes.run(*A_MOMENT, *only).ret) == LATER:
        parts += 1
    assert status == pytest.ExitCode.TESTS_FAILED
    assert parts <= 3
    (file,) = files(hikes)
    outcomes = [[arm["outcome"] for arm in trial["arms"]] for trial in run_in(file)["trials"]]
    assert outcomes == [["crashed", "crashed"], ["measured", "measured"]]


def test_once_trials_are_left_none_is_visited_even_if_it_would_fit() -> None:
    part = TimeSlice(limit_s=1000)
    part.start_visit(expected_s=2000)
    part.start_visit(expected_s=1)
    with pytest.raises(Unavailable):
        part.start_visit(expected_s=2000)
    part.leave(["long", "short"])
    with pytest.raises(Unavailable):
        part.start_visit(expected_s=1)


def test_parts_that_could_not_be_are_refused(hikes: Project) -> None:
    unsaved = hikes.run("--accel-minutes=8", f"--benchmark-json={os.devnull}")
    assert unsaved.ret == BAD_INPUT
    unsaved.stdout.fnmatch_lines(["*--accel-minutes: the next part needs a saved run to continue*"])
    unread = hikes.run("--benchmark-save=long", "--accel-minutes=soon")
    assert unread.ret == pytest.ExitCode.USAGE_ERROR
    unread.stderr.fnmatch_lines(["*argument --accel-minutes: 'soon' is not a number of minutes above 0; for example*"])
