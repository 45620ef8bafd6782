"""The referee: warm-up, stopwatch and rounds on a fake clock."""

import gc
import math
import mmap
import random
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from random import Random

import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm, Contrast, Plan, against_baseline
from accelbench.measuring.referee import Examination, Question, Referee, StoppedError, Stopwatch, warm_up


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
    pairs = len(referee.log_ratios[1, 0])
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
    while not referee.is_settled:
        unlucky, lucky = (1.03e-3, 1e-3) if referee.builds % 2 else (1e-3, 1.03e-3)
        referee.play([table.arm("a", unlucky), table.arm("b", lucky)])
    assert referee.judgement(1).verdict == "undecided"
    assert referee.judgement(1).speedup == pytest.approx(1, abs=0.031)


def accidental(plan: Plan, accidents: list[float]) -> Referee:
    """Have the same code play, which an accident of each build makes so much slower."""
    table = Table(noise=0.001)
    referee = table.referee(plan, 2)
    while not referee.is_settled:
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
        pairs.append([len(ratios) for ratios in referee.log_ratios.values()])
    assert pairs[1] == [2 * count for count in pairs[0]]
    assert pairs[0][0] < pairs[0][1]


def test_a_baseline_without_candidates_is_timed_alone() -> None:
    table = Table()
    referee = table.referee(Plan(builds=1), 1)
    referee.play([table.arm("alone", 1e-3)])
    assert len(referee.samples_s[0]) >= 10
    assert referee.median_s(0) == pytest.approx(1e-3, rel=0.02)
    assert referee.is_settled


def test_a_slow_baseline_without_candidates_is_not_repeated_as_often_as_a_verdict_needs() -> None:
    table = Table()
    referee = table.referee(Plan(builds=2, budget_s=1.0), 1)
    referee.play([table.arm("alone", 0.3)])
    assert len(referee.samples_s[0]) == 2
    assert referee.is_settled


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
    referee = table.referee(Plan(builds=2, budget_s=1.0, min_block_s=1e-3), 2)
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
    assert referee.is_settled


def test_short_pairs_are_judged_by_means_over_two_milliseconds_and_long_ones_by_themselves() -> None:
    table = Table()
    short, long = (table.referee(Plan(builds=1, budget_s=0.5, min_block_s=100e-6), 2) for _ in range(2))
    short.play([table.arm("a", 1e-4), table.arm("b", 1e-4)])
    long.play([table.arm("a", 1e-2), table.arm("b", 1e-2)])
    assert 5 <= short.pairs_per_mean <= 20
    assert long.pairs_per_mean == 1


def test_a_rung_is_compared_with_the_start_and_in_the_same_rounds_with_the_rung_below() -> None:
    table = Table()
    stopwatch = Stopwatch(table.clock, table.device.synchronize)
    contrasts = [*against_baseline(3), Contrast(2, 1)]
    plan = Plan(builds=1, whole_rounds=True)
    referee = Referee(stopwatch=stopwatch, coin=Random(7), plan=plan, arms=3, contrasts=contrasts)
    referee.play([table.arm("start", 4e-3), table.arm("lower", 1e-3), table.arm("upper", 1.25e-3)])
    start, below = referee.judgement(2), referee.judgement(2, against=1)
    assert (start.verdict, below.verdict) == ("faster", "slower")
    assert below.low < 0.8 < below.high
    assert below.pairs == start.pairs == referee.judgement(1).pairs


def test_comparisons_with_the_rung_below_share_the_error_rate_with_those_with_the_start() -> None:
    table = Table()
    stopwatch = Stopwatch(table.clock, table.device.synchronize)
    contrasts = [*against_baseline(4), Contrast(2, 1), Contrast(3, 2)]
    ladder = Referee(stopwatch=stopwatch, coin=Random(7), plan=Plan(alpha=0.01), arms=4, contrasts=contrasts)
    assert ladder.alpha == pytest.approx(0.01 / 5)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def device(clock: FakeClock) -> FakeDevice:
    return FakeDevice(clock)


@pytest.fixture
def stopwatch(clock: FakeClock, device: FakeDevice) -> Stopwatch:
    return Stopwatch(clock, device.synchronize)


def test_a_block_lasts_until_the_device_has_finished(stopwatch: Stopwatch, device: FakeDevice) -> None:
    assert stopwatch.block_s(Arm(step=lambda: device.launch(0.005)), 10) == pytest.approx(0.05, rel=0.01)


def test_work_that_was_launched_before_is_not_counted(stopwatch: Stopwatch, device: FakeDevice) -> None:
    device.launch(7.0)
    assert stopwatch.block_s(Arm(step=lambda: device.launch(0.005)), 1) == pytest.approx(0.005, rel=0.01)


def test_switching_global_state_is_outside_the_clock(stopwatch: Stopwatch, clock: FakeClock) -> None:
    @contextmanager
    def slow_switch() -> Iterator[None]:
        clock.advance(1.0)
        yield
        clock.advance(1.0)

    arm = Arm(step=lambda: clock.advance(0.25)).inside(slow_switch)
    assert stopwatch.block_s(arm, 1) == pytest.approx(0.25, rel=0.01)


def test_the_garbage_collector_rests_inside_a_block_only(stopwatch: Stopwatch) -> None:
    seen: list[bool] = []
    stopwatch.block_s(Arm(step=lambda: seen.append(gc.isenabled())), 1)
    assert seen == [False]
    assert gc.isenabled()


def lengths(stopwatch: Stopwatch, *arms: Arm) -> list[int]:
    """Return the iterations of each arm's block of at least 100 µs."""
    return [block.iterations for block in stopwatch.long_enough_blocks(arms, 100e-6)]


def test_a_block_is_long_enough_to_time(stopwatch: Stopwatch, clock: FakeClock) -> None:
    arm = Arm(step=lambda: clock.advance(1e-6))
    iterations = lengths(stopwatch, arm)[0]
    assert stopwatch.block_s(arm, iterations) >= 100e-6
    assert iterations <= 1000


def test_a_block_is_long_beside_the_waiting_for_the_device(clock: FakeClock) -> None:
    arm = Arm(step=lambda: clock.advance(1e-6))
    stopwatch = Stopwatch(clock, lambda: clock.advance(10e-6))
    iterations = lengths(stopwatch, arm)[0]
    assert stopwatch.block_s(arm, iterations) / iterations == pytest.approx(1e-6, rel=0.011)


def test_arms_of_similar_speed_run_equally_many_iterations(stopwatch: Stopwatch, clock: FakeClock) -> None:
    arms = [Arm(step=lambda: clock.advance(1e-6)), Arm(step=lambda: clock.advance(2e-6))]
    first, second = lengths(stopwatch, *arms)
    assert first == second


def test_arms_of_very_different_speed_run_each_their_own(stopwatch: Stopwatch, clock: FakeClock) -> None:
    arms = [Arm(step=lambda: clock.advance(1e-6)), Arm(step=lambda: clock.advance(1e-2))]
    quick, slow = lengths(stopwatch, *arms)
    assert quick > 50
    assert slow == 1


def test_a_slow_first_call_does_not_shorten_the_blocks_of_an_arm(stopwatch: Stopwatch, clock: FakeClock) -> None:
    first_calls_s = iter([35e-3])  # as where a framework traces a function again
    traced = Arm(step=lambda: clock.advance(next(first_calls_s, 5e-4)))
    ready = Arm(step=lambda: clock.advance(5e-4))
    blocks = stopwatch.long_enough_blocks([traced, ready], 4e-3)
    assert blocks[0].iterations == blocks[1].iterations >= 8


def test_blocks_are_no_shorter_than_in_an_earlier_visit(stopwatch: Stopwatch, clock: FakeClock) -> None:
    def long_step() -> None:
        steps.append(clock())
        clock.advance(5e-3)

    steps: list[float] = []
    arms = [Arm(step=lambda: clock.advance(1e-3)), Arm(step=long_step)]
    blocks = stopwatch.long_enough_blocks(arms, 4e-3, known=[6, 1])
    assert [block.iterations for block in blocks] == [6, 1]
    assert len(steps) == 1


def test_a_step_longer_than_a_second_is_not_run_again_to_warm_up(stopwatch: Stopwatch, clock: FakeClock) -> None:
    def step() -> None:
        steps.append(clock())
        clock.advance(1.5)

    steps: list[float] = []
    plan = Plan(budget_s=0.5, min_span_s=0.0, builds=1, visits=4)
    referee = Referee(stopwatch=stopwatch, coin=Random(0), plan=plan, arms=1)
    referee.play([Arm(step=step)])
    assert len(steps) == len(referee.warmups[0].blocks_s) + len(referee.samples_s[0]) == 2


def test_a_steady_arm_is_warm_after_two_windows() -> None:
    warmup = warm_up(lambda: 1e-3, cap_s=10)
    assert (len(warmup.blocks_s), warmup.settled) == (40, True)


def test_an_arm_that_speeds_up_is_run_until_it_no_longer_does() -> None:
    times_s = iter([1e-3 * (1 + 5 * 0.95**block) for block in range(1000)])
    warmup = warm_up(lambda: next(times_s), cap_s=10)
    assert warmup.settled
    assert warmup.blocks_s[-1] < 1.35e-3


def test_an_arm_that_never_settles_is_capped_and_says_so() -> None:
    noise = random.Random(1)
    warmup = warm_up(lambda: noise.lognormvariate(-9, 2), cap_s=1000)
    assert not warmup.settled
    assert len(warmup.blocks_s) == 200


def test_a_window_has_fewer_blocks_where_they_last_longer() -> None:
    assert len(warm_up(lambda: 4e-3, cap_s=10).blocks_s) == 10


def test_a_slow_arm_is_capped_by_time() -> None:
    warmup = warm_up(lambda: 1.0, cap_s=2.5)
    assert (len(warmup.blocks_s), warmup.settled) == (3, False)


def test_a_short_step_is_called_once_untimed_after_the_other_arm_and_a_long_one_is_not() -> None:
    table = Table(noise=0.001)
    caches = {"holds": ""}

    def step(name: str, seconds: float) -> Arm:
        def run() -> None:
            table.clock.advance(seconds * (1.0 if caches["holds"] == name else 2.0))
            caches["holds"] = name

        return Arm(step=run)

    short = table.referee(Plan(builds=1, budget_s=0.5), 2)
    short.play([step("a", 1e-3), step("b", 1e-3)])
    assert short.median_s(0) == pytest.approx(1e-3)
    long = table.referee(Plan(builds=1, budget_s=0.5), 2)
    long.play([step("a", 10e-3), step("b", 10e-3)])
    assert long.median_s(0) == pytest.approx(20e-3)


def test_of_two_arms_of_about_the_same_speed_both_have_a_lead_in_or_neither_has() -> None:
    def lead_ins(*steps_s: float) -> list[bool]:
        clock = FakeClock()
        arms = [Arm(step=partial(clock.advance, step_s)) for step_s in steps_s]
        plan = Plan(builds=1, budget_s=0.5)
        referee = Referee(
            stopwatch=Stopwatch(clock, FakeDevice(clock).synchronize), coin=Random(0), plan=plan, arms=len(arms)
        )
        referee.play(arms)
        return referee.has_lead_in

    assert lead_ins(3.9e-3, 4.1e-3) == [True, True]
    assert lead_ins(4.1e-3, 4.2e-3) == [False, False]
    assert lead_ins(1e-3, 20e-3) == [True, False]


def test_a_block_lasts_four_milliseconds() -> None:
    table = Table(noise=0.001)
    referee = table.referee(Plan(builds=1, budget_s=0.5), 2)
    referee.play([table.arm("a", 1e-4), table.arm("b", 1e-4)])
    assert 4e-3 <= referee.iterations[0] * 1e-4 < 6e-3


def test_page_faults_are_counted_by_arm() -> None:
    table = Table()
    referee = table.referee(Plan(builds=1, budget_s=0.2), 2)

    def fresh() -> None:
        mmap.mmap(-1, 64 * mmap.PAGESIZE).write(bytes(64 * mmap.PAGESIZE))
        table.clock.advance(1e-3)

    referee.play([table.arm("a", 1e-3), Arm(step=fresh)])
    per_iteration = [
        faults / (count * len(samples))
        for faults, count, samples in zip(referee.page_faults, referee.iterations, referee.samples_s, strict=True)
    ]
    assert per_iteration[1] - per_iteration[0] > 32


def test_a_block_keeps_its_last_output_only_if_asked_to_and_no_other_one() -> None:
    table = Table()
    stopwatch, alive = Stopwatch(table.clock, table.device.synchronize), []

    class Output:
        pass

    def step() -> Output:
        alive[:] = [reference for reference in alive if reference() is not None]
        assert len(alive) == 0  # the one before was freed where a loop of a user frees it
        output = Output()
        alive.append(weakref.ref(output))
        return output

    stopwatch.block_s(Arm(step=step), 3)
    assert stopwatch.take_output() is None
    stopwatch.block_s(Arm(step=step), 3, keep_output=True)
    assert isinstance(stopwatch.take_output(), Output)
    assert stopwatch.take_output() is None
    stopwatch.block_s(Arm(step=step), 1)


def test_a_coin_draws_rounds_whose_last_outputs_are_inspected_the_fewer_the_later() -> None:
    table = Table()
    calls, seen = {"a": 0, "b": 0}, []

    def counting(name: str) -> Arm:
        def step() -> tuple[str, int]:
            calls[name] += 1
            table.clock.advance(5e-3)
            return name, calls[name]

        return Arm(step=step)

    stopwatch = Stopwatch(table.clock, table.device.synchronize)
    plan = Plan(builds=1, budget_s=5.0, whole_rounds=True)
    referee = Referee(
        stopwatch=stopwatch,
        coin=Random(7),
        plan=plan,
        arms=2,
        inspect=lambda place, output: seen.append((place, output, dict(calls))),
    )
    referee.play([counting("a"), counting("b")])
    rounds = len(referee.samples_s[0])
    assert rounds > 500
    assert {place for place, _, _ in seen} == {0, 1}
    assert math.floor(math.log2(rounds)) <= len(seen) / 2 <= math.floor(math.log2(rounds)) + 1
    for place, (name, number), meanwhile in seen:
        assert name == "ab"[place]
        assert number == meanwhile[name]  # nothing of the arm had run since


def test_inspection_that_takes_long_becomes_rare() -> None:
    table = Table()
    stopwatch, seen = Stopwatch(table.clock, table.device.synchronize), []

    def inspect(place: int, _: object) -> None:
        seen.append(place)
        table.clock.advance(1.0)

    plan = Plan(builds=1, budget_s=2.0, whole_rounds=True)
    referee = Referee(stopwatch=stopwatch, coin=Random(7), plan=plan, arms=1, inspect=inspect, contrasts=[])
    referee.play([table.arm("a", 5e-3)])
    assert seen == [0]


def test_an_examination_meets_an_arm_that_would_end_the_program() -> None:
    is_examined, ends = [], []

    def leaving() -> float:
        table.clock.advance(1e-3)
        if is_examined:
            raise SystemExit(3)
        return 0.5

    def examine(_: Referee) -> Examination:
        is_examined.append(True)
        try:
            yield Question(arm=0)
        except SystemExit as error:
            ends.append(error.code)

    table = Table(noise=0.0)
    stopwatch = Stopwatch(table.clock, table.device.synchronize)
    plan = Plan(builds=1, budget_s=0.2)
    referee = Referee(stopwatch=stopwatch, coin=Random(7), plan=plan, arms=1, contrasts=[], examine=examine)
    referee.play([Arm(step=leaving)])
    assert ends == [3]


def test_an_examination_asks_for_blocks_that_are_no_samples_and_meets_what_an_arm_raises() -> None:
    table = Table(noise=0.0)
    answers, errors = [], []

    def refusing() -> float:
        if answers:
            raise ValueError("no more")
        table.clock.advance(1e-3)
        return 0.5

    def examine(referee: Referee) -> Examination:
        answers.append((referee.builds, (yield Question(arm=0, iterations=3))))
        try:
            yield Question(arm=0)
        except ValueError as error:
            errors.append(error)

    stopwatch = Stopwatch(table.clock, table.device.synchronize)
    plan = Plan(builds=1, budget_s=0.2)
    referee = Referee(stopwatch=stopwatch, coin=Random(7), plan=plan, arms=1, contrasts=[], examine=examine)
    referee.play([Arm(step=refusing)])
    ((builds, answer),) = answers
    assert builds == 1
    assert answer.block_s == pytest.approx(3e-3)
    assert answer.output == 0.5
    assert len(errors) == 1
    assert sum(referee.samples_s[0]) == pytest.approx(1e-3 * len(referee.samples_s[0]))
