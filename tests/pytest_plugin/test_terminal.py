"""What a person sees: the live line, the estimate, the table at the end; and what the process does not load."""

import json
import os
import sys

import pytest
from project import Project
from runs import arm, trial

from accelbench.pytest_plugin.terminal import summary_lines
from accelbench.schema.reasons import reason
from accelbench.schema.result import TrialRecord, Visit

TWO_TRIALS = """
@pytest.mark.parametrize("hills", [1, 2])
@toggles("numpy", "pace")
def test_walk(measure, hills):
    measure("walk", hills=hills)
"""

HEAVY = {"torch", "tensorflow", "cupy", "transformers", "keras", "pandas", "seaborn", "matplotlib"}


def test_each_trial_is_announced_with_its_place_and_an_estimate(project: Project) -> None:
    project.benchmark("slow", "quick", tests=TWO_TRIALS)
    result = project.run()
    result.stdout.fnmatch_lines(
        [
            "accelbench: 2 trials, 4 arms, size small, 100 ms an arm, noise ±1.0 %",
            "[[]1/2[]] walk, hills [12] · pace slow quick · about * s left",
            "[[]2/2[]] walk, hills [12] · pace slow quick · about * s left",
        ]
    )


def test_a_quiet_session_announces_nothing(project: Project) -> None:
    project.run("-q").stdout.no_fnmatch_line("[[]1/1[]]*")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_on_a_terminal_the_line_shows_the_phase_and_goes_away(project: Project) -> None:
    import pty

    def run() -> None:
        os.chdir(project.path)
        os.environ.update(COLUMNS="80", TERM="xterm")
        os.execv(sys.executable, [sys.executable, "-m", "pytest", "--accel-budget=1", "--accel-visits=1", "--color=no"])

    process, terminal = pty.fork()
    if not process:
        run()
    printed = b""
    try:
        while chunk := os.read(terminal, 4096):
            printed += chunk
    except OSError:  # how a pseudo-terminal says that its other end is gone
        pass
    os.waitpid(process, 0)
    parts = printed.decode().split("\r")
    line = "[1/1] walk · pace slow quick · about 3 s left"
    assert line.ljust(79) in parts
    phases = [part for part in parts if part.startswith(f"{line} · ")]
    assert phases
    assert all(len(phase) <= 79 for phase in phases)
    assert " " * 79 in parts[parts.index(phases[-1]) :]


def test_the_summary_shows_speedup_verdict_and_price_of_every_candidate(project: Project) -> None:
    project.benchmark("slow", "quick", "lax", tests=TWO_TRIALS)
    result = project.run()
    result.stdout.fnmatch_lines(
        [
            "*= accelbench =*",
            "workload * technique * level * speedup * interval * verdict * price",
        ]
    )
    effect = r"[\d.]+× +[\d.]+–[\d.∞]+ +(faster|undecided)"  # on a busy machine too few pairs may be undisturbed
    for hills in (1, 2):
        result.stdout.re_match_lines(
            [
                rf"walk, hills {hills} +pace +quick +{effect} *",
                rf"walk, hills {hills} +pace +lax +{effect} +numeric error 100 %",
            ]
        )
    result.stdout.re_match_lines([r"2 trials, 4 comparisons, .*\d (faster|undecided)"])


def test_the_summary_counts_what_was_not_measured_by_its_reason(project: Project) -> None:
    project.benchmark("slow", "devour", "burst", tests=TWO_TRIALS)
    project.run().stdout.fnmatch_lines(
        ["2 arms out-of-memory: MemoryError: no room", "2 arms failed: RuntimeError: the boiler burst"]
    )


FAR = reason("cores-far-apart", latency_s=4.3e-7, best_s=2.1e-7)


def odd_trial(odd: int, visits: int) -> TrialRecord:
    """Return a trial some of whose visits found the cores far apart, of which one was repeated."""
    return trial(
        arm({"amp": "fp32"}, 1.0),
        remarks=[reason("odd-visits", odd=odd, visits=visits, cause=FAR)],
        visits=[
            Visit(begun_s=1.0, odd=[FAR] * (n < odd), span_s=2.0, is_repetition=n == visits - 1) for n in range(visits)
        ],
    )


def test_the_summary_says_for_how_long_visits_were_odd() -> None:
    lines = list(summary_lines([odd_trial(2, 5), odd_trial(1, 5)], rehearsed=False))
    assert "In this run, the cores lay far apart for 6 s; 2 visits were repeated" in lines


def test_trials_that_were_disturbed_alike_are_one_line_with_their_visits_added_up() -> None:
    lines = list(summary_lines([odd_trial(1, 1), odd_trial(5, 5), odd_trial(2, 4)], rehearsed=False))
    assert "3 trials: some visits found the machine in an unusual state, 8 of 10: the cores lay far apart" in lines


LISTING = """
import json
import pathlib
import sys


def pytest_unconfigure():
    pathlib.Path("loaded.json").write_text(json.dumps(sorted(sys.modules)))
"""


def test_the_pytest_process_loads_no_framework_and_nothing_that_reads_results(project: Project) -> None:
    project.write("conftest.py", LISTING)
    assert project.run_subprocess("--benchmark-save=quick").ret == 0
    loaded = set(json.loads((project.path / "loaded.json").read_text()))
    assert "accelbench.techniques" in loaded
    assert {name for name in loaded if name.split(".")[0] in HEAVY} == set()
    reading = ("accelbench.history", "accelbench.results", "accelbench.report", "accelbench.cli")
    assert {name for name in loaded if name.startswith(reading)} == set()


def test_a_session_without_benchmarks_loads_little(project: Project) -> None:
    project.write("conftest.py", LISTING)
    project.write("test_pace.py", "def test_light():\n    pass\n")
    project.run_subprocess().assert_outcomes(passed=1)
    assert {"numpy", "joblib", "pynvml"}.isdisjoint(json.loads((project.path / "loaded.json").read_text()))


def test_a_session_says_where_its_time_went(project: Project) -> None:
    result = project.run("--benchmark-json=run.json")
    result.stdout.re_match_lines([r"\d+ s went into .*overhead [\d.]+ %.*"])
    run = json.loads((project.path / "run.json").read_text())["accelbench"]
    trial = run["trials"][0]["spent_s"]
    assert {"build", "cold calls", "warm-up", "timed blocks", "checks", "price passes", "overhead"} <= set(trial)
    assert all(trial[kind] <= run["spent_s"][kind] + 1e-3 for kind in trial)


def test_a_lost_worker_took_its_time(project: Project) -> None:
    project.benchmark("slow", "die")
    project.run("--benchmark-json=run.json")
    spent_s = json.loads((project.path / "run.json").read_text())["accelbench"]["trials"][0]["spent_s"]
    assert spent_s["lost workers"] > 0
    assert "timed blocks" not in spent_s
