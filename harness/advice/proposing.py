"""What to look at next: everything that is left where the time holds it, else some of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from random import Random

import numpy as np

from harness.advice.board import Board
from harness.advice.predicting import expected
from harness.advice.space import Configuration, Space

SAMPLE = 200  # random configurations of which the most promising are chosen
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
        return not self.board.first.keys() <= set(self.space.references())

    def proposed(self, affordable: int) -> list[Configuration]:
        """Return what to look at where so many looks can be afforded, a third of them at a time.

        First every technique alone. Of each later set, half is expected to be fast by what was seen, a quarter is near
        the best so far, and a quarter is drawn at random.
        """
        unseen = self.space.size - len(self.board.first)
        if not self.begun and unseen > self.fewest and (alone := self._near(self._fastest_reference(), 1)):
            return alone
        if unseen <= affordable or not self.begun:
            return self._open(self.space.everything())
        if affordable < 1:
            return []
        count = max(affordable // 3, min(self.fewest, affordable))
        chosen = self._promising(math.ceil(count / 2))
        near = [self._near(elite) for elite in self.board.standing()[:ELITES]]
        new = dict.fromkeys(each for row in zip(*near, strict=False) for each in row if each not in chosen)
        chosen += [*new][: (count - len(chosen) + 1) // 2]
        return [*chosen, *self._sampled(count - len(chosen), [*self.board.first, *chosen])]

    def _promising(self, count: int) -> list[Configuration]:
        """Return those of which most is expected: near each of the best so far, and of a sample."""
        nearby = chain(*(self.space.neighbours(elite) for elite in self.board.standing()[:ELITES]))
        sample = self.space.sample(SAMPLE, self.coin, self.board.first)
        candidates = self._open(dict.fromkeys([*nearby, *sample]))
        if not candidates:
            return []
        order = np.argsort(-expected(self.space, self.board, candidates), kind="stable")
        return [candidates[place] for place in order[:count]]

    def _fastest_reference(self) -> Configuration:
        """Return the fastest reference that nothing speaks against, else the fastest that came through."""
        seen = [
            each for each in self.space.references() if each in self.board.first and not self.board.first[each].reason
        ]
        return max(seen, key=lambda each: (each not in self.board.dropped, self.board.log_speedup(each)))

    def _sampled(self, count: int, without: list[Configuration]) -> list[Configuration]:
        """Return so many random ones, of the fastest references first: heats of few would time references mostly."""
        sample = self._open(self.space.sample(count * len(self.space.references()), self.coin, without))
        return sorted(sample, key=lambda each: -self.board.log_speedup(self.space.reference(each)))[:count]

    def _near(self, elite: Configuration, most: int = 2) -> list[Configuration]:
        near = self._open(self.space.neighbours(elite, most))
        self.coin.shuffle(near)
        return near

    def _open(self, configurations: Iterable[Configuration]) -> list[Configuration]:
        """Return those that are still to be looked at, and that compute what can be computed here."""
        hopeless = self._hopeless()
        return [each for each in configurations if self._is_new(each) and hopeless.isdisjoint(enumerate(each))]

    def is_open(self, configuration: Configuration) -> bool:
        """Say whether it is still to be looked at, and computes what can be computed here."""
        return bool(self._open([configuration]))

    def _is_new(self, configuration: Configuration) -> bool:
        reference = self.board.first.get(self.space.reference(configuration))
        return configuration not in self.board.first and reference is not None and not reference.reason

    def _hopeless(self) -> set[tuple[int, str]]:
        """Return the axes' levels with which no configuration has come through and two or more were hopeless."""
        stood = {place for each, seen in self.board.first.items() if not seen.reason for place in enumerate(each)}
        fallen = (place for each, seen in self.board.first.items() if seen.hopeless for place in enumerate(each))
        return {place for place, times in Counter(fallen).items() if times > 1 and place not in stood}
