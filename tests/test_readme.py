"""What the README shows is run."""

import math
import re
from collections.abc import Iterable
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import pytest
from runs import FULL, OLDER, REAL

from harness import units
from harness.reading import effects, find_results, load
from harness.reading.table import rows_of
from harness.report.verdicts import GLYPHS

README = Path(__file__).parent.parent / "README.md"
QUICK = sorted(REAL.parent.glob("*_quick.json"))  # all of that machine


def test_the_technique_in_ten_lines_is_measured(pytester: pytest.Pytester) -> None:
    (example,) = (
        block for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL) if "@toggles" in block
    )
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    pytester.makepyfile(test_example=example)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["cnn-train*onednn*on*×*"])


def test_the_table_holds_what_the_committed_run_found() -> None:
    measured = {
        (
            units.speedup(row["speedup"]),
            units.interval(row["low"], row["high"]),
            f"{GLYPHS[row['verdict']]} {row['verdict']}",
        )
        for row in found(REAL)
    }
    first_screen = README.read_text().partition("Two commands")[0]
    rows = [line for line in first_screen.splitlines() if re.match(r"\|.*×", line)]
    shown = [tuple(cell.strip() for cell in row.split("|")[3:6]) for row in rows]
    assert len(shown) > 8
    assert [row for row in shown if row not in measured] == []
    assert REAL.name in first_screen


def test_the_figure_is_of_the_committed_report() -> None:
    (figure,) = re.findall(r"!\[.+\]\((.+)\)", README.read_text())
    assert (README.parent / figure).read_text().lstrip().startswith("<?xml")


Arm = tuple[str, str]  # its trial and its level
Verdicts = dict[Arm, str]
Intervals = dict[Arm, tuple[float, float]]
Told = TypeVar("Told")


@cache
def found(run: Path) -> list[dict[str, Any]]:
    """Return the effects of a run."""
    return rows_of(effects(load(find_results(run).results)))


def verdicts(run: Path) -> Verdicts:
    """Return what a run decided, by trial and level."""
    return {(row["trial"], row["level"]): row["verdict"] for row in found(run) if row["verdict"] != "undecided"}


def shared(pairs: Iterable[tuple[dict[Arm, Told], dict[Arm, Told]]]) -> list[tuple[Told, Told]]:
    """Return what both of a pair of runs tell of the same arm."""
    return [(one[arm], other[arm]) for one, other in pairs for arm in one.keys() & other.keys()]


def agreement(pairs: Iterable[tuple[Verdicts, Verdicts]]) -> tuple[int, int]:
    """Return how often both of a pair of runs decided, and how often alike."""
    both = shared(pairs)
    return len(both), sum(one == other for one, other in both)


def intervals(run: Path) -> Intervals:
    """Return the intervals of a run's effects, by trial and level."""
    return {
        (row["trial"], row["level"]): (row["low"], math.inf if row["high"] is None else row["high"])
        for row in found(run)
    }


def apart(pairs: Iterable[tuple[Intervals, Intervals]]) -> tuple[int, int]:
    """Return how many pairs of intervals of the same effect two runs have, and how many of them share no value."""
    both = shared(pairs)
    return len(both), sum(one[1] < other[0] or other[1] < one[0] for one, other in both)


def test_how_often_runs_disagree_about_a_size_is_counted_from_the_committed_runs() -> None:
    told = re.search(r"([\d,]+) of ([\d,]+) pairs\s+of intervals share no value", README.read_text())
    assert told is not None
    compared, disjoint = apart(combinations(map(intervals, QUICK), 2))
    assert told.groups() == (f"{disjoint:,}", f"{compared:,}")


def test_how_often_runs_agree_is_counted_from_the_committed_runs() -> None:
    quick = [verdicts(run) for run in QUICK]
    between, alike = agreement((verdicts(OLDER), run) for run in quick)
    among, own = agreement(combinations(quick, 2))
    decided, ours = len(verdicts(REAL)), len(found(REAL))
    both, same = agreement([(verdicts(REAL), verdicts(FULL))])
    said = " ".join(README.read_text().split())
    assert f"both decided {between} times, and {alike} times alike" in said
    assert f"agreed {own:,} times out of {among:,}" in said
    assert f"{decided} of {ours} comparisons were decided" in said
    assert f"decided {same} alike, {decided - both} not at all, and {both - same} otherwise" in said
