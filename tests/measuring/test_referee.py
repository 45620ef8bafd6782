"""The referee on a fake clock and a fake asynchronous device: verdicts, fairness, budgets."""

from random import Random

import pytest

from harness.experiment import Arm, Plan
from harness.frameworks.fake import FakeClock, FakeDevice
from harness.measuring.referee import Referee
from harness.measuring.stopped import StoppedError
from harness.measuring.stopwatch import Stopwatch


class Table:
    """A fake machine on which arms take a given time, with noise of a given relative size."""

    def __init__(self, *, noise: float = 0.02, seed: int = 1) -> None:
        self.clock = FakeClock()
        self.device = FakeDevice(self.clock)
        self.weather = Random(seed)
        self.noise = noise
        self.played: list[str] = []

    def arm(self, name: str, seconds: float, *, items: float = 1) -> Arm:
        def step() -> None:
            self.played.append(name)
            self.device.launch(seconds * self.weather.lognormvariate(0, self.noise))

        return Arm(step=step, items=items)

    def referee(self, plan: Plan, arms: int) -> Referee:
        stopwatch = Stopwatch(self.clock, self.device.synchronize)
        return Referee(stopwatch=stopwatch, coin=Random(7), plan=plan, arms=arms)

    def verdict(self, *seconds: float, plan: Plan | None = None, items: tuple[float, ...] = (1, 1, 1)) -> str:
        arms = [self.arm(str(i), s, items=n) for i, (s, n) in enumerate(zip(seconds, items, strict=False))]
        referee = self.referee(plan or Plan(builds=1), len(arms))
        referee.play(arms)
        return referee.judgement(1).verdict


@pytest.mark.parametrize(
    ("candidate_s", "verdict"),
    [(1.00e-3, "same"), (1.05e-3, "slower"), (0.95e-3, "faster"), (0.1e-3, "faster"), (30e-3, "slower")],
)
def test_a_verdict_follows_the_times(candidate_s: float, verdict: str) -> None:
    assert Table().verdict(1e-3, candidate_s) == verdict


def test_the_speedup_lies_within_its_interval_and_near_the_truth() -> None:
    table = Table()
    arms = [table.arm("slow", 1.5e-3), table.arm("fast", 1e-3)]
    referee = table.referee(Plan(builds=1), 2)
    referee.play(arms)
    judgement = referee.judgement(1)
    assert judgement.low < judgement.speedup < judgement.high
    assert judgement.speedup == pytest.approx(1.5, rel=0.01)


def test_arms_are_compared_per_item() -> None:
    assert Table().verdict(1e-3, 4e-3, items=(1, 8)) == "faster"
    assert Table().verdict(1e-3, 8e-3, items=(1, 8)) == "same"


def test_a_machine_that_slows_down_during_the_trial_does_not_favour_an_arm() -> None:
    table = Table()

    def drifting(name: str) -> Arm:
        return Arm(step=lambda: (table.played.append(name), table.clock.advance(1e-3 * (1 + table.clock() / 4))))

    referee = table.referee(Plan(builds=1), 2)
    referee.play([drifting("a"), drifting("b")])
    assert referee.judgement(1).verdict == "same"


def test_a_coin_decides_who_goes_first() -> None:
    table = Table()
    referee = table.referee(Plan(builds=1, budget_s=0.5), 2)
    referee.play([table.arm("a", 1e-3), table.arm("b", 1e-3)])
    pairs = len(referee.log_ratios[1])
    measured = table.played[-2 * pairs :]
    first = measured[::2].count("a") / pairs
    assert 0.4 < first < 0.6


def test_measuring_stops_early_once_the_figure_is_precise() -> None:
    table = Table(noise=0.001)
    table.verdict(1e-3, 2e-3, plan=Plan(builds=1, budget_s=100.0))
    assert table.clock() < 5


def test_too_much_noise_for_the_budget_stays_undecided() -> None:
    assert Table(noise=1.0).verdict(1e-3, 1.01e-3, plan=Plan(builds=1, budget_s=0.2)) == "undecided"


def test_the_budget_ends_a_trial_that_cannot_be_decided() -> None:
    table = Table(noise=0.5)
    table.verdict(1e-3, 1.01e-3, plan=Plan(builds=1, budget_s=1.0))
    assert 2.0 < table.clock() < 3.5  # two arms' budgets, and the warm-up


def test_slow_arms_get_the_fewest_pairs_that_can_decide() -> None:
    assert Table().verdict(1.0, 2.0, plan=Plan(builds=1, budget_s=8.0)) == "slower"


def test_each_of_several_candidates_gets_its_own_verdict_at_a_shared_error_rate() -> None:
    table = Table()
    arms = [table.arm(name, s) for name, s in (("base", 1e-3), ("fast", 0.8e-3), ("slow", 1.2e-3), ("same", 1e-3))]
    referee = table.referee(Plan(builds=1), 4)
    referee.play(arms)
    assert [referee.judgement(i).verdict for i in (1, 2, 3)] == ["faster", "slower", "same"]
    assert referee.alpha == pytest.approx(0.01 / 3)


def test_a_layouts_accident_is_averaged_out_over_builds() -> None:
    table = Table(noise=0.001)
    referee = table.referee(Plan(builds=2), 2)
    while not referee.settled:
        unlucky, lucky = (1.03e-3, 1e-3) if referee.builds % 2 else (1e-3, 1.03e-3)
        referee.play([table.arm("a", unlucky), table.arm("b", lucky)])
    assert referee.judgement(1).verdict == "undecided"
    assert referee.judgement(1).speedup == pytest.approx(1, abs=0.031)


def accidental(plan: Plan, accidents: list[float]) -> Referee:
    """Have the same code play, which an accident of each build makes so much slower."""
    table = Table(noise=0.001)
    referee = table.referee(plan, 2)
    while not referee.settled:
        accident = accidents[referee.builds % len(accidents)]
        referee.play([table.arm("a", 1e-3), table.arm("b", 1e-3 * (1 + accident))])
    return referee


def test_the_interval_carries_the_spread_between_many_builds() -> None:
    accidents = [0.03, 0.02, -0.01, -0.03, 0.02, -0.02, 0.03, -0.04]
    few, many = (accidental(Plan(builds=builds), accidents).judgement(1) for builds in (2, 8))
    assert few.verdict == "slower"
    assert many.verdict == "undecided"
    assert many.low < 1 < many.high


def test_builds_that_agree_are_judged_as_sharply_as_one() -> None:
    judgement = accidental(Plan(builds=8), [0.03]).judgement(1)
    assert judgement.verdict == "slower"
    assert judgement.half_width < 0.005


def test_two_builds_are_too_few_for_a_spread() -> None:
    referee = accidental(Plan(builds=2), [0.03, 0.04])
    assert not referee.spreads
    assert referee.judgement(1).verdict == "slower"


def test_every_build_has_the_same_weight() -> None:
    table = Table(noise=0.05)
    referee = table.referee(Plan(builds=2, budget_s=1.0), 3)
    pairs = []
    for _ in range(2):
        referee.play([table.arm("base", 1e-3), table.arm("fast", 0.5e-3), table.arm("near", 1.01e-3)])
        pairs.append([len(ratios) for ratios in referee.log_ratios])
    assert pairs[1] == [2 * count for count in pairs[0]]
    assert pairs[0][1] < pairs[0][2]


def test_a_baseline_without_candidates_is_timed_alone() -> None:
    table = Table()
    referee = table.referee(Plan(builds=1), 1)
    referee.play([table.arm("alone", 1e-3)])
    assert len(referee.samples_s[0]) >= 10
    assert referee.median_s(0) == pytest.approx(1e-3, rel=0.02)
    assert referee.settled


def test_a_slow_baseline_without_candidates_is_not_repeated_as_often_as_a_verdict_needs() -> None:
    table = Table()
    referee = table.referee(Plan(builds=2, budget_s=1.0), 1)
    referee.play([table.arm("alone", 0.3)])
    assert len(referee.samples_s[0]) == 2
    assert referee.settled


def test_an_arm_that_raises_is_named() -> None:
    def fail() -> None:
        raise ValueError("no")

    table = Table()
    referee = table.referee(Plan(builds=1), 2)
    referee.iterations = [1, 1]
    with pytest.raises(StoppedError) as stopped:
        referee.play([table.arm("a", 1e-3), Arm(step=fail)])
    assert stopped.value.arm == 1
    assert str(stopped.value.error) == "no"


def test_a_machine_that_becomes_much_slower_does_not_hold_the_trial_for_ever() -> None:
    table = Table()
    referee = table.referee(Plan(builds=2, budget_s=1.0), 2)
    referee.play([table.arm("a", 1e-3), table.arm("b", 1.01e-3)])
    before = table.clock()
    referee.play([table.arm("a", 1.0), table.arm("b", 1.01)])
    assert table.clock() - before < 10


def test_a_set_of_builds_that_overran_the_budget_is_the_last() -> None:
    table = Table(noise=0.5)
    referee = table.referee(Plan(builds=2, budget_s=1.0), 2)
    referee.play([table.arm("a", 1e-3), table.arm("b", 1.01e-3)])
    referee.play([table.arm("a", 9e-3), table.arm("b", 9.09e-3)])
    assert sum(referee.played_s) > referee.budget_s
    assert referee.settled


def test_short_pairs_are_judged_by_means_over_two_milliseconds_and_long_ones_by_themselves() -> None:
    table = Table()
    short, long = (table.referee(Plan(builds=1, budget_s=0.5), 2) for _ in range(2))
    short.play([table.arm("a", 1e-4), table.arm("b", 1e-4)])
    long.play([table.arm("a", 1e-2), table.arm("b", 1e-2)])
    assert 5 <= short.together <= 20
    assert long.together == 1


def test_a_rung_is_compared_with_the_start_and_in_the_same_rounds_with_the_rung_below() -> None:
    table = Table()
    stopwatch = Stopwatch(table.clock, table.device.synchronize)
    referee = Referee(stopwatch=stopwatch, coin=Random(7), plan=Plan(builds=1), arms=3, below={2: 1})
    referee.play([table.arm("start", 4e-3), table.arm("lower", 1e-3), table.arm("upper", 1.25e-3)])
    start, below = referee.judgement(2), referee.gain(2)
    assert (start.verdict, below.verdict) == ("faster", "slower")
    assert below.low < 0.8 < below.high
    assert below.pairs == start.pairs <= referee.judgement(1).pairs
    assert referee.gains[1] == []


def test_comparisons_with_the_rung_below_share_the_error_rate_with_those_with_the_start() -> None:
    table = Table()
    stopwatch = Stopwatch(table.clock, table.device.synchronize)
    ladder = Referee(stopwatch=stopwatch, coin=Random(7), plan=Plan(alpha=0.01), arms=4, below={2: 1, 3: 2})
    assert ladder.alpha == pytest.approx(0.01 / 5)
