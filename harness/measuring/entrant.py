"""An entrant: one arm of a trial on its way through building, checking and timing, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from harness.errors import HarnessError, LazyOutput, Unavailable
from harness.experiment import (
    ROUNDING,
    Arm,
    Build,
    Levels,
    Technique,
    Trial,
    Work,
    adopt,
    find_technique,
    find_workload,
    stack,
)
from harness.frameworks import Framework
from harness.measuring.evidence import Judgement
from harness.measuring.measured import Claim
from harness.measuring.referee import Referee
from harness.record import ArmRecord, Effect, Outcome, Placement, Price, Timing

STRETCHES = 40  # of a course in time, enough to see a drift or a step
QUANTILES = 21  # every 5 %, enough to draw a distribution and small enough to keep


@dataclass(kw_only=True)
class Entrant:
    """One arm's state within a trial. It stands until something withdraws it, with a sentence that says why.

    ``comparable`` says whether it must compute what the baseline computes, ``exact`` whether in the same precision.
    """

    levels: Levels
    build: Callable[[], Arm]
    tolerance: float
    comparable: bool
    exact: bool = True
    loose: bool = False
    outcome: Outcome = "measured"
    reason: str = ""
    arm: Arm | None = None
    output: list[np.ndarray] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    fingerprint: Sequence[int] = ()
    probe_s: float = 0.0
    label: str | None = None
    resident_bytes: int = 0
    items: float | None = None
    build_s: float = 0.0
    cold_s: float = 0.0
    timing: Timing | None = None
    price: Price = field(default_factory=Price)
    effect: Effect | None = None
    samples_s: tuple[float, ...] = ()
    log_ratios: tuple[float, ...] = ()
    quiet: tuple[bool, ...] = ()
    observed: dict[str, float] = field(default_factory=dict)
    watched: bool = False
    work: Work | None = None
    placement: Placement | None = None
    flags: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The levels in words, such as ``amp bf16``."""
        return ", ".join(f"{technique.replace('_', '-')} {level}" for technique, level in self.levels.items())

    @property
    def stands(self) -> bool:
        """Whether nothing has withdrawn it so far."""
        return self.outcome == "measured"

    @property
    def claim(self) -> Claim | None:
        """What its speed is held against."""
        return Claim(work=self.work, device=self.label, loose=self.loose) if self.work else None

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

    @contextmanager
    def withdrawing(self, framework: Framework) -> Iterator[None]:
        """Turn an exception into its recorded outcome."""
        try:
            yield
        except (Unavailable, ImportError) as error:  # a library that a framework loads late may be missing
            self.withdraw("unavailable", _first_line(error))
        except LazyOutput as error:
            self.withdraw("wrong-work", str(error))
        except HarnessError as error:
            self.withdraw("failed", str(error))
        except Exception as error:
            memory = isinstance(error, MemoryError) or framework.is_out_of_memory(error)
            self.withdraw("out-of-memory" if memory else "failed", f"{type(error).__name__}: {_first_line(error)}")
            framework.free()

    def keep(self, referee: Referee, place: int) -> None:
        """Keep what the referee measured of the arm in that place."""
        warmup = referee.warmups[place]
        self.samples_s = tuple(referee.samples_s[place])
        self.timing = Timing(
            median_s=float(np.median(self.samples_s)),
            quantiles_s=quantiles(self.samples_s),
            blocks=len(self.samples_s),
            iterations_per_block=referee.iterations[place],
            cold_s=self.cold_s,
            build_s=self.build_s,
            warmup_blocks=len(warmup.blocks_s),
            warmup_settled=warmup.settled,
            warmup_s=in_order([block_s / referee.iterations[place] for block_s in warmup.blocks_s]),
        )
        if place:
            self.log_ratios = tuple(referee.log_ratios[place])
            self.quiet = tuple(referee.quiet(place).tolist())
            self.effect = effect_of(referee.judgement(place), self.log_ratios)

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
            placement=self.placement,
            flags=self.flags,
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
        exact=all(
            technique.compared_at(level) and technique.tolerance_at(level) <= ROUNDING for technique, level in switched
        ),
        loose=any(technique.tolerance_at(level) > ROUNDING for technique, level in [*toggled, *fixed]),
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
        warmup_s=timings[0].warmup_s,
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
        log_ratios_in_order=in_order(log_ratios),
    )


def quantiles(values: Sequence[float]) -> tuple[float, ...]:
    """Return evenly spaced quantiles, from the least to the greatest, to six significant digits."""
    return _rounded(np.quantile(values, np.linspace(0, 1, QUANTILES)), digits=6)


def in_order(values: Sequence[float]) -> tuple[float, ...]:
    """Return values in the order in which they were taken: all, or the medians of stretches of equal length."""
    if len(values) <= STRETCHES:
        return _rounded(values, digits=4)
    return _rounded((np.median(stretch) for stretch in np.array_split(values, STRETCHES)), digits=4)


def _rounded(values: Iterable[float], *, digits: int) -> tuple[float, ...]:
    return tuple(float(f"{value:.{digits}g}") for value in values)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]
