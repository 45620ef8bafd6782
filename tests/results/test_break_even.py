"""From how much work on a candidate pays that costs more to start."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from accelbench.results.tradeoffs import break_even

TIMES = st.floats(1e-6, 1e3)
COUNTS = st.sampled_from([1.0, 2.0, 16.0, 1e6])


def candidate(verdict="faster", **given):
    """Return an effect's row: twice as fast, 20 ms and 10 ms, first calls of 1.02 s and 20 ms."""
    usual = {"cold_s": 1.02, "baseline_cold_s": 0.02, "items": 8.0, "baseline_items": 8.0, "unit": "image"}
    effect = {"baseline_s_per_item": 0.02 / 8, "speedup": 2.0, "low": 1.8, "high": 2.2, "verdict": verdict}
    return usual | effect | given


def total_s(items, *, cold_s, of_first, each_s):
    """Return what so many items take from the start, where the first call does the first of them."""
    return cold_s + (items - of_first) * each_s


def test_a_slow_start_is_paid_back_by_every_iteration_after_the_first():
    found = break_even(candidate())  # a second behind, then 10 ms gained each time
    assert found.unit == "iteration"
    assert found.at == pytest.approx(101)


def test_its_interval_is_that_of_the_speedup():
    found = break_even(candidate())
    assert found.low == pytest.approx(1 + 1 / (0.02 * (1 - 1 / 2.2)))
    assert found.high == pytest.approx(1 + 1 / (0.02 * (1 - 1 / 1.8)))


def test_arms_with_batches_of_different_sizes_are_counted_in_items():
    found = break_even(candidate(items=80.0))  # its first call does 72 more, which the baseline does in 180 ms
    assert found.unit == "image"
    assert found.at == pytest.approx(80 + 0.82 / 0.00125)


def test_what_starts_no_slower_pays_at_once():
    assert break_even(candidate(cold_s=0.02)).high == 0


@pytest.mark.parametrize("verdict", ["slower", "same"])
def test_what_is_not_faster_never_pays(verdict):
    assert break_even(candidate(verdict)).low == math.inf


def test_what_is_undecided_stays_so():
    assert break_even(candidate("undecided")) is None


@pytest.mark.parametrize("missing", ["cold_s", "baseline_cold_s", "baseline_s_per_item", "items", "speedup"])
def test_what_was_not_measured_is_not_made_up(missing):
    assert break_even(candidate(**{missing: None})) is None


def test_an_interval_that_reaches_1_leaves_the_break_even_open_above():
    found = break_even(candidate(low=1.0))
    assert found.at < found.high == math.inf


@given(TIMES, TIMES, TIMES, COUNTS, COUNTS, st.floats(1.01, 1e3), st.floats(1.0, 2.0))
def test_both_arms_have_needed_the_same_time_at_the_break_even(
    cold_s, baseline_cold_s, each_s, items, baseline_items, speedup, width
):
    row = candidate(
        cold_s=cold_s, baseline_cold_s=baseline_cold_s, baseline_s_per_item=each_s, items=items,
        baseline_items=baseline_items, speedup=speedup, low=speedup / width, high=speedup * width,
    )  # fmt: skip
    found = break_even(row)
    assert found.low <= found.at <= found.high
    assume(found.at > 0)
    at = found.at * (items if found.unit == "iteration" else 1)
    own_s = total_s(at, cold_s=cold_s, of_first=items, each_s=each_s / speedup)
    baselines_s = total_s(at, cold_s=baseline_cold_s, of_first=baseline_items, each_s=each_s)
    assert own_s == pytest.approx(baselines_s, rel=1e-6, abs=1e-6)
    assert at >= items
