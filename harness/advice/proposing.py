"""What to look at next: everything that is left where the time holds it, else some of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from harness.advice.board import Board
from harness.advice.space import Configuration, Space

ELITES = 3  # so many of the best so far have their neighbours looked at


@dataclass(frozen=True, kw_only=True)
class Proposer:
    """Proposes configurations by what the board shows."""

    space: Space
    board: Board
    coin: Random
    fewest: int

    @property
    def begun(self) -> bool:
        """Whether anything but the references has been looked at."""
        return len(self.board.first) > len(self.space.references())

    def proposed(self, affordable: int) -> list[Configuration]:
        """Return what to look at where so many looks can be afforded, a third of them at a time.

        Of each set, half is drawn at random, and half is near the best so far, once there is one.
        """
        left = self.space.size - len(self.board.first)
        if left <= affordable:
            return self._open(self.space.everything())
        count = max(affordable // 3, self.fewest) if affordable >= self.fewest or not self.begun else affordable
        near = [self._near(elite) for elite in self.board.standing()[:ELITES]] if self.begun else []
        chosen = list(dict.fromkeys(each for row in zip(*near, strict=False) for each in row))[: count // 2]
        return [*chosen, *self._sampled(count - len(chosen), [*self.board.first, *chosen])]

    def _sampled(self, count: int, without: list[Configuration]) -> list[Configuration]:
        """Return so many random ones, of the fastest references first: heats of few would time references mostly."""
        sample = self._open(self.space.sample(count * len(self.space.references()), self.coin, without))
        return sorted(sample, key=lambda each: -self.board.log_speedup(self.space.reference(each)))[:count]

    def _near(self, elite: Configuration) -> list[Configuration]:
        near = self._open(self.space.neighbours(elite))
        self.coin.shuffle(near)
        return near

    def _open(self, configurations: Iterable[Configuration]) -> list[Configuration]:
        """Return those that are still to be looked at, and that compute what can be computed here."""
        hopeless = self._hopeless()
        closed = {each for each in self.space.references() if self.board.first[each].reason}
        return [
            each
            for each in configurations
            if each not in self.board.first
            and self.space.reference(each) not in closed
            and hopeless.isdisjoint(enumerate(each))
        ]

    def _hopeless(self) -> set[tuple[int, str]]:
        """Return the axes' levels with which no configuration has come through and two or more were hopeless."""
        stood = {place for each, seen in self.board.first.items() if not seen.reason for place in enumerate(each)}
        fallen = (place for each, seen in self.board.first.items() if seen.hopeless for place in enumerate(each))
        return {place for place, times in Counter(fallen).items() if times > 1 and place not in stood}
