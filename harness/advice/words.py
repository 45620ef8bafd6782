"""An advice in words, for a terminal, and as JSON for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from harness.advice.outcome import Advice, Compared, Tried
from harness.advice.space import switched
from harness.units import error, minutes, percent, plural, ratio, size, speedup

OVERRUN = 1.3  # times the budget: from here on the reason is told
SHOWN = 12  # configurations that are listed; the JSON holds all


def as_json(advice: Advice) -> dict[str, Any]:
    """Return an advice as plain data; ends that nothing bounds are null."""
    return asdict(advice)


def as_text(advice: Advice) -> str:
    """Return an advice as lines: what to switch, what it gains and costs, how sure it is, and what was tried."""
    sections = ([*told(advice)] for told in (_answer, _settings, _surety, _tried, _left_out))
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _answer(advice: Advice) -> Iterator[str]:
    where, chosen = f"{advice.workload} ({advice.framework})", switched(advice.changes)
    if not advice.changes:
        yield f"{where}: leave it as it is; nothing that was tried is faster and keeps the limits."
    elif advice.gain is None:
        about = next(speedup(each.speedup) for each in advice.tried if each.speedup and each.changes == advice.changes)
        yield f"{where}: {chosen}, about {about} as fast as the baseline, per {advice.unit}; not timed side by side."
    else:
        yield f"{where}: {chosen} is {_ratio(advice.gain)} as fast as the baseline, per {advice.unit}."
        if advice.gain.verdict != "faster":
            yield f"The verdict over the baseline is {advice.gain.verdict}: a longer --budget tells more."
    memory = [f"peak memory {size(advice.memory_bytes)}"] if advice.memory_bytes is not None else []
    costs = [f"numeric error {error(advice.error)}"] if advice.error is not None else []
    repeated = ["the same bits in two runs"] if advice.deterministic else []
    if told := [*memory, *costs, *repeated]:
        yield f"Its price: {', '.join(told)}."


def _settings(advice: Advice) -> Iterator[str]:
    if advice.settings:
        yield "To paste:"
        for name, text in advice.settings.items():
            yield f"  # {name.replace('_', '-')} {advice.changes.get(name) or advice.held.get(name)}"
            yield from (f"  {line}" for line in text.splitlines())


def _surety(advice: Advice) -> Iterator[str]:
    tried, dropped = len(advice.tried), sum(bool(each.dropped) for each in advice.tried)
    left = advice.not_told_apart
    wrongly = f" (one of them wrongly so in at most {percent(advice.alpha)} of searches)" if advice.shown_slower else ""
    yield (
        f"{tried} of {plural(advice.configurations, 'configuration')} tried in {minutes(advice.spent_s)}; "
        f"{dropped} dropped, {advice.shown_slower} of them shown to be slower than the advised one{wrongly}."
    )
    if advice.interrupted:
        others = plural(len(left), "other")
        yield f"Interrupted before the {minutes(advice.budget_s)} of its budget were over, with {others} in the search."
    elif left:
        yield f"Not told apart from it in this time: {'; '.join(switched(each.changes) for each in left)}."
    if advice.configurations > tried:
        yield f"{plural(advice.configurations - tried, 'configuration')} never tried may be faster."
    if advice.untried:
        levels = (f"{name.replace('_', '-')} {', '.join(levels)}" for name, levels in advice.untried.items())
        yield f"No time for: {'; '.join(levels)}. A longer --budget tries them."
    if advice.spent_s > OVERRUN * advice.budget_s:
        yield (
            f"It took longer than the {minutes(advice.budget_s)} of its budget: {minutes(advice.dearest_s)} alone went "
            f"into building, starting and timing {switched(advice.dearest)} and what it was timed beside."
        )


def _tried(advice: Advice) -> Iterator[str]:
    yield "Tried, the fastest first:"
    for each in advice.tried[:SHOWN]:
        about = speedup(each.speedup) if each.speedup is not None else "–"
        yield f"  {about:>7}  {switched(each.changes)}: {_fate(each, advice)}"
    if len(advice.tried) > SHOWN:
        yield f"  and {len(advice.tried) - SHOWN} more; --json lists all"


def _fate(each: Tried, advice: Advice) -> str:
    if each.changes == advice.changes:
        return "advised"
    if each.dropped:
        return each.dropped
    if each.beside_best:
        return f"{_ratio(each.beside_best)} of the advised one"
    return "not yet compared with it" if advice.interrupted else "in the race to its end"


def _left_out(advice: Advice) -> Iterator[str]:
    if advice.left_out:
        yield "Left out:"
        yield from (f"  {name.replace('_', '-')}: {reason}" for name, reason in advice.left_out.items())


def _ratio(compared: Compared) -> str:
    return ratio(compared.speedup, compared.low, math.inf if compared.high is None else compared.high)
