"""Episodes of one series: a level that was left and soon came back, which is something that happened and no change.

A neighbour's load, a hot afternoon or a backup slows a few runs down and is gone. While it goes on it cannot be told
from a change of level. So it is held against the episodes that are over: what is no larger and has lasted no longer
than they did may be one more, and what is larger, or outlasts them, is a change. The same holds for the beginning of a
series, where a level that only the first few runs had may be the rest of an episode of any size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from harness.reading.history.changes.splitting import SHORTEST, Boundary, chance

_LONGEST = 4 * SHORTEST  # runs; what holds for longer is a level of its own
_OPENING = 5  # times as many runs as the first level had, from which on it is that of an opening
_BACK = 0.1  # share of an episode's size by which the level that is back may have changed
_ALPHA = 0.001  # chance that a level which came back is taken for another: many are looked at

Values = NDArray[np.float64]
Span = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Episode:
    """The values from ``start`` to before ``end``, which depart from the level around them by ``size``.

    One at the end of the series may still go on, and one at its start may have begun earlier.
    """

    start: int
    end: int
    size: float

    def explains(self, at: int) -> bool:
        """Say whether a boundary is but a part of the episode, or its end."""
        return self.start < at <= self.end


def episodes(values: Values, found: Sequence[Boundary], margin: float) -> list[Episode]:
    """Return the episodes of a series with these boundaries."""
    over = list(_over(values, found, margin))
    return [*over, *_at_the_ends(values, [boundary.at for boundary in found], over, margin)]


def is_short(first: int, number: int) -> bool:
    """Say whether so many first values of a number are too few for a level of their own."""
    return first <= min(_LONGEST, number / _OPENING)


def _over(values: Values, found: Sequence[Boundary], margin: float) -> Iterator[Episode]:
    """Yield the episodes that are over; one may have several levels, as when two visitors overlap.

    One is no longer than the runs around it together, and their level is back afterwards: where the episode is left
    out, it changes by no more than a margin, or not beyond chance.
    """
    ends = [*(boundary.at for boundary in found[1:]), len(values)]
    level = 0  # where the level that may be interrupted begins
    for place, begins in enumerate(found):
        if begins.at <= level:  # within an episode, or its end
            continue
        before = values[level : begins.at]
        level = begins.at
        for over, end in zip(found[place + 1 :], ends[place + 1 :], strict=True):
            inside, after = values[begins.at : over.at], values[over.at : end]
            size = float(np.median(inside) - np.median(np.concatenate([before, after])))
            short = len(inside) <= min(_LONGEST, len(before) + len(after))
            inflated = max(begins.inflation, over.inflation)
            if short and _alike(before, after, inflated, max(margin, _BACK * abs(size))):
                yield Episode(start=begins.at, end=over.at, size=size)
                level = over.at
                break


def _at_the_ends(values: Values, found: list[int], over: Sequence[Episode], margin: float) -> Iterator[Episode]:
    """Yield what is like the episodes that are over, but without a level before it, or after it."""
    spans = list(pairwise([0, *found, len(values)]))
    if found and all(each.start != found[0] for each in over):
        yield from _like_others(values, spans[:1], spans[1], over, margin)
    for place, at in enumerate(found):
        if any(each.start == at or each.explains(at) for each in over):
            continue
        if going_on := list(_like_others(values, spans[place + 1 :], spans[place], over, margin)):
            yield from going_on
            break


def _like_others(
    values: Values, spans: Sequence[Span], around: Span, over: Sequence[Episode], margin: float
) -> Iterator[Episode]:
    """Yield spans as one episode if they are no larger and no longer than those on the same side that are over.

    Fewer runs more than a segment has, and no more than a margin in size, do not count.
    """
    start, end = spans[0][0], spans[-1][1]
    sizes = [float(np.median(values[slice(*span)]) - np.median(values[slice(*around)])) for span in spans]
    size = max(sizes, key=abs)
    others = [each for each in over if each.size * size > 0]
    if not others or any(each * size <= 0 for each in sizes):
        return
    no_longer = end - start <= max(each.end - each.start for each in others) + SHORTEST
    if no_longer and abs(size) <= max(abs(each.size) for each in others) + margin:
        yield Episode(start=start, end=end, size=size)


def _alike(before: Values, after: Values, inflated: float, margin: float) -> bool:
    return bool(abs(np.median(after) - np.median(before)) <= margin or chance(before, after, inflated) > _ALPHA)
