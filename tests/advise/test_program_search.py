"""The search for a user's program, on surfaces on which every technique's effect is known."""

import math
import random
import time
from dataclasses import replace

import pytest
from surfaces import Surface, axis

from accelbench.advise.observations import Observation
from accelbench.advise.program_search import Iteration, find_whether_it_pays, times_to_decide
from accelbench.advise.search import Limits
from accelbench.advise.space import SearchSpace
from accelbench.advise.time_limit import TimeLimit
from accelbench.core import AS_IS
from accelbench.errors import Unavailable
from accelbench.measuring.statistics import Judgement

PROGRAM = SearchSpace(
    (
        axis("batch_size", AS_IS, "1", "2", "8", "32", computes_other=True, often_pays=True, present="4"),
        axis("threads", AS_IS, "1", often_pays=True),
        axis("amp", AS_IS, "bf16", "fp16", often_pays=True),
        axis("memory_format", AS_IS, "channels-last", often_pays=True),
        axis("compile", AS_IS, "default", "thorough", slow=("default", "thorough"), often_pays=True),
        axis("workers", AS_IS, "1", "2", often_pays=True, loads=True),
        axis("attention", AS_IS, "math"),
    ),
    batch_size=4,
)
EFFECTS = {
    ("amp", "bf16"): 1.3,
    ("amp", "fp16"): 0.5,
    ("threads", "1"): 0.6,
    ("compile", "default"): 0.9,
    ("compile", "thorough"): 0.9,
    ("workers", "2"): 1.25,
    ("workers", "1"): 1.15,
    ("batch_size", "1"): 0.4,
    ("batch_size", "2"): 0.7,
}


def speedup(levels):
    product = 1.0
    for effect in levels.items():
        product *= EFFECTS.get(effect, 1.0)
    return product


def answers(search):
    return {(each.technique, each.level): each.pays for each in search.list_alone()}


FIRST_LEVELS = {
    ("batch_size", "8"): False,
    ("threads", "1"): False,
    ("amp", "bf16"): True,
    ("memory_format", "channels-last"): False,
    ("compile", "default"): False,
    ("workers", "1"): True,
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("step_s", [0.02, 0.1])
def test_two_minutes_answer_for_each_technique_whether_it_pays_and_find_what_pays_together(seed, step_s):
    surface = Surface(PROGRAM, speedup, seed=seed, noise=0.01, build_noise=0.003, step_s=step_s)
    search = surface.program_search(120.0)
    best = search.run()
    found = answers(search)
    assert {each: found[each] for each in FIRST_LEVELS} == FIRST_LEVELS
    assert surface.of(best) > 1.5
    assert search.judge_gain(best).verdict == "faster"
    assert surface.clock() <= 1.2 * 120


@pytest.mark.parametrize("seed", range(5))
def test_a_program_that_nothing_makes_faster_is_left_as_it_is(seed):
    surface = Surface(PROGRAM, lambda _: 1.0, seed=seed, noise=0.01, build_noise=0.003)
    search = surface.program_search(60.0)
    assert search.run() == PROGRAM.baseline
    assert True not in answers(search).values()


def test_what_only_seems_to_be_faster_leaves_the_program_as_it_is():
    seeming = 0
    for seed in range(10):
        surface = Surface(PROGRAM, speedup, seed=seed, noise=1.0, step_s=0.5)
        search = surface.program_search(60.0)
        best = search.run()
        assert best == PROGRAM.baseline or search.judge_gain(best).verdict == "faster"
        is_left = best == PROGRAM.baseline
        seeming += is_left and any(each.judgement and each.judgement.speedup > 1.1 for each in search.list_alone())
    assert seeming > 0


def test_a_technique_that_fails_after_there_was_no_time_for_it_needs_none():
    def judge(*asked):
        failed = Observation(outcome="failed", reason="failed: RuntimeError")
        return [
            {each: failed if PROGRAM.changes(each).get("amp") == "bf16" else look for each, look in trial.items()}
            for trial in surface.judge(*asked)
        ]

    surface = Surface(PROGRAM, speedup, seed=0, noise=0.01)
    search = surface.program_search(60.0, judge=judge)
    search.untried |= dict.fromkeys(PROGRAM.alone(), 30.0)
    search.run()
    (failed,) = [each for each in search.list_alone() if (each.technique, each.level) == ("amp", "bf16")]
    assert (failed.reason, failed.needed_s) == ("failed: RuntimeError", None)


@pytest.mark.parametrize("seed", range(5))
def test_what_was_shown_to_be_faster_is_advised_where_the_race_decides_nothing(seed):
    pays = {"amp": "bf16", "memory_format": "channels-last", "threads": "1", "attention": "math"}
    surface = Surface(
        PROGRAM, lambda levels: (1.0, 1.25, 1.3)[min(2, len(levels.items() & pays.items()))], seed=seed, noise=0.01
    )
    rng = random.Random(seed)

    def judge(*asked):
        trials = surface.judge(*asked)
        for trial in trials:
            for each, look in trial.items():
                if search.observations.is_final and len(PROGRAM.changes(each)) > 1:
                    shift = rng.gauss(0, 0.3)  # of one build
                    trial[each] = replace(look, log_ratios=tuple(ratio + shift for ratio in look.log_ratios))
        return trials

    search = surface.program_search(60.0, judge=judge)
    best = search.run()
    assert search.judge_gain(best).verdict == "faster"


def test_what_is_first_shown_to_be_faster_beside_the_race_is_advised_if_the_finalist_is_not():
    disturbed = {"threads": 0.7, "amp": 0.0}  # first looks, beside what makes them uncertain

    def judge(*asked):
        trials = surface.judge(*asked)
        for trial in trials if not search.observations.is_final else ():
            for each, look in trial.items():
                shift = sum(disturbed.get(name, 0.0) for name in PROGRAM.changes(each))
                wild = (shift + rng.choice((-0.2, 0.2)) for _ in look.log_ratios)
                if PROGRAM.changes(each).keys() & disturbed.keys():
                    trial[each] = replace(look, log_ratios=tuple(map(sum, zip(look.log_ratios, wild, strict=True))))
        return trials

    rng = random.Random(1)
    surface = Surface(PROGRAM, lambda levels: 1.3 if levels["amp"] == "bf16" else 1.0, seed=1, noise=0.01, step_s=0.1)
    search = surface.program_search(60.0, judge=judge)
    assert PROGRAM.changes(search.run()) == {"amp": "bf16"}


def test_what_only_seems_to_pay_alone_is_mostly_advised_with_what_pays():
    effects = {("amp", "bf16"): 1.3, ("batch_size", "8"): 1.035}
    advised = []
    for seed in range(40):
        surface = Surface(
            PROGRAM,
            lambda levels: math.prod(effects.get(each, 1.0) for each in levels.items()),
            seed=seed,
            noise=0.02,
            build_noise=0.01,
            step_s=0.1,
        )
        advised.append(surface.space.changes(surface.program_search(120.0).run()))
    assert advised.count({"amp": "bf16", "batch_size": "8"}) >= 27
    assert all(each["amp"] == "bf16" for each in advised)


def test_the_winner_alone_has_every_check_and_is_weighed_for_memory():
    checked = []

    def confirm(configurations, look_s, patience_s):
        checked.append([*configurations])
        return surface.confirm(configurations, look_s, patience_s)

    surface = Surface(PROGRAM, speedup, seed=0, noise=0.05, build_noise=0.02)
    search = surface.program_search(120.0, confirm=confirm)
    best = search.run()
    assert checked == [[PROGRAM.baseline, best]]
    assert search.observations.first_looks[best].memory_bytes == 1.0


def test_a_winner_that_fails_a_check_makes_room_for_the_next_best():
    failed = []

    def confirm(configurations, look_s, patience_s):
        looks = surface.confirm(configurations, look_s, patience_s)
        if not failed:
            failed.append(configurations[1])
            wrong = Observation(outcome="wrong-output", reason="wrong-output: it learns something else")
            looks = [look | {configurations[1]: wrong} for look in looks]
        return looks

    surface = Surface(PROGRAM, speedup, seed=0, noise=0.01, build_noise=0.003)
    search = surface.program_search(120.0, confirm=confirm)
    best = search.run()
    assert PROGRAM.changes(failed[0]) == {"amp": "bf16", "workers": "2"}
    assert PROGRAM.changes(best) == {"amp": "bf16"}
    assert search.observations.eliminated[failed[0]] == "wrong-output: it learns something else"
    assert search.observations.first_looks[best].memory_bytes == 1.0


def test_a_search_in_which_nothing_keeps_the_limits_has_no_answer():
    surface = Surface(PROGRAM, speedup, seed=0)
    with pytest.raises(Unavailable, match=r"no configuration is left: takes 1\.00 B, 0\.500 B is allowed"):
        surface.program_search(60.0, judge=surface.confirm, limits=Limits(memory_bytes=0.5)).run()


@pytest.mark.slow
def test_an_answer_is_wrong_as_seldom_as_its_interval():
    wrong, given = 0, 0
    for seed in range(40):
        effects = dict.fromkeys(EFFECTS, 1 + seed % 10 / 100)
        surface = Surface(
            PROGRAM,
            lambda levels, effects=effects: math.prod(effects.get(each, 1.0) for each in levels.items()),
            seed=seed,
            noise=0.03,
            build_noise=0.01,
            step_s=0.1,
        )
        search = surface.program_search(120.0)
        search.run()
        for each, pays in answers(search).items():
            if pays is not None:
                given += 1
                wrong += not (effects.get(each, 1.0) > 1.01 if pays else effects.get(each, 1.0) < 1.05)
    assert given > 200
    assert wrong <= 0.02 * given


def judgement(speedup, low, high):
    return Judgement(speedup=speedup, low=low, high=high, verdict="undecided", pairs=10)


@pytest.mark.parametrize(
    ("interval", "pays"),
    [
        ((1.3, 1.2, 1.4), True),
        ((1.06, 1.02, 1.09), True),
        ((1.02, 1.012, 1.04), False),
        ((0.9, 0.8, 1.04), False),
        ((1.02, 0.99, 1.06), None),
        ((1.4, 0.0, math.inf), None),
    ],
)
def test_a_gain_pays_unless_it_is_shown_to_be_below_five_percent(interval, pays):
    assert find_whether_it_pays(judgement(*interval)) is pays


@pytest.mark.parametrize("interval", [(1.03, 0.97, 1.09), (1.1, 0.95, 1.25), (0.98, 0.8, 1.2), (1.005, 0.99, 1.06)])
def test_every_interval_is_answered_by_a_finite_number_of_pairs(interval):
    speedup, *ends = map(math.log, interval)
    times = times_to_decide(judgement(*interval))
    few, enough = (
        judgement(math.exp(speedup), *(math.exp(speedup + (end - speedup) / math.sqrt(share * times)) for end in ends))
        for share in (0.9, 1.1)
    )
    assert find_whether_it_pays(few) is None
    assert find_whether_it_pays(enough) is not None


def test_what_compiles_for_too_long_is_given_up_with_a_sentence():
    surface = Surface(PROGRAM, speedup, seed=0, noise=0.01)

    class Over:
        is_over = False

        def __init__(self, seconds):
            self.seconds = seconds

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.is_over = True

    def interrupt(configurations, look_s, patience_s):
        if any(map(PROGRAM.is_slow_to_start, configurations)):
            surface.clock.advance(30.0)
            raise KeyboardInterrupt
        return surface.judge(configurations, look_s, patience_s)

    search = surface.program_search(120.0, judge=interrupt, limit=Over)
    assert surface.of(search.run()) > 1.5
    (compiled,) = [each for each in search.list_alone() if (each.technique, each.level) == ("compile", "default")]
    assert compiled.reason.startswith("not timed within ")
    assert compiled.needed_s > 30.0
    assert not search.interrupted


@pytest.mark.parametrize("step_s", [0.5, 2.0])
def test_a_budget_that_is_too_small_is_kept_and_what_is_missing_has_its_seconds(step_s):
    surface = Surface(PROGRAM, speedup, seed=0, noise=0.01, step_s=step_s)
    search = surface.program_search(60.0)
    search.run()
    missing = [each for each in search.list_alone() if each.judgement is None]
    assert missing
    assert all(each.reason == "no time to try it" and each.needed_s > 0 for each in missing)
    assert surface.clock() <= 1.2 * 60


def test_a_budget_with_time_for_nothing_is_not_spent_on_the_program_again_and_again():
    looks = []

    def judge(configurations, look_s, patience_s):
        looks.append(len(configurations))
        return surface.judge(configurations, look_s, patience_s)

    surface = Surface(PROGRAM, speedup, seed=0, step_s=0.7)
    surface.program_search(30.0, judge=judge).run()
    assert looks == [1, 1]


def test_a_time_that_is_up_in_the_first_comparison_leaves_the_program_as_it_is_and_names_what_it_takes():
    def judge(configurations, look_s, patience_s):
        if len(configurations) > 1:
            time.sleep(60)  # the signal ends it
        return surface.judge(configurations, look_s, patience_s)

    surface = Surface(PROGRAM, speedup, seed=0)
    search = surface.program_search(60.0, judge=judge)
    with TimeLimit(0.2), pytest.raises(KeyboardInterrupt):
        search.run()
    assert search.answer_so_far() == PROGRAM.baseline
    assert all(each.reason == "no time to try it" and each.needed_s > 0 for each in search.list_alone())


def test_a_time_that_is_up_before_the_program_was_measured_gives_no_answer():
    search = Surface(PROGRAM, speedup, seed=0).program_search(20.0)
    with pytest.raises(Unavailable, match=r"^the budget of 20 s was over before there was an answer; .* --budget 60s$"):
        search.answer_so_far()


def test_one_answer_by_the_fewest_pairs_is_better_than_none():
    space = replace(PROGRAM, axes=tuple(each for each in PROGRAM.axes if each.technique == "amp"))
    surface = Surface(space, speedup, seed=0, noise=0.01, step_s=0.5)
    search = surface.program_search(30.0)
    search.run()
    assert answers(search)["amp", "bf16"]
    assert surface.clock() <= 1.2 * 30


def test_a_program_that_was_disturbed_when_it_was_first_measured_is_looked_at_again():
    looks = []

    def judge(configurations, look_s, patience_s):
        looks.append(len(configurations))
        surface.step_s = 8.0 if len(looks) < 2 else 0.02
        return surface.judge(configurations, look_s, patience_s)

    surface = Surface(PROGRAM, speedup, seed=0, noise=0.01, build_noise=0.003)
    search = surface.program_search(240.0, judge=judge)
    best = search.run()
    assert looks[:2] == [1, 1]
    assert surface.of(best) > 1.2


def test_what_separates_clearly_is_never_left_without_an_interval():
    surface = Surface(PROGRAM, speedup, seed=0, noise=0.05, step_s=0.9)
    search = surface.program_search(240.0)
    search.run()
    timed = [each.judgement for each in search.list_alone() if each.judgement]
    assert timed
    assert all(each.low > 0 and each.high < 10 for each in timed)


def test_batch_sizes_above_the_programs_own_are_tried_first():
    sizes = axis("batch_size", AS_IS, "1", "4", "8", "32", "64")
    assert replace(sizes, present="16").by_promise() == ("32", "64", "8", "4", "1")
    assert sizes.by_promise() == ("64", "32", "8", "4", "1")


def test_an_iteration_is_timed_in_parts_where_nothing_about_loading_is_switched():
    alone = {next(iter(PROGRAM.changes(each))): each for each in PROGRAM.alone()}
    loaded, computed = alone["workers"], alone["amp"]
    iteration = Iteration()
    iteration.note(32.0, 0.9, None, PROGRAM)
    assert iteration.items_of([PROGRAM.baseline, loaded], PROGRAM) == 32
    assert iteration.items_of([PROGRAM.baseline, computed], PROGRAM) == 4
    iteration.note(32.0, 0.9, 4.0, PROGRAM)  # the program states how many batches an iteration has
    assert iteration.items_of([PROGRAM.baseline, computed], PROGRAM) == 32


def test_techniques_that_are_undecided_are_timed_beside_the_race():
    raced = []

    def judge(configurations, look_s, patience_s):
        if search.observations.is_final:
            raced.append({label(each) for each in configurations})
        return surface.judge(configurations, look_s, patience_s)

    def label(configuration):
        return ", ".join(PROGRAM.changes(configuration))

    surface = Surface(PROGRAM, speedup, seed=1, noise=0.05, build_noise=0.02, step_s=0.3)
    search = surface.program_search(120.0, judge=judge)
    assert surface.of(search.run()) > 1.2
    assert any(raced[0] & {"memory_format", "batch_size", "threads"})
    assert surface.clock() <= 1.2 * 120


TWO = SearchSpace(
    (
        axis("batch_size", AS_IS, "64", computes_other=True, often_pays=True, present="4"),
        axis("amp", AS_IS, "bf16", often_pays=True),
    ),
    batch_size=4,
)
TWO_EFFECTS = {("batch_size", "64"): 2.0, ("amp", "bf16"): 1.9}


def search_two(budget_s, step_s):
    surface = Surface(
        TWO,
        lambda levels: math.prod(TWO_EFFECTS.get(each, 1.0) for each in levels.items()),
        seed=1,
        noise=0.02,
        step_s=step_s,
    )
    return surface.program_search(budget_s)


@pytest.mark.parametrize(("budget_s", "step_s"), [(20.0, 0.05), (42.0, 0.15), (62.0, 0.25)])
def test_what_seems_best_together_is_timed_beside_the_program_where_there_is_no_time_for_a_race(budget_s, step_s):
    timed = []

    def judge(configurations, look_s, patience_s):
        timed.append([TWO.changes(each) for each in configurations])
        return usual(configurations, look_s, patience_s)

    search = search_two(budget_s, step_s)
    usual, search.judge = search.judge, judge
    best = search.run()
    both = {"batch_size": "64", "amp": "bf16"}
    assert [each for each in timed if both in each] == [[{"batch_size": "64"}, both]]  # beside what computes the same
    assert TWO.changes(best) == both
    assert search.judge_gain(best).verdict == "faster"
    assert search.find_untried_together() == {}


def test_techniques_that_pay_and_for_which_there_is_no_time_together_are_found():
    search = search_two(40.0, 0.2)
    assert TWO.changes(search.run()) == {"batch_size": "64"}
    assert search.find_untried_together() == {"batch_size": "64", "amp": "bf16"}
    enough = search_two(search.predict_budget_together_s(), 0.2)
    enough.run()
    assert search.budget_s < enough.budget_s < 3 * search.budget_s
    assert enough.find_untried_together() == {}


def test_what_breaks_a_limit_is_not_among_what_was_not_tried_together():
    search = search_two(40.0, 0.2)
    search.run()
    search.limits = Limits(memory_bytes=0.5)
    assert search.find_untried_together() == {}


def test_two_techniques_of_which_each_computes_something_else_are_timed_together_beside_the_program():
    effects = {("batch_size", "64"): 1.5, ("data_order", "any-order"): 1.3, ("amp", "bf16"): 1.2}
    order = axis("data_order", AS_IS, "any-order", computes_other=True, often_pays=True)
    space = SearchSpace((*TWO.axes, order), batch_size=4)
    surface = Surface(
        space, lambda levels: math.prod(effects.get(each, 1.0) for each in levels.items()), seed=1, step_s=0.05
    )
    assert space.changes(surface.program_search(120.0).run()) == dict(effects.keys())


SLOW = axis("compile", AS_IS, "default", slow=("default",), often_pays=True)
TWO_AND_SLOW = SearchSpace((*TWO.axes, SLOW), batch_size=4)


@pytest.mark.parametrize(("budget_s", "is_together_first"), [(45.0, True), (120.0, False)])
def test_what_pays_together_is_timed_before_what_may_leave_no_time_for_it(budget_s, is_together_first):
    timed = []

    def judge(configurations, look_s, patience_s):
        timed.extend(TWO_AND_SLOW.changes(each) for each in configurations)
        return surface.judge(configurations, look_s, patience_s)

    surface = Surface(
        TWO_AND_SLOW,
        lambda levels: math.prod(TWO_EFFECTS.get(each, 1.0) for each in levels.items()),
        seed=1,
        noise=0.02,
        step_s=0.1,
    )
    search = surface.program_search(budget_s, judge=judge)
    both = {"batch_size": "64", "amp": "bf16"}
    assert TWO_AND_SLOW.changes(search.run()).items() >= both.items()
    compiled = [place for place, each in enumerate(timed) if "compile" in each]
    assert (timed.index(both) < min(compiled, default=len(timed))) is is_together_first
    assert search.find_untried_together() == {}


def wish_for(*names):
    """Return a space of techniques that a user named."""
    axes = {each.technique: each for each in PROGRAM.axes}
    chosen = (each for each in PROGRAM.axes if each.technique in names)
    return SearchSpace(tuple(replace(axes[each.technique], asked_at=names.index(each.technique)) for each in chosen))


def test_techniques_that_are_named_are_tried_in_that_order_although_they_seldom_pay():
    space, timed = wish_for("attention", "workers", "amp", "compile", "batch_size"), []

    def judge(configurations, look_s, patience_s):
        timed.extend(name for each in configurations for name in space.changes(each))
        return surface.judge(configurations, look_s, patience_s)

    surface = Surface(space, speedup, seed=0, noise=0.01, step_s=0.2)
    search = surface.program_search(30.0, judge=judge)
    search.run()
    assert timed[0] == "attention"
    unlikely = {(each.technique, each.level) for each in search.list_alone() if each.is_unlikely}
    assert unlikely == {("batch_size", "1"), ("batch_size", "2")}  # the program's own is 4


def test_further_levels_of_a_technique_that_is_named_come_after_the_first_ones_of_all():
    space, timed = wish_for("compile", "batch_size", "attention"), []

    def judge(configurations, look_s, patience_s):
        timed.extend(space.changes(each) for each in configurations)
        return surface.judge(configurations, look_s, patience_s)

    surface = Surface(space, speedup, seed=0)
    surface.program_search(240.0, judge=judge).run()
    alone = [*dict.fromkeys(item for each in timed if len(each) == 1 for item in each.items())]
    assert alone[:2] == [("batch_size", "8"), ("attention", "math")]
    assert alone.index(("compile", "default")) < alone.index(("batch_size", "32"))
    assert alone.index(("compile", "thorough")) < alone.index(("batch_size", "2"))


EQUALS = SearchSpace(
    (
        axis("batch_size", AS_IS, "64", computes_other=True, often_pays=True, present="32"),
        axis("steps", AS_IS, "8", often_pays=True),
    )
)


def search_equals(*trials):
    """Return a search with these trials, each of the gains of a larger batch and of more steps; the last is a race."""
    search = Surface(EQUALS, lambda _: 1.0, seed=0).program_search(60.0)
    for place, (batch, steps) in enumerate(trials):
        if place == len(trials) - 1:
            search.observations.begin_elimination(3)
        looks = {("64", AS_IS): batch, (AS_IS, "8"): steps}
        observed = {
            each: Observation(log_ratios=tuple(map(math.log, gains)), step_s=0.1) for each, gains in looks.items()
        }
        search.observations.add({EQUALS.baseline: Observation(step_s=0.1)} | observed)
    return search


def spread_around(gain, width):
    return [gain * math.exp(width * (place % 5 - 2) / 2) for place in range(15)]


def test_of_two_gains_that_are_the_same_the_surer_one_is_advised():
    first = spread_around(1.36, 0.15), spread_around(1.40, 0.02)
    race = spread_around(1.39, 0.15), spread_around(1.37, 0.02)  # the race alone would choose the larger batch
    search = search_equals(first, first, race)
    assert EQUALS.changes(search.answer_so_far()) == {"steps": "8"}


def test_of_two_gains_that_are_as_sure_the_one_that_leaves_what_is_learnt_alone_is_advised():
    same = spread_around(1.381, 0.02), spread_around(1.38, 0.02)
    search = search_equals(same, same, same)
    assert EQUALS.changes(search.answer_so_far()) == {"steps": "8"}


def test_a_gain_that_is_higher_is_advised_although_another_one_leaves_what_is_learnt_alone():
    higher = spread_around(1.5, 0.02), spread_around(1.38, 0.02)
    search = search_equals(higher, higher, higher)
    assert EQUALS.changes(search.answer_so_far()) == {"batch_size": "64"}


@pytest.mark.parametrize("seed", range(3))
def test_a_gain_that_is_shown_and_does_not_pay_leaves_the_program_as_it_is(seed):
    space = replace(PROGRAM, axes=tuple(each for each in PROGRAM.axes if each.technique == "amp"))
    gain = {"bf16": 1.025, "fp16": 0.5}
    surface = Surface(space, lambda levels: gain.get(levels["amp"], 1.0), seed=seed, noise=0.002, build_noise=0.0005)
    search = surface.program_search(60.0)
    assert search.run() == space.baseline
    assert answers(search) == {("amp", "bf16"): False, ("amp", "fp16"): False}
    (bf16,) = [each for each in space.alone() if "bf16" in each]
    assert search.judge_gain(bf16).verdict == "faster"
