"""A run in at most 40 lines: what pays, what slows down, what is undecided, and why the rest has no speed.

pytest prints it at the end of a session, ``accelbench show`` for a run that was saved.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from accelbench import units
from accelbench.certainty import rank, remarks_on_certainty, times_the_pairs, what_would_decide
from accelbench.price import describe_price_of
from accelbench.schema.reasons import Reason, describe, group
from accelbench.schema.result import AS_IS, ArmRecord, Effect, TrialRecord, Verdict
from accelbench.schema.verdict import DOUBTFUL, GLYPHS
from accelbench.text import format_case, format_levels, join_names, list_some, name_tests

HEADINGS: dict[Verdict, str] = {  # a technique stands under the first of these verdicts that it has
    "faster": "What pays",
    "slower": "What slows down",
    "same": "What makes no difference",
    "undecided": "What is undecided, and what would decide it",
}
VERDICTS = tuple(HEADINGS)
COLOURS: dict[Verdict, str] = {"faster": "green", "slower": "red", "same": "", "undecided": "yellow"}
# How many lines are shown at most. With headings and the rest, the summary of a run has at most 40.
MOST_LINES: dict[Verdict, int] = {"faster": 13, "slower": 4, "undecided": 4}
MOST_SAME, MOST_REASONS = 3, 5
NEW_LINE = " ⏎ "
LONGEST_RECIPE = 120  # characters; the page shows all of it
GAP, INDENT = 2, 4  # characters between columns, and before what belongs to the line above
SHORTEST_NAME = 8  # characters that a narrow terminal leaves of a name
NAME_COLUMNS = 2  # the techniques and the case, which a narrow terminal cuts short


class Line(NamedTuple):
    """A line of the terminal. Its style is ``bold``, a colour or nothing."""

    text: str
    style: str = ""


@dataclass(frozen=True, kw_only=True)
class Judging:
    """What verdicts rest on: the half-width of the noise zone as a fraction, and the seconds of measuring per arm.

    ``budget_s`` is None where it is not known. ``visits`` are those of each trial that a run was to make, which was
    interrupted and can be resumed; 1 for any other run.
    """

    noise: float
    budget_s: float | None
    visits: int = 1


@dataclass(frozen=True)
class _Found:
    """A candidate with its effect."""

    trial: TrialRecord
    arm: ArmRecord
    effect: Effect
    test: str  # its name, where another trial measures the same

    @property
    def case(self) -> str:
        """The workload with its options and the levels held, such as ``matrix-product, elements 1,000``."""
        trial = self.trial
        return format_case(workload=trial.workload, problem=trial.problem, fixed=trial.fixed, test=self.test)

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
    trials: Iterable[TrialRecord],
    judging: Judging,
    *,
    width: int | None = None,
    rehearsed: bool = False,
    verbose: bool = False,
) -> Iterator[Line]:
    """Yield the lines of the summary, with the spending and the place of the file at most 40; all if ``verbose``.

    Lines of effects fit into ``width`` characters; None for no limit, as in a file.
    """
    trials = list(trials)
    if rehearsed:
        count = sum(arm.outcome == "measured" for trial in trials for arm in trial.arms)
        were = "was" if count == 1 else "were"
        yield Line(f"rehearsal: {units.plural(count, 'arm')} {were} run once and checked; nothing was timed")
    else:
        yield from _effect_lines(trials, judging, width=width, verbose=verbose)
        measured = [trial for trial in trials if any(arm.effect for arm in trial.arms)]
        own = dict.fromkeys(trial.workload for trial in measured if set(trial.arms[0].levels.values()) == {AS_IS})
        if own:
            yield Line(f"speedups of {join_names([*own])} are over your program as it stands")
        yield from _counts(trials)
        yield from map(Line, remarks_on_certainty(trials))
    reasons = [
        f"{units.plural(len(alike), 'arm')} {outcome}: {describe(alike)}" for alike, outcome in unmeasured(trials)
    ]
    if not rehearsed:
        flags = group(flag for trial in trials for arm in trial.arms for flag in arm.flags)
        reasons += [f"{units.plural(len(alike), 'doubtful arm')} ({DOUBTFUL}): {describe(alike)}" for alike in flags]
        remarks = group(remark for trial in trials for remark in trial.remarks)
        reasons += [f"{units.plural(len(alike), 'trial')}: {describe(alike)}" for alike in remarks]
    shown = reasons if verbose or len(reasons) <= MOST_REASONS + 1 else reasons[:MOST_REASONS]
    yield from map(Line, shown)
    if len(reasons) > len(shown):
        yield Line(f"and {len(reasons) - len(shown)} more reasons; -v shows them")


def unmeasured(trials: Iterable[TrialRecord]) -> list[tuple[list[Reason], str]]:
    """Return the reasons of arms that have no speed in groups that differ only in numbers, the largest group first.

    With each group goes the outcome of its arms.
    """
    reasons: dict[str, list[Reason]] = {}
    for arm in (arm for trial in trials for arm in trial.arms):
        if arm.reason is not None:
            reasons.setdefault(arm.outcome, []).append(arm.reason)
    found = [(alike, outcome) for outcome, given in reasons.items() for alike in group(given)]
    return sorted(found, key=lambda each: len(each[0]), reverse=True)


def _effect_lines(trials: list[TrialRecord], judging: Judging, *, width: int | None, verbose: bool) -> Iterator[Line]:
    """Yield the effects by verdict, the surest effect of each technique first, with the recipe of what pays."""
    tests = name_tests(trials)
    found = [
        _Found(trial, arm, arm.effect, tests.get(trial.id, ""))
        for trial in trials
        for arm in trial.arms[1:]
        if arm.effect is not None
    ]
    several = len({each.trial.framework for each in found}) > 1
    ordered = {verdict: _surest_first(found, verdict, judging) for verdict in VERDICTS}
    listed = {verdict: ordered[verdict] for verdict in VERDICTS if verdict != "same" or verbose}
    cells = {
        id(each): _cells(each, with_framework=several)
        for verdict, effects in listed.items()
        for each in (effects if verbose else effects[: sum(MOST_LINES.values())])
    }
    widths = _column_widths([cells[id(each)] for each in found if id(each) in cells], width)
    said: set[str] = set()
    blocks = {
        verdict: [_block(each, cells[id(each)], widths, width, judging, said) for each in effects if id(each) in cells]
        for verdict, effects in listed.items()
    }
    room = _share_room({verdict: sum(map(len, block)) for verdict, block in blocks.items()}, verbose=verbose)
    for verdict, heading in HEADINGS.items():
        if blocks.get(verdict):
            yield Line(heading, "bold")
            shown = list(_fitting(blocks[verdict], room[verdict]))
            yield from (line for lines in shown for line in lines)
            if len(shown) < len(ordered[verdict]):
                yield Line(f"  and {len(ordered[verdict]) - len(shown)} more; -v shows them")
        elif verdict not in listed and ordered[verdict]:
            names = [f"{format_levels(each.switched)} on {each.case}" for each in ordered[verdict]]
            yield Line(f"{GLYPHS['same']} {HEADINGS['same'].lower()}: {list_some(names, MOST_SAME, separator='; ')}")


def _surest_first(found: list[_Found], verdict: Verdict, judging: Judging) -> list[_Found]:
    """Return the effects of a verdict: first the surest of each technique, then the others."""

    def key(each: _Found) -> tuple[bool, bool, bool, float]:
        effect, step = each.effect, each.trial.step(each.arm)
        explains = "ablation" in (each.trial.kinds.get(name) for name in each.switched)
        pays = verdict == "faster"
        unwritten = pays and not each.arm.recipe  # as the baselines that nobody runs, such as Python loops
        adds_nothing = pays and step is not None and step.verdict != "faster"  # to the rung below
        strength = rank(verdict, effect.speedup, effect.low, effect.upper, judging.noise)
        return explains or unwritten, each.is_doubtful, adds_nothing, strength

    ordered = sorted((each for each in found if each.effect.verdict == verdict), key=key)
    first: dict[tuple[str, ...], _Found] = {}
    for each in ordered:
        first.setdefault((each.trial.framework, *each.switched), each)
    return [*first.values(), *(each for each in ordered if each not in first.values())]


def _cells(found: _Found, *, with_framework: bool) -> tuple[str, ...]:
    """Return what stands in columns: the techniques, the case, the speedup and its interval."""
    trial, effect = found.trial, found.effect
    return (
        f"{GLYPHS[effect.verdict]} {format_levels(found.switched)}",
        found.case + (f" ({trial.framework})" if with_framework else ""),
        units.speedup(effect.speedup) + (f" {DOUBTFUL}" if found.is_doubtful else ""),
        _interval(effect),
    )


def _column_widths(rows: Sequence[tuple[str, ...]], width: int | None) -> list[int]:
    """Return the widths of the columns; those of names shrink, the wider one first, until a line fits."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if width is not None and rows:
        over = sum(widths) + GAP * (len(widths) - 1) - width
        while over > 0 and max(names := widths[:NAME_COLUMNS]) > SHORTEST_NAME:
            widths[names.index(max(names))] -= 1
            over -= 1
    return widths


def _interval(effect: Effect) -> str:
    """Return an effect's interval; an end that tells nothing is rounded outwards."""
    low, high = (effect.low if effect.low >= 1e-3 else 0.0), (effect.upper if effect.upper <= 1e3 else math.inf)
    is_open = effect.verdict == "undecided"
    return units.interval(low, high) if is_open else units.interval(effect.low, effect.upper)


def _block(
    found: _Found, cells: Sequence[str], widths: Sequence[int], width: int | None, judging: Judging, said: set[str]
) -> list[Line]:
    """Return the lines about an effect: its own, what does not fit into it, and the recipe if it is new."""
    colour = COLOURS[found.effect.verdict]
    line = (" " * GAP).join(_fit(cell, size) for cell, size in zip(cells, widths, strict=True))
    details = _details(found, judging)
    if not details or width is None or len(line) + GAP + len(details) <= width:
        lines = [Line(f"{line}{' ' * GAP}{details}".rstrip(), colour)]
    else:
        lines = [Line(line.rstrip(), colour), Line(f"{' ' * INDENT}{details}", colour)]
    recipe = _one_line(found.arm.recipe)
    if recipe and found.effect.verdict == "faster" and recipe not in said:
        said.add(recipe)
        lines.append(Line(f"{' ' * INDENT}write: {recipe}"))
    return lines


def _fit(text: str, size: int) -> str:
    """Return a text in a column, cut short where the column is narrower."""
    return text.ljust(size) if len(text) <= size else f"{text[: size - 1]}…"


def _details(found: _Found, judging: Judging) -> str:
    """Return an effect over the rung below if it is on a ladder, and its price or what would decide it."""
    trial, step = found.trial, found.trial.step(found.arm)
    is_open = found.effect.verdict == "undecided"
    rung = (
        f"{GLYPHS[step.verdict]} {units.ratio(step.speedup, step.low, step.upper)} over the rung below" if step else ""
    )
    price = _to_decide(found, judging) if is_open else describe_price_of(found.arm, trial.arms[0], trial.unit)
    return ", ".join(filter(None, (rung, price)))


def _to_decide(found: _Found, judging: Judging) -> str:
    effect = found.effect
    if (made := len(found.trial.visits)) and made < judging.visits:
        return f"to decide: --accel-resume, which makes {units.plural(judging.visits - made, 'more visit')}"
    needed = what_would_decide(
        times_the_pairs(effect.speedup, effect.low, effect.upper, judging.noise),
        disturbed=bool(found.trial.remarks),
        settled=found.is_settled,
        workers=effect.workers if effect.paired else 1,
        budget_s=judging.budget_s,
    )
    return f"to decide: {needed}"


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


def _counts(trials: list[TrialRecord]) -> Iterator[Line]:
    counts = Counter(arm.effect.verdict for trial in trials for arm in trial.arms if arm.effect is not None)
    total = counts.total()
    if total:
        each = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
        decided = f"{total - counts['undecided']} decided"
        yield Line(f"{units.plural(len(trials), 'trial')}, {units.plural(total, 'comparison')}, {decided}: {each}")
