"""The decorator with which a benchmark says what it switches."""

from __future__ import annotations

import pytest

MARKER = "toggles"


def toggles(framework: str, technique: str) -> pytest.MarkDecorator:
    """Run the test once per level of a technique, given as the argument of the same name, and compare the levels.

    Decorators stack: the levels are combined, and the first level of every technique is the common baseline.
    ``pytest -m "toggles(framework='torch')"`` selects by framework, ``-m "toggles(technique='amp')"`` by technique.
    """
    mark: pytest.MarkDecorator = getattr(pytest.mark, MARKER)
    return mark(framework=framework, technique=technique)
