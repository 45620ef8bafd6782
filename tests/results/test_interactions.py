"""Whether two techniques do together what each alone promises."""

import math

import pytest
from runs import arm, effect, run, save, trial

from accelbench.results import find_results, tabulate_arms
from accelbench.results.combinations import find_interactions


@pytest.fixture
def found(tmp_path):
    def of(*arms):
        return find_interactions(tabulate_arms(find_results(save(run(trial(*arms)), tmp_path / "0001_a.json")).results))

    return of


def way(pin, copy, speedup, factor=1.1):
    levels = {"pin_memory": pin, "non_blocking": copy}
    return arm(levels, 1 / speedup, effect=effect(speedup, speedup / factor, speedup * factor, "faster"))


NEITHER = arm({"pin_memory": "off", "non_blocking": "off"}, 1.0)


def test_the_interaction_is_what_both_bring_over_the_product_of_the_two_alone(found):
    (pair,) = found(NEITHER, way("off", "on", 1.1), way("on", "on", 3.0), way("on", "off", 2.0))
    assert pair.techniques == ("pin-memory", "non-blocking")
    assert [each["speedup"] for each in pair.alone] == [2.0, 1.1]
    assert pair.promised == pytest.approx(2.2)
    assert pair.ratio == pytest.approx(3.0 / 2.2)


def test_its_interval_takes_all_three_intervals_at_their_worst(found):
    (pair,) = found(NEITHER, way("on", "off", 2.0), way("off", "on", 1.1), way("on", "on", 3.0))
    assert (pair.low, pair.high) == pytest.approx((pair.ratio / 1.1**3, pair.ratio * 1.1**3))


def test_an_interval_without_bounds_leaves_the_interactions_open(found):
    few = arm({"pin_memory": "off", "non_blocking": "on"}, 1.0, effect=effect(1.0, 0.0, None, "undecided", pairs=3))
    (pair,) = found(NEITHER, way("on", "off", 2.0), few, way("on", "on", 3.0))
    assert (pair.low, pair.high) == (0.0, math.inf)


@pytest.mark.parametrize(
    "arms",
    [
        [NEITHER, way("on", "off", 2.0), way("off", "on", 1.1)],
        [NEITHER, way("on", "off", 2.0), way("off", "on", 1.1), arm({"pin_memory": "on", "non_blocking": "on"})],
        [NEITHER, way("on", "off", 2.0), way("off", "on", 1.1), way("pool", "on", 2.0)],
        [NEITHER, way("on", "off", 2.0), way("on", "off", 2.0), way("on", "on", 2.0)],
    ],
    ids=["three-arms", "one-not-measured", "three-levels", "one-twice"],
)
def test_four_different_arms_of_two_levels_each_must_have_been_measured(found, arms):
    assert found(*arms) == []


def test_three_techniques_are_no_pair(found):
    arms = [arm({"a": a, "b": b, "c": "off"}, 1.0, effect=effect(1, 1, 1, "same")) for a in "xy" for b in "xy"]
    assert found(*arms) == []
