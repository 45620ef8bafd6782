"""The race on surfaces whose best configuration is known."""

import pytest
from surfaces import Surface, axis

from harness.advice.limits import Limits
from harness.advice.racing import ALPHA, NOISE, SURE_FINALISTS
from harness.advice.space import Space
from harness.errors import Unavailable

SMALL = Space(
    (
        axis("amp", "fp32", "bf16", "fp16"),
        axis("layout", "contiguous", "channels-last"),
        axis("threads", "1", "all"),
        axis("batch", "1", "8", "64", computes_other=True),
    )
)
LARGE = Space((*SMALL.axes, *(axis(f"switch_{letter}", "off", "on") for letter in "abcdef")))
COMPILED = Space((*SMALL.axes, axis("compile", "eager", "default", "thorough", slow=("default", "thorough"))))


def additive(levels):
    gain = {"bf16": 1.5, "fp16": 0.3, "channels-last": 1.1, "all": 1.4, "8": 3.0, "64": 5.0}
    product = 1.0
    for level in levels.values():
        product *= gain.get(level, 1.0)
    return product * 1.04 ** sum(level == "on" for level in levels.values())


def deceiving(levels):
    """Each of two techniques alone is slower, and both together three times faster."""
    both = {levels["amp"], levels["layout"]} & {"bf16", "channels-last"}
    rest = additive({name: level for name, level in levels.items() if name not in ("amp", "layout")})
    return rest * {0: 1.0, 1: 0.7, 2: 3.0}[len(both)] * (0.3 if levels["amp"] == "fp16" else 1.0)


@pytest.mark.parametrize("speedup", [additive, deceiving])
@pytest.mark.parametrize("seed", range(10))
def test_a_fifth_of_the_cost_finds_what_is_within_3_percent_of_the_best(speedup, seed):
    surface = Surface(SMALL, speedup, seed=seed)
    race = surface.race(0.18 * surface.exhaustive_s)
    best = race.run()
    assert surface.of(best) >= 0.97 * surface.best
    assert race.expense.spent_s <= 0.2 * surface.exhaustive_s


@pytest.mark.parametrize("seed", range(3))
def test_a_space_that_the_budget_does_not_hold_is_searched_near_the_best(seed):
    surface = Surface(LARGE, deceiving, seed=seed)
    race = surface.race(60.0)
    best = race.run()
    assert len(race.board.first) < LARGE.size / 5
    assert surface.of(best) >= 0.9 * surface.best
    assert race.expense.spent_s < 70


@pytest.mark.parametrize("seed", range(3))
def test_what_is_slow_to_start_is_left_for_a_budget_that_holds_it(seed):
    def speedup(levels):
        return additive(levels) * (1.5 if levels["compile"] == "default" else 1.0)

    short, long = (Surface(COMPILED, speedup, seed=seed).race(budget_s) for budget_s in (10.0, 180.0))
    assert "default" not in short.run()
    assert short.expense.spent_s <= 1.3 * 10
    assert "default" in long.run()
    assert long.expense.spent_s <= 1.3 * 180


@pytest.mark.parametrize("budget_s", [1.0, 2.0, 4.0])
def test_a_budget_is_not_overrun_by_more_than_a_third(budget_s):
    race = Surface(LARGE, additive, seed=0).race(budget_s)
    race.run()
    assert race.expense.spent_s <= 1.34 * budget_s


def test_a_search_along_one_technique_at_a_time_would_be_deceived():
    baseline = dict(SMALL.levels(SMALL.baseline))
    singles = [each for each in SMALL.everything() if len(SMALL.changes(each).keys() & {"amp", "layout"}) == 1]
    assert all(
        deceiving(SMALL.levels(each)) < deceiving(SMALL.levels(each) | {"amp": "fp32", "layout": "contiguous"})
        for each in singles
    )
    assert deceiving(baseline | {"amp": "bf16", "layout": "channels-last"}) > 2


def test_who_is_far_behind_at_the_first_look_takes_no_time_from_the_few_that_may_be_the_best():
    def speedup(levels):
        alike = (levels["amp"], levels["layout"], levels["batch"]) == ("fp32", "channels-last", "64")
        return (4.0 if alike else 1.0) * (1.04 if levels["threads"] == "all" else 1.0)

    race = Surface(SMALL, speedup, seed=0).race(20.0)
    assert SMALL.levels(race.run()) == {"amp": "fp32", "layout": "channels-last", "threads": "all", "batch": "64"}
    raced = [each for each in race.board.first if race.board.dropped.get(each) != "behind at the first look"]
    assert len(raced) <= SURE_FINALISTS + 1  # and the baseline


def verdicts(race, best):
    others = (each for each in race.board.first if each != best)
    judged = (race.board.judged(each, best, alpha=ALPHA, noise=NOISE) for each in others)
    return [each.verdict for each in judged if each is not None]


@pytest.mark.parametrize("seed", range(10))
def test_configurations_that_differ_by_the_accidents_of_their_builds_alone_are_not_told_apart(seed):
    race = Surface(SMALL, lambda _: 1.0, seed=seed, accident=0.02).race(60.0)
    told = verdicts(race, race.run())
    assert len(told) > 1
    assert {"slower", "faster"}.isdisjoint(told)


def test_what_is_far_apart_is_told_beyond_the_accidents_of_builds():
    surface = Surface(SMALL, additive, seed=0, accident=0.02)
    race = surface.race(60.0)
    best = race.run()
    assert surface.of(best) >= 0.95 * surface.best
    assert race.board.judged(best, SMALL.baseline, alpha=ALPHA, noise=NOISE).verdict == "faster"


def test_what_breaks_a_limit_is_dropped_with_the_reason():
    surface = Surface(SMALL, additive, seed=0)
    surface.memory_bytes = lambda levels: 100.0 * int(levels["batch"])
    surface.error = lambda levels: 0.02 if levels["amp"] == "bf16" else 0.0
    race = surface.race(20.0, limits=Limits(memory_bytes=1000, error=0.01))
    best = SMALL.levels(race.run())
    assert best == {"amp": "fp32", "layout": "channels-last", "threads": "all", "batch": "8"}
    reasons = {race.board.dropped[each] for each in race.board.dropped}
    assert "takes 6.25 KiB, 1000 B is allowed" in reasons
    assert "costs an error of 2.0 %, 1.0 % is allowed" in reasons


def test_what_does_not_repeat_itself_gives_way_to_the_next_best():
    surface = Surface(SMALL, additive, seed=0)
    race = surface.race(20.0, objection=lambda each: "not the same bits" if "all" in each else "")
    best = race.run()
    assert SMALL.levels(best) == {"amp": "bf16", "layout": "channels-last", "threads": "1", "batch": "64"}
    assert "not the same bits" in race.board.dropped.values()


def interrupted(surface, *, heats):
    """Let Ctrl-C come after so many heats."""
    heat, left = surface.heat, iter(range(heats))

    def until(*arguments):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return heat(*arguments)

    surface.heat = until
    return surface


@pytest.mark.parametrize("heats", [2, 4, 6])
def test_an_interrupted_search_tells_the_best_that_it_has_seen(heats):
    surface = interrupted(Surface(SMALL, additive, seed=0), heats=heats)
    race = surface.race(20.0)
    best = race.run()
    assert race.interrupted
    assert surface.of(best) >= 0.97 * max(surface.of(each) for each in race.board.first)


def test_a_search_that_has_seen_nothing_but_the_baseline_is_not_answered():
    race = interrupted(Surface(SMALL, additive, seed=0), heats=1).race(20.0)
    with pytest.raises(KeyboardInterrupt):
        race.run()


def test_what_was_never_asked_whether_it_repeats_itself_is_not_advised():
    race = interrupted(Surface(SMALL, additive, seed=0), heats=4).race(20.0, objection=lambda _: "")
    with pytest.raises(KeyboardInterrupt):
        race.run()


def test_where_nothing_helps_nothing_is_switched():
    surface = Surface(SMALL, lambda _: 1.0, seed=0)
    race = surface.race(20.0)
    best = race.run()
    assert len(SMALL.changes(best)) <= 1
    assert surface.clock() < 25


def test_nothing_that_keeps_the_limits_is_told():
    surface = Surface(SMALL, additive, seed=0)
    with pytest.raises(Unavailable, match=r"no configuration is left: takes 1\.00 B, 0\.500 B is allowed"):
        surface.race(10.0, limits=Limits(memory_bytes=0.5)).run()
