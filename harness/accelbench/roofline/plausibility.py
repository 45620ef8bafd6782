"""Compare an arm's rates with the ceilings of the machine: a rate above a ceiling is an error, not a speed.

The samples' tenth percentile decides. More than a tenth of them must be too fast, so that a single reading of a noisy
clock rejects nothing, but work that is skipped only now and then is still found. The report shows the median.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from accelbench.core import AS_IS, Levels, Trial, find_technique
from accelbench.measuring.trial_result import StatedWork, TrialResult, no_baseline
from accelbench.roofline.ceilings import find_ceiling
from accelbench.roofline.probes.probe import PER_CORE, memory_ceiling
from accelbench.schema.reasons import Reason, reason
from accelbench.schema.result import ArmRecord, Ceiling, Outcome, Rate, Timing

MARGIN = 1.05  # a ceiling is the best of many readings, and a reading is a few per cent off
FAST_QUANTILE = 0.1
HANDICAPPED_SHARE = 0.05
# Stated work is the least that must be done, so many honest arms lie far below every ceiling. A baseline counts as
# handicapped only if another arm on its device is this many times as fast, beyond what more cores explain.
HANDICAPPED_TIMES = 5
# One launch and one wait for the end cost tens of microseconds of a block, which lasts at least a hundred. That alone
# leaves no device idle for half of the time.
HOST_BOUND_SHARE = 0.5
DISAGREE_TIMES = 2


@dataclass(frozen=True, kw_only=True)
class _Demand:
    """An amount of bytes or operations, and the ceilings that bound its rate, the nearest first.

    A rate above one ceiling is compared with the next: a file that should come from the disk may be in memory.
    ``saving`` is the factor by which a better algorithm may reduce the amount.
    """

    amount: float
    ceilings: list[Ceiling]
    saving: float = 1


def check_trial(trial: Trial, measured: TrialResult, ceilings: Sequence[Ceiling]) -> TrialResult:
    """Return a trial with every arm checked against the ceilings; an impossible baseline leaves nothing to compare."""
    stated_work = measured.stated_work or [None] * len(measured.arms)
    arms = [check_arm(arm, stated, ceilings) for arm, stated in zip(measured.arms, stated_work, strict=True)]
    if arms[0].outcome == "impossible":
        why = no_baseline(arms[0])
        arms[1:] = [_without_speed(arm, "unavailable", why) if arm.timing else arm for arm in arms[1:]]
    devices = [stated.device if stated else None for stated in stated_work]
    beside = [arm for arm, device in zip(arms, devices, strict=True) if device == devices[0]]
    arms = [_flag(arm, _compare_clocks(arm.timing)) for arm in arms]
    arms = [_flag(arm, _find_superlinear_speedup(trial, arms[0], arm)) for arm in arms]
    arms[0] = _flag(arms[0], _find_handicap(trial, arms[0], beside))
    is_measured = [arm.outcome == "measured" for arm in arms]
    measured_levels = [arm.levels for arm in arms if arm.outcome == "measured"]
    arms = [replace(arm, effects=[each for each in arm.effects if each.against in measured_levels]) for arm in arms]
    return replace(
        measured,
        arms=arms,
        samples_s=[samples if kept else () for samples, kept in zip(measured.samples_s, is_measured, strict=True)],
        pairs={each: pairs for each, pairs in measured.pairs.items() if all(is_measured[place] for place in each)},
    )


def check_arm(arm: ArmRecord, stated: StatedWork | None, ceilings: Sequence[Ceiling]) -> ArmRecord:
    """Return the arm with the rates that its time implies; an arm above a ceiling is ``impossible``."""
    if stated is None or arm.timing is None:
        return arm
    fast_s = arm.timing.quantile(FAST_QUANTILE)
    demands = [demand for demand in _demands(stated, ceilings) if demand.amount > 0 and demand.ceilings]
    if fast_s <= 0:
        return _without_speed(arm, "impossible", reason("no-time")) if demands else arm
    rates = []
    for demand in demands:
        fast = demand.amount / demand.saving / fast_s
        bound = next((each for each in demand.ceilings if fast <= MARGIN * each.per_s), None)
        if bound is None:
            return _without_speed(arm, "impossible", _above(demand.ceilings[-1], fast))
        per_s = demand.amount / arm.timing.median_s
        rates.append(Rate(ceiling=bound.name, per_s=per_s, share=per_s / bound.per_s))
    return replace(arm, rates=rates)


def _flag(arm: ArmRecord, doubt: Reason | None) -> ArmRecord:
    return replace(arm, flags=[*arm.flags, doubt]) if doubt else arm


def _compare_clocks(timing: Timing | None) -> Reason | None:
    """Return a flag if the device is idle for most of the time, or busy for longer than the wall clock measured."""
    if timing is None or timing.device_s is None or timing.median_s <= 0:
        return None
    share = timing.device_s / timing.median_s
    if share > DISAGREE_TIMES:
        return reason("clocks-disagree", device_s=timing.device_s, wall_s=timing.median_s)
    return reason("host-bound", device_busy=share) if share < HOST_BOUND_SHARE else None


def _find_handicap(trial: Trial, baseline: ArmRecord, beside: Sequence[ArmRecord]) -> Reason | None:
    """Return a flag if the baseline is far below every ceiling but another arm on its device is not."""
    nearest = max(baseline.rates, key=lambda each: each.share, default=None)
    if nearest is None or nearest.share >= HANDICAPPED_SHARE:
        return None
    cores = [max(1.0, _core_growth(trial, baseline.levels, arm.levels) or 1.0) for arm in beside]
    surely = [arm.effect.low if arm.effect else 0.0 for arm in beside]
    if not any(low > HANDICAPPED_TIMES * growth for low, growth in zip(surely, cores, strict=True)):
        return None
    return reason("handicapped-baseline", share=nearest.share, ceiling=nearest.ceiling)


def _find_superlinear_speedup(trial: Trial, baseline: ArmRecord, arm: ArmRecord) -> Reason | None:
    """Return a flag if a speedup exceeds the growth in cores.

    This does not reject the arm: more cores bring more cache, and a problem that then fits is faster than the number of
    cores explains.
    """
    growth = _core_growth(trial, baseline.levels, arm.levels)
    if arm.effect is None or growth is None or not 1 < growth < arm.effect.low / (1 + trial.plan.noise):
        return None
    return reason("more-than-linear", speedup=arm.effect.low, cores=growth)


def _core_growth(trial: Trial, baseline: Levels, candidate: Levels) -> float | None:
    """Return the factor by which an arm uses more cores; None if it differs in anything else."""
    growth = 1.0
    for name in [name for name, level in candidate.items() if level != baseline[name]]:
        parallelism = find_technique(trial.framework, name).parallelism
        if parallelism is None:
            return None
        if AS_IS in (baseline[name], candidate[name]):  # nobody knows how many a program uses as it stands
            return None
        growth *= parallelism(candidate[name]) / parallelism(baseline[name])
    return growth


def _without_speed(arm: ArmRecord, outcome: Outcome, why: Reason) -> ArmRecord:
    return replace(arm, outcome=outcome, reason=why, timing=None, effects=[])


def _above(ceiling: Ceiling, per_s: float) -> Reason:
    return reason(
        "above-ceiling",
        ceiling=ceiling.name,
        per_s=per_s,
        ceiling_per_s=ceiling.per_s,
        unit=ceiling.unit,
        times=per_s / ceiling.per_s,
    )


def _demands(stated: StatedWork, ceilings: Sequence[Ceiling]) -> Iterator[_Demand]:
    work, devices = stated.work, _devices(stated.device, ceilings)
    memory = _ascending(find_ceiling(ceilings, memory_ceiling(device), work.memory_bytes) for device in devices)
    yield _Demand(amount=work.memory_bytes, ceilings=memory[-1:])
    yield _Demand(amount=work.operations, ceilings=_matrix(stated, devices, ceilings), saving=work.saving)
    for way, amount in (("to device", work.to_device_bytes), ("from device", work.from_device_bytes)):
        kinds = [f"{device} {way} {kind}" for device in devices for kind in ("pageable", "pinned")]
        yield _Demand(amount=amount, ceilings=_ascending(find_ceiling(ceilings, kind) for kind in kinds))
    read = [
        find_ceiling(ceilings, "disk"),
        find_ceiling(ceilings, "page cache"),
        find_ceiling(ceilings, memory_ceiling("cpu"), work.disk_bytes),
    ]
    yield _Demand(amount=work.disk_bytes, ceilings=_ascending(read))


def _devices(label: str | None, ceilings: Sequence[Ceiling]) -> list[str]:
    """Return the device of that label; every known device if none is stated."""
    if label is None:
        return list(dict.fromkeys(each.name.partition(" ")[0] for each in ceilings if " memory" in each.name))
    return [label.replace("GPU:", "cuda:")]  # TensorFlow's name for the same device


def _matrix(stated: StatedWork, devices: Sequence[str], ceilings: Sequence[Ceiling]) -> list[Ceiling]:
    """Return the ceilings of a matrix rate: that of the stated precision first, or the fastest if none is stated.

    Float32 may be computed in TF32, the default of several libraries.
    """
    prefixes = tuple(f"{device} matrix " for device in devices)
    known = _ascending(each for each in ceilings if each.name.startswith(prefixes))
    on_all_cores = [each for each in known if not each.name.endswith(PER_CORE)]
    precision = stated.work.precision
    nearest = [each for each in on_all_cores if _precision(each) == precision] or on_all_cores[-1:]
    allowed = {precision, "tf32"} if precision == "fp32" else {_precision(each) for each in nearest}
    beyond = [each for each in known if stated.any_precision or _precision(each) in allowed]
    return nearest + [each for each in beyond if each.per_s > nearest[-1].per_s]


def _precision(ceiling: Ceiling) -> str:
    return ceiling.name.removesuffix(PER_CORE).rpartition(" ")[2]


def _ascending(found: Iterable[Ceiling | None]) -> list[Ceiling]:
    return sorted((each for each in found if each is not None), key=lambda each: each.per_s)
