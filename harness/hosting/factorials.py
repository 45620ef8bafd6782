"""Tests that take a bundle apart: the techniques that they switch, and the arms of their design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.attribution.design import design
from harness.errors import BadInput
from harness.experiment import Levels, Technique, find_technique
from harness.hosting.toggling import FACTORIAL, MARKER


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


def arms_of(node: Any, techniques: Sequence[Technique], off: Sequence[str]) -> list[Levels]:
    """Return the levels of each arm, the baseline first; ``off`` has each technique's level when it is off.

    Raises:
        BadInput: there are too few or too many techniques, or one has no such level.
    """
    on = node.get_closest_marker(FACTORIAL).kwargs["on"]
    levels = {technique.name: (first, on[technique.name]) for technique, first in zip(techniques, off, strict=True)}
    for technique in techniques:
        # Levels that depend on the machine are tried: a level that it lacks skips, saying so.
        known = technique.levels if isinstance(technique.levels, tuple) else levels[technique.name]
        if (wanted := on[technique.name]) not in set(known) - {levels[technique.name][0]}:
            others = ", ".join(known[1:])
            raise BadInput(
                f"{node.nodeid}: {technique.name} cannot be switched on at {wanted!r}; expected one of: {others}"
            )
    return [
        {name: pair[switched] for (name, pair), switched in zip(levels.items(), row, strict=True)}
        for row in design(len(techniques))
    ]
