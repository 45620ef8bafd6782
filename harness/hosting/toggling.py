"""The decorators with which a benchmark says what it switches."""

from __future__ import annotations

from typing import Any

import pytest

from harness.experiment.technique import Levels

MARKER = "toggles"
FACTORIAL = "factorial"

Switched = str | tuple[str, str] | Levels  # the level when on, both levels, or both by machine


def toggles(framework: str, technique: str) -> pytest.MarkDecorator:
    """Run the test once per level of a technique, given as the argument of the same name, and compare the levels.

    Decorators stack: the levels are combined, and the first level of every technique is the common baseline.
    ``pytest -m "toggles(framework='torch')"`` selects by framework, ``-m "toggles(technique='amp')"`` by technique.
    """
    mark: pytest.MarkDecorator = getattr(pytest.mark, MARKER)
    return mark(framework=framework, technique=technique)


def factorial(framework: str, **on: Switched) -> pytest.MarkDecorator:
    """Run the test with techniques switched off and on in every combination, and take the bundle of them apart.

    ``on`` names each technique with its level when switched on, such as ``amp="bf16"``; off is its first level. Where
    it is another, two levels are named, ``batch_size=("32", "256")``, or a function that returns them for a
    :class:`~harness.experiment.technique.Host`. The levels come as arguments of the techniques' names. Of five to eight
    techniques a fraction of 16 or 17 combinations is run. Every arm is timed as often as every other, until the budget
    ends.
    """
    mark: pytest.MarkDecorator = getattr(pytest.mark, FACTORIAL)
    return mark(framework=framework, on=on)


def is_toggling(node: Any) -> bool:
    """Say whether a test switches anything."""
    return any(node.get_closest_marker(marker) is not None for marker in (MARKER, FACTORIAL))
