"""Which arms of a trial no other one beats in speed and price."""

import pytest
from runs import arm, effect, memory, run, save, trial

from accelbench.results import effects, find_results, tabulate_arms
from accelbench.results.tradeoffs import tradeoffs
from accelbench.schema.result import Price

MIB = 2**20


@pytest.fixture
def found(tmp_path):
    """Return what a technique of these trials costs and gains."""

    def of(*trials):
        path = save(run(*trials), tmp_path / "0001_a.json")
        return list(tradeoffs(effects(tabulate_arms(find_results(path).results))))

    return of


def candidate(level, speedup, price, verdict="faster"):
    found = effect(speedup, speedup / 1.1, speedup * 1.1, verdict)
    return arm({"amp": level}, 1 / speedup, price=price, effect=found)


def baseline(price=None):
    return arm({"amp": "fp32"}, 1.0, price=price or memory(100 * MIB))


def wrong(error):
    return Price(error=error, peak_rss_bytes=100 * MIB)


def test_an_arm_that_is_slower_and_less_exact_than_another_is_dominated(found):
    arms = [
        candidate("bf16", 2.0, wrong(0.004)),
        candidate("fp16", 1.5, wrong(0.01)),
        candidate("tf32", 1.2, wrong(0.001)),
    ]
    ((_, technique, points),) = found(trial(baseline(), *arms))
    assert technique == "amp"
    assert points["error_front"].tolist() == [True, False, True]


def test_the_baseline_dominates_what_is_slower_or_the_same_and_costs_more(found):
    arms = [candidate("a", 0.8, wrong(0.01), "slower"), candidate("b", 1.003, wrong(0.01), "same")]
    ((_, _, points),) = found(trial(baseline(), *arms, candidate("c", 2.0, wrong(0.02))))
    assert points["error_front"].tolist() == [False, False, True]


def test_trials_have_fronts_of_their_own(found):
    one = trial(baseline(), candidate("bf16", 2.0, wrong(0.004)), id="t.py::t[a]")
    other = trial(baseline(), candidate("bf16", 1.5, wrong(0.01)), id="t.py::t[b]")
    ((_, _, points),) = found(one, other)
    assert points["error_front"].all()


def test_mere_rounding_is_no_price(found):
    arms = [candidate("a", 2.0, wrong(1e-6)), candidate("b", 1.5, wrong(1e-7)), candidate("c", 3.0, wrong(0.1))]
    ((_, _, points),) = found(trial(baseline(), *arms))
    assert points["error_front"].tolist() == [True, False, True]


def test_memory_that_hardly_changes_is_no_price(found):
    assert found(trial(baseline(), candidate("bf16", 2.0, memory(101 * MIB)))) == []
    assert found(trial(baseline(memory(0)), candidate("bf16", 2.0, memory(MIB)))) == []


def test_a_slower_arm_that_saves_memory_is_on_the_front(found):
    ((_, _, points),) = found(trial(baseline(), candidate("on", 0.7, memory(60 * MIB), "slower")))
    assert points["memory_ratio_front"].tolist() == [True]
    assert points["memory_ratio"].tolist() == [0.6]


def test_a_technique_that_gains_nothing_for_its_price_has_no_tradeoff(found):
    assert found(trial(baseline(), candidate("fp16", 0.7, wrong(0.01), "slower"))) == []
    assert found(trial(baseline(), candidate("fp16", 1.7, wrong(0.01), "undecided"))) == []


def test_an_arm_whose_price_is_not_known_is_on_no_front(found):
    arms = [candidate("a", 2.0, wrong(0.01)), candidate("b", 3.0, memory(100 * MIB))]
    ((_, _, points),) = found(trial(baseline(), *arms))
    assert points["error_front"].tolist() == [True, False]


def test_a_run_without_effects_has_no_tradeoffs(found):
    assert found() == []
    assert found(trial(baseline())) == []
