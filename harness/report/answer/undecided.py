"""Why an effect is undecided, and what would decide it, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness import units
from harness.reading.deciding import noise_of, times_the_pairs
from harness.record import Run
from harness.report.answer.places import Row

_LONGEST_S = 1e9  # budgets beyond it are none
_WITHIN_A_BUDGET = 30  # times the pairs; beyond it an estimate of a square law means little
_COUNTED = 1000  # times; beyond it a number would pretend to know
_SAID_OF_ALL = (" while this was measured", " in which this was measured")
_UNSETTLED = "the times had not settled when the warm-up ended"


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """Under what a run was measured: its noise zone, its budget per arm, and the remarks of its trials by their id."""

    noise: float
    budget_s: float | None
    remarks: Mapping[str, Sequence[str]]


def circumstances(run: Run) -> Circumstances:
    """Return under what a run was measured, as its settings and its trials tell."""
    budget_s = run.settings.get("budget_s")
    return Circumstances(
        noise=noise_of(run),
        budget_s=float(budget_s) if isinstance(budget_s, int | float) and 0 < budget_s < _LONGEST_S else None,
        remarks={trial.id: trial.remarks for trial in run.trials},
    )


def left_open(row: Row, place: str, noise: float) -> str:
    """Say between what a speedup lies, and which verdicts that leaves open."""
    pairs = units.plural(row["pairs"], "pair")
    if not row["low"] > 0 or math.isinf(row["high"]):
        return f"could not be told on {place}: no interval after {pairs}"
    between = f"{units.speedup(row['low'])} to {units.speedup(row['high'])}"
    return f"may be {_possible(row, noise)} on {place}: {between} after {pairs}"


def _possible(row: Row, noise: float) -> str:
    slower, faster = row["low"] < 1 / (1 + noise), row["high"] > 1 + noise
    if slower and faster:
        return "slower, the same or faster"
    return "slower or the same" if slower else "the same or faster" if faster else "the same"


def to_decide(row: Row, around: Circumstances) -> list[str]:
    """Return sentences on why an effect is undecided and what would decide it."""
    why = _reasons(row, around)
    return [*([f"Why: {'; '.join(why)}"] if why else []), f"To decide: {_what_would_decide(row, around)}"]


def _reasons(row: Row, around: Circumstances) -> list[str]:
    said = dict.fromkeys(map(in_brief, around.remarks[row["trial"]]))
    return [*said, *([_UNSETTLED] if _unsettled(row) else [])]


def in_brief(remark: str) -> str:
    """Return a remark on a trial without its details."""
    brief = remark.partition(";")[0].partition(" (")[0]
    for words in _SAID_OF_ALL:
        brief = brief.removesuffix(words)
    return brief


def _unsettled(row: Row) -> bool:
    return row["warmup_settled"] is False or row["baseline_warmup_settled"] is False


def times_to_decide(row: Row, around: Circumstances) -> float:
    """Return about how many times the pairs would decide; infinity where that cannot be told."""
    times = times_the_pairs(row["speedup"], row["low"], row["high"], around.noise)
    return math.inf if times is None else times


def _what_would_decide(row: Row, around: Circumstances) -> str:
    times = times_the_pairs(row["speedup"], row["low"], row["high"], around.noise)
    disturbed = bool(around.remarks[row["trial"]])
    if times is None:
        pairs = f"at least twice the pairs{_more(row, 2, around)}"
        return f"a quieter machine, and {pairs}" if disturbed else pairs
    if times <= _WITHIN_A_BUDGET:
        enough = math.ceil(times)
        pairs = f"about {enough} times the pairs{_more(row, enough, around)}"
        return f"{pairs}, fewer on a quieter machine" if disturbed else pairs
    many = f"about {units.count(float(f'{times:.1g}'))}" if times <= _COUNTED else f"more than {units.count(_COUNTED)}"
    many = f"{many} times the pairs"
    if disturbed:
        return f"a quieter machine; as it was, {many}"
    if _unsettled(row):
        return f"a longer warm-up, which a larger budget gives; as it was, {many}"
    return f"{many}, more than one budget gives"


def _more(row: Row, times: float, around: Circumstances) -> str:
    """Return the option that asks for so many times the measuring."""
    if row["workers"] > 1 and row["paired"]:
        return f" (--accel-workers={math.ceil(times * row['workers'])})"
    return f" (--accel-budget={math.ceil(times * around.budget_s)})" if around.budget_s else ""
