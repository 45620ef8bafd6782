"""What a person sees: the live line, the estimate, the table at the end; and what the process does not load."""

import json
import os
import sys
from types import SimpleNamespace

import pytest
from project import Project

from harness.hosting.progress import Progress

TWO_TRIALS = """
@pytest.mark.parametrize("hills", [1, 2])
@toggles("numpy", "pace")
def test_walk(measure, hills, pace):
    measure("walk", pace=pace, hills=hills)
"""

HEAVY = {"torch", "tensorflow", "cupy", "transformers", "keras", "pandas", "seaborn", "matplotlib"}


class Paper:
    """A terminal reporter that keeps what is written."""

    isatty = False

    def __init__(self) -> None:
        self.lines: list[str] = []

    def ensure_newline(self) -> None:
        """Lines are kept apart anyhow."""

    def write_line(self, line: str) -> None:
        """Keep a line."""
        self.lines.append(line)


class Clock:
    """A clock that is set by hand."""

    now_s = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


def test_the_time_left_rests_on_the_arms_of_the_same_file_and_else_on_the_usual_time() -> None:
    paper, clock = Paper(), Clock()
    plugins = SimpleNamespace(get_plugin={"terminalreporter": paper, "capturemanager": None}.get)
    progress = Progress(SimpleNamespace(pluginmanager=plugins, get_verbosity=lambda: 0), clock=clock)  # type: ignore[arg-type]
    progress.expect({"x::a": 2, "x::b": 3, "y::c": 1}, arm_s=2.0)
    for trial, arms, took_s in (("x::a", 2, 20.0), ("x::b", 3, 5.0), ("y::c", 1, 1.0)):
        with progress.measuring(trial, trial[-1], [{"amp": f"level{arm}"} for arm in range(arms)]):
            clock.now_s += took_s
    assert paper.lines == [
        "[1/3] a · amp level0 level1 · about 12 s left",
        "[2/3] b · amp level0 level1 level2 · about 32 s left",
        "[3/3] c · amp level0 · about 2 s left",
    ]


def test_each_trial_is_announced_with_its_place_and_an_estimate(project: Project) -> None:
    project.benchmark("slow", "quick", tests=TWO_TRIALS)
    result = project.run()
    result.stdout.fnmatch_lines(
        [
            "accelbench: 2 trials, 4 arms, size small, 50.0 ms an arm, noise ±1.0 %",
            "[[]1/2[]] walk hills=1 · pace slow quick · about 0 s left",
            "[[]2/2[]] walk hills=2 · pace slow quick · about * s left",
        ]
    )


def test_a_quiet_session_announces_nothing(project: Project) -> None:
    project.run("-q").stdout.no_fnmatch_line("[[]1/1[]]*")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_on_a_terminal_the_line_shows_the_phase_and_goes_away(project: Project) -> None:
    import pty

    def run() -> None:
        os.chdir(project.path)
        os.environ.update(COLUMNS="80", TERM="xterm")
        os.execv(sys.executable, [sys.executable, "-m", "pytest", "--accel-budget=1", "--color=no"])

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
            "walk hills=1 *pace * quick *×*–* faster * error 0 %, memory *, cold *s",
            "walk hills=1 *pace * lax *×*–* faster * error 100 %, memory *, cold *s",
            "walk hills=2 *pace * quick *×*–* faster *",
            "2 trials, 4 comparisons, 4 decided: 4 faster",
        ]
    )


def test_the_summary_counts_what_was_not_measured_by_its_reason(project: Project) -> None:
    project.benchmark("slow", "devour", "burst", tests=TWO_TRIALS)
    project.run().stdout.fnmatch_lines(
        ["2 arms out-of-memory: MemoryError: no room", "2 arms failed: RuntimeError: the boiler burst"]
    )


LISTING = """
import json
import pathlib
import sys


def pytest_unconfigure():
    pathlib.Path("loaded.json").write_text(json.dumps(sorted(sys.modules)))
"""


def test_the_pytest_process_loads_no_framework_and_nothing_that_reads_results(project: Project) -> None:
    project.write("conftest.py", LISTING)
    assert project.run("--benchmark-save=quick").ret == 0
    loaded = set(json.loads((project.path / "loaded.json").read_text()))
    assert "harness.techniques" in loaded
    assert {name for name in loaded if name.split(".")[0] in HEAVY} == set()
    assert {name for name in loaded if name.startswith(("harness.reading", "harness.report", "harness.cli"))} == set()


def test_a_session_without_benchmarks_loads_little(project: Project) -> None:
    project.write("conftest.py", LISTING)
    project.write("test_pace.py", "def test_light():\n    pass\n")
    project.run().assert_outcomes(passed=1)
    assert {"numpy", "joblib", "pynvml"}.isdisjoint(json.loads((project.path / "loaded.json").read_text()))
