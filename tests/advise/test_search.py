"""The search on surfaces whose best configuration is known."""

import pytest
from surfaces import Surface, axis

from accelbench.advise.observations import Observation
from accelbench.advise.search import ALPHA, MIN_FINALISTS, NOISE, Limits, NoBaseline
from accelbench.advise.space import SearchSpace
from accelbench.errors import Unavailable

SMALL = SearchSpace(
    (
        axis("amp", "fp32", "bf16", "fp16"),
        axis("layout", "contiguous", "channels-last"),
        axis("threads", "1", "all"),
        axis("batch", "1", "8", "64", computes_other=True),
    )
)
LARGE = SearchSpace((*SMALL.axes, *(axis(f"switch_{letter}", "off", "on") for letter in "abcdef")))
COMPILED = SearchSpace((*SMALL.axes, axis("compile", "eager", "default", "thorough", slow=("default", "thorough"))))


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
def test_a_fifth_of_the_cost_finds_a_configuration_within_3_percent_of_the_best(speedup, seed):
    surface = Surface(SMALL, speedup, seed=seed)
    search = surface.search(0.18 * surface.exhaustive_s)
    best = search.run()
    assert surface.of(best) >= 0.97 * surface.best
    assert search.budget.spent_s <= 0.2 * surface.exhaustive_s


@pytest.mark.parametrize("seed", range(3))
def test_a_space_that_the_budget_does_not_hold_is_searched_near_the_best(seed):
    surface = Surface(LARGE, deceiving, seed=seed)
    search = surface.search(60.0)
    best = search.run()
    assert len(search.observations.first_looks) < LARGE.size / 5
    assert surface.of(best) >= 0.9 * surface.best
    assert search.budget.spent_s < 70


@pytest.mark.parametrize("seed", range(3))
def test_what_is_slow_to_start_is_left_for_a_budget_that_holds_it(seed):
    def speedup(levels):
        return additive(levels) * (1.5 if levels["compile"] == "default" else 1.0)

    short, long = (Surface(COMPILED, speedup, seed=seed).search(budget_s) for budget_s in (10.0, 180.0))
    assert "default" not in short.run()
    assert short.budget.spent_s <= 1.3 * 10
    assert "default" in long.run()
    assert long.budget.spent_s <= 1.3 * 180


@pytest.mark.parametrize("budget_s", [1.0, 2.0, 4.0])
def test_a_budget_is_not_overrun_by_more_than_a_third(budget_s):
    search = Surface(LARGE, additive, seed=0).search(budget_s)
    search.run()
    assert search.budget.spent_s <= 1.34 * budget_s


def test_a_search_along_one_technique_at_a_time_would_be_deceived():
    baseline = dict(SMALL.levels(SMALL.baseline))
    singles = [each for each in SMALL.configurations() if len(SMALL.changes(each).keys() & {"amp", "layout"}) == 1]
    assert all(
        deceiving(SMALL.levels(each)) < deceiving(SMALL.levels(each) | {"amp": "fp32", "layout": "contiguous"})
        for each in singles
    )
    assert deceiving(baseline | {"amp": "bf16", "layout": "channels-last"}) > 2


def test_few_finalists_are_far_behind_at_the_first_look():
    def speedup(levels):
        alike = (levels["amp"], levels["layout"], levels["batch"]) == ("fp32", "channels-last", "64")
        return (4.0 if alike else 1.0) * (1.04 if levels["threads"] == "all" else 1.0)

    search = Surface(SMALL, speedup, seed=0).search(20.0)
    assert SMALL.levels(search.run()) == {"amp": "fp32", "layout": "channels-last", "threads": "all", "batch": "64"}
    observations = search.observations
    behind = [each for each, reason in observations.eliminated.items() if reason == "behind at the first look"]
    assert len(observations.first_looks) - len(behind) <= MIN_FINALISTS + 1  # and the baseline


def verdicts(search, best):
    others = (each for each in search.observations.first_looks if each != best)
    judged = (search.observations.judge(each, best, alpha=ALPHA, noise=NOISE) for each in others)
    return [each.verdict for each in judged if each is not None]


@pytest.mark.parametrize("seed", range(10))
def test_configurations_that_differ_by_their_builds_alone_are_not_called_slower_or_faster(seed):
    search = Surface(SMALL, lambda _: 1.0, seed=seed, build_noise=0.02).search(60.0)
    found = verdicts(search, search.run())
    assert len(found) > 1
    assert {"slower", "faster"}.isdisjoint(found)


def test_large_differences_are_found_beyond_those_of_builds():
    surface = Surface(SMALL, additive, seed=0, build_noise=0.02)
    search = surface.search(60.0)
    best = search.run()
    assert surface.of(best) >= 0.95 * surface.best
    assert search.observations.judge(best, SMALL.baseline, alpha=ALPHA, noise=NOISE).verdict == "faster"


def test_what_breaks_a_limit_is_dropped_with_the_reason():
    surface = Surface(SMALL, additive, seed=0)
    surface.memory_bytes = lambda levels: 100.0 * int(levels["batch"])
    surface.error = lambda levels: 0.02 if levels["amp"] == "bf16" else 0.0
    search = surface.search(20.0, limits=Limits(memory_bytes=1000, error=0.01))
    best = SMALL.levels(search.run())
    assert best == {"amp": "fp32", "layout": "channels-last", "threads": "all", "batch": "8"}
    reasons = {search.observations.eliminated[each] for each in search.observations.eliminated}
    assert "takes 6.25 KiB, 1,000 B is allowed" in reasons
    assert "costs an error of 2.0 %, 1.0 % is allowed" in reasons


def test_what_does_not_repeat_itself_gives_way_to_the_next_best():
    surface = Surface(SMALL, additive, seed=0)
    search = surface.search(20.0, find_objection=lambda each: "not the same bits" if "all" in each else "")
    best = search.run()
    assert SMALL.levels(best) == {"amp": "bf16", "layout": "channels-last", "threads": "1", "batch": "64"}
    assert "not the same bits" in search.observations.eliminated.values()


def interrupted(surface, *, trials):
    """Let Ctrl-C come after some trials."""
    evaluate, left = surface.evaluate, iter(range(trials))

    def until(*arguments):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return evaluate(*arguments)

    surface.evaluate = until
    return surface


@pytest.mark.parametrize("trials", [2, 4, 6])
def test_an_interrupted_search_returns_the_best_so_far(trials):
    surface = interrupted(Surface(SMALL, additive, seed=0), trials=trials)
    search = surface.search(20.0)
    best = search.run()
    assert search.interrupted
    assert surface.of(best) >= 0.97 * max(surface.of(each) for each in search.observations.first_looks)


def test_a_search_that_has_seen_nothing_but_the_baseline_is_not_answered():
    search = interrupted(Surface(SMALL, additive, seed=0), trials=1).search(20.0)
    with pytest.raises(KeyboardInterrupt):
        search.run()


def test_a_configuration_that_was_never_checked_for_repeatability_is_not_advised():
    search = interrupted(Surface(SMALL, additive, seed=0), trials=4).search(20.0, find_objection=lambda _: "")
    with pytest.raises(KeyboardInterrupt):
        search.run()


def test_where_nothing_helps_nothing_is_switched():
    surface = Surface(SMALL, lambda _: 1.0, seed=0)
    search = surface.search(20.0)
    best = search.run()
    assert len(SMALL.changes(best)) <= 1
    assert surface.clock() < 25


def test_a_search_in_which_nothing_keeps_the_limits_has_no_answer():
    surface = Surface(SMALL, additive, seed=0)
    with pytest.raises(Unavailable, match=r"no configuration is left: takes 1\.00 B, 0\.500 B is allowed"):
        surface.search(10.0, limits=Limits(memory_bytes=0.5)).run()


def test_memory_that_could_not_be_measured_keeps_no_limit():
    assert Limits(memory_bytes=1).find_violation(None, None) == "its memory could not be measured"
    assert Limits(error=0.01).find_violation(None, None) == ""


@pytest.mark.parametrize(
    ("outcome", "said"),
    [("given-up", "cannot be measured in this budget: too slow"), ("wrong-output", "cannot be measured: too slow")],
)
def test_only_a_baseline_that_was_given_up_is_said_to_need_more_time(outcome, said):
    assert said in str(NoBaseline(Observation(outcome=outcome, reason="too slow")))
