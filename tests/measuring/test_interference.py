"""Interference: figures of what else the machine did, remarks only where it may have disturbed."""

import os
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain, repeat
from random import Random
from typing import Any

import numpy as np
import psutil
import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm, Build, Plan, Setting, Trial, technique, workload
from accelbench.measuring import interference
from accelbench.measuring.costs import resources
from accelbench.measuring.interference import GpuReading, InterferenceMonitor, ReferenceWork, Snapshot
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema import nvml
from accelbench.schema.reasons import Reason

IDLE = Snapshot(
    cores=2,
    own_cpu_s=10.0,
    busy_cpu_s=100.0,
    stolen_cpu_s=1.0,
    waiting_s=5.0,
    load_1min=0.5,
    voluntary_switches=100,
    involuntary_switches=10,
)


def disturbance(
    before: Snapshot, after: Snapshot, wall_s: float, glances: Sequence[Snapshot] = ()
) -> tuple[dict[str, float], list[Reason]]:
    """Judge two snapshots that are ``wall_s`` apart."""
    return interference.disturbance(before, replace(after, at_s=before.at_s + wall_s), glances)


def test_a_quiet_machine_says_nothing() -> None:
    after = replace(IDLE, own_cpu_s=14.0, busy_cpu_s=104.02)
    figures, remarks = disturbance(IDLE, after, 2.0)
    assert figures["other_cores"] == pytest.approx(0.01)
    assert remarks == []


def test_busy_neighbours_are_told_in_cores() -> None:
    after = replace(IDLE, own_cpu_s=12.0, busy_cpu_s=103.8)
    figures, remarks = disturbance(IDLE, after, 2.0)
    assert figures["other_cores"] == pytest.approx(0.9)
    assert list(map(str, remarks)) == ["other processes used 0.90 of 2 cores during the trial"]


def test_cores_that_share_one_of_the_hosts_are_told() -> None:
    shared, apart = (replace(IDLE, cores_asked=2, cores_worth=worth) for worth in (1.08, 1.97))
    figures, (remark,) = disturbance(shared, shared, 1.0)
    assert figures["cores_worth"] == 1.08
    assert str(remark).startswith("2 cores at once did 1.1 times the work of one before and after the trial: ")
    assert disturbance(shared, apart, 1.0)[1] == []


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores are not told apart here")
@pytest.mark.parametrize(("worth", "again"), [(1.9, False), (0.1, True), (None, True)])
def test_cores_are_looked_at_again_unless_they_shared_nothing_before(worth: float | None, again: bool) -> None:
    found = interference.look(2, replace(IDLE, cores_asked=2, cores_worth=worth)).cores_worth
    assert (found != worth) is (again and len(interference.cores_of_this_process()) > 1)


def test_what_clock_ticks_round_is_no_neighbour() -> None:
    figures, remarks = disturbance(IDLE, replace(IDLE, busy_cpu_s=100.04), 0.1)
    assert figures["other_cores"] == pytest.approx(0.4)
    assert remarks == []


def test_own_work_that_is_counted_a_tick_early_does_not_turn_negative() -> None:
    figures, _ = disturbance(IDLE, replace(IDLE, own_cpu_s=10.01), 1.0)
    assert figures["other_cores"] == 0.0


def test_a_stealing_hypervisor_is_named() -> None:
    figures, remarks = disturbance(IDLE, replace(IDLE, stolen_cpu_s=2.0), 2.0)
    assert figures["stolen_cores"] == pytest.approx(0.5)
    assert list(map(str, remarks)) == ["the hypervisor took 0.50 of 2 cores away during the trial"]


def test_waiting_for_a_core_is_told_as_a_share_of_the_time() -> None:
    _, remarks = disturbance(IDLE, replace(IDLE, waiting_s=5.7), 2.0)
    assert list(map(str, remarks)) == ["work waited for a free core during 35 % of the time"]


def test_work_cannot_wait_for_longer_than_the_trial_took() -> None:
    figures, remarks = disturbance(IDLE, replace(IDLE, waiting_s=7.2), 2.0)
    assert figures["cpu_waiting_share"] == 1
    assert list(map(str, remarks)) == ["work waited for a free core during 100 % of the time"]


def test_context_switches_and_load_are_figures_only() -> None:
    after = replace(IDLE, voluntary_switches=150, involuntary_switches=9010, load_1min=9.0)
    figures, remarks = disturbance(IDLE, after, 2.0)
    assert figures["voluntary_switches_per_s"] == 25
    assert figures["involuntary_switches_per_s"] == 4500
    assert figures["load_1min"] == 9.0
    assert remarks == []


def test_a_system_without_counters_gives_the_figures_it_has() -> None:
    bare = Snapshot(cores=4, own_cpu_s=1.0, busy_cpu_s=2.0)
    assert disturbance(bare, bare, 1.0) == ({"other_cores": 0.0}, [])


def test_no_time_gives_no_figures() -> None:
    assert disturbance(IDLE, IDLE, 0.0) == ({}, [])


def test_a_throttled_gpu_is_named_with_its_reasons() -> None:
    before = replace(IDLE, gpus=(GpuReading(sm_clock_mhz=1980.0, temperature_c=60.0),))
    after = replace(
        IDLE, gpus=(GpuReading(sm_clock_mhz=1200.0, temperature_c=85.0, throttle_reasons=("power cap", "temperature")),)
    )
    figures, remarks = disturbance(before, after, 1.0)
    assert (figures["gpu0_sm_clock_mhz"], figures["gpu0_temperature_c"]) == (1200.0, 85.0)
    assert list(map(str, remarks)) == ["GPU 0 was held below its clock during the trial (power cap, temperature)"]


def test_a_shared_gpu_is_named() -> None:
    shared, alone = GpuReading(index=1, other_processes=2), GpuReading(index=1)
    _, remarks = disturbance(replace(IDLE, gpus=(shared,)), replace(IDLE, gpus=(alone,)), 1.0)
    assert list(map(str, remarks)) == ["other processes had GPU 1 too during the trial: 2"]


def test_this_process_and_strangers_to_this_container_do_not_share_its_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    neighbour, of_the_host = 4_000_001, 4_000_002
    state = nvml.GpuState(name="NVIDIA Test", process_ids=(os.getpid(), neighbour, of_the_host))
    monkeypatch.setattr(nvml, "gpus", lambda: [state])
    monkeypatch.setattr(psutil, "pid_exists", lambda pid: pid in (os.getpid(), neighbour))
    assert interference.read().gpus[0].other_processes == 1


def test_a_reading_counts_the_work_of_a_child_process_as_our_own() -> None:
    before = interference.read()
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    after = interference.read()
    assert after.own_cpu_s - before.own_cpu_s >= 0.25
    assert after.busy_cpu_s - before.busy_cpu_s >= 0.25


def test_counters_never_run_backwards() -> None:
    before = interference.read()
    after = interference.read()
    figures, _ = disturbance(before, after, 0.01)
    assert after.busy_cpu_s >= before.busy_cpu_s
    assert all(value >= 0 for value in figures.values())


def test_a_glance_tells_what_reference_work_takes_and_leaves_gpus_alone_that_nobody_uses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    states = {uuid: nvml.GpuState(name="NVIDIA Test", uuid=uuid, sm_clock_mhz=1980.0) for uuid in ("8a1f", "77b0")}
    monkeypatch.setattr(nvml, "clocks", lambda uuids: [states[uuid] for uuid in uuids])
    without, beside = interference.glance(), interference.glance({"77b0"})
    assert without.arithmetic_s is not None
    assert without.memory_s is not None
    assert without.gpus == ()
    assert [(gpu.uuid, gpu.sm_clock_mhz) for gpu in beside.gpus] == [("77b0", 1980.0)]
    assert beside.at_s > without.at_s


def test_children_of_children_belong_to_the_family() -> None:
    grandchild = (
        "import subprocess, sys; print(subprocess.Popen(['sleep', '60']).pid, flush=True); sys.stdin.readline()"
    )
    child = subprocess.Popen([sys.executable, "-c", grandchild], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    sleeper = psutil.Process(int(child.stdout.readline()))
    try:
        assert {os.getpid(), child.pid, sleeper.pid} <= {member.pid for member in resources.process_tree()}
    finally:
        sleeper.kill()
        child.communicate(b"\n")


def glances(*readings: GpuReading) -> list[Snapshot]:
    return [replace(IDLE, gpus=(reading,)) for reading in readings]


AT_REST = GpuReading(sm_clock_mhz=345.0, utilisation=0.0)
AT_WORK = GpuReading(sm_clock_mhz=1980.0, utilisation=1.0)
BESIDE = replace(IDLE, gpus=(replace(AT_WORK, default_clock_mhz=1980.0),))


def test_a_clock_that_fell_between_the_two_ends_is_told_by_its_lowest_share() -> None:
    fell = replace(AT_WORK, sm_clock_mhz=990.0)
    figures, remarks = disturbance(BESIDE, BESIDE, 1.0, glances(AT_WORK, fell, AT_WORK))
    assert figures["gpu0_sm_clock_mhz"] == 1980.0
    assert figures["gpu0_lowest_clock_share"] == 0.5
    assert list(map(str, remarks)) == ["the clock of GPU 0 fell to 50 % of its 1,980 MHz during the trial"]


@pytest.mark.parametrize("lowest", [AT_REST, replace(AT_WORK, sm_clock_mhz=1500.0)], ids=["at-rest", "a-little-lower"])
def test_a_clock_that_rests_or_falls_a_little_is_no_remark(lowest: GpuReading) -> None:
    figures, remarks = disturbance(BESIDE, BESIDE, 1.0, glances(AT_WORK, lowest))
    assert figures["gpu0_lowest_clock_share"] > interference.FALLEN_SHARE
    assert remarks == []


def test_a_gpu_whose_default_clock_nobody_tells_has_no_share_of_it() -> None:
    unknown = replace(IDLE, gpus=(AT_WORK,))
    figures, remarks = disturbance(unknown, unknown, 1.0, glances(replace(AT_WORK, sm_clock_mhz=300.0)))
    assert "gpu0_lowest_clock_share" not in figures
    assert remarks == []


def test_a_gpu_that_was_throttled_in_mid_trial_is_named() -> None:
    held = replace(AT_WORK, throttle_reasons=("power cap",))
    _, remarks = disturbance(BESIDE, BESIDE, 1.0, [IDLE, *glances(AT_WORK, held)])
    assert list(map(str, remarks)) == ["GPU 0 was held below its clock during the trial (power cap)"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be held to one core here")
def test_two_threads_on_one_core_are_worth_one() -> None:
    place = min(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    assert 0.3 < ReferenceWork().cores_worth([place, place]) < 1.5
    assert os.sched_getaffinity(0) == before


clock = FakeClock()
device = FakeDevice(clock)


@workload("fake", unit="row")
def steady_table(_: Setting) -> Arm:
    """A table that takes a millisecond."""

    def step() -> np.ndarray:
        device.launch(1e-3)
        return np.arange(1.0, 4.0)

    return Arm(step=step)


@workload("fake", unit="row")
def launched_table(_: Setting, *, launch_s: float, work_s: float, length: str = "long") -> Arm:
    """A table that the host launches and the device computes."""
    share = 1.0 if length == "long" else 0.5

    def step() -> Any:
        clock.advance(share * launch_s)
        device.launch(share * work_s)
        return device.array([1.0, 2.0, 3.0])

    return Arm(step=step)


@technique("fake", levels=("long", "short"))
def table_length(build: Build, level: str) -> Arm:
    """How long it takes to launch and to compute the table."""
    return build(length=level)


@pytest.mark.parametrize(
    ("launch_s", "work_s", "verdict"),
    [(1e-3, 0.1, "faster"), (0.1, 1e-3, "undecided"), (0.05, 0.05, "undecided")],
    ids=["by the device", "by the host", "by both in turn"],
)
def test_a_slow_host_leaves_undecided_what_it_may_have_slowed_down(
    launch_s: float, work_s: float, verdict: str
) -> None:
    arithmetic_s = chain([5e-6] * 4, repeat(1e-5))

    def glance(_: Collection[str]) -> Snapshot:
        return Snapshot(at_s=clock(), cores=1, own_cpu_s=0.0, busy_cpu_s=0.0, arithmetic_s=next(arithmetic_s))

    trial = Trial(
        framework="fake",
        workload="launched-table",
        problem={"launch_s": launch_s, "work_s": work_s},
        arms=({"table_length": "long"}, {"table_length": "short"}),
        plan=Plan(budget_s=1.5, builds=1),
    )
    measured = TrialRun(trial, device, clock=clock, coin=Random(1), windows=InterferenceMonitor(clock, glance)).run()
    (effect,) = measured.arms[1].effects
    assert effect.verdict == verdict
    assert any(remark.code == "timing-disturbed" for remark in measured.remarks) == (verdict == "undecided")


def test_a_clock_that_falls_in_mid_trial_is_a_remark_and_a_neighbour_on_another_gpu_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = nvml.GpuState(name="NVIDIA Test", uuid="GPU-fa4e", boost_clock_mhz=1980.0)
    monkeypatch.setattr(nvml, "gpus", lambda: [replace(state, uuid="GPU-77b0", index=1, process_ids=(1,)), state])
    clocks_mhz = iter([1980.0, 1188.0])  # when the timing begins, and when it ends

    def glance(uuids: Collection[str]) -> Snapshot:
        assert uuids == {"fa4e"}
        gpu = GpuReading(uuid="GPU-fa4e", sm_clock_mhz=next(clocks_mhz, 1980.0), utilisation=1.0)
        return Snapshot(at_s=clock(), cores=1, own_cpu_s=0.0, busy_cpu_s=0.0, gpus=(gpu,))

    trial = Trial(framework="fake", workload="steady-table", arms=({},), plan=Plan(budget_s=4.0))
    measured = TrialRun(trial, device, clock=clock, coin=Random(1), windows=InterferenceMonitor(clock, glance)).run()
    assert measured.disturbance["gpu0_lowest_clock_share"] == pytest.approx(0.6)
    remarks = list(map(str, measured.remarks))
    assert "the clock of GPU 0 fell to 60 % of its 1,980 MHz during the trial" in remarks
    assert not [remark for remark in remarks if "GPU 1" in remark]
