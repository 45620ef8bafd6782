"""Hold an arm's speed against what the machine can do: a rate above a ceiling is no speed but an error.

The samples' tenth percentile decides: more than a tenth of them must be too fast, so that a single reading of a noisy
clock vetoes nothing, and work that is skipped only now and then is found all the same. The median is what is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.ceilings.envelope import find
from harness.ceilings.probe import APART
from harness.experiment import Levels, Trial, find_technique
from harness.measuring.measured import Claim, Measured, no_baseline
from harness.record import ArmRecord, Ceiling, Outcome, Rate, Timing
from harness.units import percent, rate, seconds, significant

MARGIN = 1.05  # a ceiling is the best of many readings, and a reading is a few per cent off
FAST_QUANTILE = 0.1
HANDICAPPED_SHARE = 0.05
# Stated work is the least that must be done, so that many honest arms lie far below every ceiling. One is called
# handicapped only where another on its device is so many times as fast, beyond what more cores explain.
HANDICAPPED_TIMES = 5
# Launching once and waiting once for the end cost tens of microseconds of a block, which lasts a hundred at least: that
# alone keeps no device idle for half of the time.
HOST_BOUND_SHARE = 0.5
DISAGREE_TIMES = 2
LOOK_FOR = "look for a missing synchronise, work that was skipped, or an output that was cached"


@dataclass(frozen=True, kw_only=True)
class _Demand:
    """So many bytes or operations of one kind, and the ceilings that bound them, the nearest first.

    A rate above one of them is held against the next: a file that should come from the disk may lie in memory.
    """

    amount: float
    ceilings: list[Ceiling]
    saving: float = 1


def judged(trial: Trial, measured: Measured, ceilings: Sequence[Ceiling]) -> Measured:
    """Return a trial with every arm held against the ceilings; an impossible baseline leaves nothing to compare."""
    claims = measured.claims or [None] * len(measured.arms)
    arms = [plausible(arm, claim, ceilings) for arm, claim in zip(measured.arms, claims, strict=True)]
    if arms[0].outcome == "impossible":
        reason = no_baseline(arms[0].reason)
        arms[1:] = [_without_speed(arm, "unavailable", reason) if arm.timing else arm for arm in arms[1:]]
    places = [claim.device if claim else None for claim in claims]
    beside = [arm for arm, place in zip(arms, places, strict=True) if place == places[0]]
    arms = [_doubted(arm, _two_clocks(arm.timing)) for arm in arms]
    arms = [_doubted(arm, _more_than_linear(trial, arms[0], arm)) for arm in arms]
    arms[0] = _doubted(arms[0], _handicap(trial, arms[0], beside))
    stands = [arm.outcome == "measured" for arm in arms]
    fallen = [arm.levels for arm in arms if arm.outcome != "measured"]
    arms = [replace(arm, gain=None, gain_over={}) if arm.gain_over in fallen else arm for arm in arms]
    return replace(
        measured,
        arms=arms,
        samples_s=[samples if here else () for samples, here in zip(measured.samples_s, stands, strict=True)],
        log_ratios=[ratios if here else () for ratios, here in zip(measured.log_ratios, stands, strict=True)],
    )


def plausible(arm: ArmRecord, claim: Claim | None, ceilings: Sequence[Ceiling]) -> ArmRecord:
    """Return the arm with the rates that it implies; one that would break a ceiling is ``impossible``."""
    if claim is None or arm.timing is None:
        return arm
    fast_s = _quantile(arm.timing, FAST_QUANTILE)
    demands = [demand for demand in _demands(claim, ceilings) if demand.amount > 0 and demand.ceilings]
    if fast_s <= 0:
        return _without_speed(arm, "impossible", f"it takes no time: {LOOK_FOR}") if demands else arm
    rates = []
    for demand in demands:
        fast = demand.amount / demand.saving / fast_s
        bound = next((each for each in demand.ceilings if fast <= MARGIN * each.per_s), None)
        if bound is None:
            return _without_speed(arm, "impossible", _broken(fast, demand.ceilings[-1]))
        per_s = demand.amount / arm.timing.median_s
        rates.append(Rate(ceiling=bound.name, per_s=per_s, share=per_s / bound.per_s))
    return replace(arm, rates=rates)


def _doubted(arm: ArmRecord, sentence: str | None) -> ArmRecord:
    return replace(arm, flags=[*arm.flags, sentence]) if sentence else arm


def _two_clocks(timing: Timing | None) -> str | None:
    """Say that a device is idle for most of the time, or that it works for longer than the wall clock tells."""
    if timing is None or timing.device_s is None or timing.median_s <= 0:
        return None
    share = timing.device_s / timing.median_s
    if share > DISAGREE_TIMES:
        device, wall = seconds(timing.device_s), seconds(timing.median_s)
        return (
            f"its two clocks disagree: an iteration takes the device {device}, by the wall clock {wall}; a synchronise "
            "is missing, or iterations overlap"
        )
    if share < HOST_BOUND_SHARE:
        return f"host-bound: the device was busy for {percent(share)} of the time"
    return None


def _handicap(trial: Trial, baseline: ArmRecord, beside: Sequence[ArmRecord]) -> str | None:
    """Say that a baseline is far under every ceiling of its work while an arm beside it, on its device, is not."""
    nearest = max(baseline.rates, key=lambda each: each.share, default=None)
    if nearest is None or nearest.share >= HANDICAPPED_SHARE:
        return None
    cores = [max(1.0, _growth(trial, baseline.levels, arm.levels) or 1.0) for arm in beside]
    surely = [arm.effect.low if arm.effect else 0.0 for arm in beside]
    if not any(low > HANDICAPPED_TIMES * growth for low, growth in zip(surely, cores, strict=True)):
        return None
    return (
        f"the baseline reaches {percent(nearest.share)} of {nearest.ceiling}: a speedup over it may say more about the "
        "baseline than about the technique"
    )


def _more_than_linear(trial: Trial, baseline: ArmRecord, arm: ArmRecord) -> str | None:
    """Say that a speedup is larger than the growth of what was put to work.

    It is a doubt and no veto: more cores bring more cache, and a problem that then fits into it is truly faster than
    their number tells.
    """
    growth = _growth(trial, baseline.levels, arm.levels)
    if arm.effect is None or growth is None or not 1 < growth < arm.effect.low / (1 + trial.plan.noise):
        return None
    return (
        f"at least {significant(arm.effect.low)} times as fast with {significant(growth)} times the cores: caches that "
        "grow with them can do that, and so can a baseline that is held back or work that was skipped"
    )


def _growth(trial: Trial, baseline: Levels, candidate: Levels) -> float | None:
    """Return how many times the cores an arm puts to work; None where it differs in something else."""
    growth = 1.0
    for name in [name for name, level in candidate.items() if level != baseline[name]]:
        resources = find_technique(trial.framework, name).resources
        if resources is None:
            return None
        growth *= resources(candidate[name]) / resources(baseline[name])
    return growth


def _without_speed(arm: ArmRecord, outcome: Outcome, reason: str) -> ArmRecord:
    return replace(arm, outcome=outcome, reason=reason, timing=None, effect=None, gain=None)


def _broken(per_s: float, ceiling: Ceiling) -> str:
    return (
        f"its samples imply {rate(per_s, ceiling.unit)}, {significant(per_s / ceiling.per_s)} times the "
        f"{rate(ceiling.per_s, ceiling.unit)} that is the fastest seen here ({ceiling.name}): {LOOK_FOR}"
    )


def _quantile(timing: Timing, share: float) -> float:
    return timing.quantiles_s[round(share * (len(timing.quantiles_s) - 1))]


def _demands(claim: Claim, ceilings: Sequence[Ceiling]) -> Iterator[_Demand]:
    work, devices = claim.work, _devices(claim.device, ceilings)
    memory = _ascending(find(ceilings, f"{device} memory", work.memory_bytes) for device in devices)
    yield _Demand(amount=work.memory_bytes, ceilings=memory[-1:])
    yield _Demand(amount=work.operations, ceilings=_matrix(claim, devices, ceilings), saving=work.saving)
    for way, amount in (("to device", work.to_device_bytes), ("from device", work.from_device_bytes)):
        kinds = [f"{device} {way} {kind}" for device in devices for kind in ("pageable", "pinned")]
        yield _Demand(amount=amount, ceilings=_ascending(find(ceilings, kind) for kind in kinds))
    read = [find(ceilings, "disk"), find(ceilings, "page cache"), find(ceilings, "cpu memory", work.disk_bytes)]
    yield _Demand(amount=work.disk_bytes, ceilings=_ascending(read))


def _devices(label: str | None, ceilings: Sequence[Ceiling]) -> list[str]:
    """Return the device of that label; every known one where none was stated."""
    if label is None:
        return list(dict.fromkeys(each.name.partition(" ")[0] for each in ceilings if " memory" in each.name))
    return [label.replace("GPU:", "cuda:")]  # TensorFlow's word for the same device


def _matrix(claim: Claim, devices: Sequence[str], ceilings: Sequence[Ceiling]) -> list[Ceiling]:
    """Return the ceilings of a matrix rate: that of the stated precision first, or the fastest where none is stated.

    Float32 may be computed in TF32, which several libraries do unless told otherwise.
    """
    prefixes = tuple(f"{device} matrix " for device in devices)
    known = _ascending(each for each in ceilings if each.name.startswith(prefixes))
    together = [each for each in known if not each.name.endswith(APART)]
    stated = claim.work.precision
    nearest = [each for each in together if _precision(each) == stated] or together[-1:]
    allowed = {stated, "tf32"} if stated == "fp32" else {_precision(each) for each in nearest}
    beyond = [each for each in known if claim.loose or _precision(each) in allowed]
    return nearest + [each for each in beyond if each.per_s > nearest[-1].per_s]


def _precision(ceiling: Ceiling) -> str:
    return ceiling.name.removesuffix(APART).rpartition(" ")[2]


def _ascending(found: Iterable[Ceiling | None]) -> list[Ceiling]:
    return sorted((each for each in found if each is not None), key=lambda each: each.per_s)
