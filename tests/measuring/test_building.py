"""Arms are built afresh: how often, and where their data come to lie."""

from random import Random

import numpy as np
import pytest

from harness.attribution.fit import batches_for
from harness.experiment import Plan
from harness.measuring.building import BUILDS, Elsewhere, built_often


def test_what_is_cheap_to_build_is_built_often_and_timed_longer_in_all() -> None:
    plan = built_often(Plan(budget_s=2.0), arms=2, again_s=0.1)
    assert (plan.builds, plan.min_span_s) == (BUILDS, 2 * Plan().min_span_s)


@pytest.mark.parametrize(
    ("plan", "arms", "again_s"),
    [
        (Plan(budget_s=2.0), 2, 0.2),
        (Plan(builds=1), 2, 0.0),
        (Plan(), 1, 0.0),
    ],
    ids=["dear", "built once", "a single arm"],
)
def test_other_plans_stay_as_they_are(plan: Plan, arms: int, again_s: float) -> None:
    assert built_often(plan, arms, again_s) is plan


@pytest.mark.parametrize("arms", [4, 8, 16])
def test_a_bundle_is_built_as_often_as_its_rounds_have_batches(arms: int) -> None:
    assert built_often(Plan(whole_rounds=True), arms, again_s=0.01).builds == batches_for(arms)


@pytest.mark.parametrize("size_bytes", [2_000, 80_000, 1_000_000, 4_000_000])
def test_arrays_built_again_come_to_lie_elsewhere(size_bytes: int) -> None:
    elsewhere, places = Elsewhere(Random(3)), set()
    for _ in range(BUILDS):
        elsewhere.move()
        array = np.empty(size_bytes, dtype=np.uint8)
        places.add(array.ctypes.data)
        del array
    assert len(places) > BUILDS / 2
