"""How near each workload comes to a ceiling."""

import pytest
from runs import arm, effect, run, save, trial

from accelbench.results import find_results, tabulate_arms
from accelbench.results.sweeps import ceiling_shares
from accelbench.schema.result import Rate

TWICE = effect(2.0, 1.9, 2.1, "faster")


def reaching(share, ceiling="cpu memory"):
    return {"rates": [Rate(ceiling=ceiling, per_s=1e9, share=share)]}


@pytest.fixture
def shares(tmp_path):
    def of(*trials):
        return ceiling_shares(tabulate_arms(find_results(save(run(*trials), tmp_path / "0001_a.json")).results))

    return of


def test_the_fastest_arm_stands_beside_its_baseline(shares):
    arms = [
        arm({"amp": "fp32"}, 1.0, **reaching(0.8, "cpu matrix fp32")),
        arm({"amp": "bf16"}, 0.5, effect=TWICE, **reaching(0.4, "cpu matrix bf16")),
    ]
    ((row,),) = (each.to_dict("records") for each in shares(trial(*arms)))
    assert (row["level"], row["share"], row["ceiling"]) == ("amp bf16", 0.4, "cpu matrix bf16")
    assert (row["baseline_level"], row["baseline_share"]) == ("amp fp32", 0.8)
    assert row["baseline_ceiling"] == "cpu matrix fp32"


def test_a_workload_stands_once_with_the_trial_that_comes_nearest(shares):
    trials = [
        trial(arm({"amp": "fp32"}, 1.0, **reaching(share)), id=f"t.py::t[{share}]", workload=workload)
        for share, workload in ((0.2, "add"), (0.6, "add"), (0.4, "net"))
    ]
    (found,) = shares(*trials)
    assert found[["workload", "share"]].to_numpy().tolist() == [["add", 0.6], ["net", 0.4]]


def test_frameworks_stand_apart(shares):
    one, other = (
        trial(arm({"amp": "fp32"}, 1.0, **reaching(0.5)), id=each, framework=each) for each in ("torch", "cupy")
    )
    assert [found["framework"].tolist() for found in shares(one, other)] == [["torch"], ["cupy"]]


def test_arms_without_a_ceiling_are_left_out(shares):
    assert shares(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}))) == []
    assert shares() == []
