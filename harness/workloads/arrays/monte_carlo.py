"""Monte-Carlo integration, with random numbers from each array library's own generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import erf, isqrt, pi, sqrt
from typing import Any

import numpy as np

from harness.experiment import Arm, Setting, workload
from harness.experiment.arm import holding_nothing
from harness.workloads.arrays.libraries import ArrayLibrary, Draw, check_elements, find_library
from harness.workloads.verification import unlike

EXACT = pi / 4 * erf(1) ** 2
VARIANCE = 0.0461  # the mean of |∇f|² / 12
SMALL_ELEMENTS = 1_000_000
OPERATIONS = 10  # per sample, beside those that draw it


@workload("numpy", "cupy", "torch", unit="sample")
def monte_carlo(setting: Setting, *, elements: int = 1_000_000, array_library: str = "numpy") -> Arm:
    """Integral of exp(−x² − y²) over the unit square, by one random point in each of a grid of small squares.

    Stratified so (Owen 2013, Monte Carlo theory, methods and examples, chapter 10), it errs by so little that a wrong
    generator shows. With a round trip, the result alone crosses the link.
    """
    side = isqrt(check_elements(setting, elements, small=SMALL_ELEMENTS))
    return sampled(find_library(array_library), setting.seed, side)


def sampled(library: ArrayLibrary, seed: int, side: int) -> Arm:
    """Return the arm that draws ``side`` × ``side`` samples in every step, and refuses a wrong estimate."""
    xp, corners = library.xp, np.arange(side, dtype=np.float32)
    draw: Draw

    def estimate(corners: Any) -> Any:
        x = (corners + draw((side, side))) / side
        y = (corners[:, None] + draw((side, side))) / side
        return xp.mean(xp.exp(-x * x - y * y))

    def reset() -> None:
        nonlocal draw
        draw = library.uniform(seed)

    def verify(output: Sequence[np.ndarray]) -> str | None:
        return unlike(output[0], EXACT, tolerance(side), "the known integral")

    reset()
    samples = side * side
    arm = library.arm(
        estimate, [(corners,)], items=samples, verify=verify, operations=OPERATIONS * samples, output_bytes=0
    )
    return replace(arm, reset=reset, inputs=holding_nothing)  # what is random is drawn within the step


def tolerance(side: int) -> float:
    """Return six standard deviations of the estimate's relative error, and what float32 rounds.

    In a small square the integrand varies by its gradient: var f ≈ |∇f|² / (12·side²), whose mean over the unit
    square is ``VARIANCE / side²``. The estimate is the mean of side² such samples.
    """
    return 6 * sqrt(VARIANCE) / side**2 / EXACT + 2e-6
