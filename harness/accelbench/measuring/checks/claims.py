"""What an arm says about itself: its items, its least work, what it observed and verified. Nothing is taken on trust.

Speeds are compared per item, and an arm names its items itself. So arms that must compute the same must name the same
number, and what an arm says of its items must agree with the inputs that it shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import chain, combinations, zip_longest
from typing import TYPE_CHECKING

from accelbench.core import Arm, Work
from accelbench.frameworks import Framework
from accelbench.frameworks.host import ArrayInfo
from accelbench.measuring.checks.output import identical
from accelbench.measuring.checks.placement import leaves
from accelbench.measuring.trial_result import StatedWork
from accelbench.schema.reasons import Reason, printable_line, reason
from accelbench.schema.storable import UnstorableValue, describe_value, find_misfit, plain_name, plain_number

if TYPE_CHECKING:
    from accelbench.measuring.arm_run import ArmRun

MOST_ITEMS = 1e18  # of the schema
MOST_AXES = 8  # of an array whose axes are multiplied in every way
SLACK = 1e-6  # relative, between numbers of items that count as the same
LEAST_TELLING = 2  # elements of an output
MOST_DIMENSIONS = 3  # the work on n points may grow with their square or cube


def admit(arm: Arm) -> Arm:
    """Return an arm with its items and its work as plain numbers.

    Raises:
        UnstorableValue: they are something else.
    """
    items = plain_number(
        arm.items, "items", expected="a number above 0, at most 10^18", accepts=lambda number: 0 < number <= MOST_ITEMS
    )
    if not (arm.work is None or isinstance(arm.work, Work)):
        raise UnstorableValue(
            reason("unstorable", what="work", given=describe_value(arm.work), expected="an accelbench.Work or None")
        )
    work = _plain_work(arm.work) if arm.work else None
    is_plain = type(arm.items) in (int, float) and work == arm.work
    return arm if is_plain else replace(arm, items=items, work=work)


def _plain_work(work: Work) -> Work:
    amounts = {
        field.name: plain_number(
            getattr(work, field.name), f"work.{field.name}", expected="a finite number from 0", accepts=_is_amount
        )
        for field in fields(work)
        if field.name not in ("saving", "precision")
    }
    saving = plain_number(
        work.saving, "work.saving", expected="a finite number from 1", accepts=lambda number: number >= 1
    )
    return Work(**amounts, saving=saving, precision=plain_name(work.precision, "work.precision"))


def _is_amount(number: float) -> bool:
    return number >= 0


def objection_of(said: object) -> Reason | None:
    """Return what ``verify`` said as a reason, None where it had no objection.

    Raises:
        UnstorableValue: it is neither None, nor a reason, nor a text. A Boolean would leave open what it means.
    """
    if said is None or isinstance(said, Reason):
        return said
    if isinstance(said, str):
        return reason("message", message=printable_line(str(said))) if said else None
    expected = "a sentence, a reason, or None where the answer is right"
    raise UnstorableValue(
        reason("unstorable", what="what verify returned", given=describe_value(said), expected=expected)
    )


def find_other_items(arm_run: ArmRun, reference: ArmRun) -> Reason | None:
    """Return a reason if an arm claims other items than one that must compute the same, or than when it was built."""
    claimed = arm_run.built.items
    if arm_run.items is not None and not _is_same(claimed, arm_run.items):
        return reason("items-changed", items=claimed, expected=arm_run.items)
    return None if arm_run is reference else differing_items(claimed, reference.items)


def differing_items(claimed: float | None, expected: float | None) -> Reason | None:
    """Return a reason if the items differ that two arms claim which must compute the same."""
    if claimed is None or expected is None or _is_same(claimed, expected):
        return None
    return reason("other-items", items=claimed, expected=expected)


def _is_same(items: float, others: float) -> bool:
    return math.isclose(items, others, rel_tol=SLACK)


def find_doubtful_items(arm_run: ArmRun, baseline: ArmRun, framework: Framework) -> Reason | None:
    """Return a flag if an arm that need not compute what the baseline does counts its items in another way.

    Items lie along the first axis of the inputs. Programs count rows, elements, pixels, interactions or operations, and
    an epoch or a part of what is shown, all of which is honest as long as both arms count alike. So the arm is doubted
    only if it claims more items than its inputs have, and more for each than the baseline does, and if neither another
    axis nor a power of the size explains it. Where the baseline's items do not lie along an axis, the arm may count
    whatever programs count, or as many items as the baseline, such as its steps.
    """
    if arm_run is baseline or baseline.arm is None or arm_run.computes() == baseline.computes():
        return None
    inputs, others = (leaves(framework, each.built.inputs()) for each in (arm_run, baseline))
    length, other_length = _first_axis(inputs), _first_axis(others)
    claimed, expected = arm_run.built.items, baseline.built.items
    if not length or not other_length or claimed <= length * max(1.0, expected / other_length) * (1 + SLACK):
        return None
    grown = length / other_length
    counts = [expected * grown**power for power in range(1, MOST_DIMENSIONS + 1)] + _axes(inputs)
    if not any(_is_same(expected, axis) for axis in _axes(others)):  # the baseline counts something else than rows
        counts += [expected, *_usual_counts(arm_run, inputs)]
    if any(_is_same(claimed, count) for count in counts):
        return None
    return reason(
        "items-unlike-baseline", items=claimed, length=length, expected=expected, expected_length=other_length
    )


def find_unearned_items(arm_run: ArmRun, baseline: ArmRun) -> Reason | None:
    """Return a flag if an arm claims more items than the baseline, returns the same arrays, and takes no longer.

    A single number shows too little: honest work on more items may end with the same status.
    """
    if arm_run.items is None or baseline.items is None or arm_run.timing is None or baseline.timing is None:
        return None
    if arm_run.items <= baseline.items * (1 + SLACK) or arm_run.timing.median_s > baseline.timing.median_s:
        return None
    if sum(array.size for array in arm_run.output) < LEAST_TELLING or not identical(arm_run.output, baseline.output):
        return None
    return reason("unearned-items", items=arm_run.items, expected=baseline.items)


def _first_axis(arrays: Sequence[ArrayInfo]) -> int:
    """Return the length of the longest first axis, 0 where no array has one."""
    return max((array.shape[0] for array in arrays if array.shape), default=0)


def _axes(arrays: Sequence[ArrayInfo]) -> list[float]:
    """Return the length of each axis, in each array and in all of them together."""
    shapes = [array.shape for array in arrays]
    return [*chain(*shapes), *(sum(filter(None, lengths)) for lengths in zip_longest(*shapes))]


def _usual_counts(arm_run: ArmRun, inputs: Sequence[ArrayInfo]) -> Iterator[float]:
    """Yield what programs count besides: several axes of an array, all arrays up to some axis, bytes, stated work."""
    for shapes in ([array.shape for array in inputs], [array.shape for array in arm_run.output]):
        for shape in shapes:
            axes = shape[:MOST_AXES]
            yield math.prod(shape)
            yield from (math.prod(some) for number in range(1, len(axes) + 1) for some in combinations(axes, number))
        depth = max(map(len, shapes), default=0)
        yield from (sum(math.prod(shape[:axes]) for shape in shapes) for axes in range(1, depth + 1))
    yield from (array.nbytes for array in inputs)
    yield sum(array.nbytes for array in inputs)
    if work := arm_run.built.work:
        yield from (work.operations, work.memory_bytes, work.to_device_bytes, work.from_device_bytes, work.disk_bytes)


def work_of(
    own: StatedWork | None, reference: StatedWork | None, *, device: str | None, any_precision: bool
) -> StatedWork | None:
    """Return what an arm must at least do: what it states, or else what the arm states that must compute the same.

    ``device`` is the device of the arm itself, None where it is not known.
    """
    if reference is None or (own is not None and own.is_something):
        return own
    return reference.of_another_arm(device=device, any_precision=any_precision)


def hold_against_schema(arm_run: ArmRun) -> None:
    """Fail an arm whose record no result file could hold, and leave out what does not fit."""
    misfit = find_misfit(arm_run.record())
    if misfit is None:
        return
    arm_run.observed, arm_run.flags, arm_run.placement, arm_run.items = {}, [], None, None
    arm_run.fail("failed", misfit)
