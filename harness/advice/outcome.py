"""What an advice says: the configuration, what it gains and costs, what was tried, and why the rest was dropped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from harness.advice.racing import ALPHA, NOISE, Race
from harness.advice.space import Configuration
from harness.experiment import Levels, Trial, Workload, find_technique
from harness.measuring.applicable import Applicable
from harness.record import Verdict


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A speedup with its interval and verdict. An end that nothing bounds is None."""

    speedup: float
    low: float
    high: float | None
    verdict: Verdict
    pairs: int


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A configuration that was tried: what is switched, its estimated speedup over the baseline, and what became of it.

    ``dropped`` is the sentence that says why it was dropped, "" for the advised one and those that stayed in the race.
    ``beside_best`` compares it with the advised one, None where the two were never timed side by side.
    """

    changes: Levels
    speedup: float | None
    dropped: str
    beside_best: Compared | None = None
    memory_bytes: float | None = None
    error: float | None = None


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The advised configuration. ``levels`` are those of every technique that was free, ``changes`` the switched ones.

    ``settings`` maps each technique that is switched to what a user writes for it. ``gain`` is over the baseline, and
    None where that is the advice. ``tried`` holds every configuration that was tried, the fastest first. ``left_out``
    maps techniques, or levels of them, to the reason. ``untried`` maps techniques to the levels for which there was no
    time. ``dearest_s`` is what the longest heat took, and ``dearest`` what was switched in its last configuration.
    ``interrupted`` says that Ctrl-C ended the search.
    """

    workload: str
    framework: str
    unit: str
    levels: Levels
    changes: Levels
    settings: Mapping[str, str]
    held: Mapping[str, str]
    gain: Compared | None
    memory_bytes: float | None
    error: float | None
    deterministic: bool
    configurations: int
    tried: tuple[Tried, ...]
    alpha: float
    noise: float
    budget_s: float
    spent_s: float
    dearest_s: float
    dearest: Levels
    interrupted: bool = False
    untried: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown_slower(self) -> int:
        """How many configurations a verdict has shown to be slower than the advised one."""
        return sum(each.beside_best is not None and each.beside_best.verdict == "slower" for each in self.tried)

    @property
    def not_told_apart(self) -> list[Tried]:
        """The configurations that stayed in the search to its end beside the advised one."""
        return [each for each in self.tried if not each.dropped and each.changes != self.changes]


def advice(
    work: Workload,
    trial: Trial,
    race: Race,
    best: Configuration,
    found: Iterable[Applicable],
    *,
    device: str,
) -> Advice:
    """Return what a race has come to."""
    board, space = race.board, race.space
    changes = space.changes(best)
    settings = {
        name: find_technique(trial.framework, name).recipe_at(level, device)
        for name, level in {**trial.fixed, **changes}.items()
    }
    seen = board.first[best]
    return Advice(
        workload=work.name,
        framework=trial.framework,
        unit=work.unit,
        levels=space.levels(best),
        changes=changes,
        settings={name: text for name, text in settings.items() if text},
        held={**trial.fixed, **{name: str(value) for name, value in trial.problem.items()}},
        gain=_compared(race, best, space.baseline),
        memory_bytes=seen.memory_bytes,
        error=seen.error,
        deterministic=race.objection is not None,
        configurations=space.size,
        tried=_tried(race, best),
        alpha=ALPHA,
        noise=NOISE,
        budget_s=race.budget_s,
        spent_s=race.expense.spent_s,
        dearest_s=race.expense.dearest[0],
        dearest=space.changes(race.expense.dearest[1]),
        interrupted=race.interrupted,
        untried=_untried(race),
        left_out=_left_out(found),
    )


def _tried(race: Race, best: Configuration) -> tuple[Tried, ...]:
    board, space = race.board, race.space
    speedups = {each: math.exp(board.log_speedup(each)) for each, seen in board.first.items() if not seen.reason}
    ordered = sorted(board.first, key=lambda each: -speedups.get(each, 0.0))
    return tuple(
        Tried(
            changes=space.changes(each),
            speedup=speedups.get(each),
            dropped=board.dropped.get(each, ""),
            beside_best=_compared(race, each, best),
            memory_bytes=board.first[each].memory_bytes,
            error=board.first[each].error,
        )
        for each in ordered
    )


def _untried(race: Race) -> dict[str, tuple[str, ...]]:
    """Return the levels that no configuration had that was tried."""
    columns = zip(race.space.axes, zip(*race.board.first, strict=True), strict=True)
    untried = {axis.technique: tuple(level for level in axis.levels if level not in tried) for axis, tried in columns}
    return {name: levels for name, levels in untried.items() if levels}


def _compared(race: Race, candidate: Configuration, other: Configuration) -> Compared | None:
    judged = race.board.judged(candidate, other, alpha=ALPHA, noise=NOISE) if candidate != other else None
    if judged is None:
        return None
    return Compared(
        speedup=judged.speedup,
        low=judged.low,
        high=judged.kept_high,
        verdict=judged.verdict,
        pairs=judged.pairs,
    )


def _left_out(found: Iterable[Applicable]) -> dict[str, str]:
    return {
        each.technique if level == "*" else f"{each.technique} {level}": reason
        for each in found
        for level, reason in each.refused.items()
    }
