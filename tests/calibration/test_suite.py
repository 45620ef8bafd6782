"""Identical arms through the suite."""

import pytest

from harness.calibration.suite import KINDS, in_a_fresh_worker, placebo
from harness.experiment import Arm, Plan, find_workload


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_names_a_workload_and_options_that_exist(kind):
    workload = find_workload(kind.workload)
    assert kind.framework in workload.frameworks
    assert kind.problem.keys() <= workload.options


def test_a_placebo_changes_nothing():
    arm = Arm(step=lambda: 1)
    assert placebo("numpy").apply(lambda: arm, "other") is arm


def test_a_worker_measures_two_identical_arms():
    found = in_a_fresh_worker(KINDS[0], 0, Plan(budget_s=0.2, builds=1, min_span_s=0.05))
    assert found.reason == ""
    assert found.duel is not None
    assert (found.duel.through, found.duel.work, found.duel.dose) == ("suite", "heat of numpy on the CPU", 0.0)


def test_an_accelerator_that_is_not_there_is_a_sentence():
    (kind,) = (kind for kind in KINDS if kind.framework == "cupy")
    found = in_a_fresh_worker(kind, 0, Plan())
    if found.duel is None:
        assert found.reason == "heat of cupy on an accelerator: there is no accelerator"
