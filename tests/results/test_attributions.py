"""Bundles that a run has measured in every combination, taken apart."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from runs import bundle, run, save, trial

from accelbench import student_t
from accelbench.results import Findings, find_results, tabulate_arms
from accelbench.results.combinations import find_attributions
from accelbench.schema.result import VisitEffect

OFF_ON = {"amp": ("fp32", "bf16"), "memory_format": ("contiguous", "channels-last")}
SPEEDUPS = (1.0, 0.6, 1.8, 3.0)  # none, layout, precision, both


@pytest.fixture
def found(tmp_path):
    def of(*arms):
        saved = save(run(trial(*arms)), tmp_path / "0001_a.json")
        return find_attributions(tabulate_arms(find_results(saved).results), noise=0.01)

    return of


def test_a_bundle_is_taken_apart_from_the_rounds_that_the_file_keeps(found):
    (seen,) = found(*bundle(OFF_ON, SPEEDUPS))
    assert seen.workload == "net"
    assert seen.switched == "amp × memory-format"
    assert seen.against == "amp fp32, memory-format contiguous"
    assert seen.effects.labels == {"amp": "amp bf16", "memory_format": "memory-format channels-last"}
    assert seen.effects.bundle.ratio == pytest.approx(3.0, rel=0.02)
    assert seen.effects.alone["memory_format"].ratio == pytest.approx(0.6, rel=0.02)
    assert seen.effects.interactions["amp", "memory_format"].ratio == pytest.approx(3.0 / 1.08, rel=0.04)
    assert seen.effects.additive.verdict == "interact"
    assert seen.sentence.startswith("net: of the bundle's 3.0")


def test_each_build_of_the_visits_is_a_batch(found):
    """Twelve builds, of which each is as far from the truth in all of its stretches."""
    none, *others = bundle(OFF_ON, SPEEDUPS)
    build_errors = np.repeat(np.random.default_rng(1).normal(0, 0.02, 12), 3)

    def visited(arm, share):
        log_ratios = tuple(math.log(arm.effect.speedup) + share * build_errors)
        return replace(arm, effects=[replace(arm.effect, builds=12, workers=4, log_ratios_in_order=log_ratios)])

    (seen,) = found(none, *(visited(arm, share) for arm, share in zip(others, (0.0, 0.0, 1.0), strict=True)))
    reach = student_t.quantile(11, 0.01) * build_errors[::3].std(ddof=1) / math.sqrt(12)
    bundled = seen.effects.bundle
    assert math.log(bundled.high / bundled.low) / 2 >= reach
    assert seen.effects.alone["amp"].low == pytest.approx(1.8)


def test_a_bundle_of_several_visits_has_the_effects_of_its_arms(found):
    """Its rounds agree within 2 %, and its arms' intervals carry more: what differs between visits."""
    none, *others = bundle(OFF_ON, SPEEDUPS)
    visits = tuple(VisitEffect(visit=number, log_speedup=0.1, pairs=9) for number in range(3))

    def visited(arm):
        speedup = arm.effect.speedup
        return replace(arm, effects=[replace(arm.effect, visits=visits, low=speedup / 1.2, high=speedup * 1.2)])

    (seen,) = found(none, *map(visited, others))
    shares = seen.effects.alone["memory_format"], seen.effects.alone["amp"], seen.effects.bundle
    assert [share.ratio for share in shares] == [arm.effect.speedup for arm in others]
    assert [(share.low, share.high) for share in shares] == [(each / 1.2, each * 1.2) for each in SPEEDUPS[1:]]
    on_top = seen.effects.on_top["amp"]
    assert math.log(on_top.high / on_top.low) / 2 == pytest.approx(math.log(1.2))


def test_arms_may_stand_in_any_order_after_the_baseline(found):
    none, *others = bundle(OFF_ON, SPEEDUPS)
    (seen,) = found(none, *reversed(others))
    assert seen.effects.alone["memory_format"].ratio == pytest.approx(0.6, rel=0.02)


def test_a_technique_that_could_not_be_switched_on_is_left_out_and_named(found):
    levels = OFF_ON | {"pin_memory": ("off", "on")}
    arms = bundle(levels, (1.0, None, 0.6, None, 1.8, None, 3.0, None))
    (seen,) = found(*arms)
    assert seen.missing == ("pin-memory",)
    assert seen.switched == "amp × memory-format"


def test_arms_that_left_at_different_times_are_not_taken_apart(found):
    *arms, last = bundle(OFF_ON, SPEEDUPS)
    assert found(*arms, replace(last, effects=[replace(last.effect, pairs=7)])) == []


@pytest.mark.parametrize(
    "speedups", [(1.0, 0.6, 1.8, None), (1.0, None, 1.8, None), (None, 0.6, 1.8, 3.0)], ids=["one", "three", "baseline"]
)
def test_what_is_no_whole_bundle_is_not_taken_apart(found, speedups):
    assert found(*bundle(OFF_ON, speedups)) == []


def test_ratios_that_no_measurement_gives_are_not_taken_apart(found):
    *arms, last = bundle(OFF_ON, SPEEDUPS)
    wild = replace(last.effect, log_ratios_in_order=(1e300,) * 40)
    assert found(*arms, replace(last, effects=[wild])) == []


def test_a_program_reads_the_shares_as_ratios_with_intervals(tmp_path):
    saved = save(run(trial(*bundle(OFF_ON, SPEEDUPS))), tmp_path / "0001_a.json")
    (told,) = json.loads(json.dumps(Findings(find_results(saved).results[0]).as_json()))["attributions"]
    layout = told["alone"]["memory_format"]
    assert layout["low"] < layout["ratio"] < layout["high"] < 1
    assert [each["of"] for each in told["interactions"]] == [["amp", "memory_format"]]
    assert told["p_value"] < 0.001
    assert (layout["verdict"], told["additive"]) == ("slower", "interact")
    assert told["sentence"].startswith("net: of the bundle's 3.01×")


def test_a_bundle_is_judged_by_the_noise_zone_that_the_run_was_told(tmp_path):
    saved = save(run(trial(*bundle(OFF_ON, SPEEDUPS)), settings={"noise": 0.9}), tmp_path / "0001_a.json")
    (told,) = Findings(find_results(saved).results[0]).as_json()["attributions"]
    assert told["alone"]["amp"]["verdict"] == "same"
