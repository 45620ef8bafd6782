"""The decorators that name the techniques which a benchmark switches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from accelbench.core.technique import Levels

TOGGLES = "toggles"
FACTORIAL = "factorial"

SwitchedOn = str | tuple[str, str] | Levels  # the level when on, both levels, or both by machine


def toggles(framework: str, technique: str, levels: Sequence[str] = ()) -> pytest.MarkDecorator:
    """Run the test once per level of a technique, and compare the levels.

    Decorators stack: their levels are combined, and the first level of every technique is the common baseline.
    A test that needs to know its level takes it as the argument of the technique's name.
    ``pytest -m "toggles(framework='torch')"`` selects by framework, ``-m "toggles(technique='amp')"`` by technique.

    Args:
        framework: whose technique it is: ``"torch"``, ``"tensorflow"``, ``"cupy"`` or ``"numpy"``.
        technique: its name, such as ``"amp"``. A name that is not declared ends the session with the names that are.
        levels: which of its levels to compare, the baseline first, such as ``("32", "128", "512")`` for the technique
            ``"batch_size"``. By default all that the machine offers.
    """
    mark: pytest.MarkDecorator = getattr(pytest.mark, TOGGLES)
    return mark(framework=framework, technique=technique, **({"levels": levels} if levels else {}))


def factorial(framework: str, /, **on: SwitchedOn) -> pytest.MarkDecorator:
    """Run the test with techniques off and on in every combination, and estimate the effect of each.

    All arms are timed equally often, until the budget ends.

    Args:
        framework: whose techniques they are. It has no keyword, so a technique may have any name.
        on: two to four techniques by name, each with its level when it is on, such as ``amp="bf16"``; off is its first
            level. To choose both levels, give a pair, as in ``batch_size=("32", "256")``, or a function that returns
            the pair for a :class:`accelbench.Host`.
    """
    mark: pytest.MarkDecorator = getattr(pytest.mark, FACTORIAL)
    return mark(framework=framework, on=on)


def uses_accelbench(node: Any) -> bool:
    """Return whether a test has a mark of accelbench's.

    Other projects may use marks of the same names. A mark without our arguments is ours only if the test takes
    ``measure``.
    """
    marks = [mark for name in (TOGGLES, FACTORIAL) for mark in node.iter_markers(name)]
    if not marks:
        return False
    return "measure" in getattr(node, "fixturenames", ()) or any("framework" in mark.kwargs for mark in marks)
