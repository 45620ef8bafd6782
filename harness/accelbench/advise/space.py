"""The search space: every technique that applies, at every level."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product, zip_longest
from math import prod
from random import Random

from accelbench.core import Levels, find_technique
from accelbench.errors import Unavailable
from accelbench.measuring.applicable import Applicable
from accelbench.text import format_levels

Configuration = tuple[str, ...]  # one level for each axis
# Options of how a program's batches are loaded, which needs a few batches in a row to show.
LOADING = frozenset({"workers", "persistent_workers", "prefetch_factor", "loading"})


@dataclass(frozen=True, kw_only=True)
class SearchAxis:
    """A technique and its levels, the baseline first.

    ``computes`` names for each level what it computes: two levels of the same name must give the same output.
    ``tolerances`` are the relative errors that the levels may cost. ``slow`` are levels that are slow to start.
    ``present`` is the level that a user's program has already, "" where it is unknown. ``often_pays`` and ``loads`` say
    whether it pays in many programs, and whether it is about how batches are loaded. ``asked_at`` is its place among
    the techniques that a user named, None where none are.
    """

    technique: str
    levels: tuple[str, ...]
    computes: tuple[str, ...]
    tolerances: tuple[float, ...]
    slow: tuple[str, ...] = ()
    present: str = ""
    often_pays: bool = False
    loads: bool = False
    asked_at: int | None = None

    def by_promise(self) -> tuple[str, ...]:
        """Return the levels without the baseline, those first that are likely to pay.

        Of numbers, those above the program's own come first, and then those below it, the nearest first; if that is
        unknown, the largest comes first.
        """
        candidates = self.levels[1:]
        if not all(level.isdecimal() for level in candidates):
            return candidates
        if not self.present.isdecimal():
            return tuple(sorted(candidates, key=int, reverse=True))
        own = int(self.present)
        return tuple(sorted(candidates, key=lambda level: (self.is_below_own(level), abs(int(level) - own))))

    def is_below_own(self, level: str) -> bool:
        """Return whether a level is a number below the program's own."""
        return level.isdecimal() and self.present.isdecimal() and int(level) < int(self.present)

    def without_slow(self) -> SearchAxis:
        """Return the axis without the levels that are slow to start; the baseline stays."""
        places = [place for place, level in enumerate(self.levels) if place == 0 or level not in self.slow]
        return replace(
            self,
            levels=tuple(self.levels[place] for place in places),
            computes=tuple(self.computes[place] for place in places),
            tolerances=tuple(self.tolerances[place] for place in places),
            slow=(),
        )


@dataclass(frozen=True)
class SearchSpace:
    """The product of some axes.

    ``batch_size`` is that of a user's program whose batches could be loaded otherwise, whether or not an axis is about
    that; None where it is unknown.
    """

    axes: tuple[SearchAxis, ...]
    batch_size: int | None = None

    @property
    def baseline(self) -> Configuration:
        """The configuration in which nothing is switched."""
        return tuple(axis.levels[0] for axis in self.axes)

    @property
    def size(self) -> int:
        """The number of configurations."""
        return prod(len(axis.levels) for axis in self.axes)

    def configurations(self) -> Iterator[Configuration]:
        """Yield every configuration, the baseline first."""
        return product(*(axis.levels for axis in self.axes))

    def levels(self, configuration: Configuration) -> Levels:
        """Return the techniques with their levels, as a trial takes them."""
        return {axis.technique: level for axis, level in zip(self.axes, configuration, strict=True)}

    def changes(self, configuration: Configuration) -> Levels:
        """Return the techniques that are not at their baseline."""
        baseline = self.levels(self.baseline)
        return {name: level for name, level in self.levels(configuration).items() if level != baseline[name]}

    def alone(self) -> list[Configuration]:
        """Return every technique alone at each of its levels: the first of every technique, then all second ones."""
        baseline = self.baseline
        levels = zip_longest(*(axis.by_promise() for axis in self.axes))
        return [
            (*baseline[:place], level, *baseline[place + 1 :])
            for row in levels
            for place, level in enumerate(row)
            if level is not None
        ]

    def combine(self, configurations: Iterable[Configuration]) -> Configuration:
        """Return the configuration with everything that these switch, at the first one's level where they differ."""
        combined = list(self.baseline)
        for configuration in configurations:
            for place, (level, usual) in enumerate(zip(configuration, self.baseline, strict=True)):
                if level != usual and combined[place] == usual:
                    combined[place] = level
        return tuple(combined)

    def label(self, configuration: Configuration) -> str:
        """Return what is switched, such as ``amp bf16, threads all``."""
        return label_changes(self.changes(configuration))

    def reference(self, configuration: Configuration) -> Configuration:
        """Return the configuration that computes the same with as little switched as possible."""
        return tuple(
            axis.levels[axis.computes.index(computed)]
            for axis, computed in zip(self.axes, self._outputs_of(configuration), strict=True)
        )

    def leaves_outputs(self, configuration: Configuration) -> bool:
        """Return whether the configuration computes what the baseline computes."""
        return self.reference(configuration) == self.baseline

    def references(self) -> list[Configuration]:
        """Return one configuration for each thing that can be computed, the baseline first."""
        distinct = (dict.fromkeys(axis.computes) for axis in self.axes)
        firsts = (
            [axis.levels[axis.computes.index(computed)] for computed in names]
            for axis, names in zip(self.axes, distinct, strict=True)
        )
        return list(product(*firsts))

    def without_slow(self) -> SearchSpace:
        """Return the space of the configurations that are not slow to start."""
        return replace(self, axes=tuple(axis.without_slow() for axis in self.axes))

    def is_slow_to_start(self, configuration: Configuration) -> bool:
        """Return whether a level of the configuration is slow to start."""
        return any(level in axis.slow for axis, level in zip(self.axes, configuration, strict=True))

    def loads_otherwise(self, configuration: Configuration) -> bool:
        """Return whether the configuration switches how batches are loaded."""
        return any(axis.loads and level != axis.levels[0] for axis, level in zip(self.axes, configuration, strict=True))

    def with_each_slow_level(self, configuration: Configuration) -> list[Configuration]:
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

    def sample(self, count: int, rng: Random, exclude: Iterable[Configuration]) -> list[Configuration]:
        """Return at most ``count`` random configurations, with the levels of each axis about equally often."""
        known = set(exclude)
        drawn: list[Configuration] = []
        for _ in range(4):  # shuffles the columns again, since some rows are excluded
            columns = [_shuffle_evenly(axis.levels, count, rng) for axis in self.axes]
            for row in zip(*columns, strict=True):
                if row not in known and len(drawn) < count:
                    known.add(row)
                    drawn.append(row)
        return drawn

    def neighbours(self, configuration: Configuration, most: int = 2) -> list[Configuration]:
        """Return the configurations that differ in one to ``most`` axes.

        Two axes at once find techniques that pay only together.
        """
        places = range(len(self.axes))
        return [
            neighbour
            for count in range(1, most + 1)
            for switched in combinations(places, count)
            for neighbour in self._vary(configuration, switched)
        ]

    def _vary(self, configuration: Configuration, switched: tuple[int, ...]) -> Iterator[Configuration]:
        """Yield the configurations in which exactly these axes are at another level."""
        choices = [
            [level for level in axis.levels if (level != current) == (place in switched)]
            for place, (axis, current) in enumerate(zip(self.axes, configuration, strict=True))
        ]
        yield from product(*choices)

    def _outputs_of(self, configuration: Configuration) -> list[str]:
        places = zip(self.axes, configuration, strict=True)
        return [axis.computes[axis.levels.index(level)] for axis, level in places]


def label_changes(changes: Levels) -> str:
    """Return the label of the levels that differ from the baseline."""
    return format_levels(changes) or "nothing switched"


def build_space(framework: str, found: Collection[Applicable], only: tuple[str, ...]) -> SearchSpace:
    """Return the space of the techniques that can be switched, or of those in ``only``.

    Of several in ``only``, those that are refused with a reason are left out.

    Raises:
        Unavailable: none of the techniques can be switched, or one in ``only`` means nothing here.
    """
    free = {each.technique: each for each in found if len(each.levels) > 1}
    for name in only:
        if name in free:
            continue
        refused = next((reason for each in found if each.technique == name for reason in each.refused.values()), "")
        if not refused or free.keys().isdisjoint(only):
            raise Unavailable(
                f"--only: {name} cannot be switched here{f': {refused}' if refused else ''}; "
                f"what can: {', '.join(free) or 'nothing'}"
            )
    chosen = [each for name, each in free.items() if not only or name in only]
    if not chosen:
        raise Unavailable("there is nothing to switch: no technique that can be advised applies to this workload here")
    axes = (replace(_axis(framework, each), asked_at=_place_among(only, each.technique)) for each in chosen)
    return SearchSpace(tuple(axes), _batch_size_of_loader(found))


def _place_among(names: tuple[str, ...], name: str) -> int | None:
    return names.index(name) if name in names else None


def _batch_size_of_loader(found: Collection[Applicable]) -> int | None:
    is_loader = any(each.options & LOADING for each in found if len(each.levels) > 1)
    present = (level for each in found if each.technique == "batch_size" for level in each.present)
    own = next(present, "")
    return int(own) if is_loader and own.isdecimal() else None


def _axis(framework: str, applicable: Applicable) -> SearchAxis:
    name, levels = applicable.technique, applicable.levels
    technique = find_technique(framework, name)
    candidates = levels[1:]
    return SearchAxis(
        technique=name,
        levels=levels,
        computes=("", *(technique.computes(level) for level in candidates)),
        tolerances=(0.0, *(technique.tolerance_at(level) for level in candidates)),
        slow=tuple(level for level in candidates if level in technique.compiles),
        present=next(iter(applicable.present), ""),
        often_pays=technique.often_pays,
        loads=bool(applicable.options & LOADING),
    )


def _shuffle_evenly(levels: tuple[str, ...], count: int, rng: Random) -> list[str]:
    """Return ``count`` levels in random order, each about equally often."""
    column = [levels[place % len(levels)] for place in range(count)]
    rng.shuffle(column)
    return column
