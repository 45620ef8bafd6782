"""What a person sees: the live line, the estimate, the table at the end; and what the process does not load."""

import json
import os
import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from project import Project
from runs import arm, effect, trial

from accelbench.pytest_plugin.terminal import fold_skips
from accelbench.run_summary import Judging, summary_lines
from accelbench.schema.reasons import reason
from accelbench.schema.result import Effect, TrialRecord, Visit

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
            "[[]1/2[]] about * s left · walk, hills [12] · pace slow quick",
            "[[]2/2[]] about * s left · walk, hills [12] · pace slow quick",
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
    line = "[1/1] about 3 s left · walk · pace slow quick"
    assert line.ljust(79) in parts
    phases = [part for part in parts if re.match(r"\[1/1\] about [0-3] s left · walk · pace slow quick · ", part)]
    assert phases
    assert all(len(phase) <= 79 for phase in phases)
    assert " " * 79 in parts[parts.index(phases[-1]) :]


def test_the_summary_shows_speedup_and_price_of_every_candidate_of_a_small_run(project: Project) -> None:
    project.benchmark("slow", "quick", "lax", tests=TWO_TRIALS)
    result = project.run()
    result.stdout.fnmatch_lines(
        [
            "*= accelbench =*",
        ]
    )
    effect = r"[\d.]+×( †)? +[\d.]+–[\d.∞]+"  # on a busy machine too few pairs may be undisturbed
    for hills in (1, 2):
        for level, price in (("quick", ""), ("lax", "( +numeric error 100 %| +to decide: .*)")):
            result.stdout.re_match_lines([rf"[▲?] pace {level} +walk, hills {hills} +{effect}{price}"])
    result.stdout.re_match_lines([r"2 trials, 4 comparisons, .*\d (faster|undecided)"])


def test_the_summary_counts_what_was_not_measured_by_its_reason(project: Project) -> None:
    project.benchmark("slow", "devour", "burst", tests=TWO_TRIALS)
    project.run().stdout.fnmatch_lines(
        ["2 arms out-of-memory: MemoryError: no room", "2 arms failed: RuntimeError: the boiler burst"]
    )


def texts(trials: list[TrialRecord], *, width: int | None = None, verbose: bool = False) -> list[str]:
    """Return the summary of these trials, made at a budget of 0.7 s and 1 % of noise."""
    judging = Judging(noise=0.01, budget_s=0.7)
    return [line.text for line in summary_lines(trials, judging, width=width, verbose=verbose)]


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
    lines = texts([odd_trial(2, 5), odd_trial(1, 5)])
    assert "In this run, the cores lay far apart for 6 s; 2 visits were repeated" in lines


def test_trials_that_were_disturbed_alike_are_one_line_with_their_visits_added_up() -> None:
    lines = texts([odd_trial(1, 1), odd_trial(5, 5), odd_trial(2, 4)])
    assert "3 trials: some visits found the machine in an unusual state, 8 of 10: the cores lay far apart" in lines


RECIPE = ["model.eval()", "model.compile()"]
PAYS, SLOWS = effect(2.0, 1.9, 2.1, "faster"), effect(0.5, 0.4, 0.6, "slower")
OPEN = effect(1.11, 0.9, 1.3, "undecided")


def switched(name: str, found: Effect, **fields: Any) -> TrialRecord:
    """Return a trial that switches a technique of this name on."""
    return trial(arm({name: "off"}, 1.0), arm({name: "on"}, 0.5, effect=found, **fields), id=f"t[{name}]")


def test_effects_stand_by_verdict_with_the_recipe_of_what_pays_and_what_would_decide_the_rest() -> None:
    lines = texts([switched("a", SLOWS, recipe=RECIPE), switched("b", OPEN), switched("c", PAYS, recipe=RECIPE)])
    assert lines == [
        "What pays",
        "▲ c on  net  2.00×   1.90–2.10    first call 5.00 s",
        "    write: model.eval() ⏎ model.compile()",
        "What slows down",
        "▼ a on  net  0.500×  0.400–0.600  first call 5.00 s",
        "What is undecided, and what would decide it",
        "? b on  net  1.11×   0.900–1.30   to decide: about 5 times the pairs (--accel-budget=4)",
        "3 trials, 3 comparisons, 2 decided: 1 faster, 1 slower, 1 undecided",
    ]


def test_the_surest_gain_with_something_to_write_comes_first() -> None:
    trials = [
        switched("unwritten", effect(9.0, 8.0, 10.0, "faster")),
        switched("small", effect(1.2, 1.1, 1.3, "faster"), recipe=RECIPE),
        switched("large", PAYS, recipe=["other()"]),
    ]
    assert [line.split()[1] for line in texts(trials) if line.startswith("▲")] == ["large", "small", "unwritten"]


def many() -> list[TrialRecord]:
    """Return the trials of a large run."""
    alike = effect(1.0, 0.995, 1.005, "same")
    measured = [
        switched(f"t{number}", found, recipe=[f"write({number})"])
        for number, found in enumerate([PAYS, SLOWS, alike, OPEN] * 20)
    ]
    lost = [
        trial(arm({"x": "off"}, reason=f"no {thing}"), arm({"x": "on"}, reason=f"no {thing}")) for thing in "abcdefgh"
    ]
    return [*measured, *lost, odd_trial(2, 5)]


def test_a_large_run_ends_in_at_most_40_rows_and_v_shows_everything() -> None:
    short, whole = texts(many()), texts(many(), verbose=True)
    assert len(short) + len(["=== accelbench ===", "3 min went into", "saved in"]) <= 40
    assert [line for line in short if "-v" in line] == [
        "  and 14 more; -v shows them",
        "  and 16 more; -v shows them",
        "  and 16 more; -v shows them",
        "and 4 more reasons; -v shows them",
    ]
    assert sum(line.startswith(("▲", "▼", "=", "?")) for line in whole) == 80
    assert sum(line.startswith("2 arms unavailable: no ") for line in whole) == 8


def test_on_a_narrow_terminal_names_are_cut_short_and_details_stand_below() -> None:
    trials = [switched("a_technique_with_a_long_name", PAYS, recipe=RECIPE), switched("b", OPEN)]
    lines = texts(trials, width=40)
    assert lines[1:4] == [
        "▲ a-technique-w…  net  2.00×  1.90–2.10",
        "    first call 5.00 s",
        "    write: model.eval() ⏎ model.compile()",
    ]
    assert lines[5] == "? b on            net  1.11×  0.900–1.30"


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_large_run_ends_in_at_most_40_rows_at_every_width(width: int) -> None:
    lines = texts(many(), width=width)
    assert len(lines) + len(["=== accelbench ===", "3 min went into", "saved in"]) <= 40
    assert all(len(line) <= width for line in lines if line.startswith(("▲", "▼", "?")))


def test_pytest_benchmarks_table_shows_other_benchmarks_and_ours_only_when_asked_for(project: Project) -> None:
    project.write("test_own.py", "def test_own(benchmark):\n    benchmark(sum, [1, 2])\n")
    plain = project.run("--benchmark-max-time=0.01")
    plain.stdout.fnmatch_lines(["*benchmark: 1 tests*", "test_own *"])
    plain.stdout.no_fnmatch_line("test_walk[[]pace-quick[]] *")
    project.run("--benchmark-columns=median").stdout.fnmatch_lines(["test_walk[[]pace-quick[]] *"])


def test_what_a_small_section_leaves_is_the_next_ones() -> None:
    shown = texts([switched(f"t{number}", SLOWS) for number in range(20)])
    assert sum(line.startswith("▼") for line in shown) == 20


def test_skips_that_differ_only_in_numbers_are_one_line_of_pytests_summary() -> None:
    reasons = [reason("step-too-slow", step_s=step_s, pairs=2, needed_s=1.0, budget_s=0.2) for step_s in (0.3, 0.5)]
    trials = [trial(arm({"amp": "fp32"}, reason=each), id=f"t[{place}]") for place, each in enumerate(reasons)]
    reports = [
        SimpleNamespace(longrepr=(f"test_{place}.py", place, f"Skipped: {each}")) for place, each in enumerate(reasons)
    ]
    other = SimpleNamespace(longrepr=("test_9.py", 9, "Skipped: by hand"))
    fold_skips([*reports, other], trials)
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
