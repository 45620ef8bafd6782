"""What the terminal shows: the header line, the trial being measured, and at the end what pays."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from accelbench import units
from accelbench.certainty import describe_odd_visits, rank, times_the_pairs, what_would_decide
from accelbench.price import describe_price_of
from accelbench.pytest_plugin.options import RunConfig
from accelbench.schema.reasons import Reason, describe, group
from accelbench.schema.result import AS_IS, ArmRecord, Effect, TrialRecord, Verdict
from accelbench.schema.verdict import GLYPHS
from accelbench.text import format_case, format_levels, join_names, list_some

LEAST_SHARE = 0.005  # of the session's time; smaller shares are not shown
VERDICTS: tuple[Verdict, ...] = ("faster", "slower", "same", "undecided")
HEADINGS: dict[Verdict, str] = {
    "faster": "What pays",
    "slower": "What slows down",
    "same": "What makes no difference",
    "undecided": "What is undecided, and what would decide it",
}
COLOURS: dict[Verdict, dict[str, bool]] = {
    "faster": {"green": True},
    "slower": {"red": True},
    "same": {},
    "undecided": {"yellow": True},
}
# Lines of effects, of what makes no difference and of reasons: with headings and the rest they are at most 40.
MOST_LINES: dict[Verdict, int] = {"faster": 13, "slower": 4, "undecided": 4}
MOST_SAME, MOST_REASONS = 3, 5
DOUBTFUL = " †"
NEW_LINE = " ⏎ "
LONGEST_RECIPE = 120  # characters; the page shows all of it
SKIPPED_BY = "Skipped: "  # how pytest begins the reason of a skipped test


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


class Line(NamedTuple):
    """A line of the terminal, with the colours that pytest knows by name."""

    text: str
    markup: Mapping[str, bool] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Judging:
    """What verdicts rest on: the half-width of the noise zone as a fraction, and the seconds of measuring per arm."""

    noise: float
    budget_s: float


@dataclass(frozen=True)
class _Found:
    """A candidate with its effect."""

    trial: TrialRecord
    arm: ArmRecord
    effect: Effect

    @property
    def switched(self) -> dict[str, str]:
        """The levels in which the arm differs from its baseline."""
        return {name: level for name, level in self.arm.levels.items() if level != self.trial.arms[0].levels.get(name)}

    @property
    def is_doubtful(self) -> bool:
        return bool(self.arm.flags or self.trial.arms[0].flags)

    @property
    def is_settled(self) -> bool:
        return all(arm.timing is None or arm.timing.warmup_settled for arm in (self.arm, self.trial.arms[0]))


def summary_lines(
    trials: Iterable[TrialRecord], judging: Judging, *, rehearsed: bool = False, verbose: bool = False
) -> Iterator[Line]:
    """Yield the lines of the summary, with the spending and the place of the file at most 40; all if ``verbose``."""
    trials = list(trials)
    if rehearsed:
        count = sum(arm.outcome == "measured" for trial in trials for arm in trial.arms)
        yield Line(f"rehearsal: {count} arms were run once and checked; nothing was timed")
    else:
        yield from _effect_lines(trials, judging, verbose=verbose)
        own = dict.fromkeys(trial.workload for trial in trials if set(trial.arms[0].levels.values()) == {AS_IS})
        if own:
            yield Line(f"speedups of {join_names([*own])} are over your program as it stands")
        yield from _counts(trials)
        yield from (Line(text) for text in filter(None, [describe_odd_visits(trials)]))
    reasons = [*_not_measured(trials)]
    if not rehearsed:
        flags = (flag for trial in trials for arm in trial.arms for flag in arm.flags)
        reasons += _count_reasons("doubtful arm", flags)
        reasons += _count_reasons("trial", (remark for trial in trials for remark in trial.remarks))
    shown = reasons if verbose or len(reasons) <= MOST_REASONS + 1 else reasons[:MOST_REASONS]
    yield from map(Line, shown)
    if len(reasons) > len(shown):
        yield Line(f"and {len(reasons) - len(shown)} more reasons; -v shows them")


def case_of(trial: TrialRecord) -> str:
    """Return a trial's workload with its options and the levels held, such as ``matrix-product, elements 1,000``."""
    return format_case(workload=trial.workload, problem=trial.problem, fixed=trial.fixed)


def _effect_lines(trials: list[TrialRecord], judging: Judging, *, verbose: bool) -> Iterator[Line]:
    """Yield the effects by verdict, the surest effect of each technique first, with the recipe of what pays."""
    found = [_Found(trial, arm, arm.effect) for trial in trials for arm in trial.arms[1:] if arm.effect is not None]
    frameworks = {each.trial.framework for each in found}
    ordered = {verdict: _surest_first(found, verdict, judging) for verdict in VERDICTS}
    rows = {id(each): _row(each, judging, with_framework=len(frameworks) > 1) for each in found}
    widths = [max(map(len, column)) for column in zip(*(cells[:-1] for cells in rows.values()), strict=True)]
    said: set[str] = set()
    blocks = {
        verdict: [_block(each, rows[id(each)], widths, said) for each in ordered[verdict]]
        for verdict in VERDICTS
        if verdict != "same" or verbose
    }
    room = _share_room({verdict: sum(map(len, block)) for verdict, block in blocks.items()}, verbose=verbose)
    for verdict, heading in HEADINGS.items():
        block = blocks.get(verdict)
        if block:
            yield Line(heading, {"bold": True})
            shown = list(_fitting(block, room[verdict]))
            yield from (line for lines in shown for line in lines)
            if len(shown) < len(block):
                yield Line(f"  and {len(block) - len(shown)} more; -v shows them")
        elif alike := ordered[verdict] if block is None else []:
            names = [f"{format_levels(each.switched)} on {case_of(each.trial)}" for each in alike]
            yield Line(f"{GLYPHS['same']} {HEADINGS['same'].lower()}: {list_some(names, MOST_SAME, separator='; ')}")


def _surest_first(found: list[_Found], verdict: Verdict, judging: Judging) -> list[_Found]:
    """Return the effects of a verdict: first the surest of each technique, then the others."""

    def key(each: _Found) -> tuple[bool, bool, float]:
        effect = each.effect
        explains = "ablation" in (each.trial.kinds.get(name) for name in each.switched)
        unwritten = (
            verdict == "faster" and not each.arm.recipe
        )  # as the baselines that nobody runs, such as Python loops
        return (
            explains or unwritten,
            each.is_doubtful,
            rank(verdict, effect.speedup, effect.low, effect.upper, judging.noise),
        )

    ordered = sorted((each for each in found if each.effect.verdict == verdict), key=key)
    first: dict[tuple[str, ...], _Found] = {}
    for each in ordered:
        first.setdefault((each.trial.framework, *each.switched), each)
    return [*first.values(), *(each for each in ordered if each not in first.values())]


def _row(found: _Found, judging: Judging, *, with_framework: bool) -> tuple[str, ...]:
    trial, effect = found.trial, found.effect
    return (
        f"{GLYPHS[effect.verdict]} {case_of(trial)}" + (f" ({trial.framework})" if with_framework else ""),
        format_levels(found.switched),
        units.speedup(effect.speedup) + (DOUBTFUL if found.is_doubtful else ""),
        _interval(effect),
        _step(trial.step(found.arm)),
        _to_decide(found, judging)
        if effect.verdict == "undecided"
        else describe_price_of(found.arm, trial.arms[0], trial.unit),
    )


def _interval(effect: Effect) -> str:
    """Return an effect's interval; an end that tells nothing is rounded outwards."""
    low, high = (effect.low if effect.low >= 1e-3 else 0.0), (effect.upper if effect.upper <= 1e3 else math.inf)
    is_open = effect.verdict == "undecided"
    return units.interval(low, high) if is_open else units.interval(effect.low, effect.upper)


def _block(found: _Found, cells: Sequence[str], widths: Sequence[int], said: set[str]) -> list[Line]:
    """Return the lines about an effect: its own, and the recipe of what pays where it was not said before."""
    padded = [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=False) if width]
    lines = [Line("  ".join([*padded, cells[-1]]).rstrip(), COLOURS[found.effect.verdict])]
    recipe = _one_line(found.arm.recipe)
    if recipe and found.effect.verdict == "faster" and recipe not in said:
        said.add(recipe)
        lines.append(Line(f"    write: {recipe}"))
    return lines


def _one_line(recipe: Sequence[str]) -> str:
    """Return lines of code as one, without those that would make it too long."""
    shown = recipe[:1]
    for line in recipe[1:]:
        if len(NEW_LINE.join([*shown, line])) > LONGEST_RECIPE:
            break
        shown = [*shown, line]
    more = len(recipe) - len(shown)
    return NEW_LINE.join(
        [*(line.strip() for line in shown), *([f"… {units.plural(more, 'line')} more"] if more else [])]
    )


def _share_room(needed: Mapping[Verdict, int], *, verbose: bool) -> dict[Verdict, int]:
    """Return how many lines each verdict may take; what one of them leaves is the next one's that needs more."""
    if verbose:
        return dict(needed)
    room = {verdict: min(MOST_LINES[verdict], lines) for verdict, lines in needed.items()}
    left = sum(MOST_LINES.values()) - sum(room.values())
    for verdict, lines in needed.items():
        more = min(left, lines - room[verdict])
        room[verdict] += more
        left -= more
    return room


def _fitting(blocks: Iterable[list[Line]], room: int) -> Iterator[list[Line]]:
    for lines in blocks:
        room -= len(lines)
        if room < 0:
            return
        yield lines


def _to_decide(found: _Found, judging: Judging) -> str:
    effect = found.effect
    needed = what_would_decide(
        times_the_pairs(effect.speedup, effect.low, effect.upper, judging.noise),
        disturbed=bool(found.trial.remarks),
        settled=found.is_settled,
        workers=effect.workers if effect.paired else 1,
        budget_s=judging.budget_s,
    )
    return f"to decide: {needed}"


def _step(effect: Effect | None) -> str:
    """Return a rung's effect over the rung below, in words; empty for an arm that is not on a ladder."""
    if effect is None:
        return ""
    return f"over the rung below {GLYPHS[effect.verdict]} {units.ratio(effect.speedup, effect.low, effect.upper)}"


def _counts(trials: list[TrialRecord]) -> Iterator[Line]:
    counts = Counter(arm.effect.verdict for trial in trials for arm in trial.arms if arm.effect is not None)
    total = counts.total()
    if total:
        each = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
        decided = f"{total - counts['undecided']} decided"
        yield Line(f"{units.plural(len(trials), 'trial')}, {units.plural(total, 'comparison')}, {decided}: {each}")


def _not_measured(trials: Iterable[TrialRecord]) -> Iterator[str]:
    for alike, outcome in _unmeasured(trials):
        yield f"{units.plural(len(alike), 'arm')} {outcome}: {describe(alike)}"


def _unmeasured(trials: Iterable[TrialRecord]) -> list[tuple[list[Reason], str]]:
    """Return the reasons of arms that have no speed in groups that differ only in numbers, the largest group first."""
    reasons: dict[str, list[Reason]] = {}
    for arm in (arm for trial in trials for arm in trial.arms):
        if arm.reason is not None:
            reasons.setdefault(arm.outcome, []).append(arm.reason)
    found = [(alike, outcome) for outcome, given in reasons.items() for alike in group(given)]
    return sorted(found, key=lambda each: len(each[0]), reverse=True)


def fold_skips(reports: Iterable[Any], trials: Iterable[TrialRecord]) -> None:
    """Give skipped tests whose reasons differ only in numbers one wording, so that pytest prints one line for them.

    ``reports`` are those of tests of trials.
    """
    wordings = {str(reason): describe(alike) for alike, _ in _unmeasured(trials) for reason in alike}
    folded: dict[str, list[Any]] = {}
    for report in reports:
        if isinstance(report.longrepr, tuple) and (
            wording := wordings.get(report.longrepr[2].removeprefix(SKIPPED_BY))
        ):
            folded.setdefault(wording, []).append(report)
    for wording, alike in folded.items():
        places = {(report.longrepr[0], report.longrepr[1]) for report in alike}
        files = {path for path, _ in places}
        path = files.pop() if len(files) == 1 else units.plural(len(files), "file")
        line = next(iter(places))[1] if len(places) == 1 else None
        for report in alike:
            report.longrepr = (path, line, SKIPPED_BY + wording)


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
