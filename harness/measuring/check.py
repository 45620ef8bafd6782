"""A wrong answer has no speed: outputs are checked before and after the timing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from harness.experiment import Arm
from harness.frameworks import Framework
from harness.units import significant


def output_of(arm: Arm, framework: Framework) -> list[np.ndarray]:
    """Return the arm's output as host arrays in float64, from its initial state, by the very step that is timed."""
    with arm.entered():
        arm.reset()
        steps: list[Callable[[], object]] = [arm.step] * arm.checked_steps
        output = [step() for step in steps][-1]
        framework.synchronize()
        return framework.to_host(output)


def relative_error(output: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """Return the largest relative error over the arrays, ``max ‖a − b‖₂ / ‖b‖₂``; infinite where shapes differ."""
    if [array.shape for array in output] != [array.shape for array in expected]:
        return float("inf")
    return max((_apart(array, reference) for array, reference in zip(output, expected, strict=True)), default=0.0)


def _apart(array: np.ndarray, reference: np.ndarray) -> float:
    scale = float(np.linalg.norm(reference))
    apart = float(np.linalg.norm(array - reference))
    return apart / scale if scale else apart


def fault(output: Sequence[np.ndarray]) -> str | None:
    """Return a sentence saying what is wrong with an output by itself, or None."""
    if not output:
        return "the step returned no output, so nothing can be checked"
    if any(array.size == 0 for array in output):
        return "the output is empty"
    if not all(np.isfinite(array).all() for array in output):
        return "the output holds NaN or infinity"
    if not any(np.any(array) for array in output):
        return "the output is zero everywhere"
    return None


def too_far(error: float, tolerance: float, of: str) -> str | None:
    """Return a sentence where an output is further from ``of`` than its tolerance allows, or None."""
    if error <= tolerance:
        return None
    return f"the output is off {of} by {significant(error)} relative, {significant(tolerance)} is allowed"
