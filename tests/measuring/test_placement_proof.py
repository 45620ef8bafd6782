"""Where a profiler must prove that work runs on its device, it does so in a worker in which nothing is timed."""

import os
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm, Build, Plan, Setting, Trial, Workload, technique
from accelbench.measuring.trial_result import TimeLedger, TrialResult
from accelbench.measuring.trial_run import TrialRun
from accelbench.measuring.workers import pool as pools
from accelbench.measuring.workers.interpreter import find_interpreter
from accelbench.measuring.workers.pool import Pool
from accelbench.measuring.workers.process import Worker, WorkerLostError
from accelbench.schema.reasons import reason


class Profiled(FakeDevice):
    """A device whose kernels only a profiler counts, after which its process is slow."""

    is_blind = False
    is_slowed = False

    @property
    def profiles(self) -> bool:
        return True

    def kernels(self, run: Callable[[], object]) -> int | None:
        """Count the launches, and stay attached."""
        self.is_slowed = True
        counted = super().kernels(run)
        return None if self.is_blind else counted


class InProcess:
    """A worker that obeys in this process, with a device of its own."""

    made: ClassVar[list["InProcess"]] = []
    loses_proofs = False
    is_blind = False

    def __init__(self, _: str, environment: dict[str, str]) -> None:
        self.environment = environment
        self.interpreter = find_interpreter("numpy")
        self.device = Profiled(FakeClock())
        self.device.is_blind = self.is_blind
        self.orders: list[str] = []
        self.is_running = True
        InProcess.made.append(self)

    def ask(self, order: str, *rest: Any, **_: Any) -> Any:
        """Obey an order."""
        self.orders.append(order)
        if order == "import":
            return 0.0
        if order == "describe":
            return self.device.accelerators(), {}, self.device.profiles
        DEVICES.append(self.device)
        run = TrialRun(rest[0], self.device, clock=self.device.clock)
        if order == "measure":
            assert not self.device.is_slowed, "timed in a process with a profiler"
            return run.run()
        if self.loses_proofs:
            raise WorkerLostError("crashed", reason("worker-killed", signal="SIGSEGV", when="while it profiled"))
        return run.prove(rest[1])

    def close(self) -> None:
        """End it."""
        self.is_running = False


DEVICES: list[Profiled] = []  # that of the worker at work is the last


def build(_: Setting, *, place: str = "device") -> Arm:
    """Work on the device, or pretend to."""
    device = DEVICES[-1]

    def step() -> Any:
        if place == "host":
            device.clock.advance(1e-3)
        else:
            device.launch(1e-3)
        return device.array([1.0, 2.0]) if place != "unseen" else np.array([1.0, 2.0])

    return Arm(step=step, device="fake:0")


@technique("fake", levels=("device", "host", "unseen"))
def proven_place(build: Build, level: str) -> Arm:
    """Where the work runs."""
    return build(place=level)


@technique("fake", levels=("off", "on"), environment={"on": {"CHOICE": "1"}})
def choice(build: Build, level: str) -> Arm:  # noqa: ARG001  the variable is all
    """A variable with which the worker starts."""
    return build()


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[InProcess]]:
    monkeypatch.setattr(pools, "Worker", InProcess)
    monkeypatch.setattr(InProcess, "made", [])
    yield InProcess.made
    DEVICES.clear()


def measure(pool: Pool, *levels: str, switch: str = "proven_place", **plan: Any) -> TrialResult:
    trial = Trial(
        framework="fake",
        workload=Workload(name="w", frameworks=("fake",), unit="row", summary="", builder=build),
        arms=tuple({switch: level} for level in levels),
        plan=Plan(**{"budget_s": 0.1, "min_span_s": 0, "builds": 1} | plan),
    )
    return pool.measure(trial)


def test_nothing_is_timed_where_the_profiler_was_and_the_worker_that_times_stays(workers: list[InProcess]) -> None:
    pool = Pool(Plan())
    for _ in range(2):
        baseline, candidate = measure(pool, "device", "device").arms
        for arm in (baseline, candidate):
            assert arm.placement is not None
            assert (arm.placement.kernels, arm.flags) == (1, [])
    timing, *proving = workers
    assert timing.is_running
    assert not timing.device.is_slowed
    assert [worker.orders for worker in proving] == [["prove"], ["prove"]]
    assert not any(worker.is_running for worker in proving)


@pytest.mark.usefixtures("workers")
def test_the_time_of_the_proof_is_charged_to_it() -> None:
    spending = TimeLedger()
    measure(Pool(Plan(), spending=spending), "device", "device")
    assert spending.total()["placement proof"] > 0


def test_a_profiler_that_ends_with_its_worker_stays_attached_between_sessions(workers: list[InProcess]) -> None:
    measure(Pool(Plan()), "device")
    timing, proving = workers
    assert "TEARDOWN_CUPTI" not in timing.environment
    assert proving.environment == {"TEARDOWN_CUPTI": "0"}


@pytest.mark.usefixtures("workers")
def test_an_arm_that_starts_no_kernels_loses_its_speed_and_the_others_keep_theirs() -> None:
    measured = measure(Pool(Plan()), "device", "host", "device")
    baseline, misplaced, other = measured.arms
    assert (misplaced.outcome, misplaced.timing, misplaced.effects) == ("misplaced", None, [])
    assert str(misplaced.reason) == "the label says fake:0, but no kernel was started on an accelerator"
    assert baseline.timing is not None
    assert other.effect is not None
    assert [bool(samples) for samples in measured.samples_s] == [True, False, True]
    assert len(measured.pairs) == 1


@pytest.mark.usefixtures("workers")
def test_without_a_baseline_in_its_place_nothing_is_compared() -> None:
    baseline, candidate = measure(Pool(Plan()), "host", "device").arms
    assert (baseline.outcome, candidate.outcome) == ("misplaced", "unavailable")
    assert str(candidate.reason).startswith("there is no baseline to compare with: the label says fake:0")
    assert candidate.timing is None


@pytest.mark.parametrize("fault", ["loses_proofs", "is_blind"])
@pytest.mark.usefixtures("workers")
def test_without_a_proof_nobody_is_accused_and_what_is_unproven_is_said(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InProcess, fault, True)
    shown, hidden = measure(Pool(Plan()), "device", "unseen").arms
    assert (shown.outcome, shown.flags) == ("measured", [])  # its output lies on the device
    assert hidden.outcome == "measured"
    assert [flag.code for flag in hidden.flags] == ["placement-unproven"]


def test_arms_whose_processes_start_differently_are_proved_in_such_processes(workers: list[InProcess]) -> None:
    measure(Pool(Plan()), "off", "on", switch="choice")
    proving = [worker for worker in workers if worker.orders == ["prove"]]
    assert [worker.environment.get("CHOICE") for worker in proving] == [None, "1"]


@pytest.mark.parametrize("plan", [{"prices": False}, {"rehearse": True}])
def test_what_has_no_price_is_not_profiled(plan: dict[str, bool], workers: list[InProcess]) -> None:
    measure(Pool(Plan()), "device", **plan)
    assert [worker.orders[-1] for worker in workers] == ["measure"]


@pytest.mark.parametrize(("own", "teardown"), [(None, "1"), ("0", "0")])
def test_a_worker_starts_with_a_profiler_that_leaves_unless_the_user_has_said_otherwise(
    own: str | None, teardown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEARDOWN_CUPTI", raising=False)
    if own:
        monkeypatch.setenv("TEARDOWN_CUPTI", own)
    worker = Worker("numpy", {})
    try:
        assert worker.call(os.getenv, "TEARDOWN_CUPTI") == teardown
    finally:
        worker.close()
