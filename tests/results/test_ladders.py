"""Techniques stacked on each other, rung by rung."""

from dataclasses import replace

import pytest
from runs import arm, effect, run, save, trial

from accelbench.results import find_results, tabulate_arms
from accelbench.results.combinations import find_ladders
from accelbench.schema.result import Rate


@pytest.fixture
def found(tmp_path):
    def of(*arms):
        return find_ladders(tabulate_arms(find_results(save(run(trial(*arms)), tmp_path / "0001_a.json")).results))

    return of


def rung(level, speedup=None, factor=1.1, step=None, over="", **others):
    if speedup is None:
        return arm({"pipeline": level, **others})
    known = effect(speedup, speedup / factor, speedup * factor, "faster")
    against_rung = [replace(step, against={"pipeline": over})] if step else []
    return arm({"pipeline": level, **others}, 1 / speedup, effects=[known, *against_rung])


NAIVE = arm({"pipeline": "naive"}, 1.0)
FOURFOLD = effect(4.0, 3.9, 4.1, "faster")


def test_rungs_that_were_paired_with_those_below_keep_their_own_intervals_and_verdicts(found):
    first, second = effect(1.2, 1.19, 1.21, "faster"), effect(0.9, 0.89, 0.91, "slower")
    (ladder,) = found(
        NAIVE, rung("+prefetch", 1.2, step=first, over="naive"), rung("+cache", 1.1, step=second, over="+prefetch")
    )
    assert ladder.is_paired
    assert ladder.top[["step", "step_low", "step_high", "step_verdict"]].tolist() == [0.9, 0.89, 0.91, "slower"]


def test_without_pairs_a_rungs_step_is_its_speedup_over_that_of_the_rung_below(found):
    (ladder,) = found(NAIVE, rung("+prefetch", 1.2), rung("+cache", 2.4))
    assert ladder.rungs["rung"].tolist() == ["naive", "+prefetch", "+cache"]
    assert ladder.rungs["step"].tolist()[1:] == pytest.approx([1.2, 2.0])
    assert ladder.largest["rung"] == "+cache"
    assert not ladder.is_paired


def test_without_pairs_a_step_is_bounded_by_what_both_intervals_allow(found):
    (ladder,) = found(NAIVE, rung("+prefetch", 1.2), rung("+cache", 2.4))
    assert ladder.top["step_low"] == pytest.approx(2.0 / 1.21)
    assert ladder.top["step_high"] == pytest.approx(2.0 * 1.21)


def test_a_rung_that_was_not_measured_is_named_and_skipped(found):
    (ladder,) = found(NAIVE, rung("+prefetch", 1.2), rung("+interleave"), rung("+cache", 2.4))
    assert ladder.missing == (("+interleave", "not on this machine"),)
    assert ladder.top["step"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    "arms",
    [
        [NAIVE, rung("+prefetch", 1.2), rung("cache", 2.4)],
        [NAIVE, rung("+prefetch", 1.2), rung("+cache")],
        [arm({"pipeline": "naive"}), rung("+prefetch", 1.2), rung("+cache", 2.4)],
    ],
    ids=["a-level-that-adds-nothing", "one-rung-alone", "no-start"],
)
def test_there_is_no_ladder_without_a_start_and_two_rungs_that_add(found, arms):
    assert found(*arms) == []


def test_rungs_under_another_technique_are_not_mixed_in(found):
    start = arm({"pipeline": "naive", "source": "jpeg"}, 1.0)
    here = [rung(level, 2.0, source="jpeg") for level in ("+prefetch", "+cache")]
    there = [rung(level, 9.0, source="tfrecord") for level in ("naive", "+prefetch", "+cache")]
    (ladder,) = found(start, *here, *there)
    assert ladder.rungs["speedup"].tolist() == [1.0, 2.0, 2.0]
    assert ladder.held == "source jpeg"


def test_a_ladder_says_how_fast_start_and_top_are_and_how_near_the_ceilings(found):
    link = Rate(ceiling="cuda:0 to device pinned", per_s=1e9, share=0.05)
    products = Rate(ceiling="cuda:0 matrix bf16", per_s=1e14, share=0.14)
    (ladder,) = found(
        NAIVE, rung("+prefetch", 1.2), arm({"pipeline": "+cache"}, 0.25, effect=FOURFOLD, rates=[link, products])
    )
    assert ladder.throughput == (
        "From 1.00 images/s at the start to 4.00 images/s "
        "(14 % of cuda:0 matrix bf16, 5.0 % of cuda:0 to device pinned) at the top."
    )


def test_where_no_items_were_counted_a_ladder_says_nothing_of_their_rate(found):
    (ladder,) = found(NAIVE, rung("+prefetch", 1.2), arm({"pipeline": "+cache"}, 0.25, effect=FOURFOLD, items=None))
    assert ladder.throughput == ""
