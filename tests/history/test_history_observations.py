"""What a history takes from a run."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from runs import arm, effect, run, save, trial

from accelbench.history.observations import observe, observe_arms
from accelbench.results import find_results
from accelbench.schema.reasons import reason
from accelbench.schema.result import Visit, VisitEffect

FAR = reason("cores-far-apart", latency_s=4.3e-7, best_s=1.3e-7)
OWN = tuple(VisitEffect(visit=number, log_speedup=0.2, pairs=9) for number in range(2))


@pytest.mark.parametrize(
    ("visits", "log_effect", "reach"),
    [(OWN, 0.2, 0.04), ((), 0.3, 0.02), ((replace(OWN[0], in_interval=False),), 0.3, 0.02)],
    ids=["visits", "none", "none-in-the-interval"],
)
def test_a_run_that_joined_earlier_ones_counts_by_what_it_showed_itself(
    tmp_path: Path, visits: tuple[VisitEffect, ...], log_effect: float, reach: float
) -> None:
    joined = replace(
        effect(math.exp(0.3), math.exp(0.28), math.exp(0.32), "faster"), joined_runs=3, earlier_runs=3, visits=visits
    )
    save(run(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.8, effect=joined))), tmp_path / "0001_a.json")
    seen = observe(find_results(tmp_path).results).iloc[1]
    assert seen["log_effect"] == pytest.approx(log_effect)
    assert seen["log_low"] == pytest.approx(log_effect - reach)
    assert seen["log_high"] == pytest.approx(log_effect + reach)


@pytest.mark.parametrize(
    ("odd", "remark", "disturbed"),
    [
        ((), "", False),
        ((True, True), "", True),
        ((True, False), "", False),
        ((False, False), "other-processes", True),
        ((), "waited-for-core", False),
    ],
)
def test_a_trial_is_disturbed_by_other_work_or_where_every_visit_was_odd(
    tmp_path: Path, odd: tuple[bool, ...], remark: str, disturbed: bool
) -> None:
    visits = [Visit(begun_s=0.0, odd=[FAR] if each else []) for each in odd]
    remarks = [reason(remark, used=1.0, cores=2, share=0.1)] if remark else []
    measured = trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.8), visits=visits, remarks=remarks)
    save(run(measured), tmp_path / "0001_a.json")
    assert observe(find_results(tmp_path).results)["disturbed"].tolist() == [disturbed] * 2


def test_a_run_without_any_speed_has_no_observations(tmp_path: Path) -> None:
    save(run(trial(arm({"amp": "fp32"}), arm({"amp": "bf16"}))), tmp_path / "0001_a.json")
    observations, unmeasured = observe_arms(find_results(tmp_path).results)
    assert observations.empty
    assert len(unmeasured) == 2
