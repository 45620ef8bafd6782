"""Real worker processes: what is lost with one, and what is not."""

import builtins
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import psutil
import pytest

from accelbench.core import Arm, Contrast, Plan, Setting, Trial, Workload
from accelbench.measuring.workers import pool as pool_module
from accelbench.measuring.workers.pool import Pool
from accelbench.measuring.workers.process import Worker, WorkerLostError

PLAN = Plan(budget_s=0.3, builds=1, min_span_s=0.05, silence_s=60)
# Where each block of a pair has a worker of its own, until arms that differ by less than tenfold are called the same.
FEW_PAIRS = replace(PLAN, budget_s=0.1, alpha=0.2, noise=9)


def _sum(setting: Setting, *, deed: str = "none", elements: int = 2000) -> Arm:
    """Sum some numbers, or do something that no process survives."""
    numbers = np.random.default_rng(setting.seed).random(elements)
    alive: list[object] = vars(builtins).setdefault("arms_in_this_process", [])
    alive.append(numbers)

    def step() -> np.floating:
        if deed == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if deed == "exit":
            sys.stderr.write("the end of a worker\n")
            os._exit(3)
        if deed == "hang":
            time.sleep(600)
        if deed == "chat":
            sys.stdout.write("chatter that a framework writes to standard output\n")
        if deed == "devour":
            np.empty(2**55, dtype=np.float64)
        if deed == "crowded" and len(alive) > 1:
            raise MemoryError("no room for two")
        if deed == "pause":
            time.sleep(0.01)
        return numbers.sum()

    return Arm(step=step, items=elements, close=lambda: alive.pop())


SUM = Workload(name="sum", frameworks=("numpy",), unit="number", summary="Sum some numbers.", builder=_sum)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """A pool whose worker stays for the next test, unless it is lost."""
    pool = Pool(PLAN)
    yield pool
    pool.close()


@pytest.fixture
def fresh_pool(pool: Pool) -> Iterator[Pool]:
    """A pool without workers, beside which there are no others."""
    pool.close()
    fresh = Pool(PLAN)
    yield fresh
    fresh.close()


def trial(*levels: str, technique: str = "threads", plan: Plan = PLAN, **problem: object) -> Trial:
    arms = tuple({technique: level} for level in levels)
    return Trial(framework="numpy", workload=SUM, arms=arms, problem=problem, plan=plan)


def workers() -> list[psutil.Process]:
    """Return the living workers; other tests have processes too."""
    living = (child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE)
    return [child for child in living if "accelbench.measuring.workers.worker" in child.cmdline()]


def outcomes(pool: Pool, what: Trial) -> list[str]:
    return [arm.outcome for arm in pool.measure(what).arms]


@pytest.mark.slow
def test_a_workload_from_a_users_own_module_is_measured_in_a_worker(pool: Pool) -> None:
    measured = pool.measure(trial("1", "1"))
    assert measured.arms[1].effect is not None
    assert measured.arms[1].effect.pairs == len(measured.pairs[Contrast(1, 0)].log_ratios) >= 10


@pytest.mark.slow
def test_a_worker_killed_in_mid_block_costs_one_trial_and_says_so(pool: Pool) -> None:
    killed = pool.measure(trial("1", deed="die")).arms[0]
    assert killed.outcome == "crashed"
    assert "SIGKILL killed the worker during 'threads 1: cold call'" in str(killed.reason)
    assert outcomes(pool, trial("1")) == ["measured"]


@pytest.mark.slow
def test_a_kill_from_outside_in_the_middle_of_the_timing_costs_one_trial(pool: Pool) -> None:
    def kill_the_worker(text: str) -> None:
        if "pairs" in text:
            for worker in workers():
                worker.kill()

    long = trial("1", "1", deed="pause", plan=replace(PLAN, budget_s=60, half_width=1e-9))
    measured = pool.measure(long, on_progress=kill_the_worker)
    assert [arm.outcome for arm in measured.arms] == ["crashed", "crashed"]
    assert outcomes(pool, trial("1")) == ["measured"]


def test_a_worker_that_ends_by_itself_is_reported_with_its_last_words(pool: Pool) -> None:
    ended = pool.measure(trial("1", deed="exit")).arms[0]
    assert ended.outcome == "crashed"
    assert "exit status 3" in str(ended.reason)
    assert str(ended.reason).endswith("the end of a worker")


@pytest.mark.slow
def test_a_worker_that_hangs_is_stopped_after_its_silence(pool: Pool) -> None:
    pool.start("numpy")  # else its start would be part of the silence
    hung = pool.measure(trial("1", deed="hang", plan=replace(PLAN, silence_s=2))).arms[0]
    assert hung.outcome == "hung"
    assert "no sign of life for 2 s during 'threads 1: cold call'" in str(hung.reason)
    assert outcomes(pool, trial("1")) == ["measured"]


def test_running_out_of_memory_is_recognised_for_what_it_is(pool: Pool) -> None:
    devoured = pool.measure(trial("1", deed="devour")).arms[0]
    assert devoured.outcome == "out-of-memory"
    assert "256. PiB" in str(devoured.reason) or "Unable to allocate" in str(devoured.reason)


@pytest.mark.slow
def test_arms_that_do_not_fit_into_memory_together_alternate_in_workers_of_their_own(fresh_pool: Pool) -> None:
    measured = fresh_pool.measure(trial("1", "all", deed="crowded", plan=replace(FEW_PAIRS, alpha=0.5)))
    effect = measured.arms[1].effect
    assert effect is not None
    assert not effect.paired
    assert len(measured.samples_s[1]) == effect.workers


@pytest.mark.slow
def test_a_framework_keeps_its_worker_while_another_one_is_at_work(fresh_pool: Pool) -> None:
    assert outcomes(fresh_pool, trial("1")) == ["measured"]
    fresh_pool.accelerators("cupy")
    both = workers()
    assert outcomes(fresh_pool, trial("1")) == ["measured"]
    assert workers() == both


@pytest.mark.slow
def test_a_worker_with_memory_on_an_accelerator_makes_room_for_another_framework_that_sees_one(
    fresh_pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fresh_pool.accelerators("numpy") == ()
    (own,) = workers()
    fresh_pool.accelerators("cupy")
    monkeypatch.setattr(fresh_pool, "accelerators", lambda _: ("cuda:0",))
    assert outcomes(fresh_pool, trial("1")) == ["measured"]
    assert workers() == [own]


def test_what_a_framework_prints_does_not_disturb_the_replies(pool: Pool) -> None:
    assert outcomes(pool, trial("1", deed="chat")) == ["measured"]


@pytest.mark.slow
def test_arms_whose_processes_start_differently_are_compared_between_workers(pool: Pool) -> None:
    measured = pool.measure(trial("default", "keep", technique="malloc", plan=FEW_PAIRS))
    effect = measured.arms[1].effect
    assert effect is not None
    assert not effect.paired
    assert effect.workers == effect.pairs >= 5
    assert len(measured.samples_s[1]) == effect.workers


def test_an_interrupt_ends_the_worker_and_reaches_the_caller(pool: Pool) -> None:
    def interrupt(text: str) -> None:
        if "cold call" in text:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        pool.measure(trial("1", deed="hang"), on_progress=interrupt)
    assert workers() == []


@pytest.mark.slow
def test_a_worker_leaves_when_its_parent_is_gone() -> None:
    script = (
        "import os, accelbench.measuring.workers.process as handle\n"
        "worker = handle.Worker('numpy', {})\n"
        "worker.ask('describe')\n"
        "print(worker.pid, flush=True)\n"
        "os._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    with suppress(psutil.NoSuchProcess):
        psutil.Process(int(done.stdout)).wait(timeout=10)
    assert not psutil.pid_exists(int(done.stdout))


def test_a_worker_that_was_lost_at_its_start_or_while_idle_is_replaced(
    fresh_pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledWorker(Worker):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            os.kill(self.pid, signal.SIGKILL)

    with monkeypatch.context() as patch:
        patch.setattr(pool_module, "Worker", KilledWorker)
        with pytest.raises(WorkerLostError):
            fresh_pool.start("numpy")
    assert fresh_pool.accelerators("numpy") == ()
    (first,) = workers()
    first.kill()
    psutil.wait_procs([first], timeout=60)
    fresh_pool.start("numpy")
    (second,) = workers()
    assert second != first


def test_accelerators_of_a_framework_are_asked_for_in_a_worker(pool: Pool) -> None:
    assert pool.accelerators("numpy") == ()
    assert any(key.startswith("numpy.") for key in pool.configuration())
