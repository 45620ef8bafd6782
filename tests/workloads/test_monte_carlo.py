"""The estimate is the known integral in every library, and a generator that is not uniform is refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Setting, find_workload
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.workloads.arrays.libraries import find_library
from accelbench.workloads.arrays.simulations import sampled

framework = load("torch")


@pytest.mark.parametrize("library", ["numpy", "torch-cpu"])
def test_the_estimate_is_the_known_integral(library: str) -> None:
    for seed in range(5):
        arm = find_workload("monte-carlo").build(Setting(seed=seed), elements=10_000, array_library=library)
        (estimate,) = check.output_of(arm, framework)
        assert estimate == pytest.approx(0.557746, rel=3e-4)
        assert arm.verify([estimate]) is None
    assert arm.items == 10_000


@pytest.mark.parametrize("library", ["numpy", "torch-cpu"])
def test_every_step_draws_other_numbers_and_a_reset_draws_the_same(library: str) -> None:
    arm = find_workload("monte-carlo").build(Setting(), elements=100, array_library=library)
    first, second = float(arm.step()), float(arm.step())
    assert first != second
    arm.reset()
    assert float(arm.step()) == first


@pytest.mark.parametrize(
    "spoil",
    [lambda drawn: 0 * drawn, lambda drawn: 0.9 * drawn, lambda drawn: drawn**2],
    ids=["not-random", "short", "bent"],
)
def test_a_biased_generator_is_refused(spoil: Any) -> None:
    sound = np.random.default_rng(0)
    biased = replace(find_library("numpy"), uniform=lambda _: lambda shape: spoil(sound.random(shape, np.float32)))
    arm = sampled(biased, seed=0, side=300)
    assert "differs from the known integral by" in str(arm.verify(check.output_of(arm, framework)))
