"""What the terminal shows: the header line, the trial being measured, the table at the end."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import pytest

from accelbench import units
from accelbench.odd_visits import describe_odd_visits
from accelbench.price import describe_price_of
from accelbench.pytest_plugin.options import RunConfig
from accelbench.schema.reasons import Reason, describe, group
from accelbench.schema.result import ArmRecord, Effect, TrialRecord, Verdict
from accelbench.text import cross, format_case, format_table

HEADERS = ("workload", "technique", "level", "speedup", "interval", "verdict", "over the rung below", "price")
LEAST_SHARE = 0.005  # of the session's time; smaller shares are not shown
VERDICTS: tuple[Verdict, ...] = ("faster", "slower", "same", "undecided")


class ReporterScreen:
    """pytest's terminal reporter, which bypasses the capturing of output; with -q nothing is shown."""

    def __init__(self, config: pytest.Config) -> None:
        plugins: Any = config.pluginmanager
        self._reporter = plugins.get_plugin("terminalreporter")
        self._capture = plugins.get_plugin("capturemanager")
        self._is_quiet = not self._reporter or config.get_verbosity() < 0
        self.is_terminal: bool = not self._is_quiet and self._reporter.isatty

    def rewrite(self, line: str) -> None:
        """Replace the last line; an empty text removes it."""
        with self._without_capture():
            self._reporter.ensure_newline()
            self._reporter.rewrite(line[: shutil.get_terminal_size().columns - 1], erase=True)
            self._reporter.write("" if line else "\r", flush=True)

    def print_line(self, line: str) -> None:
        """Print a line that stays."""
        if not self._is_quiet:
            with self._without_capture():
                self._reporter.ensure_newline()
                self._reporter.write_line(line)

    def _without_capture(self) -> Any:
        return self._capture.global_and_fixture_disabled() if self._capture else nullcontext()


def header_line(config: RunConfig, arms: Collection[int]) -> str:
    """Return what is going to be measured, and how."""
    counted = f"{units.plural(len(arms), 'trial')}, {units.plural(sum(arms), 'arm')}, size {config.size}"
    if config.rehearse:
        return f"accelbench: {counted}; a rehearsal: every arm is run once and checked, nothing is timed"
    plan = config.plan
    visits = f" in {plan.visits} visits" if plan.visits > 1 else ""
    cache = ", cold caches" if plan.cold_cache else ""
    precision = f"{units.seconds(plan.budget_s)} an arm{visits}, noise ±{units.percent(plan.noise)}"
    return f"accelbench: {counted}, {precision}{cache}"


def summary_lines(trials: Iterable[TrialRecord], *, rehearsed: bool) -> Iterator[str]:
    """Yield the lines of the summary."""
    trials = list(trials)
    if rehearsed:
        count = sum(arm.outcome == "measured" for trial in trials for arm in trial.arms)
        yield f"rehearsal: {count} arms were run once and checked; nothing was timed"
    else:
        yield from _table(trials)
        yield from _counts(trials)
        yield from filter(None, [describe_odd_visits(trials)])
        yield from _count_reasons("trial", (remark for trial in trials for remark in trial.remarks))
        flags = (flag for trial in trials for arm in trial.arms for flag in arm.flags)
        yield from _count_reasons("doubtful arm", flags)
    yield from _not_measured(trials)


def case_of(trial: TrialRecord) -> str:
    """Return a trial's workload with its options and the levels held, such as ``matrix-product, elements 1,000``."""
    return format_case(workload=trial.workload, problem=trial.problem, fixed=trial.fixed)


def _table(trials: list[TrialRecord]) -> Iterator[str]:
    rows = [_row(trial, candidate) for trial in trials for candidate in trial.arms[1:] if candidate.effect is not None]
    if rows:
        filled = [column for column in zip(HEADERS, *rows, strict=True) if any(column[1:])]
        headers, *lines = zip(*filled, strict=True)
        yield from format_table(lines, headers).split("\n")
        yield ""


def _row(trial: TrialRecord, candidate: ArmRecord) -> tuple[str, ...]:
    effect = candidate.effect
    assert effect is not None
    return (
        case_of(trial),
        cross(trial.techniques),
        "/".join(candidate.levels.values()),
        units.speedup(effect.speedup),
        units.interval(effect.low, effect.upper),
        effect.verdict,
        _step(trial.step(candidate)),
        describe_price_of(candidate, trial.arms[0], trial.unit),
    )


def _step(effect: Effect | None) -> str:
    """Return a rung's effect over the rung below, in words; empty for an arm that is not on a ladder."""
    return f"{units.ratio(effect.speedup, effect.low, effect.upper)} {effect.verdict}" if effect else ""


def _counts(trials: list[TrialRecord]) -> Iterator[str]:
    counts = Counter(arm.effect.verdict for trial in trials for arm in trial.arms if arm.effect is not None)
    total = counts.total()
    if total:
        each = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
        decided = f"{total - counts['undecided']} decided"
        yield f"{units.plural(len(trials), 'trial')}, {units.plural(total, 'comparison')}, {decided}: {each}"


def _not_measured(trials: list[TrialRecord]) -> Iterator[str]:
    reasons: dict[str, list[Reason]] = {}
    for arm in (arm for trial in trials for arm in trial.arms):
        if arm.reason is not None:
            reasons.setdefault(arm.outcome, []).append(arm.reason)
    found = [(alike, outcome) for outcome, given in reasons.items() for alike in group(given)]
    for alike, outcome in sorted(found, key=lambda each: len(each[0]), reverse=True):
        yield f"{units.plural(len(alike), 'arm')} {outcome}: {describe(alike)}"


def spending_line(spent_s: Mapping[str, float]) -> str:
    """Return how the session spent its time, the largest share first, without negligible shares."""
    total_s = sum(spent_s.values())
    ordered = sorted(spent_s.items(), key=lambda item: item[1], reverse=True)
    shares = [f"{kind} {units.percent(spent / total_s)}" for kind, spent in ordered if spent > LEAST_SHARE * total_s]
    return f"{units.minutes(total_s)} went into {', '.join(shares)}"


def _count_reasons(of: str, reasons: Iterable[Reason]) -> Iterator[str]:
    """Yield each group of reasons that differ only in numbers, with its size."""
    for alike in group(reasons):
        yield f"{units.plural(len(alike), of)}: {describe(alike)}"
