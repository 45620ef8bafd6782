"""One tidy table of every arm, and the effects in it."""

import math
from dataclasses import replace

import pandas as pd
import pytest
from runs import STORED, arm, effect, memory, run, save, trial

from accelbench.results import Findings, effects, find_results, tabulate_arms
from accelbench.schema.result import Placement, Price, Rate


@pytest.fixture
def table(tmp_path):
    def of(*trials):
        return tabulate_arms(find_results(save(run(*trials), tmp_path / "0001_a.json")).results)

    return of


def test_every_arm_of_every_run_is_a_row(tmp_path):
    save(run(trial(arm({"amp": "fp32"}, 2.0), arm({"amp": "fp16"}))), tmp_path / "0001_a.json")
    save(run(trial(arm({"amp": "fp32"}, 1.0))), tmp_path / "0002_b.json")
    arms = tabulate_arms(find_results(tmp_path).results)
    assert arms[["run", "level", "baseline", "outcome"]].to_numpy().tolist() == [
        ["b", "amp fp32", True, "measured"],
        ["a", "amp fp32", True, "measured"],
        ["a", "amp fp16", False, "unavailable"],
    ]


def test_speeds_are_per_item(table):
    arms = table(trial(arm({"batch_size": "4"}, 2.0, items=4.0)))
    assert arms[["s_per_item", "items_per_s"]].iloc[0].tolist() == [0.5, 2.0]


@pytest.mark.parametrize(("quantiles_s", "half"), [((1.0, 2.0, 3.0, 5.0, 9.0), [2.0, 5.0]), ((1.0,), [1.0, 1.0])])
def test_half_of_an_arms_samples_lie_between_its_quartiles(table, quantiles_s, half):
    measured = arm({"amp": "fp32"}, 3.0)
    arms = table(trial(replace(measured, timing=replace(measured.timing, quantiles_s=quantiles_s))))
    assert arms[["q1_s_per_iteration", "q3_s_per_iteration"]].iloc[0].tolist() == half


def test_a_candidate_is_named_by_what_differs_from_the_baseline(table):
    levels = [{"pin_memory": pin, "non_blocking": block} for pin in ("off", "on") for block in ("off", "on")]
    arms = table(trial(*(arm(each, 1.0) for each in levels)))
    assert arms["level"].tolist() == [
        "pin-memory off, non-blocking off",
        "non-blocking on",
        "pin-memory on",
        "pin-memory on, non-blocking on",
    ]
    assert arms["against"].tolist()[1:3] == ["non-blocking off", "pin-memory off"]
    assert arms["technique"].unique().tolist() == ["pin-memory × non-blocking"]


def test_effects_are_the_candidates_with_a_speedup_beside_their_baseline(table):
    arms = table(
        trial(
            arm({"amp": "fp32"}, 2.0, price=memory(10)),
            arm({"amp": "bf16"}, 1.0, price=memory(7), effect=effect(2.0, 1.9, 2.1, "faster")),
            arm({"amp": "fp16"}),
        )
    )
    (row,) = effects(arms).to_dict("records")
    assert (row["level"], row["speedup"], row["verdict"]) == ("amp bf16", 2.0, "faster")
    assert (row["memory_bytes"], row["baseline_memory_bytes"], row["baseline_s_per_item"]) == (7, 10, 2.0)


def test_a_wrong_answer_has_no_speed(table):
    wrong = arm({"amp": "fp16"}, 0.1, outcome="wrong-output", effect=effect(20.0, 19.0, 21.0, "faster"))
    assert effects(table(trial(arm({"amp": "fp32"}, 2.0), wrong))).empty


def test_an_interval_without_an_upper_bound_reaches_to_infinity(table):
    few = arm({"amp": "bf16"}, 1.0, effect=effect(1.5, 0.0, None, "undecided", pairs=3))
    (row,) = effects(table(trial(arm({"amp": "fp32"}, 2.0), few))).to_dict("records")
    assert (row["low"], math.isinf(row["high"])) == (0, True)


def test_memory_of_one_trial_is_of_one_kind(table):
    cpu = arm({"device": "cpu"}, 1.0, price=memory(500))
    gpu = arm({"device": "cuda:0"}, 0.1, price=memory(300, allocator=900))
    assert table(trial(cpu, gpu))["memory_bytes"].tolist() == [500, 300]
    assert table(trial(gpu, gpu))["memory_bytes"].tolist() == [900, 900]


def test_energy_stands_beside_memory_with_the_device_that_took_it(table):
    counted = arm({"amp": "fp32"}, 2.0, price=Price(energy_j_per_item=0.5, energy_of="GPU"))
    rows = table(trial(counted, arm({"amp": "bf16"}, 1.0, effect=effect(2.0, 1.9, 2.1, "faster"))))
    assert rows[["energy_j_per_item", "energy_of"]].iloc[0].tolist() == [0.5, "GPU"]
    (candidate,) = effects(rows).to_dict("records")
    assert (candidate["baseline_energy_j_per_item"], pd.isna(candidate["energy_j_per_item"])) == (0.5, True)


def test_what_an_arm_observed_is_a_column(table):
    arms = table(trial(arm({"workers": "0"}, 1.0, observed={"wait_share": 0.4}), arm({"workers": "1"}, 1.0)))
    assert arms["observed_wait_share"].iloc[0] == 0.4
    assert pd.isna(arms["observed_wait_share"].iloc[1])


@pytest.mark.parametrize(("device_s", "share"), [(0.5, 0.25), (2.1, 1.0)])
def test_a_device_clock_says_for_what_share_of_the_time_the_device_was_busy(table, device_s, share):
    measured = arm({"amp": "fp32"}, 2.0)
    timed = replace(measured, timing=replace(measured.timing, device_s=device_s))
    arms = table(trial(timed, arm({"amp": "bf16"}, 1.0)))
    assert arms["device_share"].iloc[0] == share
    assert pd.isna(arms["device_share"].iloc[1])


def test_where_an_arm_ran_and_what_it_implies_are_columns(table):
    place = Placement(inputs=["cpu"], parameters=["cuda:0"], outputs=["cuda:0"], kernels=1200)
    sent = Placement(inputs=["cpu"], parameters=[], outputs=["cpu"], allocations=["cuda:1"])
    rates = [Rate(ceiling="cpu memory", per_s=1e9, share=0.02), Rate(ceiling="cpu matrix fp32", per_s=1e9, share=0.3)]
    seen = arm({"amp": "fp32"}, 1.0, placement=place, rates=rates, flags=["it may be handicapped"])
    arms = table(trial(seen, arm({"amp": "bf16"}, 1.0, placement=sent)))
    assert arms["placement"].tolist() == ["cuda:0, cpu, 1,200 kernels", "cpu, cuda:1"]
    assert arms["ceiling"].tolist() == ["cpu matrix fp32", ""]
    assert arms["share"].iloc[0] == 0.3
    assert [list(map(str, flags)) for flags in arms["flags"]] == [["it may be handicapped"], []]


def test_a_run_without_trials_is_an_empty_table(table):
    arms = table()
    assert arms.empty
    assert effects(arms).empty


def test_the_facts_are_plain_values(tmp_path):
    few = arm({"amp": "bf16"}, 1.0, effect=effect(1.5, 0.0, None, "undecided", pairs=3))
    path = save(run(trial(arm({"amp": "fp32"}, 2.0), few, arm({"amp": "fp16"}))), tmp_path / "0001_a.json")
    told = Findings(find_results(path).results[0]).as_json()
    (found,) = told["effects"]
    assert (found["high"], found["pairs"], found["levels"]) == (None, 3, {"amp": "bf16"})
    assert told["not_measured"][0]["reason"] == "not on this machine"


def test_the_stored_sample_has_its_findings():
    told = Findings(find_results(STORED).results[0]).as_json()
    assert len(told["effects"]) == 28
    assert [(knee["workload"], knee["knee"], knee["limit"]) for knee in told["knees"]] == [
        ("cnn-train", 32, 64),
        ("resnet18-train", 8, 16),
        ("jpeg-epoch", 2, 2),
        ("jpeg-resnet18-train", 1, 2),
    ]
    assert [crossing["direction"] for crossing in told["crossovers"]] == ["up", "above"]
