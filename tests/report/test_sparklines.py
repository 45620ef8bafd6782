"""The small figures of an arm: they show what was measured, say it in words, and stay small."""

import math
import re
from dataclasses import replace

import pytest
from runs import STORED, arm, effect, trial

from accelbench.report.sparklines import HEIGHT, WIDTH, Scale, arm_strips
from accelbench.results import find_results
from accelbench.schema.reasons import reason
from accelbench.schema.result import Visit, VisitEffect

QUANTILES_S = tuple(0.010 + 0.0001 * place for place in range(21))


def timed(levels, quantiles_s=QUANTILES_S, effect=None, **timing):
    made = arm(levels, quantiles_s[10], effect=effect)
    return replace(made, timing=replace(made.timing, quantiles_s=quantiles_s, **timing))


def strips_of(*candidates):
    return arm_strips(trial(timed({"amp": "fp32"}), *candidates), 0.01)


def path(strip, kind):
    return dict(strip.paths)[kind]


def numbers(text):
    return [int(number) for number in re.findall(r"-?\d+", text)]


def points(text):
    return list(zip(numbers(text)[::2], numbers(text)[1::2], strict=False))


def test_the_distribution_says_its_median_its_middle_half_and_its_ends():
    (strips,) = strips_of()
    assert strips.samples.caption == "median 11.0 ms, middle half 10.5 ms to 11.5 ms"
    assert "5 to 95 % 10.1 ms to 11.9 ms, all 10.0 ms to 12.0 ms, 50 blocks" in strips.samples.label


def test_the_box_holds_the_middle_half():
    (strips,) = strips_of()
    left, _, right, *_ = numbers(path(strips.samples, "box"))
    axis = Scale.over([QUANTILES_S[1], QUANTILES_S[19]], WIDTH)
    assert (left, right) == (axis.at(QUANTILES_S[5]), axis.at(QUANTILES_S[15]))
    assert left < numbers(path(strips.samples, "median"))[0] < right


def test_all_arms_of_a_trial_share_one_axis():
    one, other = strips_of(timed({"amp": "bf16"}, tuple(value / 2 for value in QUANTILES_S)))
    assert (one.samples.low, one.samples.high) == (other.samples.low, other.samples.high)
    assert numbers(path(other.samples, "median"))[0] < numbers(path(one.samples, "median"))[0]


def test_one_stray_sample_does_not_squeeze_the_others():
    (strips,) = arm_strips(trial(timed({"amp": "fp32"}, (*QUANTILES_S[:-1], 5.0))), 0.01)
    left, _, right, *_ = numbers(path(strips.samples, "box"))
    assert right - left > WIDTH / 4
    assert "all 10.0 ms to 5.00 s" in strips.samples.label


def test_arms_far_apart_stand_on_a_logarithmic_axis():
    axis = Scale.over([1.0, 100.0], WIDTH)
    assert axis.at(10.0) == WIDTH / 2
    assert not Scale.over([1.0, 4.0], WIDTH).logarithmic


def test_ratios_stand_in_the_order_in_which_they_were_measured():
    logs = (math.log(1.1), math.log(1.2), math.log(1.4))
    found = replace(effect(1.2, 1.1, 1.4, "faster"), log_ratios_in_order=logs)
    _, strips = strips_of(timed({"amp": "bf16"}, effect=found))
    (x1, y1), (x2, y2), (x3, y3) = (points(dot)[0] for dot in path(strips.ratios, "dots").split("h0")[:-1])
    assert x1 < x2 < x3
    assert y1 > y2 > y3  # downwards
    assert "first third 1.10×, last third 1.40×" in strips.ratios.label
    assert strips.ratios.caption == "50 pairs: 1.20× (1.10–1.40)"


def test_the_line_at_1_lies_within_the_noise_zone_and_below_what_is_faster():
    found = replace(effect(1.2, 1.1, 1.4, "faster"), log_ratios_in_order=(0.1, 0.2))
    _, strips = strips_of(timed({"amp": "bf16"}, effect=found))
    _, one, _ = numbers(path(strips.ratios, "one"))
    _, below, _, above, _ = numbers(path(strips.ratios, "zone"))
    _, low, _, high, _ = numbers(path(strips.ratios, "interval"))
    assert high < low < above < one < below


def test_the_warm_up_shows_the_first_call_only_where_it_is_in_range():
    near, far = (
        arm_strips(trial(timed({"amp": "fp32"}, warmup_s=(0.012, 0.011, 0.011), cold_s=cold_s)), 0.01)[0].warmup
        for cold_s in (0.0115, 3.0)
    )
    assert [kind for kind, _ in near.paths] == ["steady", "course", "first"]
    assert [kind for kind, _ in far.paths] == ["steady", "course"]
    assert "first call 3.00 s" in far.caption


FAR = reason("cores-far-apart", latency_s=4.3e-7, best_s=2.1e-7)


def visits_of(*shown, low=1.1, high=1.4, odd=()):
    """Draw visits with these log speedups; the odd ones, by their number, are left out of the interval."""
    known = tuple(
        VisitEffect(visit=n, log_speedup=log, pairs=20 + n, in_interval=n not in odd) for n, log in enumerate(shown)
    )
    states = [Visit(begun_s=9.0 * n, odd=[FAR] if n in odd else []) for n in range(len(shown))]
    found = replace(effect(1.2, low, high, "faster"), visits=known)
    arms = timed({"amp": "fp32"}), timed({"amp": "bf16"}, effect=found)
    baseline, strips = arm_strips(trial(*arms, visits=states), 0.01)
    assert baseline.visits is None
    return strips.visits


def test_visits_stand_in_their_order_beside_the_interval():
    strip = visits_of(math.log(1.1), math.log(1.2), math.log(1.4))
    (x1, y1), (x2, y2), (x3, y3) = (points(where)[0] for _, where, _ in strip.points)
    assert x1 < x2 < x3
    assert y1 > y2 > y3  # downwards
    _, bottom, _, top, _ = numbers(path(strip, "interval"))
    assert (bottom, top) == (y1, y3)
    assert strip.caption == "3 visits"
    assert strip.label == "Speedup of 3 visits, interval 1.10–1.40: 1.10×; 1.20×; 1.40×"


def test_an_odd_visit_is_another_kind_of_point_that_says_why_and_whether_it_counts():
    strip = visits_of(0.20, 0.05, 0.21, 0.19, odd=[1])
    assert [kind for kind, _, _ in strip.points] == ["point", "odd left-out point", "point", "point"]
    assert strip.points[0][2] == "visit 1: 1.22×, 20 pairs"
    assert strip.points[1][2] == f"visit 2: 1.05×, 21 pairs, left out of the interval; {FAR}"
    assert strip.caption == "4 visits, 1 odd, 3 in the interval"


@pytest.mark.parametrize(("speedups", "is_near"), [((0.999, 1.002), True), ((15.0, 17.0), False)])
def test_visits_stand_beside_1_only_where_they_are_near(speedups, is_near):
    low, high = speedups
    drawn = [kind for kind, _ in visits_of(math.log(low), math.log(high), low=low, high=high).paths]
    assert drawn == (["zone", "interval", "one"] if is_near else ["interval"])


def test_runs_without_visits_draw_what_they_drew_before():
    _, strips = strips_of(timed({"amp": "bf16"}, effect=effect(1.2, 1.1, 1.4, "faster")))
    assert strips.visits is None


@pytest.mark.parametrize("log", [1e308, -1e308, 0.0])
def test_visits_that_nobody_measured_stay_inside_their_figure(log):
    found = replace(
        effect(1e15, 0.0, None, "undecided"), visits=(VisitEffect(visit=7, log_speedup=log, pairs=0),) * 900
    )
    strip = arm_strips(trial(timed({"amp": "fp32"}), timed({"amp": "x"}, effect=found)), 0.01)[1].visits
    assert len(strip.points) <= 40
    assert all(0 <= y <= HEIGHT for _, where, _ in strip.points for _, y in [points(where)[0]])


@pytest.mark.parametrize("logs", [(1e308, -1e308), (0.0,), (5.0,) * 100_000])
def test_ratios_that_nobody_measured_stay_inside_their_figure(logs):
    found = replace(effect(1e15, 0.0, None, "undecided"), log_ratios_in_order=logs)
    _, strips = strips_of(timed({"amp": "x"}, (0.0,) * 21, effect=found))
    drawn = [point for kind in ("dots", "zone") for point in numbers(path(strips.ratios, kind))]
    assert all(0 <= number <= WIDTH for number in drawn)
    assert all(0 <= y <= HEIGHT for y in numbers(path(strips.ratios, "dots"))[1::3])


def test_the_figures_of_an_arm_take_at_most_two_kilobytes_of_paths():
    run = find_results(STORED.with_name("run_every_field.json")).results[0].run
    drawn = [strips for each in run.trials for strips in arm_strips(each, 0.01)]
    assert len(drawn) > 20
    for each in drawn:
        shown = [strip for strip in (each.samples, each.ratios, each.warmup) if strip]
        assert sum(len(text) for strip in shown for _, text in strip.paths) < 2048
