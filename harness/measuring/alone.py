"""Passes that an arm makes alone in its process: what memory it takes, and how busy it keeps the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harness.frameworks import Framework
from harness.measuring import check
from harness.measuring.entrant import Entrant
from harness.measuring.memory import peak_rss_rise
from harness.measuring.stopwatch import Stopwatch
from harness.measuring.utilisation import utilisation

BLOCK_S = 0.1  # long beside a synchronisation, or waiting for it would lower the utilisation that is seen


def memory(entrant: Entrant, framework: Framework, build: Callable[[], None]) -> None:
    """Measure the peak of memory, from before the arm is built to the end of its checked steps."""

    def alone() -> None:
        build()
        check.output_of(entrant.built, framework)
        entrant.close()

    framework.free()
    framework.reset_peak_memory()
    try:
        rise = peak_rss_rise(alone)
        peak = framework.peak_memory_bytes()
    finally:
        framework.free()
    entrant.price = replace(entrant.price, peak_rss_bytes=rise, allocator_peak_bytes=peak)


def use(entrant: Entrant, framework: Framework, build: Callable[[], None], stopwatch: Stopwatch, *, cores: int) -> None:
    """See how busy CPU and GPU are while the arm runs, and what memory all of its processes hold."""
    step_s = entrant.timing.median_s if entrant.timing else BLOCK_S
    iterations = max(1, round(BLOCK_S / step_s))

    def run_for(seconds: float) -> None:
        stopwatch.run_for(entrant.built, seconds, iterations)

    build()
    entrant.observed |= utilisation(run_for, cores=cores)
    entrant.close()
    framework.free()
