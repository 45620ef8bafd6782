"""Larger batches learn otherwise: throughput beside the time until an accuracy is reached."""

import pytest
from runs import arm, effect, run, save, trial

from accelbench.results import Findings, find_results
from accelbench.schema.reasons import reason

MISSED = reason("target-missed", epochs=40, accuracy=0.92, target=0.95)


def trained(size, rule, time_s, images_per_s, epochs, speedup=None):
    levels = {"batch_size": str(size), "learning_rate_scaling": rule}
    seen = effect(speedup, speedup - 0.1, speedup + 0.1, "faster") if speedup else None
    observed = {"images_per_s": images_per_s, "epochs": epochs, "trainings": 4.0}
    return arm(levels, time_s, effect=seen, observed=observed)


def missed(size, rule):
    return arm({"batch_size": str(size), "learning_rate_scaling": rule}, reason=MISSED)


START = trained(32, "none", 0.06, 90_000, 4)
ARMS = (
    START,
    arm({"batch_size": "32", "learning_rate_scaling": "linear"}, reason=reason("usual-batch", batch=32)),
    missed(512, "none"),
    trained(512, "linear", 0.02, 720_000, 12, 3.0),
)


@pytest.fixture
def findings(tmp_path):
    def of(*arms):
        found = run(trial(*arms, workload="digits-training", unit="training"))
        return Findings(find_results(save(found, tmp_path / "0001_a.json")).results[0])

    return of


def test_a_size_is_said_to_learn_faster_and_when_it_is_done_under_each_rule(findings):
    (found,) = findings(*ARMS).times_to_accuracy
    assert found.sentence == (
        "batch size 512 learns from 8.0 times as many images a second as 32, and reaches the accuracy "
        "3.00× (2.90–3.10) as fast with learning-rate-scaling linear and never with none"
    )


def test_the_first_to_be_done_is_named_where_it_is_not_the_size_of_the_highest_throughput(findings):
    slow = trained(512, "linear", 0.1, 720_000, 30, 0.6)
    (found,) = findings(START, slow).times_to_accuracy
    assert found.sentence.endswith("; the first to reach it is 32 with learning-rate-scaling none")


def test_every_rule_begins_at_the_baseline(findings):
    (found,) = findings(*ARMS).times_to_accuracy
    assert found.arms[["rule", "at", "missed"]].values.tolist() == [
        ["learning-rate-scaling none", 32, False],
        ["learning-rate-scaling none", 512, True],
        ["learning-rate-scaling linear", 32, False],
        ["learning-rate-scaling linear", 512, False],
    ]


def test_a_training_to_an_accuracy_has_no_knee_of_trainings_per_second(findings):
    assert findings(*ARMS, trained(128, "none", 0.05, 300_000, 9, 1.2)).level_sweeps == []


def test_nothing_is_found_where_no_epochs_were_counted(findings):
    assert findings(arm({"batch_size": "1"}, 1.0), arm({"batch_size": "2"}, 1.0)).times_to_accuracy == []


def test_a_baseline_that_misses_the_accuracy_has_nothing_to_compare_with(findings):
    assert findings(missed(32, "none"), trained(512, "linear", 0.02, 720_000, 12)).times_to_accuracy == []


def test_findings_as_json_hold_every_arm(findings):
    (found,) = findings(*ARMS).as_json()["times_to_accuracy"]
    assert [(each["at"], each["missed"], each["images_per_s"]) for each in found["arms"]][1] == (512, True, None)
