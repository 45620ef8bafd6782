"""A baseline that waits instead of computing is doubted; one that honestly waits for others is not."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random

import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm, Plan, Setting, Technique, Trial, Workload
from accelbench.measuring.checks.idle_baseline import Activity, find_idle_time, processor_clock_beside
from accelbench.measuring.cold_cache import ColdStopwatch
from accelbench.measuring.costs import resources
from accelbench.measuring.referee import Referee, Stopwatch
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema.reasons import Reason

STEP_S = 1e-3


class TwoClocks:
    """A wall clock and a clock of processor time, which goes on only while something computes."""

    def __init__(self) -> None:
        self.wall, self.processor = FakeClock(), FakeClock()

    def activity(self) -> Activity:
        """Return what a process has done that computes alone and reads nothing."""
        return Activity(busy_s=self.processor(), disk_bytes=0)

    def mostly_waiting(self) -> float:
        """Compute for a tenth of a step."""
        self.wall.advance(0.9 * STEP_S)
        return self.computing(0.1 * STEP_S)

    def computing(self, seconds: float = STEP_S) -> float:
        """Compute for a whole step."""
        self.wall.advance(seconds)
        self.processor.advance(seconds)
        return 1.0

    def judge(
        self, baseline: Callable[[], float], read: Callable[[], Activity] | None = None, *, cold_cache: bool = False
    ) -> Reason | None:
        """Time a baseline beside an honest candidate, and judge it by what its process and others do."""
        stopwatch = Stopwatch(self.wall, lambda: None, self.processor)
        timing = ColdStopwatch(stopwatch, self.computing) if cold_cache else stopwatch
        arms = [Arm(step=baseline), Arm(step=self.computing)]
        referee = Referee(stopwatch=timing, coin=Random(1), plan=Plan(budget_s=0.5), arms=2)
        referee.play(arms)
        return find_idle_time(arms[0], referee, stopwatch, read or self.activity)


@pytest.mark.parametrize("cold_cache", [False, True], ids=["warm caches", "cold caches"])
def test_a_baseline_that_sleeps_is_doubted_with_the_share_of_its_time_in_which_it_computes(cold_cache: bool) -> None:
    clocks = TwoClocks()
    doubt = clocks.judge(clocks.mostly_waiting, cold_cache=cold_cache)
    assert doubt is not None
    assert doubt.brief == "the baseline computes for 10 % of its time"


def test_a_baseline_that_computes_is_not_doubted() -> None:
    clocks = TwoClocks()
    assert clocks.judge(clocks.computing) is None


def test_a_baseline_whose_child_processes_compute_or_which_waits_for_a_core_is_not_doubted() -> None:
    clocks = TwoClocks()
    assert clocks.judge(clocks.mostly_waiting, lambda: Activity(busy_s=clocks.wall(), disk_bytes=0)) is None


def test_a_baseline_that_waits_for_a_disk_is_not_doubted() -> None:
    clocks = TwoClocks()

    def reading() -> Activity:
        return Activity(busy_s=clocks.processor(), disk_bytes=int(1e6 * clocks.wall()))

    assert clocks.judge(clocks.mostly_waiting, reading) is None


def test_beside_a_clock_that_is_not_the_wall_clock_nothing_is_judged() -> None:
    device = FakeDevice(FakeClock())
    stopwatch = Stopwatch(device.clock, device.synchronize, processor_clock_beside(device.clock))
    arms = [Arm(step=lambda: device.launch(STEP_S))] * 2
    referee = Referee(stopwatch=stopwatch, coin=Random(1), plan=Plan(budget_s=0.1), arms=2)
    referee.play(arms)
    assert find_idle_time(arms[0], referee, stopwatch) is None


@pytest.mark.parametrize(("device", "doubts"), [("cpu", ["idle-baseline"]), (None, [])], ids=["cpu", "perhaps a GPU"])
def test_the_baseline_of_a_trial_gets_the_doubt_unless_an_accelerator_may_work_for_it(
    monkeypatch: pytest.MonkeyPatch, device: str | None, doubts: list[str]
) -> None:
    monkeypatch.setattr(resources, "process_tree", list)  # what the tests themselves do meanwhile is left out
    clocks = TwoClocks()
    fake = FakeDevice(clocks.wall)

    def build(_: Setting, *, pace: str) -> Arm:
        return Arm(step=clocks.mostly_waiting if pace == "slow" else clocks.computing, device=device)

    pace = Technique(
        name="pace",
        framework="fake",
        levels=("slow", "quick"),
        summary="",
        apply=lambda build, level: build(pace=level),
    )
    trial = Trial(
        framework="fake",
        workload=Workload(name="walk", frameworks=("fake",), unit="step", summary="", builder=build),
        arms=({"pace": "slow"}, {"pace": "quick"}),
        techniques=(pace,),
        plan=Plan(budget_s=0.2),
    )
    run = TrialRun(trial, fake, clock=clocks.wall, coin=Random(1))
    run.stopwatch.processor_clock = clocks.processor
    baseline, candidate = run.run().arms
    assert (baseline.outcome, candidate.outcome) == ("measured", "measured")
    assert [flag.code for flag in baseline.flags] == doubts
    assert candidate.flags == []


@pytest.mark.parametrize("computes", [True, False], ids=["computing", "waiting"])
def test_a_block_that_took_far_too_long_is_doubted_only_where_something_computed_in_it(computes: bool) -> None:
    clocks, calls = TwoClocks(), count()

    def step() -> float:
        if next(calls) == 50:
            (clocks.computing if computes else clocks.wall.advance)(1.7)
        return clocks.computing(5e-3)  # too long to show what the other arm left in the caches: every call counts

    same = Technique(name="same", framework="fake", levels=("a", "b"), summary="", apply=lambda build, _: build())
    trial = Trial(
        framework="fake",
        workload=Workload(name="walk", frameworks=("fake",), unit="step", summary="", builder=lambda _: Arm(step=step)),
        arms=({"same": "a"}, {"same": "b"}),
        techniques=(same,),
        plan=Plan(budget_s=0.5, builds=1),
    )
    run = TrialRun(trial, FakeDevice(clocks.wall), clock=clocks.wall, coin=Random(1))
    run.stopwatch.processor_clock = clocks.processor
    flags = [flag for arm in run.run().arms for flag in arm.flags]
    assert [flag.code for flag in flags] == ["stalled-block"] * computes
    assert all(flag.values["block_s"] == pytest.approx(1.7, rel=0.1) for flag in flags)


@pytest.fixture
def busy_child() -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child.pid
        child.kill()


@pytest.mark.skipif(not Path("/proc").exists(), reason="how a system counts is tried on Linux")
def test_the_processor_time_of_a_living_child_counts(busy_child: int) -> None:
    before = Activity.read()
    own_s = time.process_time()
    for _ in range(10_000):
        now, used_s = Activity.read(), time.process_time() - own_s
        if now.busy_s - before.busy_s > 2 * used_s + 0.1:
            break
    else:
        pytest.fail("the child's time was never counted")
    assert busy_child in [process.pid for process in resources.process_tree()]
