"""What is measured, how often, and beside whom."""

from collections import Counter

import pytest

from harness.calibration.schedule import FULL, QUICK, tasks
from harness.calibration.suite import KINDS

EVERY = ("numpy", "torch", "tensorflow", "cupy")


def asked_for(planned):
    return [(task.measure.func.__name__, task.measure.keywords) for task in planned if hasattr(task.measure, "func")]


def test_a_full_calibration_proves_what_is_claimed():
    asked = asked_for(tasks(FULL, EVERY, 0))
    doses = Counter(each["dose"] for name, each in asked if name == "meet")
    assert doses[0.0] >= 150
    assert doses[0.03] >= 100
    assert set(doses) == {0.0, 0.01, 0.02, 0.03, 0.05, 0.1}
    assert {each["noise"]: each["series"] for name, each in asked if name == "simulate"} == dict.fromkeys(
        ("independent", "spiky", "drifting", "autocorrelated"), 1000
    )


def test_every_kind_of_identical_work_meets_about_equally_often():
    asked = asked_for(tasks(FULL, EVERY, 0))
    counts = Counter(each["work"] for name, each in asked if name == "meet" and each["dose"] == 0)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_what_neighbours_cannot_disturb_is_measured_without_them_only():
    asked = asked_for(tasks(QUICK, EVERY, 1))
    assert {name for name, _ in asked} == {"meet", "meet_in_suite"}
    assert {each["neighbours"] for _, each in asked} == {1}


@pytest.mark.parametrize("framework", EVERY)
def test_one_framework_can_be_chosen(framework):
    asked = asked_for(tasks(QUICK, [framework], 0))
    assert {each["framework"] for name, each in asked if name == "meet"} <= {framework}
    kinds = [each["kind"] for name, each in asked if name == "meet_in_suite"]
    assert kinds == [kind for kind in KINDS if kind.framework == framework]
