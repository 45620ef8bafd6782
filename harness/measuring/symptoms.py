"""What shows that something disturbs a measurement: which readings of the machine, and from where on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness.measuring.telemetry import Snapshot, counted
from harness.units import percent, significant

QUIETEST = 0.05  # of the windows; what the worst of these had is normal for the trial
REFERENCE_WORK = ("arithmetic_s", "memory_s")


@dataclass(frozen=True, kw_only=True)
class Symptom:
    """A reading that shows a disturbance where it is more than ``times`` what is normal, and ``over`` that.

    What the kernel ``counts`` in ticks is uncertain by some of them. ``worst`` is the name under which the worst window
    is kept, as a multiple of what is normal where ``times`` compares with that.
    """

    reading: str
    worst: str
    words: str
    times: float = 1.0
    over: float = 0.0
    counts: bool = False

    def shown(self, values: np.ndarray, tick: np.ndarray) -> np.ndarray:
        """Say of each window whether it shows the symptom; one without a reading does not."""
        return values > self.times * normal(values) + self.over + self.counts * tick

    def worst_of(self, values: np.ndarray) -> float:
        """Return how bad it got."""
        worst = float(np.nanmax(values))
        if self.times > 1:
            return worst / normal(values)
        return min(1.0, worst) if self._is_share else worst  # counters may run a little ahead of the clock

    def in_words(self, amount: float) -> str:
        """Say how bad it was."""
        return self.words.format(percent(amount) if self._is_share else significant(amount, 2))

    @property
    def _is_share(self) -> bool:
        return self.reading.endswith("_share")


# On an idle virtual machine, 95 % of the reference work took less than 1.1 times (arithmetic) and 1.6 times (memory)
# its shortest. nvbench discards samples below 75 % of a GPU's default clock; a trial's highest is a nearer norm.
SYMPTOMS = (
    Symptom(
        reading="other_cores",
        worst="most_other_cores",
        words="other processes took up to {} cores",
        over=0.25,
        counts=True,
    ),
    Symptom(
        reading="stolen_cores",
        worst="most_stolen_cores",
        words="the hypervisor took up to {} cores away",
        over=0.25,
        counts=True,
    ),
    Symptom(
        reading="cpu_waiting_share",
        worst="most_cpu_waiting_share",
        words="work waited for a core for up to {} of the time",
        over=0.5,
        counts=True,
    ),
    Symptom(reading="arithmetic_s", worst="cpu_slowdown", words="the processor was {} times slower", times=1.2),
    Symptom(reading="memory_s", worst="memory_slowdown", words="memory was {} times slower", times=1.8),
    Symptom(reading="gpu_cycle_s", worst="gpu_slowdown", words="a GPU's clock was {} times slower", times=1.1),
)


def normal(values: np.ndarray) -> float:
    """Return what the worst of the quietest windows had."""
    known = np.sort(values[np.isfinite(values)])
    return float(known[int(QUIETEST * (len(known) - 1))])


def readings(before: Snapshot, after: Snapshot, *, counters_from_s: float) -> Iterator[tuple[str, float]]:
    """Yield what is known of the time between two snapshots, by the names that symptoms give it.

    Counters that tick say nothing of less than ``counters_from_s``. Of what is seen at a moment, the worse end counts.
    """
    if (span_s := after.at_s - before.at_s) >= counters_from_s:
        yield from counted(before, after, span_s).items()
    ends = (before, after)
    for name in REFERENCE_WORK:
        if known := [value for end in ends if (value := getattr(end, name)) is not None]:
            yield name, max(known)
    if clocks := [gpu.sm_clock_mhz for end in ends for gpu in end.gpus if gpu.sm_clock_mhz and gpu.at_work]:
        yield "gpu_cycle_s", 1e-6 / min(clocks)
