"""Do arms learn alike? Their parameters after the checked steps are compared, and what these steps changed in them.

A first loss shows nothing of a backward pass. So an arm whose steps change its parameters runs at least two steps, and
both the last output and the parameters must be the baseline's. Of a large parameter, some items are compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from accelbench.core import Arm
from accelbench.core.arm import no_arrays
from accelbench.errors import AccelbenchError
from accelbench.frameworks import Framework
from accelbench.frameworks.tree import tree_leaves
from accelbench.measuring.checks import output as check
from accelbench.measuring.checks.input_dependence import shown_arrays
from accelbench.schema.reasons import Reason, reason

LEAST_STEPS = 2
# The first steps of Adam move every parameter by the learning rate, in the direction of the gradient's sign: where a
# gradient is all rounding, another order of additions turns the direction round.
MOST_CHANGE_ERROR = 0.4
# Rounding may hide, or be all of, a change that is smaller than this share of the parameters.
COARSE_STEP = 2**-7  # where they may be kept in bfloat16
FINE_STEP = 2**-22  # in float32
COMPARABLE_STEP = 2**-16  # and what rounding may change of a step in float32


@dataclass(frozen=True, kw_only=True)
class Learning:
    """Items of the parameters before and after some steps from the initial state, and the last step's output."""

    steps: int
    before: Sequence[np.ndarray]
    after: Sequence[np.ndarray]
    output: Sequence[np.ndarray] = ()

    @property
    def moved(self) -> bool:
        """Whether the steps changed anything."""
        return not check.identical(self.before, self.after)


def parameter_items(arm: Arm, framework: Framework, most: int | None = None) -> list[np.ndarray]:
    """Return the arm's parameters on the host in float64: of large ones some items, and of all at ``most`` as many.

    There are none where they cannot be read, such as tensors without data.
    """
    if arm.parameters is no_arrays:
        return []
    leaves = list(tree_leaves(arm.parameters()))
    some = leaves[:: math.ceil(len(leaves) / most)] if most and leaves else leaves
    with suppress(AccelbenchError, NotImplementedError):
        return [array for each in shown_arrays(framework, some) for array in each.samples()]
    return []


def learn(arm: Arm, framework: Framework, before: Sequence[np.ndarray], reference: Learning | None) -> Learning | None:
    """Return what the checked steps have learnt, which were just run; None for an arm that shows no parameters.

    Further steps follow until there were as many as the reference's, or without one at least two if the checked ones
    changed the parameters.
    """
    if not before:
        return None
    learning = Learning(steps=arm.checked_steps, before=before, after=parameter_items(arm, framework))
    steps = reference.steps if reference else LEAST_STEPS if learning.moved else 0
    if steps <= arm.checked_steps:
        return learning
    last = [arm.step() for _ in range(steps - arm.checked_steps)][-1]
    framework.synchronize()
    output = [] if arm.ignore_output else check.read(arm, framework, last)
    return Learning(steps=steps, before=before, after=parameter_items(arm, framework), output=output)


def find_other_learning(own: Learning, expected: Learning, tolerance: float, *, exact: bool) -> Reason | None:
    """Return a reason if an arm learns something else than the baseline does.

    Nothing is compared where the parameters are kept in other shapes, begin with other values, or the baseline's do not
    change. Where the arm must be ``exact``, the changes of the parameters are compared, too.
    """
    steps = own.steps
    if steps != expected.steps or not expected.moved or [*map(np.shape, own.after)] != [*map(np.shape, expected.after)]:
        return None
    moved, size = _distance(expected.after, expected.before), norm(expected.after)
    if not np.isfinite(moved) or not _distance(own.before, expected.before) <= tolerance * norm(expected.before):
        return None
    if not own.moved:
        is_visible = moved > (FINE_STEP if exact else COARSE_STEP) * size
        return reason("parameters-unchanged", steps=steps) if is_visible else None
    error = _distance(own.after, expected.after) / size if size else 0.0
    if not error <= tolerance:
        return reason("parameters-too-far", steps=steps, error=error, tolerance=tolerance)
    other = _distance(_changes(own), _changes(expected)) / moved
    if exact and moved > COMPARABLE_STEP * size and not other <= MOST_CHANGE_ERROR:
        return reason("learns-otherwise", steps=steps, error=other)
    return None


def _changes(learning: Learning) -> list[np.ndarray]:
    return [after - before for after, before in zip(learning.after, learning.before, strict=True)]


def _distance(arrays: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> float:
    return norm([array - other for array, other in zip(arrays, others, strict=True)])


def norm(arrays: Iterable[np.ndarray]) -> float:
    """Return the Euclidean norm of all elements of real arrays."""
    return float(np.sqrt(sum(float(np.square(array).sum()) for array in arrays)))
