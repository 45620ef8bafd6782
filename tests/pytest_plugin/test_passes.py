"""Passes: every trial of a run is visited several times, in fresh workers, before the tests report."""

import json
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from project import Project

from accelbench.core import Contrast
from accelbench.measuring.machine_state import MachineState
from accelbench.pytest_plugin import passes

TWO_TRIALS = """
import signal


@pytest.fixture(scope="session")
def season():
    with open("seasons", "a") as file:
        file.write("s")


@pytest.mark.parametrize("hills", [0, 1])
@toggles("numpy", "pace")
def test_walk(measure, season, hills):
    with open("asked", "a") as file:
        file.write(str(hills))
    measure("hike", hills=hills)


@workload("numpy", unit="step")
def hike(setting, *, pace, hills):
    with open("built", "a") as file:
        file.write(f"{os.getpid()} {hills} {pace}\\n")
    if pace == "burst":
        raise RuntimeError("the boiler burst")
    if len(open("built").read().splitlines()) > int(os.environ.get("KILLED_AFTER", 1000)):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    return Arm(step=lambda: time.sleep(0.001 if pace == "slow" else 0.0001) or 1.0)
"""
VISITS = "--accel-visits=3"
NEAR, FAR = MachineState(core_latency_s=2e-7), MachineState(core_latency_s=4.2e-7)


@pytest.fixture
def hikes(project: Project) -> Project:
    """A project of two trials that notes which arms were built, and in which process."""
    project.configure("accelbench_results = results")
    project.benchmark("slow", "quick", tests=TWO_TRIALS)
    return project


def built(project: Project) -> list[list[str]]:
    """Return the process, the trial and the level of each build, in order."""
    return [line.split() for line in (project.path / "built").read_text().splitlines()]


def trials(project: Project) -> list[dict[str, Any]]:
    (path,) = (project.path / "results").rglob("*.json")
    found: list[dict[str, Any]] = json.loads(path.read_text())["accelbench"]["trials"]
    return found


@pytest.mark.slow
def test_every_pass_visits_each_trial_in_a_fresh_worker(hikes: Project) -> None:
    hikes.starts_workers = True
    hikes.run("--benchmark-save=long", VISITS).assert_outcomes(passed=4)
    processes = list(dict.fromkeys(process for process, *_ in built(hikes)))
    visited = [{trial for process, trial, _ in built(hikes) if process == each} for each in processes]
    assert len(processes) >= 2
    assert all(trial == {"0", "1"} for trial in visited[:2])
    for trial in trials(hikes):
        (effect,) = trial["arms"][1]["effects"]
        kept = [visit for visit in effect["visits"] if visit["in_interval"]]
        assert len(trial["visits"]) >= len(kept) >= 2
        assert effect["workers"] == len(kept)
        assert effect["pairs"] == sum(visit["pairs"] for visit in kept)


@pytest.mark.slow
def test_what_stands_before_the_measuring_runs_twice_in_the_first_test_of_a_trial_and_sessions_begin_once(
    hikes: Project,
) -> None:
    hikes.run(VISITS).assert_outcomes(passed=4)
    assert Counter((hikes.path / "asked").read_text()) == {"0": 3, "1": 3}
    assert (hikes.path / "seasons").read_text() == "s"


@pytest.mark.slow
def test_an_arm_that_failed_is_not_tried_in_later_visits(project: Project) -> None:
    project.configure("accelbench_results = results")
    project.benchmark("slow", "quick", "burst", tests=TWO_TRIALS)
    project.run("--benchmark-save=long", VISITS, "-k", "0-").assert_outcomes(passed=2, failed=1)
    assert Counter(pace for *_, pace in built(project))["burst"] == 1
    assert [arm["outcome"] for arm in trials(project)[0]["arms"]] == ["measured", "measured", "failed"]


def test_a_trial_in_which_nothing_is_left_to_compare_is_not_visited_again(project: Project) -> None:
    project.configure("accelbench_results = results")
    project.benchmark("burst", "quick", tests=TWO_TRIALS)
    project.run("--benchmark-save=long", VISITS, "-k", "0-").assert_outcomes(failed=1, skipped=1)
    assert [len(trial["visits"]) for trial in trials(project)] == [1]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL to send")
def test_a_run_that_is_killed_in_its_second_pass_goes_on_there(hikes: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KILLED_AFTER", "9")  # builds: a visit has four, since what is no time is measured once more
    assert hikes.run_subprocess("--benchmark-save=long", VISITS).ret == -signal.SIGKILL
    monkeypatch.delenv("KILLED_AFTER")
    before = built(hikes)
    (hikes.path / "built").unlink()
    result = hikes.run("--benchmark-save=long", VISITS, "--accel-resume")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["accelbench: * visits of 2 trials come from *"])
    assert len({trial for _, trial, _ in before[:8]}) == 2
    assert all(len(trial["visits"]) >= 2 for trial in trials(hikes))


@pytest.mark.slow
def test_one_visit_is_judged_by_its_own_pairs(hikes: Project) -> None:
    hikes.run("--benchmark-save=short", "-k", "0-").assert_outcomes(passed=2)
    (trial,) = trials(hikes)
    (effect,) = trial["arms"][1]["effects"]
    assert (len(trial["visits"]), effect["visits"]) == (1, [])


@pytest.fixture
def readings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[MachineState]:
    """What is read of the machine, two readings of each visit, and near cores after them; no trial is settled."""
    readings: list[MachineState] = []

    def reader(_: object) -> Callable[[], MachineState]:
        return lambda: readings.pop(0) if readings else NEAR

    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(passes, "reader_of_cores", reader)
    monkeypatch.setattr(passes, "settled_contrasts", lambda *_: {Contrast(1, 0): False})
    monkeypatch.setattr(passes, "may_decide", lambda *_: True)
    return readings


@pytest.mark.slow
def test_visits_that_found_the_usual_state_of_a_machine_whose_cores_lie_apart_are_not_repeated(
    hikes: Project, readings: list[MachineState]
) -> None:
    readings += [NEAR, *[FAR] * 7]
    hikes.run("--benchmark-save=long", VISITS, "--accel-budget=0.05")
    visits = [visit for trial in trials(hikes) for visit in trial["visits"]]
    assert sorted(bool(visit["odd"]) for visit in visits) == [False, False, True, True, True, True]


@pytest.mark.slow
def test_an_odd_visit_is_repeated_once_and_the_session_says_so(hikes: Project, readings: list[MachineState]) -> None:
    readings += [*[NEAR] * 5, FAR]
    result = hikes.run("--benchmark-save=long", VISITS, "--accel-budget=0.05")
    usual, repeated = sorted((trial["visits"] for trial in trials(hikes)), key=len)
    assert [[bool(each["odd"]), each["is_repetition"]] for each in usual] == [[False, False]] * 3
    assert [bool(each["odd"]) for each in repeated] == [False, True, False, False]
    assert [each["is_repetition"] for each in repeated] == [False, False, False, True]
    assert all(each["span_s"] > 0 for each in [*usual, *repeated])
    result.stdout.re_match_lines([r"In this run, the cores lay far apart for \d+ s; 1 visit was repeated"])


@pytest.mark.slow
def test_visits_that_only_narrow_intervals_are_left_out_once_the_time_for_them_is_over(
    hikes: Project, readings: list[MachineState]
) -> None:
    readings += [FAR] * 8  # a repetition is such a visit, too
    result = hikes.run("--benchmark-save=long", "--accel-visits=4", "--accel-budget=0.05", "--accel-within=1e-6")
    found = trials(hikes)
    assert [len(trial["visits"]) for trial in found] == [2, 2]
    assert all("visits-cut-short" in [remark["code"] for remark in trial["remarks"]] for trial in found)
    result.stdout.fnmatch_lines(
        ["There was no time to narrow the intervals of 2 trials; a larger --accel-within gives it"]
    )
