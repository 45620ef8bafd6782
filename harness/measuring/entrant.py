"""An entrant: one arm of a trial on its way through building, checking and timing, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from traceback import clear_frames

import numpy as np

from harness.errors import HarnessError, LazyOutput, Unavailable
from harness.experiment import (
    ROUNDING,
    Arm,
    Build,
    Ladder,
    Levels,
    Technique,
    Trial,
    Work,
    adopt,
    find_technique,
    find_workload,
    named,
    stack,
)
from harness.frameworks import Framework
from harness.measuring.crowding import no_room
from harness.measuring.digest import effect_of, in_order, quantiles
from harness.measuring.measured import Claim
from harness.measuring.referee import Referee
from harness.record import ArmRecord, Effect, Outcome, Placement, Price, Timing


@dataclass(kw_only=True)
class Entrant:
    """One arm's state within a trial. It stands until something withdraws it, with a sentence that says why.

    Those that give the same name to what they compute must agree within the ``tolerance`` of what is switched, and of
    what rounds coarsely in every arm, since it may do so in another order; where ``exact`` also in the same precision.
    ``lower`` are the rungs below it on its ladder, the lowest first. ``rounding`` is what the coarsest technique in it
    may cost, whether switched or in every arm: where kernels add up in another order each time, so far may it stray
    from itself.
    """

    levels: Levels
    build: Callable[[], Arm]
    tolerance: float
    computes: Callable[[], tuple[str, ...]]
    lower: tuple[Entrant, ...] = ()
    exact: bool = True
    rounding: float = ROUNDING
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
    gain: Effect | None = None
    gain_over: Levels = field(default_factory=dict)
    samples_s: tuple[float, ...] = ()
    log_ratios: tuple[float, ...] = ()
    gains: tuple[float, ...] = ()
    quiet: tuple[bool, ...] = ()
    observed: dict[str, float] = field(default_factory=dict)
    watched: bool = False
    work: Work | None = None
    placement: Placement | None = None
    flags: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The levels in words, such as ``amp bf16``."""
        return named(self.levels)

    @property
    def stands(self) -> bool:
        """Whether nothing has withdrawn it so far."""
        return self.outcome == "measured"

    @property
    def below(self) -> Entrant | None:
        """The nearest rung below that stands."""
        return next((rung for rung in reversed(self.lower) if rung.stands), None)

    @property
    def claim(self) -> Claim | None:
        """What its speed is held against."""
        return Claim(work=self.work, device=self.label, loose=self.rounding > ROUNDING) if self.work else None

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
            clear_frames(error.__traceback__)  # they hold what the step had made, and with it the memory
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
        builds = referee.builds if referee.spreads else 1
        if place:
            self.log_ratios = tuple(referee.log_ratios[place])
            self.quiet = tuple(referee.quiet(place).tolist())
            self.effect = effect_of(referee.judgement(place), self.log_ratios, builds=builds)
        if self.below is not None:
            self.gains = tuple(referee.gains[place]) or self.log_ratios  # the rung below may be the baseline
            gained = place in referee.below
            self.gain = effect_of(referee.gain(place), self.gains, builds=builds) if gained else self.effect
            self.gain_over = self.below.levels

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
            gain=self.gain if self.stands else None,
            gain_over=self.gain_over if self.stands else {},
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

    made: list[Entrant] = []
    for place in range(len(trial.arms)):
        made.append(_entrant(trial, place, made, fixed, problem))
    return made


def _entrant(
    trial: Trial, place: int, before: Sequence[Entrant], fixed: list[tuple[Technique, str]], problem: Build
) -> Entrant:
    levels = trial.arms[place]
    lower = tuple(before[below] for below in trial.lower(place))
    smaller = [before[other] for other in trial.smaller(place)]
    toggled = [(find_technique(trial.framework, name), level) for name, level in levels.items()]
    switched = [pair for pair in toggled if pair[1] != trial.arms[0][pair[0].name]]

    @cache
    def applied() -> list[tuple[Technique, str]]:
        """Leave out of a ladder what did not stand on the rungs below when this one was first asked for."""
        fallen = [rung.levels for rung in lower if not rung.stands]
        return [(_without(technique, fallen), level) for technique, level in toggled]

    def computes() -> tuple[str, ...]:
        away = [(technique, level) for technique, level in applied() if level != trial.arms[0][technique.name]]
        return tuple(filter(None, (technique.computes(level) for technique, level in away)))

    def build() -> Arm:
        if reason := no_room(smaller):
            raise Unavailable(reason)
        return stack([*applied(), *fixed], problem)

    everywhere = [technique.tolerance_at(level) for technique, level in fixed]
    return Entrant(
        levels=levels,
        lower=lower,
        build=build,
        tolerance=sum(technique.tolerance_at(level) for technique, level in switched)
        + sum(each for each in everywhere if each > ROUNDING),
        computes=computes,
        exact=all(technique.tolerance_at(level) <= ROUNDING for technique, level in switched),
        rounding=max([ROUNDING, *everywhere, *(technique.tolerance_at(level) for technique, level in toggled)]),
    )


def _without(technique: Technique, fallen: Sequence[Levels]) -> Technique:
    if isinstance(technique, Ladder):
        return technique.without([levels[technique.name] for levels in fallen])
    return technique


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:300]
