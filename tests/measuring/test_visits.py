"""Trials that were measured in several visits."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from accelbench.attribution import batches_for
from accelbench.core import Contrast, Plan, Trial
from accelbench.measuring.trial_result import Pairs, TrialResult
from accelbench.measuring.visits import (
    EarlierSpeedups,
    MeasuredVisit,
    join_visits,
    mark_page_faults,
    may_decide,
    may_go_on,
    next_visit,
    settled_contrasts,
)
from accelbench.moderated_variance import Prior
from accelbench.schema.reasons import Reason, reason
from accelbench.schema.result import ArmRecord, Outcome, Price, Timing, Visit

WORTH_FOUR = Prior(value=0.01**2, freedom=4)


def joined(
    results: list[TrialResult],
    odd: Sequence[list[Reason]] = (),
    prior: Prior = WORTH_FOUR,
    earlier: Sequence[float] = (),
    of_same_code: bool = False,
) -> TrialResult:
    """Join the results of visits, some of them odd."""
    states = [Visit(begun_s=0.0, odd=each) for each in [*odd, *([] for _ in results)]]
    visits = [MeasuredVisit(visit=state, result=result) for state, result in zip(states, results, strict=False)]
    before = EarlierSpeedups(by_contrast={Contrast(1, 0): earlier}, of_same_code=of_same_code)
    return join_visits(visits, Plan(visits=4), prior, before)


BUSY = reason("other-processes", used=0.5, cores=2)


def repetition(centre: float, outcome: Outcome = "measured") -> TrialResult:
    ratios = tuple(centre + np.random.default_rng(1).normal(0, 0.01, 100))
    arms = [ArmRecord(levels={"amp": "off"}, outcome="measured"), ArmRecord(levels={"amp": "on"}, outcome=outcome)]
    return TrialResult(
        arms=arms,
        samples_s=[(1.0,) * 100, (1.0,) * 100],
        pairs={Contrast(1, 0): Pairs(log_ratios=ratios, undisturbed=(True,) * len(ratios))},
        span_s=2.0,
        disturbance={"load_1min": 1.0 + centre},
        remarks=[BUSY],
    )


def test_agreeing_visits_make_one_effect_that_names_each_of_them() -> None:
    result = joined([repetition(0.20), repetition(0.201), repetition(0.199)])
    effect = result.arms[1].effect
    assert effect is not None
    assert (effect.verdict, effect.workers, effect.pairs) == ("faster", 3, 300)
    assert [visit.visit for visit in effect.visits] == [0, 1, 2]
    assert [visit.log_speedup for visit in effect.visits] == pytest.approx([0.20, 0.201, 0.199], abs=0.005)
    assert (len(result.samples_s[1]), result.span_s, result.remarks) == (300, 6.0, [BUSY])


def test_an_effect_carries_the_spread_between_this_run_and_earlier_ones() -> None:
    results = [repetition(each) for each in (0.2, 0.2, 0.2)]
    alone = joined(results).arms[1].effect
    among = joined(results, earlier=[0.3, 0.1]).arms[1].effect
    assert alone is not None
    assert among is not None
    assert (alone.earlier_runs, among.earlier_runs) == (0, 2)
    assert among.low < alone.low < alone.upper < among.upper
    assert among.speedup == alone.speedup
    assert among.joined_runs == 0


def test_earlier_runs_of_the_same_code_join_and_what_this_run_alone_shows_is_still_told() -> None:
    results = [repetition(each) for each in (0.2, 0.2, 0.2)]
    alone, among = (
        joined(results, earlier=[0.21, 0.22, 0.2], of_same_code=same).arms[1].effect for same in (False, True)
    )
    assert alone is not None
    assert among is not None
    assert (alone.joined_runs, among.joined_runs) == (0, 3)
    assert math.log(among.speedup) == pytest.approx((0.2 + 0.21 + 0.22 + 0.2) / 4, abs=0.002)
    assert among.upper - among.low < 0.6 * (alone.upper - alone.low)
    assert among.of_this_run == pytest.approx(alone.of_this_run, abs=1e-5)


def test_a_change_of_code_does_not_hide_itself_behind_the_runs_before_it() -> None:
    results = [repetition(each) for each in (0.7, 0.72, 0.71)]
    alone = joined(results).arms[1].effect
    changed = joined(results, earlier=[1.87, 1.9, 1.85, 1.88, 1.86]).arms[1].effect
    near = joined(results, earlier=[0.73, 0.69, 0.72, 0.75, 0.7]).arms[1].effect
    assert alone is not None
    assert changed is not None
    assert near is not None
    assert (changed.low, changed.upper, changed.earlier_runs) == (alone.low, alone.upper, 0)
    assert near.upper - near.low > alone.upper - alone.low
    assert near.earlier_runs == 5


def test_two_earlier_runs_that_differ_do_not_show_that_the_code_has_changed() -> None:
    moved = joined([repetition(0.7)], earlier=[0.9, 1.1]).arms[1].effect
    assert moved is not None
    assert moved.earlier_runs == 2


def with_copies(result: TrialResult, copies: int) -> TrialResult:
    """Return the trial with its candidate as often as that, at levels of their own."""
    baseline, candidate = result.arms
    arms = [baseline, *(replace(candidate, levels={"amp": f"on-{number}"}) for number in range(copies))]
    (pairs,) = result.pairs.values()
    contrasts = {Contrast(place, 0): pairs for place in range(1, copies + 1)}
    return replace(result, arms=arms, pairs=contrasts, samples_s=[(1.0,) * 100] * len(arms))


def test_an_interval_does_not_depend_on_how_many_others_the_trial_has() -> None:
    results = [repetition(each) for each in (0.2, 0.21, 0.19)]
    alone, among = joined(results), joined([with_copies(each, 7) for each in results])
    assert alone.arms[1].effect is not None
    assert among.arms[7].effect is not None
    assert among.arms[7].effect.low == alone.arms[1].effect.low


def test_visits_that_contradict_each_other_decide_nothing() -> None:
    result = joined([repetition(0.2), repetition(-0.2), repetition(0.0)])
    effect = result.arms[1].effect
    assert effect is not None
    assert effect.verdict == "undecided"


def test_an_arm_that_was_lost_once_is_lost() -> None:
    result = joined([repetition(0.2), repetition(0.2, outcome="crashed")])
    assert result.arms[1].outcome == "crashed"
    assert result.arms[1].effect is None


def test_the_worst_disturbance_is_kept() -> None:
    assert joined([repetition(0.0), repetition(0.5)]).disturbance == {"load_1min": 1.5}


def test_of_a_clock_the_lowest_is_the_worst() -> None:
    low, high = (replace(repetition(0.0), disturbance={"gpu0_lowest_clock_share": share}) for share in (0.6, 0.9))
    assert joined([high, low]).disturbance == {"gpu0_lowest_clock_share": 0.6}


def test_of_the_work_that_cores_do_at_once_the_least_is_the_worst() -> None:
    few, many = (replace(repetition(0.0), disturbance={"cores_worth": worth}) for worth in (1.0, 2.0))
    assert joined([many, few]).disturbance == {"cores_worth": 1.0}


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (
            reason("gpu-clock-fell", gpu=0, share=0.74, clock_mhz=1980),
            reason("gpu-clock-fell", gpu=0, share=0.30, clock_mhz=1980),
        ),
        (reason("shared-cores", asked=4, worth=2.7), reason("shared-cores", asked=4, worth=1.1)),
        (reason("other-processes", used=0.5, cores=2), reason("other-processes", used=1.5, cores=2)),
        (reason("waited-for-core", share=0.1), reason("waited-for-core", share=0.4)),
    ],
    ids=lambda each: each.code,
)
def test_of_remarks_of_one_kind_the_worst_is_kept(better: Reason, worse: Reason) -> None:
    visits = [replace(repetition(0.0), remarks=[remark]) for remark in (better, worse, better)]
    assert joined(visits).remarks == [worse]


def test_the_samples_and_the_cost_of_starting_are_those_of_all_visits() -> None:
    first, second, third = (timed(cold_s, sample_s) for cold_s, sample_s in ((9.0, 1.0), (0.5, 2.0), (0.4, 3.0)))
    timing = joined([first, second, third]).arms[0].timing
    assert timing is not None
    assert (timing.cold_s, timing.median_s, timing.blocks) == (0.5, 2.0, 3)
    assert (timing.warmup_blocks, timing.warmup_settled) == (40, True)


def test_a_device_clock_that_one_visit_could_not_read_is_that_of_the_others() -> None:
    timing = joined([timed(0.5, 1.0, device_s) for device_s in (0.25, None, 0.75)]).arms[0].timing
    assert timing is not None
    assert timing.device_s == 0.5


def timed(cold_s: float, sample_s: float, device_s: float | None = None) -> TrialResult:
    timing = Timing(
        median_s=sample_s,
        quantiles_s=(sample_s,),
        blocks=1,
        iterations_per_block=1,
        cold_s=cold_s,
        build_s=0.1,
        warmup_blocks=40,
        warmup_settled=True,
        device_s=device_s,
    )
    return TrialResult(
        arms=[ArmRecord(levels={"amp": "off"}, outcome="measured", timing=timing)],
        samples_s=[(sample_s,)],
    )


def visit_of_builds(level: float, *rounds: int) -> TrialResult:
    """Return a visit of a bundle of two techniques, whose builds have so many rounds and log speedups of their own."""
    ratios = [level + 0.01 * build for build, count in enumerate(rounds) for _ in range(count)]
    starts = tuple(int(start) for start in np.cumsum(rounds)[:-1])
    calm = tuple(number % 7 > 0 for number in range(len(ratios)))
    arms = [{"amp": amp, "layout": layout} for amp in ("off", "on") for layout in ("off", "on")]
    return replace(
        repetition(level),
        arms=[ArmRecord(levels=levels, outcome="measured") for levels in arms],
        samples_s=[(1.0,) * len(ratios)] * len(arms),
        pairs={
            Contrast(place, 0): Pairs(
                log_ratios=tuple(place * ratio for ratio in ratios), undisturbed=calm, build_starts=starts
            )
            for place in range(1, len(arms))
        },
    )


def test_the_batches_of_a_bundle_are_the_builds_of_its_visits() -> None:
    plan = Plan(visits=4, max_builds=batches_for(4), whole_rounds=True)
    assert [plan.of_visit(number).builds for number in range(4)] == [3, 3, 3, 3]


def test_whole_rounds_in_a_single_visit_have_all_builds() -> None:
    plan = Plan(visits=1, max_builds=batches_for(4), whole_rounds=True)
    assert plan.of_visit(0).builds == batches_for(4)
    levels = (0.1, 0.2, 0.3, 0.4)
    result = joined([visit_of_builds(level, *[20 + 9 * number] * 3) for number, level in enumerate(levels)])
    effects = [arm.effect for arm in result.arms[1:] if arm.effect]
    assert {(effect.builds, effect.workers, effect.pairs) for effect in effects} == {(12, 4, effects[0].pairs)}
    means = [level + 0.01 * build for level in levels for build in range(3)]
    for place, effect in enumerate(effects, start=1):
        batches = np.array_split(effect.log_ratios_in_order, effect.builds)
        assert [batch.min() for batch in batches] == [batch.max() for batch in batches]
        assert [batch[0] for batch in batches] == pytest.approx([place * mean for mean in means])


FAR = reason("cores-far-apart", latency_s=4e-7, best_s=2e-7)


def test_an_effect_rests_on_the_usual_visits_where_three_are_left() -> None:
    result = joined([repetition(centre) for centre in (0.2, 0.9, 0.2, 0.2)], odd=[[], [FAR]])
    effect = result.arms[1].effect
    assert effect is not None
    assert [(visit.visit, visit.in_interval) for visit in effect.visits] == [
        (0, True), (1, False), (2, True), (3, True),
    ]  # fmt: skip
    assert effect.visits[1].log_speedup == pytest.approx(0.9, abs=0.01)
    assert (effect.workers, effect.pairs) == (3, sum(visit.pairs for visit in effect.visits if visit.in_interval))
    assert effect.speedup == pytest.approx(math.exp(0.2), rel=0.01)
    assert [str(remark) for remark in result.remarks if remark.code != "other-processes"] == [
        f"some visits are left out of the intervals, 1 of 4: {FAR.brief}"
    ]


def test_it_rests_on_all_visits_where_too_few_were_usual() -> None:
    result = joined([repetition(centre) for centre in (0.2, 0.9, 0.2)], odd=[[], [FAR]])
    effect = result.arms[1].effect
    assert effect is not None
    assert [visit.in_interval for visit in effect.visits] == [True, True, True]
    assert f"the machine was in an unusual state in 1 of 3 visits: {FAR.brief}" in map(str, result.remarks)


def test_a_visit_whose_arm_asks_for_far_more_pages_than_in_the_others_is_odd() -> None:
    usual, faulty = (timed(0.5, 1.0) for _ in range(2))
    faulty.arms[0] = replace(faulty.arms[0], timing=replace(faulty.arms[0].timing, page_faults=20_000.0))
    usual.arms[0] = replace(usual.arms[0], timing=replace(usual.arms[0].timing, page_faults=50.0))
    visits = [MeasuredVisit(visit=Visit(begun_s=0.0), result=each) for each in (usual, faulty, usual, usual)]
    odd = [[str(why) for why in each.visit.odd] for each in mark_page_faults(visits)]
    assert odd == [
        [],
        ["there were many page faults: 20,000 in an iteration of amp off, 50 in the other visits"],
        [],
        [],
    ]


def test_a_trial_is_visited_again_while_an_arm_is_left_to_compare() -> None:
    trial = Trial(framework="fake", workload="", arms=({"amp": "off"}, {"amp": "on"}), plan=Plan(visits=4))
    good, bad = (
        MeasuredVisit(visit=Visit(begun_s=0.0), result=repetition(0.2, outcome))
        for outcome in ("measured", "out-of-memory")
    )
    assert may_go_on(trial, [])
    assert may_go_on(trial, [good])
    assert not may_go_on(trial, [good, bad])
    assert next_visit(trial, [bad], 1).failures == {1: ("out-of-memory", None)}


def test_later_visits_know_how_well_each_arm_repeats_itself() -> None:
    trial = Trial(framework="fake", workload="", arms=({"amp": "off"}, {"amp": "on"}), plan=Plan(visits=4))
    result = repetition(0.2)
    prices = [Price(repeats_within=spread) for spread in (0.0, 0.1)]
    result = replace(result, arms=[replace(arm, price=price) for arm, price in zip(result.arms, prices, strict=True)])
    later = next_visit(trial, [MeasuredVisit(visit=Visit(begun_s=0.0), result=result)], 1)
    assert later.spreads == {1: 0.1}
    assert later.of_arms(1).spreads == {0: 0.1}


def test_later_visits_know_how_long_the_blocks_of_each_arm_were() -> None:
    trial = Trial(framework="fake", workload="", arms=({"amp": "off"}, {"amp": "on"}), plan=Plan(visits=4))
    result = repetition(0.2)
    arms = [
        replace(arm, timing=replace(timed(1.0, 1e-3).arms[0].timing, iterations_per_block=iterations))
        for arm, iterations in zip(result.arms, (4, 30), strict=True)
    ]
    later = next_visit(trial, [MeasuredVisit(visit=Visit(begun_s=0.0), result=replace(result, arms=arms))], 1)
    assert later.iterations == {0: 4, 1: 30}
    assert later.of_arms(1).iterations == {0: 30}


def test_later_visits_know_how_many_items_the_first_one_chose_for_an_iteration() -> None:
    trial = Trial(framework="fake", workload="", arms=({"amp": "off"}, {"amp": "on"}), plan=Plan(visits=4))
    assert next_visit(trial, [], 0).setting.items is None
    result = repetition(0.2)
    result = replace(result, arms=[replace(arm, items=48) for arm in result.arms])
    assert next_visit(trial, [MeasuredVisit(visit=Visit(begun_s=0.0), result=result)], 1).setting.items == 48


def test_the_budget_is_shared_by_the_visits() -> None:
    trial = Trial(framework="fake", workload="", arms=({}, {}), plan=Plan(visits=4, budget_s=2.0))
    assert [next_visit(trial, [], number).plan.budget_s for number in range(4)] == [0.5] * 4


@pytest.mark.parametrize(
    ("medians", "settled"),
    [((0.5, 0.5), True), ((0.5, 0.9), True), ((0.05, 0.06), False), ((0.001, 0.001), False), ((0.3, -0.3), False)],
)
def test_a_contrast_is_settled_if_its_interval_is_narrow_or_far_from_one(medians: list[float], settled: bool) -> None:
    visits = [MeasuredVisit(visit=Visit(begun_s=0.0), result=repetition(each)) for each in medians]
    prior = Prior(value=0.02**2 / 2, freedom=10)
    assert settled_contrasts(visits, Plan(visits=4), prior, EarlierSpeedups()) == {Contrast(1, 0): settled}


@pytest.mark.parametrize(("medians", "settled"), [((0.02, 0.0, 0.01), True), ((0.09, 0.03, 0.06), False)])
def test_after_three_visits_a_contrast_is_settled_where_another_one_would_decide_nothing(
    medians: list[float], settled: bool
) -> None:
    visits = [MeasuredVisit(visit=Visit(begun_s=0.0), result=repetition(each)) for each in medians]
    prior = Prior(value=0.02**2, freedom=10)
    undecided = join_visits(visits, Plan(visits=4), prior, EarlierSpeedups()).arms[1].effect
    assert undecided is not None
    assert undecided.verdict == "undecided"
    assert settled_contrasts(visits, Plan(visits=4), prior, EarlierSpeedups()) == {Contrast(1, 0): settled}


@pytest.mark.parametrize(("earlier", "settled"), [((0.045, 0.055), True), ((0.05,), False)])
def test_where_two_earlier_runs_have_joined_two_visits_tell_that_another_one_would_decide_nothing(
    earlier: tuple[float, ...], settled: bool
) -> None:
    visits = [MeasuredVisit(visit=Visit(begun_s=0.0), result=repetition(each)) for each in (0.048, 0.052)]
    prior = Prior(value=0.06**2, freedom=10)
    before = EarlierSpeedups(by_contrast={Contrast(1, 0): earlier}, of_same_code=True)
    undecided = join_visits(visits, Plan(visits=4), prior, before).arms[1].effect
    assert undecided is not None
    assert (undecided.verdict, undecided.joined_runs) == ("undecided", len(earlier))
    assert settled_contrasts(visits, Plan(visits=4), prior, before) == {Contrast(1, 0): settled}


@pytest.mark.parametrize(("medians", "may"), [((0.09, 0.03), True), ((0.5, 0.5), False), ((0.02, 0.0, 0.01), False)])
def test_another_visit_may_decide_what_is_undecided_but_not_hopeless(medians: list[float], may: bool) -> None:
    visits = [MeasuredVisit(visit=Visit(begun_s=0.0), result=repetition(each)) for each in medians]
    assert may_decide(visits, Plan(visits=4), Prior(value=0.02**2, freedom=10), EarlierSpeedups()) is may
