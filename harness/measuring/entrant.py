"""An entrant: one arm of a trial on its way through building, checking and timing, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.experiment import Arm, Build, Levels, Technique, Trial, adopt, find_technique, find_workload, stack
from harness.measuring.evidence import Judgement
from harness.record import ArmRecord, Effect, Outcome, Price, Timing

QUANTILES = 21  # every 5 %, enough to draw a distribution and small enough to keep


@dataclass(kw_only=True)
class Entrant:
    """One arm's state within a trial. It stands until something withdraws it, with a sentence that says why."""

    levels: Levels
    build: Callable[[], Arm]
    tolerance: float
    comparable: bool
    outcome: Outcome = "measured"
    reason: str = ""
    arm: Arm | None = None
    output: list[np.ndarray] = field(default_factory=list)
    items: float | None = None
    build_s: float = 0.0
    cold_s: float = 0.0
    timing: Timing | None = None
    price: Price = field(default_factory=Price)
    effect: Effect | None = None
    observed: dict[str, float] = field(default_factory=dict)
    watched: bool = False

    @property
    def name(self) -> str:
        """The levels in words, such as ``amp bf16``."""
        return ", ".join(f"{technique.replace('_', '-')} {level}" for technique, level in self.levels.items())

    @property
    def stands(self) -> bool:
        """Whether nothing has withdrawn it so far."""
        return self.outcome == "measured"

    @property
    def built(self) -> Arm:
        """The built arm."""
        assert self.arm is not None, f"{self.name} is used before it was built"
        return self.arm

    def withdraw(self, outcome: Outcome, reason: str) -> None:
        """Take it out of the trial."""
        self.outcome, self.reason = outcome, reason
        self.close()

    def close(self) -> None:
        """Dispose of the built arm."""
        if self.arm is not None:
            arm, self.arm = self.arm, None
            arm.close()

    def record(self) -> ArmRecord:
        """Return what became of it; an arm that was withdrawn shows its reason instead of a speed."""
        return ArmRecord(
            levels=self.levels,
            outcome=self.outcome,
            reason=self.reason,
            items=self.items,
            timing=self.timing if self.stands else None,
            price=self.price,
            effect=self.effect if self.stands else None,
            observed=self.observed,
        )


def entrants(trial: Trial) -> list[Entrant]:
    """Return the trial's arms, baseline first, ready to be built."""
    adopt(*trial.techniques)
    workload = find_workload(trial.workload) if isinstance(trial.workload, str) else trial.workload
    fixed = [(find_technique(trial.framework, name), level) for name, level in trial.fixed.items()]

    def problem(**options: object) -> Arm:
        return workload.build(trial.setting, **trial.problem, **options)

    return [_entrant(trial, levels, fixed, problem) for levels in trial.arms]


def _entrant(trial: Trial, levels: Levels, fixed: list[tuple[Technique, str]], problem: Build) -> Entrant:
    toggled = [(find_technique(trial.framework, name), level) for name, level in levels.items()]
    switched = [pair for pair in toggled if pair[1] != trial.arms[0][pair[0].name]]
    return Entrant(
        levels=levels,
        build=lambda: stack([*toggled, *fixed], problem),
        tolerance=sum(technique.tolerance_at(level) for technique, level in switched),
        comparable=all(technique.compared_at(level) for technique, level in switched),
    )


def timing_of(
    samples_s: Sequence[float], *, iterations: int, entrant: Entrant, warmup_blocks: int, warmup_settled: bool
) -> Timing:
    """Return an arm's samples, summarised."""
    return Timing(
        median_s=float(np.median(samples_s)),
        quantiles_s=quantiles(samples_s),
        blocks=len(samples_s),
        iterations_per_block=iterations,
        cold_s=entrant.cold_s,
        build_s=entrant.build_s,
        warmup_blocks=warmup_blocks,
        warmup_settled=warmup_settled,
    )


def timing_across(timings: Sequence[Timing], samples_s: Sequence[float]) -> Timing:
    """Return one timing for an arm that several workers timed: all of its samples, the typical cost of starting."""
    return Timing(
        median_s=float(np.median(samples_s)),
        quantiles_s=quantiles(samples_s),
        blocks=len(samples_s),
        iterations_per_block=timings[0].iterations_per_block,
        cold_s=float(np.median([timing.cold_s for timing in timings])),
        build_s=float(np.median([timing.build_s for timing in timings])),
        warmup_blocks=max(timing.warmup_blocks for timing in timings),
        warmup_settled=all(timing.warmup_settled for timing in timings),
    )


def effect_of(judgement: Judgement, log_ratios: Sequence[float]) -> Effect:
    """Return a judgement as it is kept."""
    return Effect(
        speedup=judgement.speedup,
        low=judgement.low,
        high=judgement.high if np.isfinite(judgement.high) else None,
        verdict=judgement.verdict,
        pairs=judgement.pairs,
        log_ratios=quantiles(log_ratios),
    )


def quantiles(values: Sequence[float]) -> tuple[float, ...]:
    """Return evenly spaced quantiles, from the least to the greatest, to six significant digits."""
    return tuple(float(f"{value:.6g}") for value in np.quantile(values, np.linspace(0, 1, QUANTILES)))
