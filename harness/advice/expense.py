"""What a search may spend: the time that has passed, and what a heat will take by what those before it took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.advice.space import Configuration, Space

EXPLORING = 0.6  # of the budget at most goes into first looks
LONGEST_LOOK_S = 0.3
SLOW_START_S = 10.0  # of an arm that compiles, until one has been seen: about what a small network takes on two cores
MANY = 200  # configurations, above which a look gets no shorter


@dataclass(kw_only=True)
class Expense:
    """The budget of one search. ``dearest`` is the heat that took longest: its seconds and its last configuration."""

    space: Space
    budget_s: float
    clock: Callable[[], float]
    _overhead_s: float = 0.0  # what an arm cost beside its timing in the latest heat
    _slow_start_s: float = SLOW_START_S  # the same of an arm that is slow to start
    _start_s: float = field(init=False)
    dearest: tuple[float, Configuration] = field(init=False)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Let the budget begin now."""
        self._start_s = self.clock()
        self.dearest = 0.0, self.space.baseline

    @property
    def spent_s(self) -> float:
        """Seconds of the budget that have passed."""
        return self.clock() - self._start_s

    @property
    def look_s(self) -> float:
        """How long a first look lasts: so long that half of the exploring, at most, goes into timing."""
        return min(LONGEST_LOOK_S, EXPLORING * self.budget_s / (2 * min(self.space.size, MANY)))

    def affordable(self, share: float) -> int:
        """Return how many quick arms can be looked at before this share of the budget is spent."""
        return int((share * self.budget_s - self.spent_s) / max(1e-9, self._overhead_s + self.look_s))

    def overhead_s(self, configurations: Sequence[Configuration]) -> float:
        """Return what arms will cost beside their timing."""
        slow = sum(map(self.space.is_slow_to_start, configurations))
        return slow * self._slow_start_s + (len(configurations) - slow) * self._overhead_s

    def holds(self, configurations: Sequence[Configuration], share: float) -> bool:
        """Say whether a look at these ends before this share of the budget is spent."""
        cost_s = self.overhead_s(configurations) + len(configurations) * self.look_s
        return self.spent_s + cost_s <= share * self.budget_s

    def pay(self, configurations: Sequence[Configuration], look_s: float, taken_s: float) -> None:
        """Learn from what a heat took."""
        self.dearest = max(self.dearest, (taken_s, configurations[-1]))
        beside_s = max(0.0, taken_s - look_s * len(configurations))
        slow = sum(map(self.space.is_slow_to_start, configurations))
        if slow:
            quick_s = (len(configurations) - slow) * self._overhead_s
            self._slow_start_s = max(0.0, beside_s - quick_s) / slow
        else:
            self._overhead_s = beside_s / len(configurations)
