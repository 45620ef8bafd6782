"""A run's findings for other programs: what the page shows together stands there together, too."""

import json
import math
from dataclasses import replace

import pytest
from runs import FULL, arm, effect, run, save, trial

from harness.reading import facts, find_results


@pytest.fixture
def facts_of(tmp_path):
    """Return what a program reads of a run of these trials."""

    def of(*trials):
        (result,) = find_results(save(run(*trials), tmp_path / "0001_a.json")).results
        return json.loads(json.dumps(facts(result), allow_nan=False))

    return of


def faster(speedup: float):
    return effect(speedup, speedup * 0.9, speedup * 1.1, "faster")


def test_a_ladder_names_its_rungs_in_order_and_why_one_is_missing(facts_of):
    rungs = [
        arm({"stack": "naive"}, 1.0),
        arm({"stack": "+cache"}, 0.5, effect=faster(2.0)),
        arm({"stack": "+prefetch"}, 0.25, effect=faster(4.0)),
        arm({"stack": "+gpu"}, reason="no accelerator"),
    ]
    (ladder,) = facts_of(trial(*rungs))["ladders"]
    assert (ladder["technique"], ladder["start"]) == ("stack", "naive")
    assert [(each["rung"], each["speedup"], each["gain"]) for each in ladder["rungs"]] == [
        ("naive", 1.0, None),
        ("+cache", 2.0, 2.0),
        ("+prefetch", 4.0, 2.0),
    ]
    assert ladder["missing"] == [["+gpu", "no accelerator"]]


def test_an_interaction_says_what_both_do_and_what_they_promise(facts_of):
    ways = [
        arm({"amp": "fp32", "compile": "eager"}, 1.0),
        arm({"amp": "bf16", "compile": "eager"}, 0.5, effect=faster(2.0)),
        arm({"amp": "fp32", "compile": "compiled"}, 0.5, effect=faster(2.0)),
        arm({"amp": "bf16", "compile": "compiled"}, 0.2, effect=faster(5.0)),
    ]
    (both,) = facts_of(trial(*ways))["interactions"]
    assert both["techniques"] == ["amp", "compile"]
    assert (both["promised"], both["ratio"]) == (4.0, 1.25)
    assert both["low"] < both["ratio"] < both["high"]
    assert [way["speedup"] for way in both["ways"]] == [1.0, 2.0, 2.0, 5.0]


def test_a_real_run_tells_what_reading_the_loss_costs_by_how_often():
    (result,) = find_results(FULL).results
    found = facts(result)["log_intervals"]
    assert {loop["framework"] for loop in found} == {"torch", "tensorflow"}
    for loop in found:
        assert [each["every"] for each in loop["readings"]] == [1, 10, 100]
        assert all(each["time_low"] <= each["time"] <= (each["time_high"] or math.inf) for each in loop["readings"])


def test_an_effect_says_over_how_many_workers_and_builds_its_interval_spans(facts_of):
    several = replace(faster(2.0), workers=5, builds=8)
    (told,) = facts_of(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=several)))["effects"]
    assert (told["pairs"], told["workers"], told["builds"]) == (50, 5, 8)
