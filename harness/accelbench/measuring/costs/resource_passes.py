"""Measurements of an arm that runs alone in its process: memory, energy, utilisation, time by the device's clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from accelbench.core import Arm
from accelbench.core.arm import nothing
from accelbench.frameworks import Framework
from accelbench.frameworks.protocol import DeviceSpan
from accelbench.measuring.arm_run import ArmRun
from accelbench.measuring.checks.background_work import LATE_S, LATE_SHARE, StepEnd
from accelbench.measuring.checks.placement import accelerator, computed_on, gpu_uuids
from accelbench.measuring.costs import resources
from accelbench.measuring.costs.resources import peak_rss_rise, utilisation
from accelbench.measuring.interference import reference
from accelbench.measuring.referee import Stopwatch
from accelbench.schema.reasons import reason

BLOCK_S = 0.1  # long compared with a synchronisation, which would lower the utilisation


def measure_memory(arm_run: ArmRun, framework: Framework, build: Callable[[], None], stopwatch: Stopwatch) -> StepEnd:
    """Measure the peak of memory, from before the arm is built to the end of its checked steps, and return that end."""
    endings = []

    def build_and_run() -> None:
        build()
        endings.append(StepEnd(arm_run.built, framework, stopwatch))

    framework.empty_cache()
    framework.reset_peak_memory()
    left_over = framework.peak_memory_bytes()  # of caches of other arms, where an arm on the CPU allocates nothing
    rise, peak = peak_rss_rise(build_and_run), framework.peak_memory_bytes()
    uses_allocator = arm_run.resident_bytes > 0 or peak != left_over
    allocated = peak if uses_allocator else None
    arm_run.price = replace(arm_run.price, peak_rss_bytes=rise, allocator_peak_bytes=allocated)
    return endings[0]


def measure_utilisation(
    arm_run: ArmRun, framework: Framework, build: Callable[[], None], stopwatch: Stopwatch, *, cores: int
) -> None:
    """Measure the utilisation of CPU and GPU while the arm runs, and the memory of all its processes."""
    step_s = arm_run.timing.median_s if arm_run.timing else BLOCK_S
    iterations = max(1, round(BLOCK_S / step_s))

    def run_for(seconds: float) -> None:
        stopwatch.run_for(arm_run.built, seconds, iterations)

    reference.cache_clear()  # its buffer is not the arm's memory
    build()
    arm_run.observed |= utilisation(run_for, cores=cores, gpus=gpus_of(arm_run, framework))
    arm_run.close()
    framework.empty_cache()


def measure_energy(arm_run: ArmRun, framework: Framework, stopwatch: Stopwatch) -> None:
    """Measure the energy per item of a built arm, if the device on which it computes has an energy counter."""
    if arm_run.placement is None or arm_run.timing is None:
        return
    device = computed_on(arm_run.label, arm_run.placement)
    meter = resources.meter_of(device, gpus_of(arm_run, framework))
    if not meter.counts:
        return

    def run(iterations: int) -> None:
        stopwatch.block_s(arm_run.built, iterations)

    taken_j = resources.per_iteration_j(run, meter, stopwatch.clock, arm_run.timing.median_s)
    if taken_j is not None:
        per_item_j = taken_j / arm_run.built.items
        arm_run.price = replace(arm_run.price, energy_j_per_item=per_item_j, energy_of=device)


def gpus_of(arm_run: ArmRun, framework: Framework) -> frozenset[str]:
    """Return the UUIDs of the GPUs that an arm uses."""
    return gpu_uuids(arm_run.label, arm_run.placement, framework) if arm_run.placement else frozenset()


READINGS = 3
LONGEST_S = 0.5  # the readings take six iterations; of longer ones they would cost more than their timing
HOLD_TIMES = 1.5  # multiple of the launch time, which varies, for which the stream is held
LEAST_HOLD_S = 100e-6
EVENTS_SHARE = 0.1  # of a step by the device's clock; where the events themselves take more, that is said
# The queue of a CUDA stream holds about a thousand launches, and the host waits while it is full. So some launches of a
# longer step follow while the device is at work. It does not run out of work if most of the step is left after them.
BACKLOG_SHARE = 0.75


@dataclass(frozen=True, kw_only=True)
class DeviceReading:
    """One iteration on a device.

    ``launch_s`` are the seconds until all of it was launched, ``left_s`` those until it was done, from then on.
    ``beyond_s`` are those for which other streams continued after the current one.
    """

    span: DeviceSpan
    launch_s: float
    left_s: float
    beyond_s: float

    @property
    def is_backlogged(self) -> bool:
        """Whether the device never waited for a launch."""
        return self.span.queued or self.left_s >= BACKLOG_SHARE * self.span.device_s


@dataclass(frozen=True)
class DeviceClock:
    """The clock of the device on which an arm computes."""

    arm: Arm
    framework: Framework
    stopwatch: Stopwatch
    device: str

    def readings(self, held_s: float) -> list[DeviceReading]:
        """Return readings of single iterations, each after holding the device; none if the device has no clock."""
        return [reading for reading in (self._reading(held_s) for _ in range(READINGS)) if reading is not None]

    def _reading(self, held_s: float) -> DeviceReading | None:
        clock, launched_s = self.stopwatch.clock, []

        def launch() -> None:
            self.arm.step()
            launched_s.append(clock())

        self.stopwatch.synchronize()
        start_s = clock()
        span = self.framework.time_on_device(launch, device=self.device, held_s=held_s)
        if span is None:
            return None
        ended_s = clock()
        self.stopwatch.synchronize()
        (launched_at_s,) = launched_s
        return DeviceReading(
            span=span, launch_s=launched_at_s - start_s, left_s=ended_s - launched_at_s, beyond_s=clock() - ended_s
        )


def time_on_device(arm_run: ArmRun, framework: Framework, stopwatch: Stopwatch, median_s: float) -> None:
    """Time an iteration by its device's clock, and flag work that its stream does not wait for.

    ``median_s`` is the time of an iteration by the wall clock.
    """
    device = accelerator(arm_run.label, arm_run.placement) if arm_run.placement else None
    if device is None or median_s > LONGEST_S:
        return
    clock = DeviceClock(arm_run.built, framework, stopwatch, device)
    with arm_run.built.enter():
        unheld = clock.readings(held_s=0.0)
        if not unheld:
            return
        beyond_s = min(reading.beyond_s for reading in unheld)
        if beyond_s > max(LATE_S, LATE_SHARE * median_s):
            arm_run.flags.append(reason("works-beside-stream", beyond_s=beyond_s))
            return
        held_s = LEAST_HOLD_S + HOLD_TIMES * median(reading.launch_s for reading in unheld)
        device_s = _backlogged_s(clock.readings(held_s))
    if device_s is None:
        return
    events_s = _backlogged_s(replace(clock, arm=Arm(step=nothing)).readings(LEAST_HOLD_S))
    arm_run.device_s, arm_run.events_s = device_s, events_s
    if events_s is not None and events_s > EVENTS_SHARE * device_s:
        arm_run.flags.append(reason("events-cost", events_s=events_s, device_s=device_s, share=events_s / device_s))


def _backlogged_s(readings: Sequence[DeviceReading]) -> float | None:
    """Return the median of the readings in which the device never waited for a launch, None if these are not most."""
    spans_s = [reading.span.device_s for reading in readings if reading.is_backlogged]
    return median(spans_s) if len(spans_s) > READINGS / 2 else None
