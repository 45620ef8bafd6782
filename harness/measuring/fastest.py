"""Measure a machine's ceilings in a worker: the fastest that any probe was seen to be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from harness.ceilings import Probe
from harness.experiment import Arm
from harness.measuring.stopwatch import Stopwatch
from harness.record import Ceiling

# Rounds are apart in time, so that a neighbour's burst does not lower every reading; the last one changes little.
MOST_ROUNDS = 4
LITTLE = 1.05
LEAST_BLOCK_S = 100e-6
LEAST_BLOCKS = 2
LOOK_S = 0.01
LONG_S = 0.01  # a step that takes longer fills the machine; a larger one would take long and be no faster


def measure(
    probes: Sequence[Probe],
    stopwatch: Stopwatch,
    *,
    heard: Callable[[str], None] = lambda _: None,
    free: Callable[[], None] = lambda: None,
) -> list[Ceiling]:
    """Return the best rate of every probe, at each working set where these are told apart."""
    best: dict[tuple[str, float], Ceiling] = {}
    for _ in range(MOST_ROUNDS):
        raised = False
        for probe in probes:
            heard(f"how fast this machine can be, measured once: {probe.ceiling}")
            for seen in _climb(probe, stopwatch):
                key = seen.name, seen.working_set_bytes
                raised |= key not in best or seen.per_s > LITTLE * best[key].per_s
                best[key] = max(seen, best.get(key, seen), key=lambda ceiling: ceiling.per_s)
            free()
        if not raised:
            break
    return list(best.values())


def _climb(probe: Probe, stopwatch: Stopwatch) -> Iterator[Ceiling]:
    """Yield the rate at each size, from the smallest up to the first whose step takes long."""
    for size in probe.sizes:
        per_s, step_s = 0.0, math.inf
        # What a device cannot do and what does not fit into its memory sets no ceiling; nor does what follows it.
        with suppress(Exception):
            for arm in probe.kernels(size):
                seen_s = _fastest_s(arm, stopwatch)
                step_s, per_s = min(step_s, seen_s), max(per_s, arm.items / seen_s)
        if not per_s:
            return
        working_set_bytes = size if probe.by_working_set else 0
        yield Ceiling(name=probe.ceiling, per_s=per_s, unit=probe.unit, working_set_bytes=working_set_bytes)
        if step_s > LONG_S:
            return


def _fastest_s(arm: Arm, stopwatch: Stopwatch) -> float:
    """Return the shortest time of a step, over blocks of some."""
    try:
        stopwatch.block_s(arm, 1)  # the cold call, never a sample
        (iterations,) = stopwatch.iterations_per_block([arm], LEAST_BLOCK_S)
        end_s = stopwatch.clock() + LOOK_S
        blocks_s = [stopwatch.block_s(arm, iterations) for _ in range(LEAST_BLOCKS)]
        while stopwatch.clock() < end_s:
            blocks_s.append(stopwatch.block_s(arm, iterations))
        return min(blocks_s) / iterations
    finally:
        arm.close()
