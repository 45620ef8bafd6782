"""A device's own clock beside the wall clock: what an iteration takes it when it need not wait for the host.

Two events around a block would say little: where the host launches too slowly, the device waits between them, and its
waiting counts. So the device is held while one iteration is launched, and begins when all of it is in its queue: what
lies between the events is then work. NVIDIA's nvbench does the same with its "blocking kernel"; here it is a delay, so
that a step that waits for its device cannot wait for ever.

Of such a step nothing is said, nor of one that launches more than a queue holds, with CUDA about a thousand kernels.
Streams that do not wait for the current one are not held, so that their work may be missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median

from harness.experiment import Arm
from harness.frameworks import Framework
from harness.frameworks.protocol import DeviceSpan
from harness.measuring.entrant import Entrant
from harness.measuring.leftovers import LATE_S, LATE_SHARE
from harness.measuring.placement import accelerator
from harness.measuring.stopwatch import Stopwatch
from harness.units import seconds

READINGS = 3
LONGEST_S = 0.25  # reading a longer iteration, up to a dozen times its length, would cost more than timing it
HOLD_TIMES = 1.5  # so many times as long as launching took before, since that varies
LEAST_HOLD_S = 100e-6


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One iteration: how long launching it took, and for how long other streams went on after the current one."""

    span: DeviceSpan
    launch_s: float
    beyond_s: float


@dataclass(frozen=True)
class DeviceClock:
    """The clock of a device on which an arm works."""

    arm: Arm
    framework: Framework
    stopwatch: Stopwatch
    device: str

    def readings(self, held_s: float) -> list[Reading]:
        """Return readings of single iterations, the device held for so long before each; none where it has no clock."""
        return [found for found in (self._reading(held_s) for _ in range(READINGS)) if found is not None]

    def _reading(self, held_s: float) -> Reading | None:
        clock, launched_s = self.stopwatch.clock, []

        def launch() -> None:
            self.arm.step()
            launched_s.append(clock())

        self.stopwatch.synchronize()
        start_s = clock()
        span = self.framework.device_span(launch, device=self.device, held_s=held_s)
        if span is None:
            return None
        ended_s = clock()
        self.stopwatch.synchronize()
        return Reading(span=span, launch_s=launched_s[0] - start_s, beyond_s=clock() - ended_s)


def read(entrant: Entrant, framework: Framework, stopwatch: Stopwatch) -> None:
    """Keep how long an iteration of a timed arm takes its device, and flag work that its stream does not wait for."""
    timing = entrant.timing
    device = accelerator(entrant.label, entrant.placement) if entrant.placement else None
    if timing is None or device is None or timing.median_s > LONGEST_S:
        return
    clock = DeviceClock(entrant.built, framework, stopwatch, device)
    with entrant.built.entered():
        unheld = clock.readings(held_s=0.0)
        if not unheld:
            return
        beyond_s = min(reading.beyond_s for reading in unheld)
        if beyond_s > max(LATE_S, LATE_SHARE * timing.median_s):
            entrant.flags.append(_beside(beyond_s))
            return
        held_s = LEAST_HOLD_S + HOLD_TIMES * median(reading.launch_s for reading in unheld)
        held = clock.readings(held_s)
    queued_s = [reading.span.device_s for reading in held if reading.span.queued]
    if len(queued_s) > READINGS / 2:
        entrant.timing = replace(timing, device_s=median(queued_s))


def _beside(beyond_s: float) -> str:
    return (
        f"works beside its stream: other streams go on for {seconds(beyond_s)} after the current one has ended, and "
        "whoever uses the output next may read it before it is there"
    )
