"""Known work does what its name claims, and its comparisons return what the certificate records."""

import pytest

from accelbench.calibrate import comparisons
from accelbench.calibrate.comparisons import SUITE_CASES, compare_in_suite, compare_known, placebo
from accelbench.calibrate.known_work import KNOWN_WORK, KnownWork, find_work, slow_once
from accelbench.core import Arm, Plan, find_workload
from accelbench.errors import Unavailable
from accelbench.frameworks import cupy
from accelbench.measuring.compare import CandidateResult, Comparison


@pytest.mark.parametrize("name", [work.name for work in KNOWN_WORK if work.divisible])
@pytest.mark.parametrize("per_cent", [1, 2, 3, 5, 10])
def test_an_effect_size_is_exactly_that_much_more_work(name, per_cent):
    built = []
    work = KnownWork(name=name, framework="numpy", build=built.append, repetitions=find_work(name).repetitions)
    work.step(per_cent / 100)
    assert 100 * built[0] == (100 + per_cent) * work.repetitions


def test_the_slow_call_comes_once():
    calls, waits = [], []
    step = slow_once(lambda: calls.append("step"), 2, wait=lambda: waits.append(len(calls)))
    for _ in range(4):
        step()
    assert (len(calls), waits) == (4, [1])


@pytest.mark.slow
def test_a_comparison_records_what_was_compared_and_its_result():
    (comparison,) = compare_known("short Python loop", 0.1, 0, 0.1)
    assert (comparison.through, comparison.work) == ("compare", "short Python loop")
    assert (comparison.effect_size, comparison.busy_processes) == (0.1, 0)
    assert comparison.low <= comparison.speedup
    assert comparison.spent_s > 0


@pytest.mark.parametrize(
    ("measure", "what"),
    [
        (lambda: compare_known("short Python loop", 0.1, 0, 0.1), "short Python loop"),
        (lambda: comparisons.compare_multiples("short Python loop", 0.1), "2 times short Python loop"),
        (lambda: comparisons.compare_slow_call(3, 0.1), "slow call 3"),
        (lambda: comparisons.measure_waits(0.1), "wait of 0.001 s"),
    ],
    ids=["known", "multiples", "slow call", "waits"],
)
def test_a_candidate_without_a_speed_is_named_with_its_reason(monkeypatch, measure, what):
    def compare(arms, **_):
        baseline, *candidates = arms
        failed = CandidateResult(reason="raised OSError")
        return Comparison(baseline=baseline, candidates=dict.fromkeys(candidates, failed), per_item_s={baseline: 1.0})

    monkeypatch.setattr(comparisons, "compare", compare)
    with pytest.raises(Unavailable, match=rf"^{what}: raised OSError$"):
        measure()


@pytest.mark.parametrize("case", SUITE_CASES, ids=lambda case: case.name)
def test_every_suite_case_names_a_workload_and_options_that_exist(case):
    workload = find_workload(case.workload)
    assert case.framework in workload.frameworks
    assert case.problem.keys() <= workload.options


def test_a_placebo_changes_nothing():
    arm = Arm(step=lambda: 1)
    assert placebo("numpy").apply(lambda: arm, "other") is arm


@pytest.mark.slow
def test_the_suite_compares_two_identical_arms():
    (comparison,), configuration = compare_in_suite(SUITE_CASES[0], 0, Plan(budget_s=0.2, builds=1, min_span_s=0.05))
    assert (comparison.through, comparison.work) == ("suite", "heat of numpy on the CPU")
    assert comparison.effect_size == 0.0
    assert "numpy.version" in configuration


@pytest.mark.skipif(cupy.unavailable() is None, reason="there is an accelerator")
def test_a_missing_accelerator_is_one_line():
    (case,) = (case for case in SUITE_CASES if case.framework == "cupy")
    with pytest.raises(Unavailable, match=r"^heat of cupy on an accelerator: there is no accelerator$"):
        compare_in_suite(case, 0, Plan())
