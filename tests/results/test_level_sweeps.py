"""Knee and limit of batch sizes and workers."""

import pytest
from runs import arm, effect, run, save, trial

from accelbench.results import find_results, tabulate_arms
from accelbench.results.sweeps import level_sweeps


@pytest.fixture
def sweeps(tmp_path):
    def of(*arms, **fields):
        saved = save(run(trial(*arms, **fields)), tmp_path / "0001_a.json")
        return level_sweeps(tabulate_arms(find_results(saved).results))

    return of


def batch(size, images_per_s, **others):
    return arm({"batch_size": str(size), **others}, size / images_per_s, items=float(size))


def test_the_knee_is_the_smallest_batch_within_5_percent_of_the_best(sweeps):
    (sweep,) = sweeps(batch(1, 100), batch(2, 180), batch(4, 286), batch(8, 299), batch(16, 300), batch(32, 290))
    assert (sweep.knee, sweep.best, sweep.limit) == (4, 16, 32)


def test_throughput_just_below_5_percent_of_the_best_is_no_knee(sweeps):
    (sweep,) = sweeps(batch(1, 94.9), batch(2, 95.1), batch(4, 100))
    assert sweep.knee == 2


def test_the_limit_says_that_memory_ended(sweeps):
    full = arm({"batch_size": "4"}, outcome="out-of-memory", reason="no room")
    (sweep,) = sweeps(batch(1, 100), batch(2, 180), full)
    assert (sweep.limit, sweep.stopped_by) == (2, "out of memory at 4")


def test_a_limit_that_something_else_set_gives_the_reason(sweeps):
    (sweep,) = sweeps(batch(1, 100), batch(2, 180), arm({"batch_size": "4"}, outcome="hung", reason="silent for 300 s"))
    assert sweep.stopped_by == "4 did not run: silent for 300 s"


def test_nothing_stopped_a_sweep_that_ran_to_its_end(sweeps):
    (sweep,) = sweeps(batch(1, 100), batch(2, 180), batch(4, 190))
    assert sweep.stopped_by == ""


def test_sizes_are_in_the_order_of_numbers_not_of_letters(sweeps):
    (sweep,) = sweeps(batch(1, 100), batch(16, 300), batch(2, 180))
    assert sweep.ran["at"].tolist() == [1, 2, 16]


def test_each_combination_with_another_technique_is_a_sweep_of_its_own(sweeps):
    arms = [batch(size, 100 * size, amp=amp) for amp in ("fp32", "bf16") for size in (1, 2, 4)]
    assert [sweep.held for sweep in sweeps(*arms)] == ["amp fp32", "amp bf16"]


def test_one_size_that_ran_is_no_sweep(sweeps):
    assert sweeps(batch(1, 100), arm({"batch_size": "2"}), arm({"batch_size": "4"})) == []


def test_two_levels_are_a_comparison_and_no_sweep(sweeps):
    assert sweeps(batch(1, 100), batch(2, 180)) == []


def test_a_technique_of_a_users_own_is_swept_by_its_numeric_levels(sweeps):
    arms = [arm({"tile_size": str(size)}, 1.0 / size) for size in (8, 16, 32)]
    (sweep,) = sweeps(*arms, kinds={"tile_size": "sweep"})
    assert (sweep.technique, sweep.knee) == ("tile_size", 32)


def test_levels_that_are_no_numbers_are_no_sweep(sweeps):
    assert sweeps(arm({"batch_size": "small"}, 1.0), arm({"batch_size": "large"}, 1.0)) == []


def test_workers_are_swept_in_the_same_way(sweeps):
    arms = [arm({"workers": str(count)}, 1.0 / speed) for count, speed in ((0, 1.0), (1, 1.9), (2, 1.95))]
    (sweep,) = sweeps(*arms)
    assert (sweep.knee, sweep.best) == (1, 2)


def test_what_is_left_of_the_best_throughput_at_the_limit_is_told(sweeps):
    (sweep,) = sweeps(batch(1, 100), batch(2, 200), batch(4, 150))
    assert sweep.share_at_limit == pytest.approx(0.75)


@pytest.mark.parametrize(("verdict", "decided"), [("faster", True), ("slower", True), ("same", False)])
def test_a_sweep_is_decided_once_a_level_is_known_to_differ_from_the_baseline(sweeps, verdict, decided):
    other = arm({"batch_size": "2"}, 1.0, effect=effect(1.0, 1.0, 1.0, verdict))
    (sweep,) = sweeps(batch(1, 100), other, arm({"batch_size": "4"}))
    assert sweep.is_decided is decided


def test_a_sweep_without_the_baseline_claims_no_doubt(sweeps):
    arms = [batch(size, 100 * size, amp=amp) for amp in ("fp32", "bf16") for size in (1, 2, 4)]
    assert [sweep.is_decided for sweep in sweeps(*arms)] == [False, True]
