"""The search for a user's program, on surfaces on which every technique's effect is known."""

from dataclasses import replace

import pytest
from surfaces import Surface, axis

from accelbench.advise.space import SearchSpace
from accelbench.core import AS_IS

PROGRAM = SearchSpace(
    (
        axis("batch_size", AS_IS, "1", "2", "8", "32", computes_other=True),
        axis("threads", AS_IS, "1"),
        axis("amp", AS_IS, "bf16", "fp16"),
        axis("memory_format", AS_IS, "channels-last"),
        axis("compile", AS_IS, "default", "thorough", slow=("default", "thorough")),
        axis("workers", AS_IS, "1", "2"),
    )
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


def judged(search):
    return {(each.technique, each.level): each.judgement and each.judgement.verdict for each in search.list_alone()}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("step_s", [0.02, 0.1])
def test_two_minutes_decide_each_technique_alone_and_find_what_pays_together(seed, step_s):
    surface = Surface(PROGRAM, speedup, seed=seed, noise=0.01, step_s=step_s)
    search = surface.program_search(120.0)
    best = search.run()
    verdicts = judged(search)
    usual = ("amp", "bf16"), ("memory_format", "channels-last"), ("compile", "default"), ("threads", "1")
    assert [verdicts[each] for each in usual] == ["faster", "same", "slower", "slower"]
    assert verdicts["workers", "2"] == "faster"
    assert surface.of(best) > 1.5
    assert search.judge_gain(best).verdict == "faster"
    assert surface.clock() <= 1.2 * 120


@pytest.mark.parametrize("seed", range(5))
def test_a_program_that_nothing_makes_faster_is_left_as_it_is(seed):
    surface = Surface(PROGRAM, lambda _: 1.0, seed=seed, noise=0.01, build_noise=0.003)
    search = surface.program_search(60.0)
    assert search.run() == PROGRAM.baseline
    assert {"faster", "slower"}.isdisjoint(judged(search).values())


@pytest.mark.parametrize("step_s", [0.5, 2.0])
def test_a_budget_that_is_too_small_is_kept_and_what_is_missing_has_its_seconds(step_s):
    surface = Surface(PROGRAM, speedup, seed=0, noise=0.01, step_s=step_s)
    search = surface.program_search(60.0)
    search.run()
    missing = [each for each in search.list_alone() if each.judgement is None]
    assert missing
    assert all(each.reason == "no time to try it" and each.needed_s > 0 for each in missing)
    assert surface.clock() <= 1.2 * 60


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
