"""A wrong answer has no speed: outputs are checked before and after the timing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.experiment import Arm, Look
from harness.frameworks import Framework
from harness.units import significant


def run(arm: Arm, framework: Framework) -> Any:
    """Return the arm's output from its initial state, by the very step that is timed, when its devices have ended."""
    arm.reset()
    steps: list[Callable[[], object]] = [arm.step] * arm.checked_steps
    output = [step() for step in steps][-1]
    framework.synchronize()
    return dict(output) if isinstance(output, Look) else output


def output_of(arm: Arm, framework: Framework) -> list[np.ndarray]:
    """Return the same as host arrays in float64."""
    with arm.entered():
        return framework.to_host(run(arm, framework))


def identical(output: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> bool:
    """Say whether two outputs are the same number for number, NaN being the same as NaN."""
    return len(output) == len(other) and all(
        np.array_equal(*pair) or np.array_equal(*pair, equal_nan=True)  # the latter takes many times as long
        for pair in zip(output, other, strict=True)
    )


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


def off_baseline(error: float, tolerance: float) -> str | None:
    """Return the same for the baseline's output, and what the error looks like where it looks like rounding.

    A float of p bits rounds by up to 2^-p relative: 2^-8 in bfloat16, 2^-11 in float16 and TF32 (Higham, "Accuracy and
    Stability of Numerical Algorithms", 2002, section 2.1). Of many random roundings about a quarter is left, and many
    layers leave some times more.
    """
    sentence = too_far(error, tolerance, "the baseline's")
    if sentence is None or not 2**-13 <= error < 2**-5:
        return sentence
    rounded = "float16 or TF32" if error < 2**-10 else "bfloat16"
    return f"{sentence}; {rounded} rounds by about so much, here or in the baseline"


def other_types(dtypes: Sequence[str], expected: Sequence[str]) -> str | None:
    """Return a sentence where the output's types of numbers are not the baseline's, although none was to be changed."""
    if len(dtypes) != len(expected) or dtypes == expected:
        return None
    return f"the output is {' and '.join(dtypes)}, the baseline's is {' and '.join(expected)}"
