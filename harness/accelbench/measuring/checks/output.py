"""An arm's output: how it is computed and read for the checks, and what is wrong with its values and types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from accelbench.core import Arm, DeferredOutput
from accelbench.core.verification import Outputs, find_excess_error, share_that_differs
from accelbench.frameworks import Framework, host
from accelbench.schema.reasons import Reason, reason
from accelbench.text import join_names


def run(arm: Arm, framework: Framework, first_output: Any = None) -> Any:
    """Return the arm's output from its initial state, by the very step that is timed, when its devices have ended.

    ``first_output`` is that of the first step from this state, if it was just run.
    """
    output = run_steps(arm, framework, first_output)
    return dict(output) if isinstance(output, DeferredOutput) else output


def run_steps(arm: Arm, framework: Framework, first_output: Any = None) -> Any:
    """Return the same as ``run``, but leave what is deferred unread."""
    if first_output is None:
        arm.reset()
        first_output = arm.step()
    steps: list[Callable[[], object]] = [arm.step] * (arm.checked_steps - 1)
    output = [first_output, *(step() for step in steps)][-1]
    framework.synchronize()
    return () if arm.ignore_output else output


def read(arm: Arm, framework: Framework, output: Any) -> list[np.ndarray]:
    """Return what is compared of an output: its arrays on the host, or what the arm's ``compare_by`` makes of them."""
    values = framework.to_host(output)
    return host.arrays(arm.compare_by(values)) if arm.compare_by else values


def output_of(arm: Arm, framework: Framework) -> list[np.ndarray]:
    """Return what is compared of the arm's output from its initial state."""
    with arm.enter():
        return read(arm, framework, run_steps(arm, framework))


def identical(output: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> bool:
    """Return whether two outputs are equal, NaN being equal to NaN."""
    return len(output) == len(other) and all(_equal(*pair) for pair in zip(output, other, strict=True))


def _equal(array: np.ndarray, other: np.ndarray) -> bool:
    if np.array_equal(array, other):
        return True
    if array.shape == other.shape and array.dtype.kind == other.dtype.kind == "O":
        return share_that_differs(array, other) == 0
    if not all(each.dtype.kind in "fcmM" for each in (array, other)):
        return False
    return np.array_equal(array, other, equal_nan=True)  # takes many times as long


def find_invalid_values(output: Sequence[np.ndarray], expected: Sequence[np.ndarray] = ()) -> Reason | None:
    """Return what is wrong with an output by itself, None where nothing is.

    With the output that is ``expected``, that is also to be empty, to be zero, or to hold NaN or infinities where the
    expected one does not. Without it, only an output that holds nothing but NaN is wrong.
    """
    if not output:
        return reason("no-output")
    numbers = [array for array in output if array.dtype.kind == "f" and array.size]
    if not expected:
        return reason("not-finite") if numbers and all(np.isnan(array).all() for array in numbers) else None
    if any(array.size == 0 for array in output) and all(array.size for array in expected):
        return reason("empty-output")
    if are_finite(expected) and not are_finite(output):
        return reason("not-finite")
    return reason("zero-output") if is_zero(output) and not is_zero(expected) else None


def are_finite(output: Iterable[np.ndarray]) -> bool:
    """Return whether all floating-point numbers of an output are finite."""
    return all(np.isfinite(array).all() for array in output if array.dtype.kind == "f")


def is_zero(output: Iterable[np.ndarray]) -> bool:
    """Return whether an output is zero everywhere."""
    return not any(np.any(array) for array in output)


def find_error_to_baseline(error: float, tolerance: float, outputs: Outputs | None = None) -> Reason | None:
    """Return a reason if an arm's error is too large, with the precision whose rounding explains an error of this size.

    With the arm's and the baseline's ``outputs``, the reason names the slice that is wrong where the error over all
    hides it.

    A float of p bits rounds by up to 2^-p relative: 2^-8 in bfloat16, 2^-11 in float16 and TF32 (Higham, "Accuracy and
    Stability of Numerical Algorithms", 2002, section 2.1). Many random roundings average to about a quarter of that,
    and many layers add up to a few times that.
    """
    excess = find_excess_error(error, tolerance, "the baseline's", outputs)
    if excess is None or excess.code != "too-far" or not 2**-13 <= error < 2**-5:
        return excess
    precision = "float16 or TF32" if error < 2**-10 else "bfloat16"
    return reason("too-far-like-rounding", **excess.values, precision=precision)


def find_other_dtypes(dtypes: Sequence[str], expected: Sequence[str]) -> Reason | None:
    """Return a reason if the output's dtypes are not the baseline's.

    Integers and truth values of any width are alike, since their values are compared; so are texts, and dates.
    """
    if len(dtypes) != len(expected) or list(map(_family, dtypes)) == list(map(_family, expected)):
        return None
    return reason("other-dtype", dtypes=join_names(dtypes), expected=join_names(expected))


def _family(dtype: str) -> str:
    """Return what types have in common that hold the same values: the name without its width, if it is no float."""
    if dtype.startswith(("int", "uint", "bool")):
        return "integer"
    return next((kind for kind in ("str", "bytes", "object", "datetime", "timedelta") if dtype.startswith(kind)), dtype)
