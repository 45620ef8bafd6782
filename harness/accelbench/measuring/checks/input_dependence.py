"""Does the output depend on the inputs? The inputs that an arm shows are changed for a while.

`InputDependenceCheck` runs the arm on changed inputs and looks at its output. `InputChange` changes the inputs between
two timed blocks: what was computed from the unchanged inputs, and kept, does not help with the changed ones.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import Any

import numpy as np

from accelbench.core import Arm, DeferredOutput
from accelbench.core.verification import relative_error
from accelbench.frameworks import Framework, host
from accelbench.frameworks.host import ArrayInfo, Index
from accelbench.frameworks.tree import tree_leaves, tree_map
from accelbench.measuring.checks import output as check
from accelbench.schema.reasons import Reason, reason

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
class ShownArray:
    """One array of numbers among the inputs or parameters of an arm; its items lie along the first axis."""

    array: Any
    leaf: ArrayInfo
    framework: Framework

    @property
    def is_rounded(self) -> bool:
        """Whether its numbers can be scaled: they are no integers or truth values."""
        return self.leaf.dtype.startswith(_ROUNDED)

    def index(self, share: float) -> Index:
        """Return the index of the item at this share of the first axis, 1 for the last item."""
        return min(int(share * self.leaf.shape[0]), self.leaf.shape[0] - 1) if self.leaf.shape else ()

    def places_between(self, share: float, other: float) -> int:
        """Return by how many places the item at the other share lies behind."""
        one, two = self.index(share), self.index(other)
        return two - one if isinstance(one, int) and isinstance(two, int) else 0

    def item(self, index: Index) -> Any:
        """Return a copy of the item at this index."""
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
        return check.identical(self._read(one), self._read(other))

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


def shown_arrays(framework: Framework, value: Any) -> list[ShownArray]:
    """Return the arrays of numbers in a value, without the empty ones."""
    leaves = [(part, framework.array_info(part)) for part in tree_leaves(value)]
    return [
        ShownArray(part, leaf, framework)
        for part, leaf in leaves
        if leaf and leaf.dtype.startswith(_NUMBERS) and 0 not in leaf.shape
    ]


class ShownInputs:
    """The inputs that an arm shows, and the arrays of numbers among them, which can be written."""

    def __init__(self, arm: Arm, framework: Framework) -> None:
        self._arm, self._framework = arm, framework
        self._shown = arm.inputs()
        self.arrays = shown_arrays(framework, self._shown)

    def write(self, places: Sequence[Index], items: Sequence[Any], *, same_objects: bool = False) -> bool:
        """Write an item into every array; return whether the step will use any of them.

        An arm that is fed gets the written arrays, or with ``same_objects`` the very inputs that it showed.
        """
        written = {
            id(each.array): self._framework.put(each.array, place, item)
            for each, place, item in zip(self.arrays, places, items, strict=True)
        }
        if self._arm.feed is not None:
            fed = self._shown if same_objects else tree_map(self._shown, lambda part: written.get(id(part), part))
            self._arm.feed(fed)
        self._framework.synchronize()
        return self._arm.feed is not None or any(written[id(each.array)] is each.array for each in self.arrays)


Change = Callable[[ShownArray, Any, Random], Any]


def _multiply(factor: int) -> Change:
    """Return the change that multiplies an item; integers may be indices, of which only 0 is surely valid."""
    return lambda each, item, _: item * factor if each.is_rounded or not factor else item


def _keep(_: ShownArray, item: Any, __: Random) -> Any:
    return item


# One suffices almost always; another item's values may by chance have the same sum, or the same label.
CHANGES: tuple[Change, ...] = (ShownArray.nudged, *[ShownArray.replaced] * 4)
LARGE_CHANGES: tuple[Change, ...] = tuple(map(_multiply, LARGE))
CHANGES_OF_ALL: tuple[Change, ...] = (ShownArray.mixed, ShownArray.moved, *[ShownArray.repeated] * 2)
BACKGROUNDS = 6  # items that stand in the place of all others, before an arm is said to skip one
READING_TIMES, READING_S = 4, 0.01  # a reading this many times as long as the step, and this long, is doubtful
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
        self._shown = ShownInputs(arm, framework)
        self.inputs = self._shown.arrays

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
            values = self.framework.to_host(check.run(self.arm, self.framework))
            zeros = [np.zeros_like(array) for array in values]
            with suppress(Exception):  # then it uses the output, which it cannot with this one
                if check.identical(host.arrays(self.arm.compare_by(zeros)), output) and not check.is_zero(values):
                    return reason("comparison-ignores-output")
        return None

    def _find_late_reading(self, output: Sequence[np.ndarray]) -> Reason | None:
        """Return a reason if a deferred output is computed from the inputs when it is read."""
        if not self._is_deferred:
            return None
        with self.arm.enter():
            start = self.clock()
            deferred = check.run_steps(self.arm, self.framework)
            step_s = (self.clock() - start) / self.arm.checked_steps
            places, before, after = self._draw_changes(EVERYWHERE, ShownArray.mixed)
            try:
                self._shown.write(places, after)
                start = self.clock()
                late = check.read(self.arm, self.framework, deferred)
                read_s = self.clock() - start
            finally:
                self._shown.write(places, before)
        if step_s and read_s > max(READING_S, READING_TIMES * step_s):
            self._doubts.append(reason("slow-reading", read_s=read_s, times=read_s / step_s))
        if check.identical(late, output):
            return None
        answer = self._output_on(places, after, before)
        return reason("output-computed-late") if answer and check.identical(late, answer) else None

    def _depends(self, output: Sequence[np.ndarray], share: float, changes: Iterable[Change]) -> bool | None:
        """Return whether one of the changes at this place changes the output; None where nothing can be changed."""
        depends = None
        for change in changes:
            answer = self._output_with(share, change)
            if answer is None:
                continue
            depends = not check.identical(answer, output)
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
            places, before, alike = self._draw_changes(EVERYWHERE, ShownArray.repeated)
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
        return first is not None and second is not None and not check.identical(first, second)

    def _output_on(
        self, places: Sequence[Index], items: Sequence[Any], before: Sequence[Any]
    ) -> list[np.ndarray] | None:
        """Return the output with these items, and bring back those before.

        None where the step uses none of them, or memory runs out; no array where the step refuses them.
        """
        try:
            if not self._shown.write(places, items):
                return None
            with self.arm.enter():
                output = check.run_steps(self.arm, self.framework)
                self._is_deferred = isinstance(output, DeferredOutput)
                return check.read(self.arm, self.framework, output)
        except Exception as error:
            return None if self.framework.is_out_of_memory(error) else []
        finally:
            self._shown.write(places, before)

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


ONE, ALL = "an item of the inputs", "all items of the inputs"
SCALES = (0.9, 0.97)  # visible in bfloat16, and leave values in their range and constraints such as symmetry
MOST_BYTES = 2**22  # of inputs that are written as a whole


class InputChange:
    """Other values for one item of every input, or for all items of the inputs whose numbers can be scaled.

    A change is written and taken back between two timed blocks. The content of an input is the only difference between
    a step on changed inputs and one on unchanged inputs: before either, the same amount is written to the same places,
    so that the processor's caches are as warm. So a step that is slower on changed inputs has kept something that it
    computed from the unchanged ones.

    A coin draws the item and the scale, so that nothing which was computed for an earlier change helps. An input whose
    numbers cannot be scaled, such as labels, gets another of its own items in place of one.
    """

    def __init__(self, arm: Arm, framework: Framework, coin: Random, what: str) -> None:
        self.what = what
        self._inputs = ShownInputs(arm, framework)
        arrays = self._inputs.arrays
        whole = what == ALL and self.can_be_whole
        share, scale = coin.random(), coin.uniform(*SCALES)
        self._places = [() if whole and each.is_rounded else each.index(share) for each in arrays]
        self._before = [each.item(place) for each, place in zip(arrays, self._places, strict=True)]
        self._after = [
            item * scale if each.is_rounded else each.replaced(item, coin)
            for each, item in zip(arrays, self._before, strict=True)
        ]

    @property
    def can_be_whole(self) -> bool:
        """Whether some inputs can be scaled, and writing all of them takes little time."""
        arrays = self._inputs.arrays
        return sum(each.leaf.nbytes for each in arrays) <= MOST_BYTES and any(each.is_rounded for each in arrays)

    @property
    def is_possible(self) -> bool:
        """Whether the arm shows inputs that the step reads where they are, or is fed with."""
        return bool(self._inputs.arrays) and self.take_back()

    @contextmanager
    def made(self) -> Iterator[None]:
        """Make the change for the time of a context."""
        try:
            self.make()
            yield
        finally:
            self.take_back()

    def make(self) -> None:
        """Write the changed items."""
        self._inputs.write(self._places, self._after)

    def take_back(self) -> bool:
        """Write the items that stood there before; return whether the step will use any of them."""
        return self._inputs.write(self._places, self._before, same_objects=True)
