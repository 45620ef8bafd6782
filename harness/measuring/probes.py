"""Does an arm do its work? One item of its inputs is changed, and its output must change with it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from harness.experiment import Arm
from harness.frameworks import Framework
from harness.frameworks.nesting import mapped, parts
from harness.frameworks.protocol import Index, Leaf
from harness.measuring import check

NUDGE = 0.97  # visible in bfloat16, and no value leaves its range by it
DONORS = 8  # items that are tried for values which differ from those of the item that is changed
SMALL_BYTES = 2**16  # an array up to this size is looked at as a whole, of a larger one some items
SAMPLED_ITEMS = 16
_ROUNDED = ("float", "bfloat", "complex")
_NUMBERS = (*_ROUNDED, "int", "uint", "bool")


@dataclass(frozen=True)
class _Input:
    """One array of numbers that an arm shows; its items lie along the first axis."""

    array: Any
    leaf: Leaf
    framework: Framework

    @property
    def is_rounded(self) -> bool:
        return self.leaf.dtype.startswith(_ROUNDED)

    def index(self, share: float) -> Index:
        """Return the item so far along the first axis, 1 for the last."""
        return min(int(share * self.leaf.shape[0]), self.leaf.shape[0] - 1) if self.leaf.shape else ()

    def item(self, index: Index) -> Any:
        return self.framework.item(self.array, index)

    def nudged(self, item: Any, _: Random) -> Any:
        """Return an item that differs a little, where its values can be scaled."""
        return item * NUDGE if self.is_rounded else item

    def replaced(self, item: Any, coin: Random) -> Any:
        """Return another item that differs, if one is found: its values are valid wherever they stand."""
        donors = (self.item(self.index(coin.random())) for _ in range(DONORS))
        return next((donor for donor in donors if not self.alike(donor, item)), item)

    def alike(self, one: Any, other: Any) -> bool:
        return check.identical(self.framework.to_host(one), self.framework.to_host(other))

    def samples(self) -> list[np.ndarray]:
        """Return it on the host, or some of its items."""
        if self.leaf.nbytes <= SMALL_BYTES or not self.leaf.shape:
            return self.framework.to_host(self.array)
        places = {self.index(share) for share in np.linspace(0, 1, SAMPLED_ITEMS)}
        return self.framework.to_host([self.item(place) for place in sorted(places)])

    def single_value(self) -> float | None:
        """Return the value that all of its elements have, if they are several and have one."""
        if all(length == 1 for length in self.leaf.shape) or not _constant(self.samples()):
            return None
        (whole,) = self.framework.to_host(self.array)
        return float(whole.flat[0]) if _constant([whole]) else None


Change = Callable[[_Input, Any, Random], Any]
# One suffices almost always; another item's values may by chance have the same sum, or the same label.
CHANGES: tuple[Change, ...] = (_Input.nudged, *[_Input.replaced] * 4)


class Probe:
    """Looks at the inputs that an arm shows, and changes them for a while."""

    def __init__(self, arm: Arm, framework: Framework, coin: Random) -> None:
        self.arm, self.framework, self.coin = arm, framework, coin
        self.shown = arm.inputs()
        leaves = [(part, framework.leaf(part)) for part in parts(self.shown)]
        self.inputs = [
            _Input(part, leaf, framework)
            for part, leaf in leaves
            if leaf and leaf.dtype.startswith(_NUMBERS) and 0 not in leaf.shape
        ]

    def constant(self) -> str | None:
        """Return a sentence where every input of rounded numbers, or every one where there is none, is constant."""
        counted = [each for each in self.inputs if each.is_rounded] or self.inputs
        values = [each.single_value() for each in counted]
        if not values or None in values:
            return None
        held = "are zero everywhere" if not any(values) else "hold one value everywhere"
        return f"the inputs {held}: hardware computes faster with such data than with what a program meets"

    def fingerprint(self) -> list[int]:
        """Return a number for each of the looked-at items, by which they are known again."""
        return [zlib.crc32(array.tobytes()) for each in self.inputs for array in each.samples()]

    def changed(self, fingerprint: Sequence[int]) -> str | None:
        """Return a sentence where the inputs are no longer what they were."""
        if self.fingerprint() == fingerprint:
            return None
        return "the step changes its inputs, so that later iterations compute on other data than the first"

    def objection(self, output: Sequence[np.ndarray], *, last: bool) -> str | None:
        """Return a sentence where the output does not depend on one item of the inputs.

        ``output`` is what the arm gave from its initial state. The item is the last one, or one drawn by the coin. An
        arm that is not deterministic never gives the same bits twice, and so passes. The inputs are put back; the arm
        is left as it was after the steps with the changed ones.
        """
        share = 1.0 if last else self.coin.random()
        answers = []
        for change in CHANGES:
            answer = self._output_with(share, change)
            if answer is not None and not check.identical(answer, output):
                return None
            answers.append(answer)
        if all(answer is None for answer in answers):
            return None
        elsewhere = self._output_with(0.0 if share > 0.5 else 1.0, _Input.replaced)
        if elsewhere is None or check.identical(elsewhere, output):
            return "the output does not change when its inputs do: it was cached, or computed beforehand"
        which = "the last item" if last else "an item drawn at random"
        return f"the output does not change when {which} of its inputs does, only when another one does: it is skipped"

    def _output_with(self, share: float, change: Change) -> list[np.ndarray] | None:
        """Return the output with one item of every input changed.

        None where nothing can be changed: the items are alike, or the arrays are immutable and not fed.
        """
        places = [each.index(share) for each in self.inputs]
        before = [each.item(place) for each, place in zip(self.inputs, places, strict=True)]
        after = [change(each, item, self.coin) for each, item in zip(self.inputs, before, strict=True)]
        differ = [not each.alike(*items) for each, *items in zip(self.inputs, before, after, strict=True)]
        if not any(differ):
            return None
        try:
            return check.output_of(self.arm, self.framework) if self._put(places, after) else None
        finally:
            self._put(places, before)

    def _put(self, places: Sequence[Index], items: Sequence[Any]) -> bool:
        """Write an item into every input; say whether the step will see any of it."""
        changed = {
            id(each.array): self.framework.put(each.array, place, item)
            for each, place, item in zip(self.inputs, places, items, strict=True)
        }
        if self.arm.feed is not None:
            self.arm.feed(mapped(self.shown, lambda part: changed.get(id(part), part)))
        self.framework.synchronize()
        return self.arm.feed is not None or any(changed[id(each.array)] is each.array for each in self.inputs)


def _constant(arrays: Sequence[np.ndarray]) -> bool:
    return all(bool(np.all(array == arrays[0].flat[0])) for array in arrays)
