"""The board: what has been seen of every configuration, and how two of them compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.advice.space import Configuration
from harness.measuring.evidence import Judgement, judge


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


@dataclass(kw_only=True)
class Board:
    """Everything that was seen. ``first`` is how each configuration was seen first, ``heats`` are the log ratios."""

    baseline: Configuration
    first: dict[Configuration, Seen] = field(default_factory=dict)
    dropped: dict[Configuration, str] = field(default_factory=dict)
    heats: list[Mapping[Configuration, np.ndarray]] = field(default_factory=list)
    _estimates: dict[Configuration, float] = field(default_factory=dict)  # until the next heat

    def enter(self, heat: Mapping[Configuration, Seen]) -> None:
        """Add what a heat showed, its first configuration being what the others were paired with."""
        rounds = max((len(seen.log_ratios) for seen in heat.values()), default=0)
        reference = next(iter(heat))
        ratios = {each: np.asarray(seen.log_ratios) for each, seen in heat.items() if seen.log_ratios}
        self.heats.append({reference: np.zeros(rounds)} | ratios)
        self._estimates.clear()
        for configuration, seen in heat.items():
            first = self.first.setdefault(configuration, seen)
            # A reference that came through before is lost for the sake of what it was timed beside.
            if seen.reason and (configuration != reference or first is seen):
                self.dropped.setdefault(configuration, seen.reason)

    def pairs(self, candidate: Configuration, other: Configuration) -> np.ndarray:
        """Return the candidate's log speedups over another, of the rounds in which both were timed.

        In each round the order is a coin's, so the sign of the difference of any two is a fair coin's where the two
        are the same, which is all that the referee's judgement rests on.
        """
        shared = [heat for heat in self.heats if candidate in heat and other in heat]
        found = []
        for heat in shared:
            rounds = min(len(heat[candidate]), len(heat[other]))
            found.append(heat[candidate][:rounds] - heat[other][:rounds])
        return np.concatenate(found) if found else np.empty(0)

    def judged(self, candidate: Configuration, other: Configuration, *, alpha: float, noise: float) -> Judgement | None:
        """Return the judgement of a candidate against another, or None where they were never timed together."""
        pairs = self.pairs(candidate, other)
        return judge(pairs, alpha=alpha, noise=noise) if len(pairs) else None

    def log_speedup(self, configuration: Configuration) -> float:
        """Return the estimated log speedup over the baseline, by way of a third one where the two never met."""
        if configuration not in self._estimates:
            self._estimates[configuration] = self._estimated(configuration)
        return self._estimates[configuration]

    def _estimated(self, configuration: Configuration) -> float:
        direct = self.pairs(configuration, self.baseline)
        if len(direct) or configuration == self.baseline:
            return float(np.median(direct)) if len(direct) else 0.0
        reference = next(next(iter(heat)) for heat in self.heats if configuration in heat)
        return float(np.median(self.pairs(configuration, reference))) + self.log_speedup(reference)

    def standing(self) -> list[Configuration]:
        """Return the configurations that nothing speaks against, the fastest first."""
        left = [each for each in self.first if each not in self.dropped]
        return sorted(left, key=self.log_speedup, reverse=True)

    def drop(self, configurations: Sequence[Configuration], reason: str) -> None:
        """Take configurations out, for one reason."""
        for each in configurations:
            self.dropped.setdefault(each, reason)
