"""What a person sees: the live line, the estimate, the table at the end; and what the process does not load."""

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from project import Project
from runs import arm, trial

from accelbench import units
from accelbench.pytest_plugin.terminal import fold_skips, hide_table
from accelbench.schema.reasons import reason

TWO_TRIALS = """
@pytest.mark.parametrize("hills", [1, 2])
@toggles("numpy", "pace")
def test_walk(measure, hills):
    measure("walk", hills=hills)
"""

HEAVY = {"torch", "tensorflow", "cupy", "transformers", "keras", "pandas", "seaborn", "matplotlib"}


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A session of two trials: what it printed, and what is in its file."""

    result: pytest.RunResult
    run: dict[str, Any]


@pytest.fixture
def shown(project: Project, once: Callable[[Callable[[], Any]], Any]) -> Any:
    """A session of two trials of three arms, which is run once for all tests."""

    def run() -> Shown:
        project.benchmark("slow", "quick", "lax", tests=TWO_TRIALS)
        result = project.run("--benchmark-json=run.json")
        return Shown(result=result, run=json.loads((project.path / "run.json").read_text())["accelbench"])

    return once(run)


@pytest.mark.slow
def test_each_trial_is_announced_with_its_place_and_an_estimate(shown: Shown) -> None:
    shown.result.stdout.fnmatch_lines(
        [
            "accelbench: 2 trials, 6 arms, size small, 100 ms an arm, noise ±1.0 %",
            "[[]1/2[]] about * s left · walk, hills [12] · pace slow quick lax",
            "[[]2/2[]] about * s left · walk, hills [12] · pace slow quick lax",
        ]
    )


@pytest.mark.slow
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
    line = "[1/1] about 3 s left · walk · pace slow quick"
    assert line.ljust(79) in parts
    phases = [part for part in parts if re.match(r"\[1/1\] about [0-3] s left · walk · pace slow quick · ", part)]
    assert phases
    assert all(len(phase) <= 79 for phase in phases)
    assert " " * 79 in parts[parts.index(phases[-1]) :]


@pytest.mark.slow
def test_the_summary_shows_speedup_and_price_of_every_candidate_of_a_small_run(shown: Shown) -> None:
    result = shown.result
    result.stdout.fnmatch_lines(
        [
            "*= accelbench =*",
        ]
    )
    effect = r"[\d.,]+×( †)? +[\d.,]+–[\d.,∞]+"  # on a busy machine too few pairs may be undisturbed
    for hills in (1, 2):
        for level, price in (("quick", ""), ("lax", "( +numeric error 100 %| +to decide: .*)")):
            result.stdout.re_match_lines([rf"[▲?] pace {level} +walk, hills {hills} +{effect}{price}"])
    result.stdout.re_match_lines([r"2 trials, 4 comparisons, .*\d (faster|undecided)"])


@pytest.mark.slow
def test_the_summary_counts_what_was_not_measured_by_its_reason(project: Project) -> None:
    project.benchmark("slow", "devour", "burst", tests=TWO_TRIALS)
    project.run().stdout.fnmatch_lines(
        [
            "2 arms out-of-memory: MemoryError: no room (test_pace.py, line *)",
            "2 arms failed: RuntimeError: the boiler burst (test_pace.py, line *)",
        ]
    )


@pytest.mark.slow
def test_pytest_benchmarks_table_shows_other_benchmarks_and_ours_only_when_asked_for(project: Project) -> None:
    project.write("test_own.py", "def test_own(benchmark):\n    benchmark(sum, [1, 2])\n")
    plain = project.run("--benchmark-max-time=0.01")
    plain.stdout.fnmatch_lines(["*benchmark: 1 tests*", "test_own *"])
    plain.stdout.no_fnmatch_line("test_walk[[]pace-quick[]] *")
    project.run("--benchmark-columns=median", "--benchmark-max-time=0.01").stdout.fnmatch_lines(
        ["test_walk[[]pace-quick[]] *"]
    )


DEFAULT_OF_5_2 = ["min", "max", "mean", "stddev", "median", "iqr", "outliers", "ops", "rounds", "iterations"]


@pytest.mark.parametrize(("columns", "shown"), [(None, 0), (DEFAULT_OF_5_2, 0), (["median"], 1)])
def test_the_columns_that_a_release_shows_by_default_do_not_ask_for_the_table(
    pytester: pytest.Pytester, columns: list[str] | None, shown: int
) -> None:
    config = pytester.parseconfig()
    config.option.benchmark_columns = columns
    host = SimpleNamespace(groups=[("trial", [{"fullname": "test_pace.py::test_walk[pace-quick]"}])])
    hide_table(host, config, ["test_pace.py::test_walk[pace-quick]"])
    assert len(host.groups) == shown


def test_skips_that_differ_only_in_numbers_are_one_line_of_pytests_summary() -> None:
    reasons = [reason("step-too-slow", step_s=step_s, pairs=2, needed_s=1.0, budget_s=0.2) for step_s in (0.3, 0.5)]
    trials = [trial(arm({"amp": "fp32"}, reason=each), id=f"t[{place}]") for place, each in enumerate(reasons)]
    reports = [
        SimpleNamespace(longrepr=(f"test_{place}.py", place, f"Skipped: {each}")) for place, each in enumerate(reasons)
    ]
    other = SimpleNamespace(longrepr=("test_9.py", 9, "Skipped: by hand"))
    late = [SimpleNamespace(longrepr=(f"test_{place}.py", place, "Skipped: time is up")) for place in range(3)]
    fold_skips([*reports, *late, other], trials)
    assert {report.longrepr for report in late} == {("3 files", None, "Skipped: time is up")}
    (folded,) = {report.longrepr for report in reports}
    assert folded[:2] == ("2 files", None)
    assert "300–500 ms" in folded[2]
    assert other.longrepr == ("test_9.py", 9, "Skipped: by hand")


LISTING = """
import json
import pathlib
import sys


def pytest_unconfigure():
    pathlib.Path("loaded.json").write_text(json.dumps(sorted(sys.modules)))
"""


@pytest.mark.slow
def test_the_pytest_process_loads_no_framework_and_nothing_that_reads_results(project: Project) -> None:
    project.write("conftest.py", LISTING)
    assert project.run_subprocess("--benchmark-save=quick").ret == 0
    loaded = set(json.loads((project.path / "loaded.json").read_text()))
    assert "accelbench.techniques" in loaded
    assert {name for name in loaded if name.split(".")[0] in HEAVY} == set()
    reading = ("accelbench.history", "accelbench.results", "accelbench.report", "accelbench.cli")
    assert {name for name in loaded if name.startswith(reading)} == set()


@pytest.mark.slow
def test_a_session_without_benchmarks_loads_little(project: Project) -> None:
    project.write("conftest.py", LISTING)
    project.write("test_pace.py", "def test_light():\n    pass\n")
    project.run_subprocess().assert_outcomes(passed=1)
    assert {"numpy", "joblib", "pynvml"}.isdisjoint(json.loads((project.path / "loaded.json").read_text()))


@pytest.mark.slow
def test_a_session_says_where_its_time_went(shown: Shown) -> None:
    shown.result.stdout.re_match_lines([r"\d+ s went into .*overhead [\d.]+ %.*"])
    shown.result.stdout.fnmatch_lines([f"*{units.minutes(sum(shown.run['spent_s'].values()))} went into *"])
    for each in shown.run["trials"]:
        spent_s = each["spent_s"]
        assert {"build", "cold calls", "warm-up", "timed blocks", "checks", "price passes", "overhead"} <= set(spent_s)
        assert all(spent_s[kind] <= shown.run["spent_s"][kind] + 1e-3 for kind in spent_s)


def test_a_lost_worker_took_its_time(project: Project) -> None:
    project.benchmark("slow", "die")
    project.run("--benchmark-json=run.json")
    spent_s = json.loads((project.path / "run.json").read_text())["accelbench"]["trials"][0]["spent_s"]
    assert spent_s["lost workers"] > 0
    assert "timed blocks" not in spent_s
