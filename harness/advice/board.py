"""The board: what has been seen of every configuration, and how two of them compare."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.advice.space import Configuration
from harness.measuring.evidence import Judgement, Spread, judge_groups

LEAST_FREEDOM = 3  # of a spread that is learnt from the race alone; that of first looks, which are short, is wider


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What one heat showed of a configuration.

    ``log_ratios`` are its log speedups per item over the first of the heat, one for each round, none for the first
    itself. ``reason`` says why it was not measured, "" where it was, and ``hopeless`` that it is no use to
    try it again.
    """

    reason: str = ""
    log_ratios: tuple[float, ...] = ()
    items: float | None = None
    step_s: float | None = None
    memory_bytes: float | None = None
    error: float | None = None
    hopeless: bool = False


Heat = Mapping[Configuration, np.ndarray]  # the log speedups of each configuration over the first, round by round


@dataclass(kw_only=True)
class Board:
    """Everything that was seen.

    ``first`` is how each configuration was seen first; ``heats`` are log ratios, ``raced`` those since the race began.
    """

    baseline: Configuration
    first: dict[Configuration, Seen] = field(default_factory=dict)
    dropped: dict[Configuration, str] = field(default_factory=dict)
    heats: list[Heat] = field(default_factory=list)
    raced: list[Heat] = field(default_factory=list)
    _finalists: int = 0  # until the race begins
    _estimates: dict[Configuration, float] = field(default_factory=dict)  # until the next heat

    def enter(self, heat: Mapping[Configuration, Seen]) -> None:
        """Add what a heat showed, its first configuration being what the others were paired with."""
        rounds = max((len(seen.log_ratios) for seen in heat.values()), default=0)
        reference = next(iter(heat))
        ratios = {each: np.asarray(seen.log_ratios) for each, seen in heat.items() if seen.log_ratios}
        self.heats.append({reference: np.zeros(rounds)} | ratios)
        if self.racing:
            self.raced.append(self.heats[-1])
        self._estimates.clear()
        for configuration, seen in heat.items():
            first = self.first.setdefault(configuration, seen)
            # A reference that came through before is lost for the sake of what it was timed beside.
            if seen.reason and (configuration != reference or first is seen):
                self.dropped.setdefault(configuration, seen.reason)

    @property
    def racing(self) -> bool:
        """Whether the race has begun."""
        return self._finalists > 0

    def begin_race(self, finalists: int) -> None:
        """Let estimates and judgements rest on the heats from now on, by which nobody was chosen to race."""
        self._finalists = finalists
        self._estimates.clear()

    def judged(self, candidate: Configuration, other: Configuration, *, alpha: float, noise: float) -> Judgement | None:
        """Return the judgement of a candidate against another, or None where they never raced side by side.

        Every heat builds its configurations afresh, and no build is quite like another: each is a group of its own, and
        how far they lie apart is learnt from all that raced. Where nobody did, the first looks are all there is.
        ``alpha`` is of all judgements together: who leads was chosen by looking, so any two may come to be compared.
        """
        heats, rivals = (self.raced, self._finalists) if self.raced else (self.heats, len(self.first))
        met, each = _met(heats, candidate, other), alpha / max(1, math.comb(rivals, 2))
        return judge_groups(met, alpha=each, noise=noise, spread=self._spread()) if met else None

    def log_speedup(self, configuration: Configuration) -> float:
        """Return the estimated log speedup over the baseline, by way of a third one where the two never met."""
        if configuration not in self._estimates:
            self._estimates[configuration] = self._estimated(configuration)
        return self._estimates[configuration]

    def _estimated(self, configuration: Configuration) -> float:
        if configuration == self.baseline:
            return 0.0
        direct = _met(self.raced, configuration, self.baseline) or _met(self.heats, configuration, self.baseline)
        if direct:
            return _centre(direct)
        reference = next(next(iter(heat)) for heat in self.heats if configuration in heat)
        return _centre(_met(self.heats, configuration, reference)) + self.log_speedup(reference)

    def _spread(self) -> Spread:
        """Return how far the medians of two configurations lie apart in one heat and in another."""
        raced = spread_between(self.raced)
        return raced if raced.freedom >= LEAST_FREEDOM else spread_between(self.heats)

    def standing(self) -> list[Configuration]:
        """Return the configurations that nothing speaks against, the fastest first."""
        left = [each for each in self.first if each not in self.dropped]
        return sorted(left, key=self.log_speedup, reverse=True)

    def drop(self, configurations: Sequence[Configuration], reason: str) -> None:
        """Take configurations out, for one reason."""
        for each in configurations:
            self.dropped.setdefault(each, reason)


def _met(heats: Iterable[Heat], candidate: Configuration, other: Configuration) -> list[np.ndarray]:
    """Return the candidate's log speedups over another, for each heat in which both were timed.

    In each round the order is a coin's, so the sign of the difference of any two is a fair coin's where the two
    are the same, which is all that the referee's judgement of a heat rests on.
    """
    both = ((heat[candidate], heat[other]) for heat in heats if candidate in heat and other in heat)
    return [mine[: len(its)] - its[: len(mine)] for mine, its in both]


def _centre(groups: Sequence[np.ndarray]) -> float:
    return float(np.mean([np.median(group) for group in groups]))


def spread_between(heats: Sequence[Heat]) -> Spread:
    """Return the spread of the difference of two configurations' medians from heat to heat.

    It is what is left of the medians beside an effect of each heat, which all of it share, and one of each
    configuration: a two-way layout.
    """
    seen = [
        (heat, each, float(np.median(ratios)))
        for heat, found in enumerate(heats)
        for each, ratios in found.items()
        if len(ratios)
    ]
    place = {each: len(heats) + number for number, each in enumerate(dict.fromkeys(each for _, each, _ in seen))}
    design = np.zeros((len(seen), len(heats) + len(place)))
    for row, (heat, each, _) in enumerate(seen):
        design[row, [heat, place[each]]] = 1
    medians = np.array([median for *_, median in seen])
    effects, _, rank, _ = np.linalg.lstsq(design, medians)
    left, freedom = medians - design @ effects, len(seen) - int(rank)
    return Spread(deviation=math.sqrt(2 * float(left @ left) / max(freedom, 1)), freedom=freedom)
