"""Disturbances of a part of a trial, planted on a fake machine: seen, told, and never turned into a verdict."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from random import Random

import pytest
from fake_device import FakeClock

from accelbench.core import Arm, Plan
from accelbench.measuring.interference import GpuReading, InterferenceMonitor, Snapshot
from accelbench.measuring.referee import Referee, Stopwatch

PLAN = Plan(builds=1, budget_s=1.0, min_block_s=100e-6)
SEEDS = 8
When = Callable[[float], bool]


def never(_: float) -> bool:
    return False


def later(now_s: float) -> bool:
    return now_s > 0.2


def mostly(now_s: float) -> bool:
    return now_s % 0.6 > 0.2


class Machine:
    """Two cores and a GPU, with a neighbour, a low clock or heat at times."""

    def __init__(self, *, seed: int = 0, neighbour: When = never, low_clock: When = never, hot: When = never) -> None:
        self.clock = FakeClock()
        self.weather = Random(seed)
        self.neighbour, self.low_clock, self.hot = neighbour, low_clock, hot
        self.others_s = 0.0
        self.busy_until_s = 0.0
        self.windows = InterferenceMonitor(self.clock, self.read, quietest={"arithmetic_s": 5.2e-6})

    def read(self, _: Collection[str]) -> Snapshot:
        slow = 1.5 if self.low_clock(self.clock()) else 1.0
        gpu = GpuReading(sm_clock_mhz=1980.0, utilisation=1.0)
        if self.hot(self.clock()):
            gpu = GpuReading(sm_clock_mhz=1200.0, utilisation=1.0, throttle_reasons=("temperature",))
        return Snapshot(
            at_s=self.clock(),
            cores=2,
            own_cpu_s=self.clock(),
            busy_cpu_s=self.clock() + self.others_s + self.weather.uniform(0, 0.01),
            arithmetic_s=5e-6 * slow * self.weather.uniform(1, 1.1),
            memory_s=30e-6 * self.weather.uniform(1, 1.3),
            gpus=(gpu,),
        )

    def arm(self, seconds: float, *, hurt: float = 1.0) -> Arm:
        """Return an arm that a disturbance slows down by the factor ``hurt``."""

        def step() -> None:
            now_s = self.clock()
            disturbed = self.neighbour(now_s) or self.low_clock(now_s) or self.hot(now_s)
            took_s = seconds * self.weather.lognormvariate(0, 0.02) * (hurt if disturbed else 1.0)
            self.clock.advance(took_s)
            self.others_s += took_s if self.neighbour(now_s) else 0.0

        return Arm(step=step)

    def queued_arm(self, seconds: float, *, launch_s: float, heat: float = 1.0) -> Arm:
        """Return an arm that launches work of ``seconds`` on the GPU, which heat slows down by the factor ``heat``."""

        def step() -> None:
            self.clock.advance(launch_s * (1.5 if self.low_clock(self.clock()) else 1.0))
            took_s = seconds * self.weather.lognormvariate(0, 0.02) * (heat if self.hot(self.clock()) else 1.0)
            self.busy_until_s = max(self.busy_until_s, self.clock()) + took_s

        return Arm(step=step)

    def synchronize(self) -> None:
        self.clock.advance(max(0.0, self.busy_until_s - self.clock()))

    def referee(self, arms: Sequence[Arm], plan: Plan) -> Referee:
        return Referee(
            stopwatch=Stopwatch(self.clock, self.synchronize),
            coin=Random(self.weather.random()),
            plan=plan,
            arms=len(arms),
            windows=self.windows,
        )

    def verdict(self, *arms: Arm, plan: Plan = PLAN, is_device_bound: bool = False) -> str:
        referee = self.referee(arms, plan)
        while not referee.is_settled:
            referee.play(arms)
        referee.is_device_bound = [is_device_bound] * len(arms)
        return referee.judgement(1).verdict


def verdicts(candidate_s: float, *, hurt: tuple[float, float], **disturbance: When) -> Counter[str]:
    """Return the verdicts of trials that differ in their seed alone; ``hurt`` is each arm's."""
    machines = [Machine(seed=seed, **disturbance) for seed in range(SEEDS)]
    return Counter(m.verdict(m.arm(1e-3, hurt=hurt[0]), m.arm(candidate_s, hurt=hurt[1])) for m in machines)


@pytest.mark.parametrize("when", [later, mostly])
@pytest.mark.parametrize("kind", ["neighbour", "low_clock", "hot"])
def test_arms_that_are_the_same_are_never_called_different_because_one_of_them_suffers_more(
    kind: str, when: When
) -> None:
    seen = verdicts(1e-3, hurt=(1.2, 2.0), **{kind: when})
    assert set(seen) <= {"same", "undecided"}


@pytest.mark.parametrize("when", [later, mostly])
def test_five_per_cent_more_work_is_seen_or_left_undecided_where_the_neighbour_favours_it(when: When) -> None:
    assert set(verdicts(1.05e-3, hurt=(2.0, 1.5), neighbour=when)) <= {"slower", "undecided"}


def test_a_neighbour_that_slows_both_arms_alike_does_not_keep_a_difference_from_being_seen() -> None:
    assert verdicts(1.06e-3, hurt=(1.5, 1.5), neighbour=later) == {"slower": SEEDS}


def test_a_machine_that_is_loaded_all_the_time_keeps_deciding() -> None:
    assert verdicts(1.05e-3, hurt=(1.5, 1.5), neighbour=lambda _: True) == {"slower": SEEDS}
    machine = Machine(neighbour=lambda _: True)
    machine.verdict(machine.arm(1e-3), machine.arm(1e-3))
    assert machine.windows.figures()["disturbed_share"] == 0
    assert machine.windows.reasons() == []


@pytest.mark.parametrize(("is_device_bound", "verdict"), [(True, "faster"), (False, "undecided")])
def test_a_host_that_is_nearly_always_slow_keeps_arms_undecided_unless_they_keep_a_gpu_busy(
    is_device_bound: bool, verdict: str
) -> None:
    machines = [Machine(seed=seed, low_clock=lambda now_s: now_s % 2 > 0.5) for seed in range(SEEDS)]
    arms = [(m.queued_arm(0.1, launch_s=1e-3), m.queued_arm(0.05, launch_s=1e-3)) for m in machines]
    assert verdicts_of(machines, arms, is_device_bound=is_device_bound) == {verdict}


def test_what_is_five_times_as_fast_is_told_on_a_host_that_is_nearly_always_slow() -> None:
    machines = [Machine(seed=seed, low_clock=lambda now_s: now_s % 2 > 0.1) for seed in range(SEEDS)]
    arms = [(m.arm(0.1, hurt=1.5), m.arm(0.02, hurt=1.5)) for m in machines]
    assert verdicts_of(machines, arms, is_device_bound=False) == {"faster"}


def test_heat_disturbs_arms_that_keep_a_gpu_busy() -> None:
    machines = [Machine(seed=seed, hot=mostly) for seed in range(SEEDS)]
    arms = [(m.queued_arm(1e-3, launch_s=1e-4, heat=1.2), m.queued_arm(1e-3, launch_s=1e-4, heat=2)) for m in machines]
    assert verdicts_of(machines, arms, is_device_bound=True) <= {"same", "undecided"}


def verdicts_of(machines: Sequence[Machine], arms: Sequence[tuple[Arm, Arm]], *, is_device_bound: bool) -> set[str]:
    return {
        machine.verdict(*each, is_device_bound=is_device_bound) for machine, each in zip(machines, arms, strict=True)
    }


def test_slow_arms_get_more_pairs_where_some_were_disturbed() -> None:
    machine = Machine(neighbour=lambda now_s: 4 < now_s < 6)
    assert machine.verdict(machine.arm(0.3), machine.arm(0.2), plan=Plan(builds=1, budget_s=2.0)) == "faster"


def test_slow_arms_get_no_more_pairs_where_the_disturbed_ones_decide() -> None:
    rounds = []
    for candidate_s in (0.06, 0.3):
        machine = Machine(low_clock=lambda now_s: now_s > 2.5)
        arms = [machine.arm(0.3), machine.arm(candidate_s)]
        referee = machine.referee(arms, Plan(builds=1, budget_s=1.6))
        referee.play(arms)
        rounds.append(len(referee.samples_s[0]))
    assert rounds[0] == referee.fewest < rounds[1]


@pytest.mark.parametrize(
    ("kind", "figure", "words"),
    [
        ("neighbour", "most_other_cores", "other processes took up to 1.0 cores"),
        ("low_clock", "cpu_slowdown", "the processor was 1.6 times slower"),
        ("hot", "gpu_slowdown", "a GPU's clock was 1.6 times slower"),
    ],
)
def test_a_disturbance_is_told_with_its_share_and_its_worst(kind: str, figure: str, words: str) -> None:
    machine = Machine(**{kind: lambda now_s: 0.5 < now_s < 1.0})
    machine.verdict(machine.arm(1e-3), machine.arm(1.0003e-3), plan=Plan(builds=1, budget_s=1.0, half_width=1e-6))
    figures, reasons = machine.windows.figures(), machine.windows.reasons()
    assert 0.2 < figures["disturbed_share"] < 0.35
    assert figures[figure] >= 0.99
    assert [each.code for each in reasons] == ["timing-disturbed"]
    assert f"of the timing was disturbed ({words})" in str(reasons[0])


def test_a_processor_that_is_slower_all_the_time_is_told_by_the_trials_before() -> None:
    machine = Machine(low_clock=lambda _: True)
    assert machine.verdict(machine.arm(1e-3), machine.arm(1.05e-3)) == "slower"
    (slower,) = machine.windows.reasons()
    assert str(slower) == "the processor was 1.5 times slower throughout, compared with an earlier trial"


def test_a_gpu_at_rest_that_lowers_its_clock_disturbs_nothing() -> None:
    clocks = iter([1980.0, 1980.0, 345.0, 345.0])
    clock = FakeClock()
    states = (GpuReading(sm_clock_mhz=mhz, utilisation=0.0) for mhz in clocks)
    windows = InterferenceMonitor(
        clock, lambda _: Snapshot(cores=1, own_cpu_s=0, busy_cpu_s=0, at_s=clock(), gpus=(next(states),))
    )
    with windows.open():
        for _ in range(2):
            clock.advance(0.2)
            windows.turn()
        clock.advance(0.2)
    assert not windows.slowdowns().any()


def test_readings_that_cost_much_are_taken_seldom() -> None:
    clock = FakeClock()

    def read(_: Collection[str]) -> Snapshot:
        clock.advance(0.05)
        return Snapshot(cores=1, own_cpu_s=0, busy_cpu_s=0, at_s=clock())

    windows = InterferenceMonitor(clock, read)
    with windows.open():
        for _ in range(1000):
            clock.advance(0.01)
            windows.turn()
    assert windows.current <= 5


TRIAL = """
import sys, time
from random import Random
import numpy as np
from accelbench.core import Arm, Plan
from accelbench.measuring.referee import Referee
from accelbench.measuring.referee import Stopwatch
from accelbench.measuring.interference import glance
from accelbench.measuring.interference import InterferenceMonitor

numbers = np.arange(1000.0)
arms = [Arm(step=lambda: np.sqrt(numbers)) for _ in range(2)]
windows = InterferenceMonitor(time.perf_counter, glance)
stopwatch = Stopwatch(time.perf_counter, lambda: None)
plan = Plan(builds=2, budget_s=0.5, min_span_s=1.0)
referee = Referee(stopwatch=stopwatch, coin=Random(1), plan=plan, arms=2, windows=windows)
referee.play(arms)
print("half", flush=True)
sys.stdin.readline()
referee.play(arms)
print(windows.figures())
"""


@pytest.mark.slow
def test_a_real_neighbour_that_comes_in_mid_trial_is_recorded() -> None:
    trial = subprocess.Popen([sys.executable, "-c", TRIAL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert trial.stdout is not None
    assert trial.stdout.readline() == "half\n"
    neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        said, _ = trial.communicate("go on\n", timeout=60)
    finally:
        neighbour.kill()
        neighbour.wait()
    figures = ast.literal_eval(said)
    assert figures["most_other_cores"] > 0.25
    assert 0 <= figures["disturbed_share"] <= 1
