"""The ceilings of this machine: the highest rates that any probe reached, measured once and then read from a cache.

A small problem runs from a processor cache, and so does part of a problem that does not fit. So the ceiling of a
working set is the best rate at any size above half of its own: a ceiling may be too high, but not too low.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

import msgspec

from accelbench.core import Arm, OnProgress
from accelbench.files import cache_folder, write_atomically
from accelbench.frameworks.protocol import FRAMEWORKS
from accelbench.measuring.referee import Stopwatch
from accelbench.roofline.probes import PeakProbe, memory_ceiling
from accelbench.schema import environment
from accelbench.schema.machine_id import machine_key
from accelbench.schema.result import Ceiling

HOST = "numpy"  # whose probes are those of the host and its disk
REACH = 2  # a rate at one size bounds working sets up to this multiple of the size

# The second round is for what a neighbour's burst lowered in the first one. Two more would raise some ceilings by a
# tenth and take as long again; an arm that surpasses a ceiling has all of them measured once more.
ROUNDS = 2
MIN_BLOCK_S = 100e-6
MIN_BLOCKS = 2
TIME_PER_ARM_S = 0.01
LONG_STEP_S = 0.003  # a step that takes longer keeps the machine busy; a larger size takes longer and is no faster

CACHE_VERSION = 1
MAX_CACHE_BYTES = 2**20  # a file has some kilobytes

Measure = Callable[[str, OnProgress, str], list[Ceiling]]
Describe = Callable[[str], dict[str, str]]


class Ceilings:
    """The ceilings that all frameworks together have reached on this machine.

    ``measure`` measures the probes of a framework in a fresh worker, or the probe of one ceiling, if that is named, in
    the worker that there is; ``describe`` returns that framework's configuration.
    """

    def __init__(self, measure: Measure, describe: Describe) -> None:
        self._measure = measure
        self._describe = describe
        self._known: dict[str, list[Ceiling]] = {}  # read or measured by this session, by framework
        self._remeasured: set[str] = set()

    def get(self, framework: str, on_progress: OnProgress) -> list[Ceiling]:
        """Return the ceilings for a framework's arms; measure those that are not in the cache."""
        for name in dict.fromkeys((HOST, framework)):
            if name not in self._known and not self._read_cached(name):
                self._update(name, on_progress)
        return self.on_file()

    def remeasure(self, framework: str, on_progress: OnProgress) -> list[Ceiling]:
        """Measure the ceilings again, once per session, and those of every framework that has none yet.

        A neighbour may have slowed the first measurement, and an arm may compute with another framework than its
        worker's.
        """
        self.get(framework, on_progress)
        for name in FRAMEWORKS:
            is_stale = name in (HOST, framework) and name not in self._remeasured
            if is_stale or (name not in self._known and read_cache(self._machine, name) is None):
                self._update(name, on_progress)
        return self.on_file()

    def measure_memory(self, framework: str, device: str, on_progress: OnProgress) -> list[Ceiling]:
        """Return the ceilings on file, but for a device's memory its present bandwidth in place of the highest one.

        Neighbours may use half of it for hours. They leave the rate of products as it is.
        """
        name = memory_ceiling(device)
        present = envelope(self._measure(framework, on_progress, name))
        known = self.on_file()
        return [*(each for each in known if each.name != name), *present] if present else known

    def on_file(self) -> list[Ceiling]:
        """Return the highest ceilings that any framework has reached on this machine, in any session."""
        others = (read_cache(self._machine, name) for name in FRAMEWORKS if name not in self._known)
        return highest(*self._known.values(), *(each.ceilings for each in others if each is not None))

    def _read_cached(self, framework: str) -> bool:
        """Read the cache, and return whether it holds ceilings for the present configuration."""
        cached = read_cache(self._machine, framework)
        if cached is None or cached.configuration != self._configuration(framework):
            return False
        self._known[framework] = cached.ceilings
        return True

    def _update(self, framework: str, on_progress: OnProgress) -> None:
        measured = envelope(self._measure(framework, on_progress, ""))
        self._known[framework] = highest(self._known.get(framework, []), measured)
        self._remeasured.add(framework)
        if measured:
            write_cache(self._machine, framework, self._configuration(framework), self._known[framework])

    def _configuration(self, framework: str) -> dict[str, str]:
        return environment.configuration() | self._describe(framework)

    @cached_property
    def _machine(self) -> str:
        return machine_key(environment.identify())


def envelope(rates: Iterable[Ceiling]) -> list[Ceiling]:
    """Return the ceilings that follow from rates at some sizes: they never rise with the working set."""
    ceilings = []
    for _, group in groupby(sorted(rates, key=_sort_key), key=lambda rate: rate.name):
        ascending = list(group)
        start_bytes = 0.0
        for index, rate in enumerate(ascending):
            best_per_s = max(larger.per_s for larger in ascending[index:])
            ceilings.append(_at(rate, start_bytes, best_per_s))
            start_bytes = REACH * rate.working_set_bytes
    return _drop_repetitions(ceilings)


def highest(*envelopes: Iterable[Ceiling]) -> list[Ceiling]:
    """Return the highest ceiling of several envelopes of one machine, for every name and working set."""
    steps = sorted((ceiling for ceilings in envelopes for ceiling in ceilings), key=_sort_key)
    ceilings = []
    for step in steps:
        candidates = (find_ceiling(each, step.name, step.working_set_bytes) for each in envelopes)
        best_per_s = max(ceiling.per_s for ceiling in candidates if ceiling is not None)
        ceilings.append(_at(step, step.working_set_bytes, best_per_s))
    return _drop_repetitions(ceilings)


def find_ceiling(ceilings: Iterable[Ceiling], name: str, working_set_bytes: float = 0) -> Ceiling | None:
    """Return the ceiling of that name for a working set; None if there is none."""
    below = (each for each in ceilings if each.name == name and each.working_set_bytes <= working_set_bytes)
    return max(below, key=lambda each: each.working_set_bytes, default=None)


def _at(ceiling: Ceiling, working_set_bytes: float, per_s: float) -> Ceiling:
    return Ceiling(name=ceiling.name, per_s=per_s, unit=ceiling.unit, working_set_bytes=working_set_bytes)


def _drop_repetitions(ceilings: Iterable[Ceiling]) -> list[Ceiling]:
    """Return only the steps at which the rate changes."""
    changes: list[Ceiling] = []
    for ceiling in ceilings:
        if not changes or (changes[-1].name, changes[-1].per_s) != (ceiling.name, ceiling.per_s):
            changes.append(ceiling)
    return changes


def _sort_key(ceiling: Ceiling) -> tuple[str, float]:
    return ceiling.name, ceiling.working_set_bytes


def measure_peaks(
    probes: Sequence[PeakProbe],
    stopwatch: Stopwatch,
    *,
    on_progress: OnProgress = lambda _: None,
    empty_cache: Callable[[], None] = lambda: None,
) -> list[Ceiling]:
    """Return the best rate of every probe, at each working set for probes that go by working set."""
    best: dict[tuple[str, float], Ceiling] = {}
    for _ in range(ROUNDS):
        for probe in probes:
            on_progress(f"measuring this machine's peak rates, once: {probe.ceiling}")
            for rate in _measure_sizes(probe, stopwatch):
                key = _sort_key(rate)
                best[key] = max(rate, best.get(key, rate), key=lambda each: each.per_s)
            empty_cache()
    return list(best.values())


def _measure_sizes(probe: PeakProbe, stopwatch: Stopwatch) -> Iterator[Ceiling]:
    """Yield the rate at each size, from the smallest up to the first whose step takes long."""
    for size in probe.sizes:
        per_s, step_s = 0.0, math.inf
        # A kernel that the device does not support, or that does not fit into its memory, sets no ceiling; nor do the
        # kernels that follow it.
        with suppress(Exception):
            for arm in probe.kernels(size):
                arm_s = _shortest_step_s(arm, stopwatch)
                step_s, per_s = min(step_s, arm_s), max(per_s, arm.items / arm_s)
        if not per_s:
            return
        working_set_bytes = size if probe.by_working_set else 0
        yield Ceiling(name=probe.ceiling, per_s=per_s, unit=probe.unit, working_set_bytes=working_set_bytes)
        if step_s > LONG_STEP_S:
            return


def _shortest_step_s(arm: Arm, stopwatch: Stopwatch) -> float:
    """Return the time of a step in the shortest of several blocks."""
    try:
        stopwatch.block_s(arm, 1)  # the cold call, never a sample
        (long_enough,) = stopwatch.long_enough_blocks([arm], MIN_BLOCK_S)
        iterations = long_enough.iterations
        end_s = stopwatch.clock() + TIME_PER_ARM_S
        blocks_s = [stopwatch.block_s(arm, iterations) for _ in range(MIN_BLOCKS)]
        while stopwatch.clock() < end_s:
            blocks_s.append(stopwatch.block_s(arm, iterations))
        return min(blocks_s) / iterations
    finally:
        arm.close()


@dataclass(frozen=True, kw_only=True)
class CachedCeilings:
    """A cache file: ceilings and their configuration. Under another configuration they are measured again."""

    schema_version: int
    configuration: dict[str, str]
    ceilings: list[Ceiling]


def read_cache(machine: str, framework: str) -> CachedCeilings | None:
    """Read a framework's cached ceilings; return None if there are none, or none that can be trusted."""
    try:
        path = _cache_file(machine, framework)
        cached = msgspec.json.decode(path.read_bytes()[:MAX_CACHE_BYTES], type=CachedCeilings)
    except (OSError, ValueError, RecursionError):  # ValueError: not JSON, not UTF-8 or of another schema
        return None
    is_sound = all(math.isfinite(each.per_s) and each.per_s > 0 for each in cached.ceilings)
    return cached if cached.schema_version == CACHE_VERSION and cached.ceilings and is_sound else None


def write_cache(machine: str, framework: str, configuration: dict[str, str], ceilings: list[Ceiling]) -> None:
    """Write a framework's ceilings to the cache; if that fails, a later session measures them again."""
    cached = CachedCeilings(schema_version=CACHE_VERSION, configuration=configuration, ceilings=ceilings)
    path = _cache_file(machine, framework)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, msgspec.json.encode(cached))


def _cache_file(machine: str, framework: str) -> Path:
    return cache_folder() / "ceilings" / machine / f"{framework}.json"
