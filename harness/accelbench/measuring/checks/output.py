"""Checks of an arm's output: it must be right, and depend on the inputs."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import Any

import numpy as np

from accelbench.core import Arm, DeferredOutput
from accelbench.core.verification import Outputs, find_excess_error, relative_error, share_that_differs
from accelbench.errors import BadInput
from accelbench.frameworks import Framework, host
from accelbench.frameworks.host import ArrayInfo, Index
from accelbench.frameworks.tree import stored_labels, stored_parts, tree_leaves, tree_map
from accelbench.schema.reasons import Reason, reason
from accelbench.text import join_names, name_type


def run(arm: Arm, framework: Framework, first_output: Any = None) -> Any:
    """Return the arm's output from its initial state, by the very step that is timed, when its devices have ended.

    ``first_output`` is that of the first step from this state, if it was just run.
    """
    output = _run_steps(arm, framework, first_output)
    return dict(output) if isinstance(output, DeferredOutput) else output


def _run_steps(arm: Arm, framework: Framework, first_output: Any = None) -> Any:
    """Return the same, but leave what is deferred unread."""
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
        return read(arm, framework, _run_steps(arm, framework))


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
    return reason("zero-output") if _is_zero(output) and not _is_zero(expected) else None


def are_finite(output: Iterable[np.ndarray]) -> bool:
    """Return whether all floating-point numbers of an output are finite."""
    return all(np.isfinite(array).all() for array in output if array.dtype.kind == "f")


def _is_zero(output: Iterable[np.ndarray]) -> bool:
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


LABEL_ROUNDING = 1e-6  # relative difference of labels that are floats, such as the edges of a histogram
MOST_NAMES = 3  # labels that a reason names
_PLAIN = {int, float, complex, bool, str, bytes, type(None)}


def find_other_labels(output: Any, expected: Any) -> Reason | None:
    """Return a reason if a dictionary in an output has other keys than expected, or a table other columns or index.

    The order of keys says nothing, that of columns and of an index does. Where only one of both is a table, their
    labels are not compared. As many plain values must be nested alike, since only that says which belong together.
    """
    if other := _find_other_names(output, expected):
        return other
    nestings = _nesting_of(output), _nesting_of(expected)
    if None in nestings or nestings[0] == nestings[1] or len({*map(_count, nestings)}) > 1:
        return None
    return reason("message", message="the output is nested in another way than the baseline's")


def _find_other_names(output: Any, expected: Any) -> Reason | None:
    if type(output) in _PLAIN or type(expected) in _PLAIN:
        return None
    labels, others = stored_labels(output), stored_labels(expected)
    parts, expected_parts = stored_parts(output), stored_parts(expected)
    if ("keys" in labels) != ("keys" in others) and min(len(parts or ()), len(expected_parts or ())) > 1:
        kinds = f"the output has {name_type(output)} where the baseline's has {name_type(expected)}"
        return reason("message", message=f"{kinds}; return the same, since only keys say which value is which")
    for kind in labels.keys() & others.keys():
        if not _same_labels(kind, labels[kind], others[kind]):
            return reason("message", message=_describe_labels(kind, labels[kind], others[kind]))
    if parts is None or expected_parts is None or len(parts) != len(expected_parts):
        return None
    found = (_find_other_names(*pair) for pair in zip(parts, expected_parts, strict=True))
    return next(filter(None, found), None)


def _nesting_of(output: Any) -> Any:
    """Return the numbers of plain values in an output, nested as its lists are; None if it has other values."""
    parts = stored_parts(output)
    if parts is None:
        return 1 if type(output) in _PLAIN or isinstance(output, np.generic) else None
    if isinstance(output, np.ndarray) or any(isinstance(part, np.ndarray) for part in parts):
        return None
    nestings = [_nesting_of(part) for part in parts]
    if None in nestings:
        return None
    return [sum(nestings)] if all(nesting == 1 for nesting in nestings) else nestings


def _count(nesting: Any) -> int:
    return sum(map(_count, nesting)) if isinstance(nesting, list) else int(nesting)


def _same_labels(kind: str, labels: Sequence[Any], others: Sequence[Any]) -> bool:
    if len(labels) != len(others):
        return False
    if kind == "keys":
        return set(labels) == set(others) or _are_close(sorted, labels, others)
    if kind != "index":
        return list(labels) == list(others)
    try:
        return identical(host.arrays(labels), host.arrays(others)) or _are_close(list, labels, others)
    except BadInput:  # they are of a type that is compared by itself, such as a period
        return list(labels) == list(others)


def _are_close(arrange: Callable[[Any], list[Any]], labels: Sequence[Any], others: Sequence[Any]) -> bool:
    """Return whether labels are numbers, with floats among them, that differ by no more than rounding."""
    both = (*labels, *others)
    if not all(isinstance(each, float | int | np.number) for each in both):
        return False
    if not any(isinstance(each, float | np.floating) for each in both):
        return False
    values, expected = np.array(arrange(labels), dtype=float), np.array(arrange(others), dtype=float)
    smallest = LABEL_ROUNDING * float(np.max(np.abs(expected[np.isfinite(expected)]), initial=0.0))
    return np.allclose(values, expected, rtol=LABEL_ROUNDING, atol=smallest, equal_nan=True)


def _describe_labels(kind: str, labels: Sequence[Any], others: Sequence[Any]) -> str:
    if kind == "index":
        return "the output has another index than the baseline's"
    known, expected = set(labels), set(others)
    missing = [each for each in others if each not in known]
    added = [each for each in labels if each not in expected]
    if not missing and not added:
        return f"the output has its {kind} in another order than the baseline's, or some of them more often"
    lacks, has = (f"the {_names(kind, some)}" if some else "" for some in (missing, added))
    if not missing:
        return f"the output has {has}, and the baseline's has not"
    return f"the output lacks {lacks} of the baseline's" + (f", and has {has} instead" if added else "")


def _names(kind: str, labels: Sequence[Any]) -> str:
    shown = [*map(repr, labels[:MOST_NAMES])]
    if len(labels) > MOST_NAMES:
        return f"{kind} {', '.join(shown)} and {len(labels) - MOST_NAMES} more"
    return f"{kind if len(labels) > 1 else kind.removesuffix('s')} {join_names(shown)}"


NUDGE = 0.97  # visible in bfloat16, and leaves every value within its range
# What one item is multiplied with, if nothing less shows: it becomes the largest, the smallest, or nothing.
LARGE = (8, -8, 0)
# What all items are multiplied with, and others added in their place: the distribution stays, but for its width.
MIXTURE = (0.63, 0.27)
DONORS = 8  # items that are tried for values which differ from those of the item that is changed
SMALL_BYTES = 2**16  # an array up to this size is compared as a whole, a larger one by some items
SAMPLED_ITEMS = 16
_ROUNDED = ("float", "bfloat", "complex")
_NUMBERS = (*_ROUNDED, "int", "uint", "bool")


@dataclass(frozen=True)
class _Input:
    """One array of numbers among an arm's inputs; its items lie along the first axis."""

    array: Any
    leaf: ArrayInfo
    framework: Framework

    @property
    def is_rounded(self) -> bool:
        return self.leaf.dtype.startswith(_ROUNDED)

    def index(self, share: float) -> Index:
        """Return the index of the item at this share of the first axis, 1 for the last item."""
        return min(int(share * self.leaf.shape[0]), self.leaf.shape[0] - 1) if self.leaf.shape else ()

    def places_between(self, share: float, other: float) -> int:
        """Return by how many places the item at the other share lies behind."""
        one, two = self.index(share), self.index(other)
        return two - one if isinstance(one, int) and isinstance(two, int) else 0

    def item(self, index: Index) -> Any:
        return self.framework.item(self.array, index)

    def nudged(self, item: Any, _: Random) -> Any:
        """Return an item that differs a little, where its values can be scaled."""
        return item * NUDGE if self.is_rounded else item

    def replaced(self, item: Any, coin: Random) -> Any:
        """Return another item that differs, if one is found: its values are valid wherever they stand."""
        donors = (self.item(self.index(coin.random())) for _ in range(DONORS))
        return next((donor for donor in donors if not self.alike(donor, item)), item)

    def mixed(self, whole: Any, coin: Random) -> Any:
        """Return all items, each mixed with another one and made smaller, where their values can be scaled."""
        if not self.is_rounded:
            return whole
        own, others = MIXTURE
        axis = next((axis for axis, length in enumerate(self.leaf.shape) if length > 1), None)
        if axis is None:
            return whole * own
        return whole * own + self.framework.roll(whole, coin.randrange(1, self.leaf.shape[axis]), axis) * others

    def moved(self, whole: Any, coin: Random) -> Any:
        """Return all items in other places, and mixed where they can be: integers remain valid."""
        if self.is_rounded or not self.leaf.shape or self.leaf.shape[0] < 2:
            return self.mixed(whole, coin)
        return self.framework.roll(whole, coin.randrange(1, self.leaf.shape[0]), 0)

    def repeated(self, whole: Any, coin: Random) -> Any:
        """Return as many times one of the items."""
        return whole * 0 + self.item(self.index(coin.random())) if self.leaf.shape else whole

    def alike(self, one: Any, other: Any) -> bool:
        """Return whether two items are equal, or two copies of the whole."""
        return identical(self._read(one), self._read(other))

    def samples(self) -> list[np.ndarray]:
        """Return it on the host, or some of its items."""
        return self._read(self.array)

    def _read(self, array: Any) -> list[np.ndarray]:
        leaf = self.framework.array_info(array)
        if leaf is None or leaf.nbytes <= SMALL_BYTES or leaf.shape != self.leaf.shape or not leaf.shape:
            return self.framework.to_host(array)
        places = {self.index(share) for share in np.linspace(0, 1, SAMPLED_ITEMS)}
        return self.framework.to_host([self.framework.item(array, place) for place in sorted(places)])

    def single_value(self) -> float | None:
        """Return the value that all of its elements have; None where they differ, or there is only one element."""
        if all(length == 1 for length in self.leaf.shape) or not _constant(self.samples()):
            return None
        (whole,) = self.framework.to_host(self.array)
        return float(whole.flat[0]) if _constant([whole]) else None


Change = Callable[[_Input, Any, Random], Any]


def _multiply(factor: int) -> Change:
    """Return the change that multiplies an item; integers may be indices, of which only 0 is surely valid."""
    return lambda each, item, _: item * factor if each.is_rounded or not factor else item


def _keep(_: _Input, item: Any, __: Random) -> Any:
    return item


# One suffices almost always; another item's values may by chance have the same sum, or the same label.
CHANGES: tuple[Change, ...] = (_Input.nudged, *[_Input.replaced] * 4)
LARGE_CHANGES: tuple[Change, ...] = tuple(map(_multiply, LARGE))
CHANGES_OF_ALL: tuple[Change, ...] = (_Input.mixed, _Input.moved, *[_Input.repeated] * 2)
BACKGROUNDS = 6  # items that stand in the place of all others, before an arm is said to skip one
READING_TIMES, READING_S = 4, 0.01  # reading that takes so many times as long as the step, and so long, is doubtful
EVERYWHERE = -1.0  # in place of a share of the first axis: all items


class InputDependenceCheck:
    """Changes the inputs that an arm shows for a while, and checks that its output changes with them."""

    def __init__(self, arm: Arm, framework: Framework, coin: Random, clock: Callable[[], float] = perf_counter) -> None:
        self.arm, self.framework, self.coin, self.clock = arm, framework, coin, clock
        self._doubts: list[Reason] = []
        self._is_deferred = False  # or nothing was run
        self._moved: float | None = None  # the output, by any change so far
        self.is_blind = False  # since one value stands everywhere in the output, whatever the inputs
        self._last_change: tuple[list[Index], list[Any], list[Any]] = [], [], []  # places, items before and after
        self.shown = arm.inputs()
        leaves = [(part, framework.array_info(part)) for part in tree_leaves(self.shown)]
        self.inputs = [
            _Input(part, leaf, framework)
            for part, leaf in leaves
            if leaf and leaf.dtype.startswith(_NUMBERS) and 0 not in leaf.shape
        ]

    def find_constant_inputs(self) -> Reason | None:
        """Return a reason if every input of rounded numbers, or every input where none is rounded, is constant."""
        counted = [each for each in self.inputs if each.is_rounded] or self.inputs
        values = [each.single_value() for each in counted]
        if not values or None in values:
            return None
        return reason("constant-inputs") if any(values) else reason("zero-inputs")

    def fingerprint(self) -> list[int]:
        """Return a checksum of each compared array or item."""
        return [zlib.crc32(array.tobytes()) for each in self.inputs for array in each.samples()]

    def find_changed_inputs(self, fingerprint: Sequence[int]) -> Reason | None:
        """Return a reason if the inputs are no longer what they were."""
        return None if self.fingerprint() == fingerprint else reason("inputs-changed")

    def find_ignored_input(self, output: Sequence[np.ndarray], *, last: bool) -> Reason | None:
        """Return a reason if the output does not depend on one item of the inputs, or is not what it seems.

        ``output`` is the arm's output from its initial state. The item is the last one, or a random one. An arm that is
        not deterministic never returns the same bits twice, and so passes. The inputs are restored; the arm is left as
        it was after the steps with the changed ones.

        A maximum, a median or a vote need not depend on a single item. So before an arm is accused, the item is changed
        more, all items are changed, and this one is changed among others.
        """
        if not output:
            return None
        ignored = self._find_ignored_input(output, last=last)
        return ignored or (last and (self._find_unused_output(output) or self._find_late_reading(output))) or None

    def _find_ignored_input(self, output: Sequence[np.ndarray], *, last: bool) -> Reason | None:
        share = 1.0 if last else self.coin.random()
        if self._depends(output, share, CHANGES) is not False or self._depends(output, share, LARGE_CHANGES):
            return None
        depends = self._depends(output, EVERYWHERE, CHANGES_OF_ALL)
        if depends is False:
            return None if _has_one_value(output) else reason("output-ignores-inputs")
        elsewhere = 0.0 if share > 0.5 else 1.0
        if not self._depends(output, elsewhere, CHANGES + LARGE_CHANGES):
            return None if depends else reason("output-ignores-inputs")
        try:
            if self._depends_on_what_matters_elsewhere(share, elsewhere) or self._depends_among_equals(share):
                return None
        except Exception as error:
            if self.framework.is_out_of_memory(error):  # there is no room for copies, and so no proof
                return None
            raise
        return reason("item-skipped", item="the last item" if last else "an item drawn at random")

    def find_doubts(self, output: Sequence[np.ndarray], tolerance: float) -> list[Reason]:
        """Return a reason if outputs say little: no change of the inputs moves them by the relative tolerance.

        An output of one value everywhere, which no change of the inputs moves, may be right: a mask that is false, or a
        list without entries. The check is then blind, and nobody is doubted.

        Reading a deferred output that takes much longer than the step is a doubt, too.
        """
        changes = CHANGES_OF_ALL + (LARGE_CHANGES if _has_one_value(output) else ())
        for change in changes if output else ():
            if self._moved is not None and self._moved > tolerance:
                break
            self._depends(output, EVERYWHERE, [change])
        self.is_blind = self._moved == 0 and _has_one_value(output)
        doubts = list(self._doubts)
        if self._moved is not None and self._moved <= tolerance and not self.is_blind:
            doubts.append(reason("output-insensitive", moved=self._moved, tolerance=tolerance))
        return doubts

    def _find_unused_output(self, output: Sequence[np.ndarray]) -> Reason | None:
        """Return a reason if ``compare_by`` makes the same of another output."""
        if self.arm.compare_by is None:
            return None
        with self.arm.enter():
            values = self.framework.to_host(run(self.arm, self.framework))
            zeros = [np.zeros_like(array) for array in values]
            with suppress(Exception):  # then it uses the output, which it cannot with this one
                if identical(host.arrays(self.arm.compare_by(zeros)), output) and not _is_zero(values):
                    return reason("comparison-ignores-output")
        return None

    def _find_late_reading(self, output: Sequence[np.ndarray]) -> Reason | None:
        """Return a reason if a deferred output is computed from the inputs when it is read."""
        if not self._is_deferred:
            return None
        with self.arm.enter():
            start = self.clock()
            deferred = _run_steps(self.arm, self.framework)
            step_s = (self.clock() - start) / self.arm.checked_steps
            places, before, after = self._draw_changes(EVERYWHERE, _Input.mixed)
            try:
                self._write(places, after)
                start = self.clock()
                late = read(self.arm, self.framework, deferred)
                read_s = self.clock() - start
            finally:
                self._write(places, before)
        if step_s and read_s > max(READING_S, READING_TIMES * step_s):
            self._doubts.append(reason("slow-reading", read_s=read_s, times=read_s / step_s))
        if identical(late, output):
            return None
        answer = self._output_on(places, after, before)
        return reason("output-computed-late") if answer and identical(late, answer) else None

    def _depends(self, output: Sequence[np.ndarray], share: float, changes: Iterable[Change]) -> bool | None:
        """Return whether one of the changes at this place changes the output; None where nothing can be changed."""
        depends = None
        for change in changes:
            answer = self._output_with(share, change)
            if answer is None:
                continue
            depends = not identical(answer, output)
            moved = relative_error(answer, output) if depends and answer else 0.0 if answer else math.inf
            self._moved = max(moved, self._moved or 0.0)
            if depends:
                return True
        return depends

    def _depends_on_what_matters_elsewhere(self, share: float, elsewhere: float) -> bool:
        """Return whether a change that matters elsewhere matters here, where all items are moved by that distance.

        That is so for whatever does not depend on the order of the items, such as a median.
        """
        _, before, after = self._last_change
        places, whole, _ = self._draw_changes(EVERYWHERE, _keep)
        moved = []
        for each, items in zip(self.inputs, whole, strict=True):
            distance = each.places_between(elsewhere, share)
            moved.append(self.framework.roll(items, distance, 0) if distance else items)
        return self._tell_apart(places, whole, self._with(share, moved, before), self._with(share, moved, after))

    def _depends_among_equals(self, share: float) -> bool:
        """Return whether the output depends on an item where all others are alike, as a search for the first does."""
        for _ in range(BACKGROUNDS):
            places, before, alike = self._draw_changes(EVERYWHERE, _Input.repeated)
            for factor in (1, *LARGE):
                _, _, items = self._draw_changes(self.coin.random(), _multiply(factor))
                if self._tell_apart(places, before, alike, self._with(share, alike, items)):
                    return True
        return False

    def _with(self, share: float, wholes: Sequence[Any], items: Sequence[Any]) -> list[Any]:
        """Return copies of whole inputs, each with another item at this place."""
        return [
            self.framework.put(self.framework.item(whole, ()), each.index(share), item)
            for each, whole, item in zip(self.inputs, wholes, items, strict=True)
        ]

    def _tell_apart(
        self, places: Sequence[Index], before: Sequence[Any], one: Sequence[Any], other: Sequence[Any]
    ) -> bool:
        """Return whether the outputs with these inputs differ; bring back those before."""
        first, second = (self._output_on(places, items, before) for items in (one, other))
        return first is not None and second is not None and not identical(first, second)

    def _output_on(
        self, places: Sequence[Index], items: Sequence[Any], before: Sequence[Any]
    ) -> list[np.ndarray] | None:
        """Return the output with these items, and bring back those before.

        None where the step uses none of them, or memory runs out; no array where the step refuses them.
        """
        try:
            if not self._write(places, items):
                return None
            with self.arm.enter():
                output = _run_steps(self.arm, self.framework)
                self._is_deferred = isinstance(output, DeferredOutput)
                return read(self.arm, self.framework, output)
        except Exception as error:
            return None if self.framework.is_out_of_memory(error) else []
        finally:
            self._write(places, before)

    def _draw_changes(self, share: float, change: Change) -> tuple[list[Index], list[Any], list[Any]]:
        """Return the places that are to change in every input, what is there, and what shall be."""
        places = [() if share == EVERYWHERE else each.index(share) for each in self.inputs]
        before = [each.item(place) for each, place in zip(self.inputs, places, strict=True)]
        after = []
        for each, item in zip(self.inputs, before, strict=True):
            after.append(item)
            with suppress(Exception):  # a type that the framework cannot scale
                after[-1] = change(each, item, self.coin)
        return places, before, after

    def _output_with(self, share: float, change: Change) -> list[np.ndarray] | None:
        """Return the output with one item of every input changed, or all of them.

        None where nothing can be changed: the items are alike, or the arrays are immutable and not fed. Without any
        array where the step refuses the changed inputs.
        """
        try:
            places, before, after = self._draw_changes(share, change)
            differ = [not each.alike(*items) for each, *items in zip(self.inputs, before, after, strict=True)]
        except Exception as error:  # there may be no room for a copy
            if not self.framework.is_out_of_memory(error):
                raise
            return None
        if not any(differ):
            return None
        self._last_change = places, before, after
        return self._output_on(places, after, before)

    def _write(self, places: Sequence[Index], items: Sequence[Any]) -> bool:
        """Write an item into every input; return whether the step will use any of them."""
        changed = {
            id(each.array): self.framework.put(each.array, place, item)
            for each, place, item in zip(self.inputs, places, items, strict=True)
        }
        if self.arm.feed is not None:
            self.arm.feed(tree_map(self.shown, lambda part: changed.get(id(part), part)))
        self.framework.synchronize()
        return self.arm.feed is not None or any(changed[id(each.array)] is each.array for each in self.inputs)


def _has_one_value(output: Sequence[np.ndarray]) -> bool:
    """Return whether every array of an output holds one value that is no fraction, or nothing finite."""
    return all(map(_says_little, output))


def _says_little(array: np.ndarray) -> bool:
    if array.dtype.kind == "f":
        finite = array[np.isfinite(array)]
        return not finite.size or (_constant([finite]) and float(finite[0]).is_integer())
    return not array.size or _constant([array])


def _constant(arrays: Sequence[np.ndarray]) -> bool:
    return all(bool(np.all(array == arrays[0].flat[0])) for array in arrays)
