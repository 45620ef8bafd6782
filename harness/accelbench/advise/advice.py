"""The advice: a configuration, what it gains and costs, what was tried and dropped; as text and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from accelbench.advise.program_search import ALONE_SHARE, NO_TIME, SAME, WORTH, Alone, ProgramSearch
from accelbench.advise.search import ALPHA, NOISE, OVERRUN, Search
from accelbench.advise.space import Configuration, label_changes
from accelbench.core import Levels, Trial, Workload, find_technique
from accelbench.measuring.applicable import Applicable, describe_present
from accelbench.measuring.statistics import Judgement
from accelbench.price import describe_error, describe_first_call
from accelbench.text import format_levels, hyphenate
from accelbench.units import minutes, percent, plural, ratio, size, speedup

VAGUE = 10.0  # times as high as its lower end, the upper end of an interval that is not worth printing
WIDER = 4  # times the largest batch size: at least one level of every framework lies between
MAX_LISTED = 12  # configurations in the text; the JSON has all


@dataclass(frozen=True, kw_only=True)
class TriedConfiguration:
    """A configuration that was tried.

    Attributes:
        changes: the techniques that are not at their baseline.
        speedup: its estimated speedup over the baseline.
        dropped: why it was dropped, "" for the advised one and those that stayed to the end.
        beside_best: its comparison with the advised one, None if no trial had both.
        gain: its comparison with the baseline, None if no trial had both.
        is_raced: whether the race at the end timed it.
        memory_bytes: its peak memory.
        error: its relative numeric error.
    """

    changes: Levels
    speedup: float | None
    dropped: str
    beside_best: Judgement | None = None
    gain: Judgement | None = None
    is_raced: bool = False
    memory_bytes: float | None = None
    error: float | None = None


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The advised configuration.

    Attributes:
        levels: those of every technique that was free.
        changes: the techniques that are not at their baseline.
        settings: for each technique that is switched, what a user writes for it.
        held: techniques and options that stayed as they were.
        gain: the comparison with the baseline, None if the baseline is advised.
        configurations: how many there are.
        tried: every configuration that was tried, the fastest first.
        untried: the levels for which there was no time, by technique.
        untried_together: the techniques of a user's program that pay, if no two of them were tried together.
        together_s: a budget in which they would be, by estimate; None if there are none.
        left_out: techniques, or levels of them, with the reason.
        longest_s: what the longest trial took.
        longest: what its last configuration switched.
        interrupted: whether Ctrl-C ended the search.
        largest_batch: the largest batch size that was offered, or the program's own; None if a larger one was.
        over: what speedups are over, "your program" or "the baseline".
        alone: what every technique alone does to a user's program.
        present: the levels that a user's program already has, by technique.
        enough_s: a budget that would decide what is undecided alone, by estimate; None if nothing is left to decide.
        is_cut_short: whether the time was up in the middle of a trial.
        compares_outputs: whether outputs were compared, as they are not of a program that does not repeat itself.
        other_work: what other work took from the machine meanwhile, in sentences, "" for nothing.
    """

    workload: str
    framework: str
    unit: str
    levels: Levels
    changes: Levels
    settings: Mapping[str, str]
    held: Mapping[str, str]
    gain: Judgement | None
    memory_bytes: float | None
    error: float | None
    deterministic: bool
    configurations: int
    tried: tuple[TriedConfiguration, ...]
    alpha: float
    noise: float
    budget_s: float
    spent_s: float
    longest_s: float
    longest: Levels
    interrupted: bool = False
    untried: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    untried_together: Levels = field(default_factory=dict)
    together_s: float | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    largest_batch: int | None = None
    over: str = "the baseline"
    alone: tuple[Alone, ...] = ()
    present: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    enough_s: float | None = None
    is_cut_short: bool = False
    compares_outputs: bool = True
    other_work: str = ""

    @property
    def own_memory_bytes(self) -> float | None:
        """The peak memory with nothing switched, None where it is not known."""
        return next((each.memory_bytes for each in self.tried if not each.changes), None)

    @property
    def shown_slower(self) -> int:
        """How many configurations a verdict has shown to be slower than the advised one."""
        return sum(each.beside_best is not None and each.beside_best.verdict == "slower" for each in self.tried)

    @property
    def rivals(self) -> list[TriedConfiguration]:
        """The configurations that stayed in the search to its end beside the advised one."""
        return [each for each in self.tried if not each.dropped and each.changes != self.changes]


def build_advice(
    work: Workload,
    trial: Trial,
    search: Search,
    best: Configuration,
    applicable: Iterable[Applicable],
    *,
    device: str,
    only: tuple[str, ...] = (),
) -> Advice:
    """Return the advice that a search has come to, which tried techniques that a user named, or all."""
    space, look = search.space, search.observations.first_looks[best]
    applicable = [*applicable]
    program = search if isinstance(search, ProgramSearch) else None
    alone = tuple(program.list_alone()) if program else ()
    changes = space.changes(best)
    recipes = {each.technique: each.recipes for each in applicable}
    settings = {
        name: find_technique(trial.framework, name).written_as(recipes.get(name, {})).snippet_at(level, device)
        for name, level in {**trial.fixed, **changes}.items()
    }
    return Advice(
        workload=work.name,
        framework=trial.framework,
        unit=work.unit,
        levels=space.levels(best),
        changes=changes,
        settings={name: text for name, text in settings.items() if text},
        held={**trial.fixed, **{name: str(value) for name, value in trial.problem.items()}},
        gain=search.judge_gain(best),
        memory_bytes=look.memory_bytes,
        error=look.error,
        deterministic=search.find_objection is not None,
        configurations=space.size,
        tried=_list_tried(search, best),
        alpha=ALPHA,
        noise=NOISE,
        budget_s=search.budget_s,
        spent_s=search.budget.spent_s,
        longest_s=search.budget.longest[0],
        longest=space.changes(search.budget.longest[1]),
        interrupted=search.interrupted,
        untried=_untried_levels(search),
        untried_together=program.find_untried_together() if program else {},
        together_s=program.predict_budget_together_s() if program else None,
        left_out=list_left_out(applicable, only),
        largest_batch=find_largest_batch(_asked_for(applicable, only)) if program else None,
        over="your program" if program else "the baseline",
        alone=alone,
        present={each.technique: each.present for each in applicable if each.present},
        enough_s=_enough_s(alone, search.budget_s),
        is_cut_short=program is not None and program.is_cut_short,
        compares_outputs=program is None or program.iteration.compares_outputs,
    )


def list_left_out(applicable: Iterable[Applicable], only: tuple[str, ...]) -> dict[str, str]:
    """Return the reasons for what was left out of the techniques that a user named, or of all."""
    return {name: reason for each in _asked_for(applicable, only) for name, reason in each.left_out.items()}


def find_largest_batch(applicable: Iterable[Applicable]) -> int | None:
    """Return the largest batch size of a search, where it offers none that is larger than the program's own.

    A program's own size that is not known counts as one. None stands for a search that offers a larger one, or refuses
    it with a reason, or that is not about batch sizes.
    """
    found = next((each for each in applicable if each.technique == "batch_size" and len(each.levels) > 1), None)
    if found is None:
        return None
    offered = [int(each) for each in (*found.levels, *found.refused) if each.isdecimal()]
    own = [int(each) for each in found.present if each.isdecimal()]
    largest = max([*offered, *own], default=None)
    return largest if not own or largest in own else None


def _asked_for(applicable: Iterable[Applicable], only: tuple[str, ...]) -> list[Applicable]:
    return [each for each in applicable if not only or each.technique in only]


def _enough_s(alone: Iterable[Alone], budget_s: float) -> float | None:
    """Return the budget in which what is open would be decided, by estimate; None if nothing is."""
    needed_s = sum(each.needed_s for each in alone if each.needed_s is not None and not each.is_unlikely)
    return budget_s + needed_s / ALONE_SHARE if needed_s else None


def _in_minutes(budget_s: float) -> str:
    """Return a budget in whole minutes, as ``--budget`` takes it."""
    return f"{math.ceil(budget_s / 60)}m"


def _list_tried(search: Search, best: Configuration) -> tuple[TriedConfiguration, ...]:
    observations, looks = search.observations, search.observations.first_looks
    speedups = {each: math.exp(observations.estimate(each)) for each, look in looks.items() if look.is_measured}
    return tuple(
        TriedConfiguration(
            changes=search.space.changes(each),
            speedup=speedups.get(each),
            dropped=observations.eliminated.get(each, ""),
            beside_best=_compare(search, each, best),
            gain=search.judge_gain(each),
            is_raced=observations.is_raced(each),
            memory_bytes=looks[each].memory_bytes,
            error=looks[each].error,
        )
        for each in sorted(looks, key=lambda each: -speedups.get(each, 0.0))
    )


def _untried_levels(search: Search) -> dict[str, tuple[str, ...]]:
    """Return the levels that no configuration had that was tried."""
    columns = zip(search.space.axes, zip(*search.observations.first_looks, strict=True), strict=True)
    untried = {axis.technique: tuple(level for level in axis.levels if level not in tried) for axis, tried in columns}
    return {name: levels for name, levels in untried.items() if levels}


def _compare(search: Search, candidate: Configuration, other: Configuration) -> Judgement | None:
    if candidate == other:
        return None
    return search.observations.judge(candidate, other, alpha=ALPHA, noise=NOISE)


def as_json(advice: Advice) -> dict[str, Any]:
    """Return an advice as plain data; unbounded ends are null."""
    return asdict(advice, dict_factory=_replace_infinity)


def _replace_infinity(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: None if value == math.inf else value for name, value in items}


def as_text(advice: Advice) -> str:
    """Return an advice as lines: what to switch, what it gains and costs, how sure it is, and what was tried."""
    program = (_answer, _settings, _alone, _open, _together, _present, _format_left_out)
    parts = (
        program if advice.over == "your program" else (_answer, _settings, _certainty, _format_tried, _format_left_out)
    )
    sections = ([*part(advice)] for part in parts)
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _answer(advice: Advice) -> Iterator[str]:
    where, chosen = f"{advice.workload} ({advice.framework})", label_changes(advice.changes)
    held = f" with {format_levels(advice.held)}" if advice.held else ""
    over = f"{advice.over}{held}"
    if not advice.changes:
        yield f"{where}: leave it as it is{held}; {_nothing_pays(advice)}."
    elif advice.gain is None:
        about = next(speedup(each.speedup) for each in advice.tried if each.speedup and each.changes == advice.changes)
        yield f"{where}: {chosen}, about {about} as fast as {over}, per {advice.unit}; not timed side by side."
    else:
        is_shown = advice.gain.verdict == "faster"
        compared = "faster than" if _is_vague(advice.gain) else f"{_ratio(advice.gain)} as fast as"
        yield f"{where}: {chosen} {'is' if is_shown else 'may be'} {compared} {over}, per {advice.unit}."
        if not is_shown:
            after = f" after {plural(advice.gain.pairs, 'pair')}" if _is_vague(advice.gain) else ""
            yield f"The verdict is {advice.gain.verdict}{after}; a longer --budget may decide it."
    repeated = "the same bits in two runs" if advice.deterministic else ""
    prices = [*filter(None, (_describe_memory(advice), describe_error(advice.error), repeated))]
    if advice.changes and prices:
        yield f"Its price: {', '.join(prices)}."
    if not advice.compares_outputs:
        yield "Outputs were not compared: two runs of your program from the same start differ."
    if advice.other_work:
        yield advice.other_work


def _describe_memory(advice: Advice) -> str:
    """Return the peak memory, in place of that with nothing switched."""
    if advice.memory_bytes is None:
        return ""
    own = f" in place of {size(advice.own_memory_bytes)}" if advice.own_memory_bytes is not None else ""
    return f"peak memory {size(advice.memory_bytes)}{own}"


def _nothing_pays(advice: Advice) -> str:
    gains_little = any(each.pays is False and each.judgement and each.judgement.low > 1 for each in advice.alone)
    if any(each.needed_s is not None or (each.judgement and each.pays is None) for each in advice.alone):
        return f"nothing has been shown to {'pay' if gains_little else 'be faster'} and to keep the limits"
    return f"nothing that was tried {'pays' if gains_little else 'is faster'} and keeps the limits"


def _alone(advice: Advice) -> Iterator[str]:
    judged = [each for each in advice.alone if each.judgement is not None]
    rows = [_row_alone(each, each.judgement, advice.unit) for each in judged if each.judgement is not None]
    if rows:
        yield f"Each technique alone, over your program (a gain below {percent(WORTH)} does not pay):"
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            yield "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
    failed: dict[str, list[str]] = {}
    for each in advice.alone:
        if each.reason not in ("", NO_TIME) and each.needed_s is None:
            failed.setdefault(each.reason, []).append(format_levels({each.technique: each.level}))
    for why, names in failed.items():
        yield f"  {', '.join(names)}: {why}"


def _row_alone(each: Alone, judgement: Judgement, unit: str) -> tuple[str, str, str]:
    repaid = "" if each.repaid_items is None else f"after about {plural(int(float(f'{each.repaid_items:.1g}')), unit)}"
    is_vague = each.pays is None and _is_vague(judgement)
    answer = "" if is_vague else _answer_alone(each.pays, judgement)
    told = ", ".join(filter(None, (answer, describe_first_call(each.cold_s, each.step_s, repaid))))
    compared = _count_undecided(judgement) if is_vague else _ratio(judgement)
    return format_levels({each.technique: each.level}), compared, told


def _answer_alone(pays: bool | None, judgement: Judgement) -> str:
    """Return in words whether a technique pays, as far as its interval shows it."""
    low, high = judgement.low, judgement.high
    if pays:
        return "faster"
    if pays is None:
        return f"undecided, at most {percent(high - 1)} faster" if high < 1 + 2 * WORTH else "undecided"
    if high < 1 - NOISE:
        return "slower"
    if low > 1 - SAME and high < 1 + SAME:
        return "does not pay: the same"
    return f"does not pay: {f'at most {percent(high - 1)}' if high > 1 else 'not'} faster"


def _open(advice: Advice) -> Iterator[str]:
    untried = [each for each in advice.alone if each.reason == NO_TIME or (each.reason and each.needed_s is not None)]
    undecided = [each for each in advice.alone if each.judgement is not None and each.needed_s is not None]
    likely, unlikely = (_names(each for each in untried if each.is_unlikely == is_so) for is_so in (False, True))
    if likely:
        yield f"No time for: {likely}."
    if advice.enough_s is not None:
        what = " and ".join(filter(None, ("try these" if likely else "", "decide the rest" if undecided else "")))
        yield f"--budget {_in_minutes(advice.enough_s)} would {what}, by estimate."
    if unlikely:
        yield f"Not tried, since they seldom pay: {unlikely}."
    if (largest := advice.largest_batch) is not None:
        wider = WIDER * largest
        yield f"Larger batches than {largest} were not offered: --max-batch {wider} offers them."
    if advice.is_cut_short:
        yield f"The time was up after {minutes(advice.spent_s)}, in the middle of a trial that was not waited for."
    elif advice.interrupted:
        yield f"Interrupted before the {minutes(advice.budget_s)} of its budget were over."


def _names(alone: Iterable[Alone]) -> str:
    names = ((format_levels({each.technique: each.level}), each.reason) for each in alone)
    return ", ".join(name if why == NO_TIME else f"{name} ({why})" for name, why in names)


def _together(advice: Advice) -> Iterator[str]:
    if advice.untried_together:
        yield f"Not tried together, though each pays: {format_levels(advice.untried_together)}."
    if advice.together_s is not None:
        yield f"--budget {_in_minutes(advice.together_s)} would try them together, by estimate."
    several = [each for each in advice.tried if len(each.changes) > 1]
    if several:
        yield "Together:"
        for each in several[:MAX_LISTED]:
            about = speedup(each.speedup) if each.speedup is not None else "–"
            yield f"  {about:>7}  {label_changes(each.changes)}: {_fate(each, advice)}"


def _present(advice: Advice) -> Iterator[str]:
    if advice.present:
        yield describe_present(advice.present)


def _settings(advice: Advice) -> Iterator[str]:
    if advice.changes and advice.settings:
        yield "To paste:"
        for name, text in advice.settings.items():
            yield f"  # {hyphenate(name)} {advice.changes.get(name) or advice.held.get(name)}"
            yield from (f"  {line}" for line in text.splitlines())


def _certainty(advice: Advice) -> Iterator[str]:
    tried, dropped = len(advice.tried), sum(bool(each.dropped) for each in advice.tried)
    rivals = advice.rivals
    wrongly = f" (one of them wrongly so in at most {percent(advice.alpha)} of searches)" if advice.shown_slower else ""
    yield (
        f"{tried} of {plural(advice.configurations, 'configuration')} tried in {minutes(advice.spent_s)}; "
        f"{dropped} dropped, {advice.shown_slower} of them shown to be slower than the advised one{wrongly}."
    )
    if advice.interrupted:
        others = plural(len(rivals), "other")
        yield f"Interrupted before the {minutes(advice.budget_s)} of its budget were over, with {others} in the search."
    elif rivals:
        yield f"Not shown to be slower in this time: {'; '.join(label_changes(each.changes) for each in rivals)}."
    if advice.configurations > tried:
        yield f"{plural(advice.configurations - tried, 'configuration')} never tried may be faster."
    if advice.untried:
        levels = (f"{hyphenate(name)} {', '.join(levels)}" for name, levels in advice.untried.items())
        yield f"No time for: {'; '.join(levels)}. A longer --budget tries them."
    if advice.spent_s > OVERRUN * advice.budget_s:
        yield (
            f"It took longer than the {minutes(advice.budget_s)} of its budget: {minutes(advice.longest_s)} alone went "
            f"into building, starting and timing {label_changes(advice.longest)} and what it was timed beside."
        )


def _format_tried(advice: Advice) -> Iterator[str]:
    yield "Tried, the fastest first:"
    for each in advice.tried[:MAX_LISTED]:
        about = speedup(each.speedup) if each.speedup is not None else "–"
        yield f"  {about:>7}  {label_changes(each.changes)}: {_fate(each, advice)}"
    if len(advice.tried) > MAX_LISTED:
        yield f"  and {len(advice.tried) - MAX_LISTED} more; --format json lists all"


def _fate(each: TriedConfiguration, advice: Advice) -> str:
    if each.changes == advice.changes:
        return "advised"
    if each.dropped:
        return each.dropped
    if each.beside_best:
        if _is_vague(each.beside_best):
            return _count_undecided(each.beside_best)
        return f"{_ratio(each.beside_best)} of {'the advised one' if advice.changes else advice.over}"
    if each.is_raced:
        return "in the race to its end"
    if advice.interrupted:
        return "not yet compared with it"
    beside = advice.over if each.changes else "the advised one"
    missing = f"not timed beside {beside}" if each.gain is None else "not in the race"
    return f"{missing}, for want of time; a longer --budget may decide it"


def _format_left_out(advice: Advice) -> Iterator[str]:
    if advice.left_out:
        yield "Left out:"
        alike: dict[str, list[str]] = {}
        for name, reason in advice.left_out.items():
            alike.setdefault(reason, []).append(hyphenate(name))
        yield from (f"  {', '.join(names)}: {reason}" for reason, names in alike.items())


def _is_vague(compared: Judgement) -> bool:
    """Return whether nothing is decided, and the interval is so wide that it says nothing either."""
    return compared.verdict == "undecided" and not compared.high <= VAGUE * compared.low


def _count_undecided(compared: Judgement) -> str:
    return f"not decided after {plural(compared.pairs, 'pair')}"


def _ratio(compared: Judgement) -> str:
    return ratio(compared.speedup, compared.low, compared.high)
