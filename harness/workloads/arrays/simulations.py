"""Simulations: a state of float32 arrays that moves on in time, and what must not change on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.experiment import Arm, Setting
from harness.workloads.arrays.libraries import INPUT_SETS, Operands, check_elements, find_library
from harness.workloads.verification import Conserved, not_conserved


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """A step is a fixed number of time steps from one of a few initial states, so that every step is equal work.

    ``initial`` draws a state of so many elements. ``advance`` takes a namespace and a state, and returns the state
    after the time steps. ``conserved`` computes, in float64, what must not change by more than its ``tolerance``.
    ``work`` is what so many elements cost in a step, as the unit of the workload counts it, and ``operations`` what
    they cost at least, of which a known algorithm saves some. ``items_of`` returns a view of an array whose first axis
    counts what a program might skip. Up to ``small`` elements fit a small machine.
    """

    initial: Callable[[np.random.Generator, int], Operands]
    advance: Callable[..., tuple[object, ...]]
    conserved: Callable[..., Conserved]
    tolerance: Mapping[str, float]
    work: Callable[[int], int]
    operations: Callable[[int], float]
    saving: float = 1
    small: int
    items_of: Callable[[Any], Any] = lambda array: array

    def arm(self, setting: Setting, elements: int, array_library: str) -> Arm:
        """Return the arm that simulates with one of the array libraries, and refuses a step that breaks a law."""
        check_elements(setting, elements, small=self.small)
        library = find_library(array_library)
        rng = np.random.default_rng(setting.seed)
        states = [self.initial(rng, elements) for _ in range(INPUT_SETS)]

        def verify(output: Sequence[np.ndarray]) -> str | None:
            before = self.conserved(*(part.astype(np.float64) for part in states[0]))
            return not_conserved(before, self.conserved(*output), self.tolerance)

        return library.arm(
            lambda *state: self.advance(library.xp, *state),
            states,
            items=self.work(elements),
            verify=verify,
            operations=self.operations(elements),
            saving=self.saving,
            output_bytes=sum(part.nbytes for part in states[0]),
            items_of=self.items_of,
        )
