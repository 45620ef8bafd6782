"""The space of configurations: every technique that applies, at every level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import ceil, prod
from random import Random

from harness.experiment import Levels, named

Configuration = tuple[str, ...]  # one level for each axis


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A technique and its levels, the baseline first.

    ``computes`` names for each level what it computes: two levels of the same name must give the same output.
    ``tolerances`` are the relative errors that the levels may cost. ``slow`` are levels that are slow to start.
    """

    technique: str
    levels: tuple[str, ...]
    computes: tuple[str, ...]
    tolerances: tuple[float, ...]
    slow: tuple[str, ...] = ()

    def quick(self) -> Axis:
        """Return the axis without the levels that are slow to start; the baseline stays."""
        kept = [place for place, level in enumerate(self.levels) if place == 0 or level not in self.slow]
        return Axis(
            technique=self.technique,
            levels=tuple(self.levels[place] for place in kept),
            computes=tuple(self.computes[place] for place in kept),
            tolerances=tuple(self.tolerances[place] for place in kept),
        )


@dataclass(frozen=True)
class Space:
    """The product of some axes."""

    axes: tuple[Axis, ...]

    @property
    def baseline(self) -> Configuration:
        """The configuration in which nothing is switched."""
        return tuple(axis.levels[0] for axis in self.axes)

    @property
    def size(self) -> int:
        """How many configurations there are."""
        return prod(len(axis.levels) for axis in self.axes)

    def everything(self) -> Iterator[Configuration]:
        """Yield every configuration, the baseline first."""
        return product(*(axis.levels for axis in self.axes))

    def levels(self, configuration: Configuration) -> Levels:
        """Return the techniques with their levels, as a trial takes them."""
        return {axis.technique: level for axis, level in zip(self.axes, configuration, strict=True)}

    def changes(self, configuration: Configuration) -> Levels:
        """Return the techniques that are not at their baseline."""
        baseline = self.levels(self.baseline)
        return {name: level for name, level in self.levels(configuration).items() if level != baseline[name]}

    def named(self, configuration: Configuration) -> str:
        """Return what is switched in words, such as ``amp bf16, threads all``."""
        return switched(self.changes(configuration))

    def reference(self, configuration: Configuration) -> Configuration:
        """Return the configuration that computes the same with as little switched as possible."""
        return tuple(
            axis.levels[axis.computes.index(computed)]
            for axis, computed in zip(self.axes, self._computed(configuration), strict=True)
        )

    def references(self) -> list[Configuration]:
        """Return one configuration for each thing that can be computed, the baseline first."""
        distinct = (dict.fromkeys(axis.computes) for axis in self.axes)
        firsts = (
            [axis.levels[axis.computes.index(computed)] for computed in names]
            for axis, names in zip(self.axes, distinct, strict=True)
        )
        return list(product(*firsts))

    def quick(self) -> Space:
        """Return the space of the configurations that are not slow to start."""
        return Space(tuple(axis.quick() for axis in self.axes))

    def is_slow_to_start(self, configuration: Configuration) -> bool:
        """Say whether a level of the configuration is slow to start."""
        return any(level in axis.slow for axis, level in zip(self.axes, configuration, strict=True))

    def slowed(self, configuration: Configuration) -> list[Configuration]:
        """Return the configuration with each level that is slow to start in turn."""
        return [
            (*configuration[:place], level, *configuration[place + 1 :])
            for place, axis in enumerate(self.axes)
            for level in axis.slow
        ]

    def tolerance(self, configuration: Configuration) -> float:
        """Return the relative error that the configuration may cost."""
        places = zip(self.axes, configuration, strict=True)
        return sum(axis.tolerances[axis.levels.index(level)] for axis, level in places)

    def sample(self, count: int, coin: Random, without: Iterable[Configuration]) -> list[Configuration]:
        """Return so many random configurations, or fewer, in which the levels of each axis come about equally often."""
        known = set(without)
        found: list[Configuration] = []
        for _ in range(4):  # columns that are shuffled anew, since some rows are known already
            columns = [_evenly(axis.levels, count, coin) for axis in self.axes]
            for row in zip(*columns, strict=True):
                if row not in known and len(found) < count:
                    known.add(row)
                    found.append(row)
        return found

    def neighbours(self, configuration: Configuration, most: int = 2) -> list[Configuration]:
        """Return the configurations that differ in one axis, or in two: what interacts in pairs is met together."""
        places = range(len(self.axes))
        return [
            changed
            for count in range(1, most + 1)
            for switched in combinations(places, count)
            for changed in self._varied(configuration, switched)
        ]

    def _varied(self, configuration: Configuration, switched: tuple[int, ...]) -> Iterator[Configuration]:
        """Yield the configurations in which exactly these axes are at another level."""
        choices = [
            [level for level in axis.levels if (level != here) == (place in switched)]
            for place, (axis, here) in enumerate(zip(self.axes, configuration, strict=True))
        ]
        yield from product(*choices)

    def _computed(self, configuration: Configuration) -> list[str]:
        places = zip(self.axes, configuration, strict=True)
        return [axis.computes[axis.levels.index(level)] for axis, level in places]


def switched(changes: Levels) -> str:
    """Return in words what is not at its baseline."""
    return named(changes) or "nothing switched"


def chunks(configurations: list[Configuration], most: int) -> list[list[Configuration]]:
    """Return the configurations in as few parts as hold at most so many, each with some of every kind."""
    parts = ceil(len(configurations) / most)
    return [configurations[part::parts] for part in range(parts)]


def _evenly(levels: tuple[str, ...], count: int, coin: Random) -> list[str]:
    """Return so many levels in random order, each about equally often."""
    column = [levels[place % len(levels)] for place in range(count)]
    coin.shuffle(column)
    return column
