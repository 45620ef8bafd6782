"""Cold caches: what is flushed, when, and that it is in nobody's time."""

import os
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm, Build, Plan, Setting, Trial, technique, workload
from accelbench.errors import Unavailable
from accelbench.measuring import cold_cache
from accelbench.measuring.cold_cache import ColdStopwatch
from accelbench.measuring.costs import resources
from accelbench.measuring.referee import Stopwatch
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema.result import ArmRecord

HIT_S, MISS_S = 10e-6, 40e-6

clock = FakeClock()
events: list[str] = []


class CachedDevice(FakeDevice):
    """A device on which a step finds its data in a cache, unless that was flushed since the step before."""

    def __init__(self) -> None:
        super().__init__(clock, launch_s=0.0)
        self.is_hot = False

    def cache_flush(self) -> Callable[[], object]:
        """Return what flushes and takes a while."""
        return self._flush

    def _flush(self) -> None:
        events.append("flush")
        self.launch(1.0)
        self.is_hot = False

    def step(self) -> Any:
        """Read what lies in the cache, or does not."""
        events.append("step")
        self.launch(HIT_S if self.is_hot else MISS_S)
        self.is_hot = True


device = CachedDevice()


@workload("fake", unit="row")
def cached_table(_: Setting, *, place: str = "device") -> Arm:
    """A table that is read from the cache, and lies on the device or on the host."""

    def step() -> Any:
        device.step()
        return np.arange(1.0, 4.0) if place == "host" else device.array(np.arange(1.0, 4.0))

    return Arm(step=step)


@technique("fake", levels=("device", "host"))
def place(build: Build, level: str) -> Arm:
    """Where the table lies."""
    return build(place=level)


@pytest.fixture(autouse=True)
def _nothing_else_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "gpu_counters", lambda _: [])
    events.clear()


def measure(*levels: str, **plan: Any) -> list[ArmRecord]:
    arms = tuple({"place": level} for level in levels)
    plan = {"budget_s": 30.0, "builds": 1, "half_width": 1.0} | plan
    trial = Trial(framework="fake", workload="cached-table", arms=arms, plan=Plan(**plan))
    return TrialRun(trial, device, clock=clock, coin=Random(5)).run().arms


def median_s(arm: ArmRecord) -> float:
    assert arm.timing is not None, arm.reason
    return arm.timing.median_s


def test_a_block_finds_nothing_in_the_caches_and_flushing_is_not_in_its_time() -> None:
    hot = Stopwatch(clock, device.synchronize)
    arm = Arm(step=device.step)
    assert hot.block_s(arm, 100) < 100 * 1.1 * HIT_S
    assert ColdStopwatch(hot, device.cache_flush()).block_s(arm, 1) == pytest.approx(MISS_S)


def test_a_cold_trial_times_one_iteration_a_block_each_after_a_flush() -> None:
    (lone,) = measure("device", cold_cache=True)
    assert median_s(lone) == pytest.approx(MISS_S)
    assert lone.timing is not None
    assert lone.timing.iterations_per_block == 1
    timed = lone.timing.blocks + lone.timing.warmup_blocks
    examined = 2  # as the timed blocks left it, and after a reset
    assert events.count("flush") == timed + examined
    assert all(event == "step" for before, event in pairwise(events) if before == "flush")


def test_a_hot_trial_flushes_nothing() -> None:
    (lone,) = measure("device")
    assert median_s(lone) < 1.1 * HIT_S
    assert "flush" not in events


def test_the_processors_caches_are_left_alone_only_where_every_arm_computes_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cold_cache, "processor_flush", lambda: lambda: events.append("processor"))
    for devices, flushed in (
        (["GPU", "GPU"], ["flush"]),
        (["CPU", "GPU"], ["flush", "processor"]),
        ([""], ["flush", "processor"]),
    ):
        events.clear()
        cold_cache.flush_of(device, devices)()
        assert events == flushed


def test_where_a_cache_cannot_be_flushed_all_arms_skip_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Callable[[], object]:
        raise Unavailable("the cache of fake:0 cannot be flushed")

    monkeypatch.setattr(device, "cache_flush", refuse)
    arms = measure("device", "host", cold_cache=True)
    assert [(arm.outcome, str(arm.reason)) for arm in arms] == [
        ("unavailable", "the cache of fake:0 cannot be flushed")
    ] * 2


def caches_of(folder: Path, cpu: int, *found: tuple[int, str, str, str]) -> None:
    for index, (level, kind, shared, size) in enumerate(found):
        place = folder / f"cpu{cpu}" / "cache" / f"index{index}"
        place.mkdir(parents=True)
        for name, text in (("level", level), ("type", kind), ("shared_cpu_list", shared), ("size", size)):
            (place / name).write_text(f"{text}\n")


def test_every_core_writes_over_twice_its_share_of_all_caches_of_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    for cpu in (0, 1):
        own = (1, "Data", str(cpu), "32K"), (1, "Instruction", str(cpu), "64K"), (2, "Unified", str(cpu), "1024K")
        caches_of(tmp_path, cpu, *own, (3, "Unified", "0-1", "32768K"))
    each = 2 * (32 + 1024 + 32768 // 2) * 1024
    assert cold_cache.shares_bytes(tmp_path) == {0: each, 1: each}


def test_a_system_that_does_not_tell_its_caches_cannot_flush_them(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="the processor's caches cannot be flushed"):
        cold_cache.processor_flush(tmp_path)


@pytest.mark.skipif(not cold_cache.CPUS.is_dir(), reason="only Linux tells the caches of its cores there")
def test_flushing_leaves_the_process_on_its_cores_and_no_thread_behind(tmp_path: Path) -> None:
    cores, threads = os.sched_getaffinity(0), threading.active_count()
    for cpu in cores:
        caches_of(tmp_path, cpu, (1, "Data", str(cpu), "32K"))
    flush = cold_cache.processor_flush(tmp_path)
    flush()
    assert os.sched_getaffinity(0) == cores
    del flush
    for thread in threading.enumerate():
        if thread.name.startswith("flush"):
            thread.join(5)
    assert threading.active_count() == threads
