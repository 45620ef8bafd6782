"""What else the machine did: figures always, a sentence only where it may have disturbed."""

import os
import subprocess
import sys
from dataclasses import replace

import psutil
import pytest

from harness import nvml
from harness.measuring import family, telemetry
from harness.measuring.telemetry import GpuReading, Snapshot, disturbance

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


def test_a_quiet_machine_says_nothing() -> None:
    after = replace(IDLE, own_cpu_s=14.0, busy_cpu_s=104.02)
    figures, sentences = disturbance(IDLE, after, 2.0)
    assert figures["other_cores"] == pytest.approx(0.01)
    assert sentences == []


def test_busy_neighbours_are_told_in_cores() -> None:
    after = replace(IDLE, own_cpu_s=12.0, busy_cpu_s=103.8)
    figures, sentences = disturbance(IDLE, after, 2.0)
    assert figures["other_cores"] == pytest.approx(0.9)
    assert sentences == ["other processes used 0.90 of 2 cores while this was measured"]


def test_cores_that_share_one_of_the_hosts_are_told() -> None:
    shared, apart = (replace(IDLE, cores_asked=2, cores_worth=worth) for worth in (1.08, 1.97))
    figures, (sentence,) = disturbance(shared, shared, 1.0)
    assert figures["cores_worth"] == 1.08
    assert sentence.startswith("2 cores at once did 1.1 times the work of one, before and after this was measured: ")
    assert disturbance(shared, apart, 1.0)[1] == []


def test_what_clock_ticks_round_is_no_neighbour() -> None:
    figures, sentences = disturbance(IDLE, replace(IDLE, busy_cpu_s=100.04), 0.1)
    assert figures["other_cores"] == pytest.approx(0.4)
    assert sentences == []


def test_own_work_that_is_counted_a_tick_early_does_not_turn_negative() -> None:
    figures, _ = disturbance(IDLE, replace(IDLE, own_cpu_s=10.01), 1.0)
    assert figures["other_cores"] == 0.0


def test_a_stealing_hypervisor_is_named() -> None:
    figures, sentences = disturbance(IDLE, replace(IDLE, stolen_cpu_s=2.0), 2.0)
    assert figures["stolen_cores"] == pytest.approx(0.5)
    assert sentences == ["the hypervisor took 0.50 of 2 cores away while this was measured"]


def test_waiting_for_a_core_is_told_as_a_share_of_the_time() -> None:
    _, sentences = disturbance(IDLE, replace(IDLE, waiting_s=5.7), 2.0)
    assert sentences == ["work waited for a free core during 35 % of the time in which this was measured"]


def test_context_switches_and_load_are_figures_only() -> None:
    after = replace(IDLE, voluntary_switches=150, involuntary_switches=9010, load_1min=9.0)
    figures, sentences = disturbance(IDLE, after, 2.0)
    assert figures["voluntary_switches_per_s"] == 25
    assert figures["involuntary_switches_per_s"] == 4500
    assert figures["load_1min"] == 9.0
    assert sentences == []


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
    figures, sentences = disturbance(before, after, 1.0)
    assert (figures["gpu0_sm_clock_mhz"], figures["gpu0_temperature_c"]) == (1200.0, 85.0)
    assert sentences == ["GPU 0 was held below its clock (power cap, temperature) while this was measured"]


@pytest.mark.parametrize(("others", "words"), [(1, "1 other process"), (2, "2 other processes")])
def test_a_shared_gpu_is_named(others: int, words: str) -> None:
    before = replace(IDLE, gpus=(GpuReading(), GpuReading(other_processes=others)))
    _, sentences = disturbance(before, replace(IDLE, gpus=(GpuReading(), GpuReading())), 1.0)
    assert sentences == [f"GPU 1 was shared with {words} while this was measured"]


def test_this_process_and_strangers_to_this_container_do_not_share_its_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    neighbour, of_the_host = 4_000_001, 4_000_002
    state = nvml.GpuState(name="NVIDIA Test", process_ids=(os.getpid(), neighbour, of_the_host))
    monkeypatch.setattr(nvml, "gpus", lambda: [state])
    monkeypatch.setattr(psutil, "pid_exists", lambda pid: pid in (os.getpid(), neighbour))
    assert telemetry.read().gpus[0].other_processes == 1


def test_a_reading_counts_the_work_of_a_child_process_as_our_own() -> None:
    before = telemetry.read()
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    after = telemetry.read()
    assert after.own_cpu_s - before.own_cpu_s >= 0.25
    assert after.busy_cpu_s - before.busy_cpu_s >= 0.25


def test_counters_never_run_backwards() -> None:
    before = telemetry.read()
    after = telemetry.read()
    figures, _ = disturbance(before, after, 0.01)
    assert after.busy_cpu_s >= before.busy_cpu_s
    assert all(value >= 0 for value in figures.values())


def test_a_glance_tells_what_reference_work_takes_and_leaves_gpus_alone_that_nobody_uses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nvml, "clocks", lambda: [nvml.GpuState(name="NVIDIA Test", sm_clock_mhz=1980.0)])
    without, beside = telemetry.glance(gpus=False), telemetry.glance(gpus=True)
    assert without.arithmetic_s is not None
    assert without.memory_s is not None
    assert without.gpus == ()
    assert beside.gpus[0].sm_clock_mhz == 1980.0
    assert beside.at_s > without.at_s


def test_children_of_children_belong_to_the_family() -> None:
    grandchild = (
        "import subprocess, sys; print(subprocess.Popen(['sleep', '60']).pid, flush=True); sys.stdin.readline()"
    )
    child = subprocess.Popen([sys.executable, "-c", grandchild], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    sleeper = psutil.Process(int(child.stdout.readline()))
    try:
        assert {os.getpid(), child.pid, sleeper.pid} <= {member.pid for member in family.members()}
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
    figures, sentences = disturbance(BESIDE, BESIDE, 1.0, glances(AT_WORK, fell, AT_WORK))
    assert figures["gpu0_sm_clock_mhz"] == 1980.0
    assert figures["gpu0_lowest_clock_share"] == 0.5
    assert sentences == ["the clock of GPU 0 fell to 50 % of its 1,980 MHz while this was measured"]


@pytest.mark.parametrize("lowest", [AT_REST, replace(AT_WORK, sm_clock_mhz=1500.0)], ids=["at-rest", "a-little-lower"])
def test_a_clock_that_rests_or_falls_a_little_is_no_remark(lowest: GpuReading) -> None:
    figures, sentences = disturbance(BESIDE, BESIDE, 1.0, glances(AT_WORK, lowest))
    assert figures["gpu0_lowest_clock_share"] > telemetry.FALLEN_SHARE
    assert sentences == []


def test_a_gpu_whose_default_clock_nobody_tells_has_no_share_of_it() -> None:
    unknown = replace(IDLE, gpus=(AT_WORK,))
    figures, sentences = disturbance(unknown, unknown, 1.0, glances(replace(AT_WORK, sm_clock_mhz=300.0)))
    assert "gpu0_lowest_clock_share" not in figures
    assert sentences == []


def test_a_gpu_that_was_throttled_in_mid_trial_is_named() -> None:
    held = replace(AT_WORK, throttle_reasons=("power cap",))
    _, sentences = disturbance(BESIDE, BESIDE, 1.0, [IDLE, *glances(AT_WORK, held)])
    assert sentences == ["GPU 0 was held below its clock (power cap) while this was measured"]
