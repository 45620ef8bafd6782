"""What holds training back: the cause of low utilisation, from a trial whose candidates each take one burden off.

A burden's share of the time is what the effect says: training that is s times as fast without it spends 1 − 1/s of its
time on it. What no burden explains is the computation itself, its own traffic with memory included.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from accelbench import units
from accelbench.results.arm_table import without
from accelbench.schema.result import ArmRecord, Effect, Run, TrialRecord
from accelbench.text import format_case, format_place, name_tests

NOTHING_OFF, DECODED, RESIDENT = "none", "decoded", "resident"
CAUSES = {
    DECODED: "input-bound",
    RESIDENT: "transfer-bound",
    "silent": "synchronisation-bound",
    "larger-batch": "launch-bound",
}
COMPUTE = "compute-bound"
BINDS = 0.5  # training is bound by what takes more of its time than everything else together
NEGLIGIBLE = 0.05  # a share of the time that holds nothing back
_GAINS = {
    DECODED: "without decoding it is {} as fast",
    RESIDENT: "with decoded batches on the device instead of the host it is {} as fast",
    "silent": "without reading the loss it is {} as fast",
    "larger-batch": "with larger batches it is {} as fast per {unit}",
}
_BUSY = {"CPU": "cpu_utilisation", "GPU": "gpu_utilisation"}


@dataclass(frozen=True, kw_only=True)
class Bottleneck:
    """What holds one trial back. ``causes`` are those with a share of the time worth naming, the largest first.

    There are none where it is undecided. ``sentence`` states the finding with its intervals.
    """

    trial: str
    workload: str
    framework: str
    causes: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, kw_only=True)
class _Burden:
    """One burden: the ``share`` of the time that goes with it, between ``least`` and ``most``, and that in words."""

    cause: str
    gain: str
    share: float
    least: float
    most: float
    sure: bool

    @property
    def counts(self) -> bool:
        """Whether it is sure to take time, and enough of it to matter."""
        return self.sure and self.share >= NEGLIGIBLE

    @property
    def open(self) -> bool:
        """Whether it may matter, or not."""
        return not self.sure and self.most > NEGLIGIBLE


def bottlenecks(run: Run) -> list[Bottleneck]:
    """Return what holds training back in every trial of a run that takes burdens off."""
    names = name_tests(run.trials)
    return [found for trial in run.trials if (found := bottleneck(trial, names.get(trial.id, ""))) is not None]


def bottleneck(trial: TrialRecord, test: str = "") -> Bottleneck | None:
    """Return what holds a workload back; None where the trial takes no burdens off, or its baseline has no speed.

    Args:
        trial: one trial of a run.
        test: name of its test, where another trial measures the same.
    """
    baseline = trial.arms[0]
    ablations = [name for name, kind in trial.kinds.items() if kind == "ablation"]
    name = next((name for name in ablations if baseline.levels.get(name) == NOTHING_OFF), None)
    if name is None or baseline.timing is None:
        return None
    alike = {
        arm.levels[name]: arm for arm in trial.arms[1:] if without(arm.levels, name) == without(baseline.levels, name)
    }
    if not CAUSES.keys() & alike.keys():
        return None
    effects = {level: arm.effect for level, arm in alike.items() if arm.outcome == "measured" and arm.effect}
    missing = [level for level in CAUSES if level not in effects]
    if RESIDENT in alike and alike[RESIDENT].outcome == "unavailable":
        missing.remove(RESIDENT)  # where host and device are one, nothing is sent
    place = format_place(
        trial.workload, format_case(trial.framework, problem=trial.problem, fixed=trial.fixed, test=test)
    )
    causes, sentence = _describe_causes(place, list(_burdens(effects, trial.unit)), missing)
    return Bottleneck(
        trial=trial.id,
        workload=trial.workload,
        framework=trial.framework,
        causes=causes,
        sentence="; ".join([sentence, *_busy(baseline)]),
    )


def _busy(arm: ArmRecord) -> list[str]:
    return [f"{part} {units.percent(arm.observed[name])} busy" for part, name in _BUSY.items() if name in arm.observed]


def _describe_causes(place: str, burdens: Sequence[_Burden], missing: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return the causes, the largest first, and the sentence about them."""
    held = sorted((burden for burden in burdens if burden.counts), key=lambda burden: burden.share, reverse=True)
    causes = tuple(burden.cause for burden in held)
    computing = 1 - sum(max(0.0, burden.most) for burden in burdens)  # at least
    said = held
    if held and held[0].least > BINDS:
        found = f"{place} is {causes[0]}"
    elif computing > BINDS and not missing:
        found = f"{place} is {'mostly ' if held else ''}{COMPUTE}{'' if held else ', since no ablation pays much'}"
        causes, said = (COMPUTE, *causes), held or list(burdens)
    elif held:
        found = f"{place} is {', '.join(f'partly {cause}' for cause in causes)}"
    else:
        found = f"it is undecided what holds {place} back"
    parts = [burden.gain for burden in said]
    parts += [f"undecided: {burden.gain}" for burden in burdens if burden.open and burden not in said]
    parts += [f"not measured: {', '.join(missing)}"] if missing else []
    return causes, f"{found}: {'; '.join(parts)}"


def _burdens(effects: Mapping[str, Effect], unit: str) -> Iterator[_Burden]:
    for level, effect in effects.items():
        if level != RESIDENT and level in CAUSES:
            yield _burden_of(level, effect, unit)
    if DECODED in effects and RESIDENT in effects:
        yield _burden_of_sending(effects[DECODED], effects[RESIDENT])


def _burden_of(level: str, effect: Effect, unit: str) -> _Burden:
    low, high = effect.low, effect.upper
    return _Burden(
        cause=CAUSES[level],
        gain=_GAINS[level].format(units.ratio(effect.speedup, low, high), unit=unit),
        share=1 - _inverse(effect.speedup),
        least=1 - _inverse(low),
        most=1 - _inverse(high),
        sure=effect.verdict == "faster",
    )


def _burden_of_sending(decoded: Effect, resident: Effect) -> _Burden:
    """Return what sending costs beyond decoding: both intervals hold together, and so does what they leave between."""
    low, high, resident_low, resident_high = decoded.low, decoded.upper, resident.low, resident.upper
    least = _inverse(high) - _inverse(resident_low)
    ratio = units.ratio(
        resident.speedup * _inverse(decoded.speedup), resident_low * _inverse(high), resident_high * _inverse(low)
    )
    return _Burden(
        cause=CAUSES[RESIDENT],
        gain=_GAINS[RESIDENT].format(ratio),
        share=_inverse(decoded.speedup) - _inverse(resident.speedup),
        least=least,
        most=min(1.0, _inverse(low)) - _inverse(resident_high),
        sure=least > 0,
    )


def _inverse(speedup: float) -> float:
    """Return the time that is left at a speedup, as a share of the baseline's."""
    return 1 / speedup if speedup > 0 else math.inf
