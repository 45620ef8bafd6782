"""Of which techniques a worker must be told, because it cannot import them."""

from __future__ import annotations

from collections.abc import Iterable

from harness.experiment import Ladder, Technique, techniques_of
from harness.measuring.travel import is_foreign


def unknown_to_workers(techniques: Iterable[Technique]) -> tuple[Technique, ...]:
    """Return the user's own techniques, and ladders, which may be the user's own, with what they are made of."""
    told: list[Technique] = []
    for each in techniques:
        if isinstance(each, Ladder):
            told += [*filter(_is_own, techniques_of(each)), each]
        elif _is_own(each):
            told.append(each)
    return tuple(told)


def _is_own(technique: Technique) -> bool:
    return is_foreign(technique.apply)
