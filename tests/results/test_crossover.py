"""From which size on a technique pays."""

from dataclasses import replace

import pytest
from runs import arm, by_size, effect, run, save, trial

from accelbench.results import effects, find_results, tabulate_arms
from accelbench.results.sweeps import size_sweeps


@pytest.fixture
def sweeps(tmp_path):
    def of(*trials):
        path = save(run(*trials), tmp_path / "0001_a.json")
        return size_sweeps(effects(tabulate_arms(find_results(path).results)))

    return of


def around(speedup, verdict="faster", factor=1.1):
    return (speedup, speedup / factor, speedup * factor, verdict)


def test_the_crossover_is_interpolated_on_logarithmic_axes(sweeps):
    (sweep,) = sweeps(*by_size({100: around(0.5, "slower"), 10_000: around(2.0)}))
    assert sweep.direction == "up"
    assert sweep.crossover == pytest.approx(1000)


def test_its_interval_comes_from_the_speedups_intervals(sweeps):
    (sweep,) = sweeps(*by_size({100: around(0.5, "slower"), 10_000: around(2.0)}))
    # at 100 the log speedup is -log 2 ± log 1.1, at 10,000 it is +log 2 ± log 1.1
    assert sweep.low == pytest.approx(100 * 100 ** (0.5 - 0.0688), rel=1e-3)
    assert sweep.high == pytest.approx(100 * 100 ** (0.5 + 0.0688), rel=1e-3)


def test_an_end_that_is_not_sure_leaves_the_interval_open(sweeps):
    (sweep,) = sweeps(*by_size({100: around(0.95, "undecided"), 1000: around(2.0)}))
    assert sweep.low is None
    assert 100 < sweep.crossover < sweep.high < 1000


def test_doubt_at_the_smallest_size_leaves_the_interval_open_although_the_next_size_is_sure(sweeps):
    found = {100: around(0.95, "undecided"), 1000: around(0.5, "slower"), 10_000: around(2.0)}
    (sweep,) = sweeps(*by_size(found))
    assert sweep.crossover is not None
    assert (sweep.low, sweep.high is None) == (None, False)


def test_an_interval_without_bounds_leaves_the_crossovers_interval_open(sweeps):
    few = arm({"threads": "2"}, 1e-5, effect=effect(2.0, 0.0, None, "undecided", 3, {"threads": "1"}))
    *first, last = by_size({100: around(0.5, "slower"), 1000: around(2.0), 10_000: around(2.0)})
    (sweep,) = sweeps(*first, replace(last, arms=[last.arms[0], few]))
    assert sweep.crossover is not None
    assert sweep.high is None


def test_a_candidate_that_pays_at_small_sizes_crosses_downwards(sweeps):
    (sweep,) = sweeps(*by_size({100: around(2.0), 10_000: around(0.5, "slower")}))
    assert (sweep.direction, sweep.crossover) == ("down", pytest.approx(1000))
    assert sweep.low < 1000 < sweep.high


@pytest.mark.parametrize(
    ("speedups", "direction"),
    [
        ([around(1.5), around(2.0)], "above"),
        ([around(0.4, "slower"), around(0.5, "slower")], "below"),
        ([around(0.5, "slower"), around(1.1, "undecided", 1.2)], "below"),
        ([around(0.99, "undecided"), around(1.01, "undecided")], "flat"),
        ([around(0.8, "slower"), around(1.2), around(0.8, "slower")], "mixed"),
        ([around(0.8, "slower"), around(1.2), around(0.8, "slower"), around(1.2)], "mixed"),
    ],
)
def test_no_crossover_says_so(sweeps, speedups, direction):
    (sweep,) = sweeps(*by_size({10**place: found for place, found in enumerate(speedups, start=2)}))
    assert (sweep.direction, sweep.crossover) == (direction, None)


def test_one_size_is_no_sweep(sweeps):
    assert sweeps(*by_size({100: around(2.0)})) == []


def test_trials_that_differ_in_two_numbers_are_no_sweep(sweeps):
    first, last = by_size({100: around(0.5), 1000: around(2.0)})
    narrow = replace(first, problem={"elements": 100, "width": 1})
    assert sweeps(narrow, replace(last, problem={"elements": 1000, "width": 2})) == []


def test_a_truth_value_is_no_size(sweeps):
    first, last = by_size({100: around(0.5), 1000: around(2.0)})
    assert sweeps(replace(first, problem={"sorted": False}), replace(last, problem={"sorted": True})) == []


def test_sizes_are_in_order_and_each_candidate_has_its_own_sweep(sweeps):
    trials = [
        trial(
            arm({"library": "numpy"}, 1.0),
            arm({"library": "cupy"}, 1.0, effect=effect(*around(size / 1000))),
            arm({"library": "fused"}, 1.0, effect=effect(*around(size / 100))),
            id=f"benchmarks/test_c.py::test_c[{size}]",
            problem={"elements": size},
        )
        for size in (10_000, 100, 1000)
    ]
    cupy, fused = sweeps(*trials)
    assert cupy.arms["size"].tolist() == [100, 1000, 10_000]
    assert (cupy.level, fused.level) == ("library cupy", "library fused")
    assert (cupy.direction, fused.direction) == ("up", "above")


def test_tests_that_sweep_the_same_are_named(sweeps):
    first = by_size({100: around(0.5, "slower"), 10_000: around(2.0)})
    second = [
        replace(each, id=f"test_more.py::test_more[{place}]", problem={"elements": size})
        for place, (each, size) in enumerate(zip(first, (200, 20_000), strict=True))
    ]
    assert [each.held for each in sweeps(*first)] == [""]
    assert [each.held for each in sweeps(*first, *second)] == ["test_threads", "test_more"]


def test_undecided_sizes_are_not_said_to_have_no_crossover(sweeps):
    (sweep,) = sweeps(*by_size({100: around(1.0, "undecided"), 1000: around(1.0, "undecided")}))
    assert sweep.sentence == (
        "threads 2 is known to be faster or slower at none of 2 sizes from elements 100 to 1,000, against threads 1."
    )
