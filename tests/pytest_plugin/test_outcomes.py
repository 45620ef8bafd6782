"""What becomes of a test whose arm cannot run, is wrong, or is lost with its worker."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from project import WALK, Project


def stored(project: Project) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((project.path / "out.json").read_text())
    return document


def outcomes(project: Project) -> list[str]:
    return [arm["outcome"] for trial in stored(project)["accelbench"]["trials"] for arm in trial["arms"]]


@pytest.mark.slow
def test_an_arm_without_memory_is_skipped_and_a_broken_one_fails_beside_those_that_were_measured(
    project: Project,
) -> None:
    project.benchmark("slow", "devour", "burst", "stray", "lax")
    result = project.run("--benchmark-json=out.json", "-rs")
    result.assert_outcomes(passed=2, skipped=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "failed: RuntimeError: the boiler burst (test_pace.py, line *)",
            "wrong-output: the output differs from*",
            "SKIPPED*test_pace.py*no room (test_pace.py, line *)",
        ]
    )
    assert outcomes(project) == ["measured", "out-of-memory", "failed", "wrong-output", "measured"]
    assert [entry["params"]["pace"] for entry in stored(project)["benchmarks"]] == ["slow", "lax"]


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        ("die", "crashed: *exit status 3*"),
        pytest.param("hang", "hung: the worker gave no sign of life*", marks=pytest.mark.slow),
    ],
)
def test_a_lost_worker_costs_its_trial_and_the_next_one_is_measured(project: Project, deed: str, words: str) -> None:
    two_trials = """
@pytest.mark.parametrize("mishap", [True, False])
@toggles("numpy", "stride")
def test_walk(measure, mishap):
    measure("walk", pace="{deed}" if mishap else "slow")
"""
    project.benchmark("slow", deed, tests=two_trials.replace("{deed}", deed))
    result = project.run("--accel-timeout=10")
    result.assert_outcomes(failed=2, passed=2)
    result.stdout.fnmatch_lines([words])
    result.stdout.no_fnmatch_line("*Benchmark fixture was not used*")


def test_a_run_in_which_nothing_could_be_measured_is_kept_with_its_reasons(project: Project) -> None:
    chosen = WALK.replace('"pace"', '"pace", levels=("devour",)')
    project.benchmark("slow", "devour", tests=chosen)
    result = project.run("--benchmark-json=out.json")
    result.assert_outcomes(skipped=1)
    (arm,) = stored(project)["accelbench"]["trials"][0]["arms"]
    assert arm["outcome"] == "out-of-memory"
    place = arm["reason"]["values"].pop("place")
    assert arm["reason"] == {"code": "error-at", "values": {"type": "MemoryError", "message": "no room"}}
    assert re.fullmatch(r"test_pace.py, line \d+", place)


@pytest.mark.slow
def test_x_stops_at_the_first_failure_and_last_failed_measures_it_against_its_baseline(project: Project) -> None:
    project.benchmark("slow", "burst", "quick")
    project.run("-x").assert_outcomes(passed=1, failed=1)
    result = project.run("--lf", "--benchmark-json=out.json")
    result.assert_outcomes(failed=1)
    assert outcomes(project) == ["measured", "failed"]


def test_disabled_benchmarks_are_rehearsed_and_checked_but_not_timed(project: Project) -> None:
    project.benchmark("slow", "quick", "stray")
    result = project.run("--benchmark-disable")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["rehearsal: 2 arms were run once and checked; nothing was timed"])


def test_skipped_benchmarks_start_no_worker(project: Project) -> None:
    result = project.run("--benchmark-skip")
    result.assert_outcomes(skipped=2)
    result.stdout.no_fnmatch_line("*accelbench: 1 trial*")


@pytest.mark.slow
def test_benchmark_only_leaves_other_tests_out(project: Project) -> None:
    project.write("test_other.py", "def test_other(): pass\n")
    project.run("--benchmark-only").assert_outcomes(passed=2, skipped=1)


def test_a_tests_own_error_is_told_as_it_is(project: Project) -> None:
    project.benchmark("slow", "quick", tests='\n@toggles("numpy", "pace")\ndef test_walk(measure):\n    1 / 0\n')
    result = project.run("-W", "ignore:Benchmark fixture")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E*ZeroDivisionError*"])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
@pytest.mark.slow
@pytest.mark.parametrize("signals", [pytest.param(1, id="once"), pytest.param(10, id="ten times at once")])
def test_ctrl_c_keeps_what_was_measured_and_ends_the_workers(project: Project, signals: int) -> None:
    second_hangs = """
@pytest.mark.parametrize("hills", [0, 1])
@toggles("numpy", "pace")
def test_walk(measure, hills):
    measure("climb", hills=hills)


@workload("numpy", unit="step")
def climb(setting, *, pace, hills):
    open(f"climbed-{hills}", "w").close()
    is_second = os.path.exists(f"climbed-{1 - hills}")

    def step():
        if is_second:
            open("second.begun", "w").close()
            time.sleep(600)
        with open("worker.pid", "w") as file:
            file.write(str(os.getpid()))
        return 1.0

    return Arm(step=step)
"""
    project.benchmark("slow", "quick", tests=second_hangs)
    options = ["--accel-budget=0.05", "--accel-visits=1", "--benchmark-json=out.json"]
    command = [sys.executable, "-m", "pytest", *options]
    with subprocess.Popen(command, cwd=project.path, stdout=subprocess.PIPE, text=True) as running:
        wait_for(project.path / "second.begun")
        time.sleep(0.5)  # so that the worker is in its endless step
        for _ in range(signals):  # `timeout` sends two, some time apart where the cores are busy
            running.send_signal(signal.SIGINT)
            time.sleep(0.02)
        output, _ = running.communicate(timeout=30)
    assert running.returncode == pytest.ExitCode.INTERRUPTED, output
    assert stored(project)["accelbench"]["interrupted"] is True
    assert outcomes(project) == ["measured", "measured"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((project.path / "worker.pid").read_text()), 0)


def wait_for(file: Path) -> None:
    for _ in range(600):
        if file.exists():
            return
        time.sleep(0.1)
    pytest.fail(f"{file.name} was never written")
