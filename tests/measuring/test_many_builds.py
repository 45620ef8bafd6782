"""Arms that are built afresh all the time: verdicts rest on the builds, of which slow arms have few."""

from collections import Counter
from collections.abc import Collection
from random import Random

import numpy as np
import pytest
from fake_device import FakeClock

from accelbench.core import Arm, Plan
from accelbench.measuring.many_builds import ENOUGH_BUILDS, LEAST_BUILDS, PAIRS, ManyBuildsReferee
from accelbench.measuring.referee import Stopwatch
from accelbench.measuring.statistics import EARLY_SHARE, Judgement, judge_builds


class Layouts:
    """Two arms whose times depend on where each build of them lies, and a little on chance.

    Where luck ``follows_places``, each arm has in exchanged places the luck that the other one had.
    """

    def __init__(
        self,
        seed: int,
        *,
        step_s: float,
        ratio: float = 1.0,
        spread: float = 0.01,
        build_s: float = 1e-4,
        follows_places: bool = True,
    ) -> None:
        self.clock = FakeClock()
        self.weather = Random(seed)
        self.steps_s = step_s, step_s * ratio
        self.spread = spread
        self.build_s = build_s
        self.follows_places = follows_places
        self.built: list[list[int]] = []
        self.luck: list[float] = []
        self.calls: list[int] = []  # after each rebuild

    def arm(self, place: int, luck: float | None = None) -> Arm:
        step_s = self.steps_s[place] * (self.weather.lognormvariate(0, self.spread) if luck is None else luck)

        def step() -> None:
            if self.calls:
                self.calls[-1] += 1
            self.clock.advance(step_s * self.weather.lognormvariate(0, 0.005))

        return Arm(step=step)

    def rebuild(self, arms: list[Arm], places: Collection[int], exchanged: bool) -> None:
        self.built.append(sorted(places))
        self.calls.append(0)
        stays = exchanged and self.follows_places
        self.luck = self.luck[::-1] if stays else [self.weather.lognormvariate(0, self.spread) for _ in places]
        for place, luck in zip(sorted(places), self.luck, strict=True):
            self.clock.advance(self.build_s)
            arms[place] = self.arm(place, luck)

    def referee(self, *, budget_s: float = 1.0, rebuilds: bool = True) -> ManyBuildsReferee:
        return ManyBuildsReferee(
            rebuild=self.rebuild if rebuilds else None,
            began_s=self.clock(),
            stopwatch=Stopwatch(self.clock, lambda: None),
            coin=Random(self.weather.random()),
            plan=Plan(budget_s=budget_s / 2, min_block_s=100e-6, builds=1),
            arms=2,
        )

    def judged(self, *, budget_s: float = 1.0, rebuilds: bool = True) -> Judgement:
        referee = self.referee(budget_s=budget_s, rebuilds=rebuilds)
        referee.play([self.arm(0), self.arm(1)])
        return referee.judgement(1)


@pytest.fixture(autouse=True)
def _no_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of simulated comparisons collect no garbage before each of them."""
    monkeypatch.setattr("accelbench.measuring.referee.gc.collect", lambda: 0)


MANY = {"step_s": 5e-4, "spread": 0.01}
FEW = {"step_s": 2e-2, "spread": 0.003}


def verdicts(trials: int, *, budget_s: float, **about: float) -> Counter[str]:
    layouts = (Layouts(seed, **about) for seed in range(trials))
    return Counter(each.judged(budget_s=budget_s).verdict for each in layouts)


@pytest.mark.slow
@pytest.mark.parametrize(("about", "budget_s"), [(MANY, 1), (FEW, 2)], ids=["many builds", "few builds"])
def test_identical_arms_are_called_the_same_and_hardly_ever_anything_else(
    about: dict[str, float], budget_s: float
) -> None:
    found = verdicts(60, budget_s=budget_s, **about)
    assert found["faster"] + found["slower"] <= 1
    assert found["same"] >= 58


@pytest.mark.slow
@pytest.mark.parametrize(("about", "budget_s"), [(MANY, 0.2), (FEW, 2)], ids=["many builds", "few builds"])
def test_arms_that_differ_by_luck_alone_are_called_different_at_most_as_often_as_agreed(
    about: dict[str, float], budget_s: float
) -> None:
    found = verdicts(80, budget_s=budget_s, **{**about, "spread": 0.05, "follows_places": False})  # too wide for "same"
    assert found["faster"] + found["slower"] <= 3  # 1 % of 80, and three standard deviations


@pytest.mark.slow
@pytest.mark.parametrize(("about", "budget_s"), [(MANY, 1), (FEW, 2)], ids=["many builds", "few builds"])
def test_three_per_cent_are_found(about: dict[str, float], budget_s: float) -> None:
    assert verdicts(25, budget_s=budget_s, ratio=1.03, **about)["slower"] == 25


@pytest.mark.slow
def test_a_lucky_layout_decides_only_where_arms_are_not_rebuilt() -> None:
    luck = [Layouts(seed, step_s=5e-4, spread=0.1) for seed in range(10)]
    assert {each.judged(rebuilds=False).verdict for each in luck} & {"faster", "slower"}
    for follows_places, verdict in ((True, "same"), (False, "undecided")):
        again = [Layouts(seed, step_s=5e-4, spread=0.1, follows_places=follows_places) for seed in range(10)]
        assert {each.judged().verdict for each in again} == {verdict}


def test_a_build_gives_a_few_pairs_and_the_budget_pays_for_rebuilding_too() -> None:
    layouts = Layouts(1, step_s=2e-4, build_s=1e-3, spread=0.1)
    referee = layouts.referee()
    start_s = layouts.clock()
    referee.play([layouts.arm(0), layouts.arm(1)])
    assert layouts.clock() - start_s <= 1.0  # with warming up
    assert referee.judgement(1).pairs == PAIRS * referee.builds
    assert ENOUGH_BUILDS < referee.builds == len(layouts.built)
    assert referee.spreads


def test_arms_that_are_dear_to_build_give_more_pairs_of_each_build() -> None:
    layouts = Layouts(1, step_s=2e-4, build_s=0.3, spread=0.1)
    referee = layouts.referee(budget_s=16)
    referee.play([layouts.arm(0), layouts.arm(1)])
    assert referee.judgement(1).pairs > 1.5 * PAIRS * referee.builds


def test_a_slow_step_has_a_pair_of_each_build_and_a_narrow_interval_all_the_same() -> None:
    layouts = Layouts(1, step_s=4e-2, ratio=1.2)
    referee = layouts.referee(budget_s=2.4)
    referee.play([layouts.arm(0), layouts.arm(1)])
    judgement = referee.judgement(1)
    assert judgement.pairs == referee.builds < ENOUGH_BUILDS
    assert referee.builds >= LEAST_BUILDS
    assert judgement.verdict == "slower"
    assert np.ptp(referee.medians[referee.contrasts[0]]) > 2 * judgement.half_width


def test_the_fewest_builds_are_made_even_where_they_take_longer_than_the_budget() -> None:
    layouts = Layouts(1, step_s=0.05)
    referee = layouts.referee(budget_s=2.8)
    arms = [layouts.arm(0), layouts.arm(1)]
    layouts.steps_s = 0.1, 0.1  # later builds are slower than the first
    referee.play(arms)
    assert referee.builds == LEAST_BUILDS


def test_arms_whose_building_leaves_no_time_are_built_once_and_the_budget_that_suffices_is_known() -> None:
    layouts = Layouts(1, step_s=1e-3, build_s=0.3, spread=0.001)
    referee = layouts.referee()
    referee.play([layouts.arm(0), layouts.arm(1)])
    assert (len(layouts.built), referee.spreads) == (1, False)
    assert referee.affordable_from_s == pytest.approx(referee.before_s + LEAST_BUILDS * 0.604, rel=0.01)
    assert referee.judgement(1).verdict == "same"


def test_an_arm_whose_contrast_is_resolved_is_built_no_more() -> None:
    layouts = Layouts(1, step_s=5e-4, spread=0.001)
    layouts.steps_s = 5e-4, 1e-3, 5e-4
    referee = ManyBuildsReferee(
        rebuild=layouts.rebuild,
        began_s=0.0,
        stopwatch=Stopwatch(layouts.clock, lambda: None),
        coin=Random(1),
        plan=Plan(budget_s=1.0, noise=0.0, min_block_s=100e-6, builds=1),
        arms=3,
    )
    referee.play([layouts.arm(place) for place in range(3)])
    assert layouts.built[0] == [0, 1, 2]
    assert layouts.built[-1] == [0, 2]


def test_an_arm_that_fails_its_check_takes_part_no_more() -> None:
    layouts = Layouts(1, step_s=5e-4)
    referee = layouts.referee()
    referee.find_failures = lambda: [1] if referee.groups >= 2 else []
    referee.play([layouts.arm(0), layouts.arm(1)])
    assert referee.groups == 2


def test_the_interval_of_a_few_builds_is_that_of_student() -> None:
    medians = [0.01, 0.02, 0.03]
    alpha = 0.05 / (1 - EARLY_SHARE)
    judgement = judge_builds(medians, alpha=alpha, noise=0.0, pairs=3, undisturbed=[True] * 3, last=True)
    assert np.log(judgement.high) - 0.02 == pytest.approx(4.3027 * 0.01 / 3**0.5, rel=1e-3)


def test_disturbed_builds_can_only_widen_the_interval() -> None:
    weather = np.random.default_rng(1)
    quiet, disturbed = weather.normal(0, 0.01, 100), weather.normal(0.05, 0.01, 50)
    medians, mask = np.concatenate([quiet, disturbed]), [True] * 100 + [False] * 50
    for last in (True, False):
        shared = {"alpha": 0.01, "noise": 0.01, "pairs": 150, "last": last}
        every = judge_builds(medians, undisturbed=[True] * 150, **shared)  # type: ignore[arg-type]
        kept = judge_builds(medians, undisturbed=mask, **shared)  # type: ignore[arg-type]
        alone = judge_builds(quiet, undisturbed=[True] * 100, **shared)  # type: ignore[arg-type]
        assert kept.low == min(every.low, alone.low)
        assert kept.high == max(every.high, alone.high)
        assert kept.speedup == alone.speedup


def test_a_baseline_that_is_left_alone_is_timed_even_if_the_budget_is_spent() -> None:
    layouts = Layouts(1, step_s=1e-3)
    referee = ManyBuildsReferee(
        rebuild=None,
        began_s=0.0,
        stopwatch=Stopwatch(layouts.clock, lambda: None),
        coin=Random(1),
        plan=Plan(budget_s=1e-6, min_block_s=100e-6, builds=1),
        arms=1,
        contrasts=(),
    )
    referee.play([layouts.arm(0)])
    assert len(referee.samples_s[0]) == 1


def test_the_arm_that_ends_a_round_begins_the_next_one_without_a_lead_in() -> None:
    layouts = Layouts(1, step_s=5e-4, spread=0.1)
    layouts.referee().play([layouts.arm(0), layouts.arm(1)])
    first_calls, timed, lead_ins = 2, 2 * PAIRS, PAIRS  # of another arm than the one before, in each round one
    assert set(layouts.calls[1:-1]) <= {first_calls + timed + lead_ins + begins_anew for begins_anew in (0, 1)}


def test_outliers_among_many_builds_hardly_widen_their_interval() -> None:
    medians = np.random.default_rng(1).normal(0, 0.01, 100)
    outliers = np.concatenate([medians[10:], np.full(5, 0.5), np.full(5, -0.5)])
    calm, disturbed = (
        judge_builds(values, alpha=0.01, noise=0.01, pairs=100, undisturbed=[True] * 100, last=True)
        for values in (medians, outliers)
    )
    assert disturbed.half_width < 1.5 * calm.half_width
