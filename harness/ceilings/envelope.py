"""From rates that were seen to the ceilings that follow from them.

A small problem runs from a cache, and part of one that does not fit runs from it too. So a working set is held against
the best rate that was seen at any size above half of its own: a ceiling may be too high, but not too low.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from harness.record import Ceiling

REACH = 2  # what was seen at one size bounds working sets below so many times that size


def envelope(seen: Iterable[Ceiling]) -> list[Ceiling]:
    """Return the ceilings of what was seen at certain sizes: rates that never rise with the working set."""
    found = []
    for _, group in groupby(sorted(seen, key=_place), key=lambda ceiling: ceiling.name):
        rates = list(group)
        start_bytes = 0.0
        for index, smallest in enumerate(rates):
            best = max(rate.per_s for rate in rates[index:])
            found.append(_raised(smallest, start_bytes, best))
            start_bytes = REACH * smallest.working_set_bytes
    return _without_repetition(found)


def highest(*machines: Iterable[Ceiling]) -> list[Ceiling]:
    """Return for every name and working set the highest of several envelopes of one machine."""
    every = sorted((ceiling for ceilings in machines for ceiling in ceilings), key=_place)
    return _without_repetition(
        _raised(step, step.working_set_bytes, max(_rates_at(machines, step.name, step.working_set_bytes)))
        for step in every
    )


def find(ceilings: Iterable[Ceiling], name: str, working_set_bytes: float = 0) -> Ceiling | None:
    """Return an envelope's ceiling of that name for a working set, None where there is none."""
    below = (each for each in ceilings if each.name == name and each.working_set_bytes <= working_set_bytes)
    return max(below, key=lambda each: each.working_set_bytes, default=None)


def _rates_at(machines: Iterable[Iterable[Ceiling]], name: str, working_set_bytes: float) -> list[float]:
    found = (find(ceilings, name, working_set_bytes) for ceilings in machines)
    return [ceiling.per_s for ceiling in found if ceiling is not None]


def _raised(ceiling: Ceiling, working_set_bytes: float, per_s: float) -> Ceiling:
    return Ceiling(name=ceiling.name, per_s=per_s, unit=ceiling.unit, working_set_bytes=working_set_bytes)


def _without_repetition(ceilings: Iterable[Ceiling]) -> list[Ceiling]:
    """Return only those steps at which the rate changes."""
    kept: list[Ceiling] = []
    for ceiling in ceilings:
        if not kept or (kept[-1].name, kept[-1].per_s) != (ceiling.name, ceiling.per_s):
            kept.append(ceiling)
    return kept


def _place(ceiling: Ceiling) -> tuple[str, float]:
    return ceiling.name, ceiling.working_set_bytes
