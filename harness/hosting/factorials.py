"""Tests that take a bundle apart: the techniques that they switch, and the arms of their design."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from harness.attribution.design import design
from harness.errors import BadInput
from harness.experiment import Levels, Technique, find_technique
from harness.hosting.toggling import FACTORIAL, MARKER, Switched

LevelsOf = Callable[[Technique], Sequence[str]]


def is_factorial(node: Any) -> bool:
    """Say whether a test's arms are to be taken apart together."""
    return node.get_closest_marker(FACTORIAL) is not None


def bundled(node: Any) -> tuple[Technique, ...]:
    """Return the techniques of a bundle, in the order in which they are written.

    Raises:
        BadInput: a technique is unknown, or the test toggles others besides.
    """
    mark = node.get_closest_marker(FACTORIAL).kwargs
    if mark.keys() != {"framework", "on"} or not mark["on"]:
        raise BadInput(
            f"{node.nodeid}: the mark names no framework and levels; use harness.factorial: "
            "@factorial('torch', amp='bf16', memory_format='channels-last')"
        )
    if node.get_closest_marker(MARKER) is not None:
        raise BadInput(f"{node.nodeid}: a factorial has all techniques that it switches; leave out @toggles")
    return tuple(find_technique(mark["framework"], name) for name in mark["on"])


def arms_of(node: Any, techniques: Sequence[Technique], levels_of: LevelsOf) -> list[Levels]:
    """Return the levels of each arm, the baseline first.

    Raises:
        BadInput: there are too few or too many techniques, or one has no such levels.
    """
    on = node.get_closest_marker(FACTORIAL).kwargs["on"]
    pairs = {technique.name: _pair(node.nodeid, technique, on[technique.name], levels_of) for technique in techniques}
    return [
        {name: pair[switched] for (name, pair), switched in zip(pairs.items(), row, strict=True)}
        for row in design(len(techniques))
    ]


def _pair(nodeid: str, technique: Technique, wanted: Switched, levels_of: LevelsOf) -> tuple[str, ...]:
    """Return a technique's level when it is off, and its level when it is on."""
    pair: tuple[str, ...]
    if isinstance(wanted, str):
        pair, said = (levels_of(technique)[0], wanted), f"on at {wanted!r}; expected one of"
    else:
        pair = tuple(levels_of(replace(technique, levels=wanted)))
        said = f"between {' and '.join(map(repr, pair))}; expected two of"
    # Levels that depend on the machine are tried: a level that it lacks skips, saying so.
    known = technique.levels if isinstance(technique.levels, tuple) else pair
    if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(known):
        others = known[1:] if isinstance(wanted, str) else known
        raise BadInput(f"{nodeid}: {technique.name} cannot be switched {said}: {', '.join(others)}")
    return pair
