"""A change of the inputs that an arm shows, which is written and taken back between two timed blocks.

The content of an input is the only difference between a step on changed inputs and one on unchanged inputs: before
either, the same amount is written to the same places, so that the processor's caches are as warm. So a step that is
slower on changed inputs has kept something that it computed from the unchanged ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

from accelbench.core import Arm
from accelbench.frameworks import Framework
from accelbench.frameworks.tree import tree_map
from accelbench.measuring.checks.output import InputDependenceCheck

ONE, ALL = "an item of the inputs", "all items of the inputs"
SCALES = (0.9, 0.97)  # visible in bfloat16, and leave values in their range and constraints such as symmetry
MOST_BYTES = 2**22  # of inputs that are written as a whole


class InputChange:
    """Other values for one item of every input, or for all items of the inputs whose numbers can be scaled.

    A coin draws the item and the scale, so that nothing which was computed for an earlier change helps. An input whose
    numbers cannot be scaled, such as labels, gets another of its own items in place of one.
    """

    def __init__(self, arm: Arm, framework: Framework, coin: Random, what: str) -> None:
        probe = InputDependenceCheck(arm, framework, coin)
        self.what = what
        self._arm, self._framework, self._shown, self._inputs = arm, framework, probe.shown, probe.inputs
        whole = what == ALL and self.can_be_whole
        share, scale = coin.random(), coin.uniform(*SCALES)
        self._places = [() if whole and each.is_rounded else each.index(share) for each in probe.inputs]
        self._before = [each.item(place) for each, place in zip(probe.inputs, self._places, strict=True)]
        self._after = [
            item * scale if each.is_rounded else each.replaced(item, coin)
            for each, item in zip(probe.inputs, self._before, strict=True)
        ]

    @property
    def can_be_whole(self) -> bool:
        """Whether some inputs can be scaled, and writing all of them takes little time."""
        sizes = [each.leaf.nbytes for each in self._inputs]
        return sum(sizes) <= MOST_BYTES and any(each.is_rounded for each in self._inputs)

    @property
    def is_possible(self) -> bool:
        """Whether the arm shows inputs that the step reads where they are, or is fed with."""
        return bool(self._inputs) and self._write(self._before, feed=self._shown)

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
        self._write(self._after, feed=None)

    def take_back(self) -> None:
        """Write the items that stood there before; the arm is fed with the very inputs that it showed."""
        self._write(self._before, feed=self._shown)

    def _write(self, items: Sequence[Any], *, feed: Any) -> bool:
        """Write an item into every input; feed the arm with these inputs, or with the written ones."""
        written = {
            id(each.array): self._framework.put(each.array, place, item)
            for each, place, item in zip(self._inputs, self._places, items, strict=True)
        }
        if self._arm.feed is not None:
            changed = tree_map(self._shown, lambda part: written.get(id(part), part)) if feed is None else feed
            self._arm.feed(changed)
        self._framework.synchronize()
        return self._arm.feed is not None or any(written[id(each.array)] is each.array for each in self._inputs)
