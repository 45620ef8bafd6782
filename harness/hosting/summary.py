"""The table at the end of the session: what paid, and at what price."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from harness import units
from harness.hosting.asking import question
from harness.hosting.conditions import Conditions
from harness.record import ArmRecord, TrialRecord, Verdict

HEADERS = ("workload", "technique", "level", "speedup", "interval", "verdict", "over the rung below", "price")
LEAST_SHARE = 0.005  # of the session's time
SAME_MEMORY_BYTES = 2**16  # a few pages more or less are the process's own doing
VERDICTS: tuple[Verdict, ...] = ("faster", "slower", "same", "undecided")


def conditions_line(conditions: Conditions, arms: Collection[int]) -> str:
    """Say what is going to be measured, and how."""
    counted = f"{units.plural(len(arms), 'trial')}, {units.plural(sum(arms), 'arm')}, size {conditions.size}"
    if conditions.rehearse:
        return f"accelbench: {counted}; a rehearsal: every arm is run once and checked, nothing is timed"
    plan = conditions.plan
    workers = f", {plan.workers} fresh workers a trial" if plan.workers > 1 else ""
    cache = ", cold caches" if plan.cold_cache else ""
    precision = f"{units.seconds(plan.budget_s)} an arm, noise ±{units.percent(plan.noise)}"
    return f"accelbench: {counted}, {precision}{workers}{cache}"


def summary(trials: Iterable[TrialRecord], *, rehearsed: bool) -> Iterator[str]:
    """Yield the lines of the summary."""
    trials = list(trials)
    if rehearsed:
        count = sum(arm.outcome == "measured" for trial in trials for arm in trial.arms)
        yield f"rehearsal: {count} arms were run once and checked; nothing was timed"
    else:
        yield from _table(trials)
        yield from _counts(trials)
        yield from _kinds("trial", (remark for trial in trials for remark in trial.remarks))
        yield from _kinds("doubtful arm", (flag for trial in trials for arm in trial.arms for flag in arm.flags))
    yield from _not_measured(trials)


def _table(trials: list[TrialRecord]) -> Iterator[str]:
    from tabulate import tabulate

    rows = [_row(trial, candidate) for trial in trials for candidate in trial.arms[1:] if candidate.effect is not None]
    if rows:
        columns = {name: column for name, *column in zip(HEADERS, *rows, strict=True) if any(column)}
        yield from tabulate(columns, headers="keys", tablefmt="simple", disable_numparse=True).split("\n")
        yield ""


def _row(trial: TrialRecord, candidate: ArmRecord) -> tuple[str, ...]:
    effect = candidate.effect
    assert effect is not None
    return (
        question(trial.workload, trial.problem, trial.fixed),
        " × ".join(trial.techniques),
        "/".join(candidate.levels.values()),
        units.speedup(effect.speedup),
        units.interval(effect.low, effect.upper),
        effect.verdict,
        _gain(candidate),
        _price(trial.arms[0], candidate),
    )


def _gain(rung: ArmRecord) -> str:
    """Return a ladder's rung over the one below; nothing for an arm that is on none."""
    if rung.gain is None:
        return ""
    return f"{units.ratio(rung.gain.speedup, rung.gain.low, rung.gain.upper)} {rung.gain.verdict}"


def _price(baseline: ArmRecord, candidate: ArmRecord) -> str:
    parts = []
    price = candidate.price
    if price is not None and price.error is not None:
        parts.append(f"error {units.error(price.error)}")
    if (change := _memory_change_bytes(baseline, candidate)) is not None:
        parts.append(_signed_memory(change))
    if (energy := _energy_change(baseline, candidate)) is not None:
        parts.append(f"energy {'−' if energy < 0 else '+'}{units.percent(abs(energy))}")
    if candidate.timing is not None:
        parts.append(f"cold {units.seconds(candidate.timing.cold_s)}")
    return ", ".join(parts)


def _memory_change_bytes(baseline: ArmRecord, candidate: ArmRecord) -> int | None:
    """Return the change of the allocator's peak where both arms have one, else of the resident peak."""
    if baseline.price is None or candidate.price is None:
        return None
    for before, after in (
        (baseline.price.allocator_peak_bytes, candidate.price.allocator_peak_bytes),
        (baseline.price.peak_rss_bytes, candidate.price.peak_rss_bytes),
    ):
        if before is not None and after is not None:
            return after - before
    return None


def _energy_change(baseline: ArmRecord, candidate: ArmRecord) -> float | None:
    """Return the change of the energy per item, as a fraction, where it is of the same kind of device for both arms."""
    before, after = baseline.price, candidate.price
    if before is None or after is None or before.energy_of != after.energy_of:
        return None
    if not before.energy_j_per_item or after.energy_j_per_item is None:
        return None
    return after.energy_j_per_item / before.energy_j_per_item - 1


def _signed_memory(change_bytes: int) -> str:
    if abs(change_bytes) < SAME_MEMORY_BYTES:
        return "memory same"
    return f"memory {'−' if change_bytes < 0 else '+'}{units.size(abs(change_bytes))}"


def _counts(trials: list[TrialRecord]) -> Iterator[str]:
    counts = Counter(arm.effect.verdict for trial in trials for arm in trial.arms if arm.effect is not None)
    total = counts.total()
    if total:
        each = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
        decided = f"{total - counts['undecided']} decided"
        yield f"{units.plural(len(trials), 'trial')}, {units.plural(total, 'comparison')}, {decided}: {each}"


def _not_measured(trials: list[TrialRecord]) -> Iterator[str]:
    reasons = Counter((arm.outcome, arm.reason) for trial in trials for arm in trial.arms if arm.outcome != "measured")
    for (outcome, reason), count in reasons.most_common():
        yield f"{units.plural(count, 'arm')} {outcome}: {reason}"


def spending_line(spent_s: Mapping[str, float]) -> str:
    """Say where the time of the session went, what took most first; what took next to nothing is left out."""
    total_s = sum(spent_s.values())
    ordered = sorted(spent_s.items(), key=lambda item: item[1], reverse=True)
    shares = [f"{kind} {units.percent(spent / total_s)}" for kind, spent in ordered if spent > LEAST_SHARE * total_s]
    return f"{units.minutes(total_s)} went into {', '.join(shares)}"


def _kinds(of: str, sentences: Iterable[str]) -> Iterator[str]:
    """Yield each kind of sentence once, as the first one said it; kinds differ in more than their figures."""
    first: dict[str, str] = {}
    kinds = Counter[str]()
    for sentence in sentences:
        kind = re.sub(r"\d[\d.]*", "", sentence)
        first.setdefault(kind, sentence)
        kinds[kind] += 1
    for kind, count in kinds.items():
        yield f"{units.plural(count, of)}: {'for example, ' if count > 1 else ''}{first[kind]}"
