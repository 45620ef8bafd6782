"""Energy that an arm takes while it runs alone, from the counters of its GPUs or of the processor.

A counter is of a whole GPU, or of a whole package of the processor: idle draw is in it, and what neighbours do there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from harness import nvml
from harness.measuring import family

LEAST_S = 0.5  # the ends are known to about a block each, together 2 % of it
BLOCK_S = 5e-3  # after each the counters are read: short beside their steps, long beside a synchronisation
STILL_S = 0.5  # a counter that does not move for so long, while an arm runs, counts nothing
POWERCAP = Path("/sys/class/powercap")


@dataclass(frozen=True, kw_only=True)
class Counter:
    """Reads joules since some moment in the past, None where they cannot be read.

    It starts over at ``range_j``, 0 where it never does.
    """

    read_j: Callable[[], float | None]
    range_j: float = 0.0


class Meter:
    """The energy taken since it was made, over several counters."""

    def __init__(self, counters: Sequence[Counter]) -> None:
        self._latest_j = {counter: told_j for counter in counters if (told_j := counter.read_j()) is not None}
        self._taken_j = 0.0

    @property
    def counts(self) -> bool:
        """Whether any of the counters can be read."""
        return bool(self._latest_j)

    def taken_j(self) -> float:
        """Return the joules so far."""
        for counter, before_j in self._latest_j.items():
            if (now_j := counter.read_j()) is not None:
                rise_j = now_j - before_j
                self._taken_j += rise_j if rise_j >= 0 else max(0.0, rise_j + counter.range_j)
                self._latest_j[counter] = now_j
        return self._taken_j


def meter_of(device: str) -> Meter:
    """Return a meter of the kind of device on which an arm computed, ``GPU`` or ``CPU``; of no counters for another."""
    return Meter({"GPU": of_gpus, "CPU": of_processor}.get(device, list)())


def of_gpus() -> list[Counter]:
    """Return the counters of the GPUs on which this process or its kin run.

    A container may hide who runs there: then that of the only GPU, or none, since it is not known which one it is.
    """
    gpus, own = nvml.gpus(), {member.pid for member in family.members()}
    ours = [place for place, gpu in enumerate(gpus) if own & {*gpu.process_ids}]
    places = ours or ([0] if len(gpus) == 1 else [])
    return [Counter(read_j=partial(_gpu_j, place)) for place in places]


def of_processor(folder: Path = POWERCAP) -> list[Counter]:
    """Return the counters of the processor's packages; most systems let only the administrator read them.

    Linux shows Intel's and AMD's RAPL there: https://docs.kernel.org/power/powercap/powercap.html.
    """
    packages = [zone for zone in sorted(folder.glob("intel-rapl:*")) if _text(zone / "name").startswith("package")]
    return [
        Counter(read_j=partial(_joules, zone / "energy_uj"), range_j=_joules(zone / "max_energy_range_uj") or 0.0)
        for zone in packages
    ]


def per_iteration_j(
    run: Callable[[int], object], meter: Meter, clock: Callable[[], float], step_s: float
) -> float | None:
    """Return the joules that an iteration takes, None where the counters stand still.

    ``run`` runs so many iterations, of about ``step_s`` seconds each. Counted is from one step of the counters to
    another one at least ``LEAST_S`` later, so that the length of their steps does not matter.
    """
    iterations = max(1, round(BLOCK_S / step_s))

    def blocks_to_a_step() -> int:
        """Run until the counters have moved and return in how many blocks; 0 where they do not move."""
        before_j, patience_s = meter.taken_j(), clock() + STILL_S
        for blocks in count(1):
            run(iterations)
            if meter.taken_j() > before_j:
                return blocks
            if clock() > patience_s:
                break
        return 0

    if not blocks_to_a_step():
        return None
    start_j, end_s, blocks = meter.taken_j(), clock() + LEAST_S, 0
    while clock() < end_s:
        run(iterations)
        blocks += 1
    last = blocks_to_a_step()
    return (meter.taken_j() - start_j) / (iterations * (blocks + last)) if last else None


def _gpu_j(place: int) -> float | None:
    found = nvml.energies_j()
    return found[place] if place < len(found) else None


def _joules(file: Path) -> float | None:
    with suppress(ValueError):
        return int(_text(file)) / 1e6
    return None


def _text(file: Path) -> str:
    """Return what a file of the kernel says, an empty text where it may not be read."""
    with suppress(OSError):
        return file.read_text().strip()
    return ""
