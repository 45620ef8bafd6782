"""How a search begins: its space, from the techniques that apply, and a baseline that runs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from harness.advice.space import Axis, Space
from harness.errors import Unavailable
from harness.experiment import find_technique
from harness.measuring.applicable import Applicable


class NoBaseline(Unavailable):
    """The baseline was not measured, for a ``reason``; it is ``broken`` where more time would not help."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the baseline cannot be measured in this budget: {reason}")
        self.reason = reason
        self.broken = reason.startswith(("failed", "unavailable"))


def space_of(framework: str, found: Collection[Applicable], only: tuple[str, ...]) -> Space:
    """Return the space of the techniques that can be switched, or of those that are named.

    Raises:
        Unavailable: one of these cannot be switched, or nothing can.
    """
    free = {each.technique: each for each in found if len(each.levels) > 1}
    for name in only:
        if name not in free:
            find_technique(framework, name)
            refused = next((reason for each in found if each.technique == name for reason in each.refused.values()), "")
            raise Unavailable(
                f"--only: {name} cannot be switched here{f': {refused}' if refused else ''}; "
                f"what can: {', '.join(free) or 'nothing'}"
            )
    chosen = [each for name, each in free.items() if not only or name in only]
    if not chosen:
        raise Unavailable("there is nothing to switch: no technique that can be advised applies to this workload here")
    return Space(tuple(_axis(framework, each.technique, each.levels) for each in chosen))


def _axis(framework: str, name: str, levels: tuple[str, ...]) -> Axis:
    technique = find_technique(framework, name)
    candidates = levels[1:]
    return Axis(
        technique=name,
        levels=levels,
        computes=("", *(technique.computes(level) for level in candidates)),
        tolerances=(0.0, *(technique.tolerance_at(level) for level in candidates)),
        slow=tuple(level for level in candidates if level in technique.slow_start),
    )


def without_first(found: Collection[Applicable], technique: str, reason: str) -> list[Applicable]:
    """Return what applies with one technique begun at its second level, and refused at its first for a reason."""
    return [_later(each, reason) if each.technique == technique else each for each in found]


def _later(applies: Applicable, reason: str) -> Applicable:
    first, *levels = applies.levels
    return replace(applies, levels=tuple(levels), refused={**applies.refused, first: reason})
