"""Passes that an arm makes alone in its process: its memory, its energy, and how busy it keeps the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harness.frameworks import Framework
from harness.measuring import energy
from harness.measuring.entrant import Entrant
from harness.measuring.leftovers import Ending
from harness.measuring.memory import peak_rss_rise
from harness.measuring.placement import computed_on
from harness.measuring.reference import reference
from harness.measuring.stopwatch import Stopwatch
from harness.measuring.utilisation import utilisation

BLOCK_S = 0.1  # long beside a synchronisation, or waiting for it would lower the utilisation that is seen


def memory(entrant: Entrant, framework: Framework, build: Callable[[], None], stopwatch: Stopwatch) -> Ending:
    """Measure the peak of memory, from before the arm is built to the end of its checked steps, and return that end."""
    endings = []

    def alone() -> None:
        build()
        endings.append(Ending(entrant.built, framework, stopwatch))

    framework.free()
    framework.reset_peak_memory()
    rise = peak_rss_rise(alone)
    entrant.price = replace(entrant.price, peak_rss_bytes=rise, allocator_peak_bytes=framework.peak_memory_bytes())
    return endings[0]


def use(entrant: Entrant, framework: Framework, build: Callable[[], None], stopwatch: Stopwatch, *, cores: int) -> None:
    """See how busy CPU and GPU are while the arm runs, and what memory all of its processes hold."""
    step_s = entrant.timing.median_s if entrant.timing else BLOCK_S
    iterations = max(1, round(BLOCK_S / step_s))

    def run_for(seconds: float) -> None:
        stopwatch.run_for(entrant.built, seconds, iterations)

    reference.cache_clear()  # its buffer is no memory of the arm's
    build()
    entrant.observed |= utilisation(run_for, cores=cores)
    entrant.close()
    framework.free()


def energy_per_item(entrant: Entrant, stopwatch: Stopwatch) -> None:
    """Measure the energy of a built arm, where something counts that of the device on which it computed."""
    if entrant.placement is None or entrant.timing is None:
        return
    device = computed_on(entrant.label, entrant.placement)
    meter = energy.meter_of(device)
    if not meter.counts:
        return

    def run(iterations: int) -> None:
        stopwatch.block_s(entrant.built, iterations)

    taken_j = energy.per_iteration_j(run, meter, stopwatch.clock, entrant.timing.median_s)
    if taken_j is not None:
        per_item_j = taken_j / entrant.built.items
        entrant.price = replace(entrant.price, energy_j_per_item=per_item_j, energy_of=device)
