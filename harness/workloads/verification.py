"""What makes an answer wrong in itself, whatever other arms computed: a broken conservation law, a missed reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.units import significant

Conserved = Mapping[str, tuple[Any, float]]  # of each quantity its value, and what a change is measured by


def not_conserved(before: Conserved, after: Conserved, tolerance: Mapping[str, float]) -> str | None:
    """Return a sentence naming a quantity that changed by more than its relative tolerance, or None."""
    for quantity, allowed in tolerance.items():
        (first, scale), (last, _) = before[quantity], after[quantity]
        change = float(np.linalg.norm(np.subtract(last, first))) / scale
        if not change <= allowed:  # NaN is no conservation
            return (
                f"{quantity} is not conserved: it changed by {significant(change)} relative, "
                f"{significant(allowed)} is allowed"
            )
    return None


def unlike(output: Any, expected: Any, tolerance: float, of: str) -> str | None:
    """Return a sentence where an output is further from ``of`` than the relative tolerance allows, or None."""
    apart = np.inf
    if np.shape(output) == np.shape(expected):
        apart = float(np.linalg.norm(np.subtract(output, expected)) / np.linalg.norm(expected))
    if apart <= tolerance:
        return None
    return f"the output is off {of} by {significant(apart)} relative, {significant(tolerance)} is allowed"
