"""A pass of a NumPy program over arrays that watch what is done with them, and one under Python's own profiler.

cProfile sees calls of functions and no operators: ``a * b`` is none. So the arrays themselves note every operation.
"""

from __future__ import annotations

import cProfile
import pstats
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import threadpoolctl  # type: ignore[import-untyped]  # ships no types

from accelbench.core import Arm, ArrayProgram, Levels, Setting, apply_all, find_technique
from accelbench.core.technique import PACKAGE
from accelbench.explain.profile import Operator, Profile, Share
from accelbench.frameworks.tree import tree_leaves, tree_map
from accelbench.workloads.arrays.libraries import find_library
from accelbench.workloads.arrays.user_program import build_array_program

WARM, PASSES = 2, 6
LONGEST_S = 10.0
OUTSIDE = 0.2  # share of the time outside of array operations, from which functions of the program are listed
FUNCTIONS = 5
PRECISIONS = {"float32": "fp32", "float64": "fp64"}
PRODUCTS = ("matmul", "dot", "tensordot", "vdot", "inner")


def profile_array_program(build: Callable[[], ArrayProgram], setting: Setting, levels: Levels) -> Profile:
    """Run an array program with NumPy, with techniques at these levels, and return what the passes show.

    Raises:
        BadInput: the function returned something other than an array program, or one that cannot run.
    """
    arm = apply_all(
        [(find_technique("numpy", name), level) for name, level in levels.items()],
        lambda **options: build_array_program(build, setting, **options),
    )
    with arm.enter():
        start_s = time.perf_counter()
        arm.step()
        first_s = time.perf_counter() - start_s
        seconds, faults = _time(arm)
        passes = _watched_passes(build(), arm, seconds)  # which take longer than a step, by what watching takes
        functions = _functions(arm) if np.mean([each.outside for each in passes]) > OUTSIDE else ()
    pools = threadpoolctl.threadpool_info()
    return Profile(
        framework="numpy",
        device="cpu",
        seconds=seconds,
        items=float(arm.items),
        operators=_operators(passes, functions),
        outside=Share.of([each.outside for each in passes]),
        threads=max((pool["num_threads"] for pool in pools), default=1),
        cores=joblib.cpu_count(),
        first_s=first_s,
        page_faults=faults,
        blind="numbers that are taken out of arrays, and what is done with them, count as Python",
    )


def _time(arm: Arm) -> tuple[float, float]:
    """Return the seconds of a step and its page faults."""
    for _ in range(WARM):
        arm.step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    start_s, count = time.perf_counter(), 0
    while count < 3 or (time.perf_counter() - start_s < 0.5 and count < 200):
        arm.step()
        count += 1
    spent_s = time.perf_counter() - start_s
    return spent_s / count, (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / count


@dataclass
class Notes:
    """What watched arrays noted in one step: seconds, calls, bytes and operations by the name of the operation."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    calls: Counter[str] = field(default_factory=Counter)
    moved_bytes: Counter[str] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    precisions: dict[str, str] = field(default_factory=dict)
    whole_s: float = 0.0
    depth: int = 0

    @property
    def outside(self) -> float:
        """The share of the time that no array operation takes."""
        return max(0.0, 1 - sum(self.seconds.values()) / self.whole_s)

    @contextmanager
    def noting(self, name: str, arrays: list[Any]) -> Iterator[list[Any]]:
        """Note an operation on arrays, to which the caller adds what comes out; not within another one."""
        self.depth += 1
        start_s = time.perf_counter()
        results: list[Any] = []
        try:
            yield results
        finally:
            self.depth -= 1
            if not self.depth:
                self._note(name, time.perf_counter() - start_s, arrays, results)

    def _note(self, name: str, spent_s: float, arrays: list[Any], results: list[Any]) -> None:
        self.seconds[name] += spent_s
        self.calls[name] += 1
        found = [each for each in (*arrays, *results) if isinstance(each, np.ndarray)]
        self.moved_bytes[name] += sum(each.nbytes for each in found)
        widest = max((each.size for each in found), default=0)
        if name in PRODUCTS and arrays and isinstance(arrays[0], np.ndarray) and arrays[0].ndim:
            widest = 2 * sum(each.size for each in results if isinstance(each, np.ndarray)) * arrays[0].shape[-1]
        self.operations[name] += widest
        kinds = [PRECISIONS[each.dtype.name] for each in found if each.dtype.name in PRECISIONS]
        self.precisions.setdefault(name, next(iter(kinds), ""))


class Watched(np.ndarray):
    """An array that notes what is done with it."""

    notes: Notes

    def __array_finalize__(self, source: Any) -> None:
        self.notes = getattr(source, "notes", None) or Notes()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **named: Any) -> Any:
        """Run a universal function and note it."""
        plain = [_plain(each) for each in inputs]
        if out:
            named["out"] = tuple(_plain(each) for each in out)
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        with self.notes.noting(name, plain) as results:
            result = getattr(ufunc, method)(*plain, **named)
            results += tree_leaves(result)
        if out:
            return out[0] if len(out) == 1 else out
        return tree_map(result, self._watch)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Run a function of NumPy's and note it."""
        plain, named = tree_map(args, _plain), tree_map(kwargs, _plain)
        with self.notes.noting(function.__name__, [*tree_leaves(plain)]) as results:
            result = function(*plain, **named)
            results += tree_leaves(result)
        return tree_map(result, self._watch)

    def __setitem__(self, place: Any, value: Any) -> None:
        value, place = _plain(value), tree_map(place, _plain)
        target = self.view(np.ndarray)
        with self.notes.noting("assignment", [value]) as results:
            target[place] = value
            results.append(value)

    def _watch(self, part: Any) -> Any:
        if not isinstance(part, np.ndarray) or isinstance(part, Watched):
            return part
        watched = part.view(Watched)
        watched.notes = self.notes
        return watched


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Watched) else value


def _watched_passes(program: ArrayProgram, arm: Arm, seconds: float) -> list[Notes]:
    xp = find_library("numpy").xp
    arrays = list(tree_leaves(arm.inputs()))
    passes: list[Notes] = []
    end_s = time.monotonic() + LONGEST_S
    while len(passes) < PASSES and (not passes or time.monotonic() + 2 * seconds < end_s):
        notes = Notes()
        watched = []
        for array in arrays:
            each = array.copy().view(Watched) if isinstance(array, np.ndarray) else array
            if isinstance(each, Watched):
                each.notes = notes
            watched.append(each)
        notes.whole_s = seconds
        program.step(xp, *watched)
        passes.append(notes)
    return passes[1:] if len(passes) > 2 else passes


def _functions(arm: Arm) -> tuple[Operator, ...]:
    """Return the program's own functions that take most time in themselves."""
    profiler = cProfile.Profile()
    start_s = time.perf_counter()
    profiler.runcall(arm.step)
    whole_s = time.perf_counter() - start_s
    stats: Any = pstats.Stats(profiler).stats  # type: ignore[attr-defined]  # undocumented types
    own = [
        (file, line, name, calls, own_s)
        for (file, line, name), (_, calls, own_s, _, _) in stats.items()
        if not file.startswith(("~", "<", str(PACKAGE))) and "site-packages" not in file
    ]
    return tuple(
        Operator(
            name=f"{name} ({Path(file).name}:{line})",
            calls=calls,
            seconds=own_s,
            share=Share(share=own_s / whole_s, low=0.0, high=1.0),
        )
        for file, line, name, calls, own_s in sorted(own, key=lambda each: each[4], reverse=True)[:FUNCTIONS]
        if own_s > 0.01 * whole_s
    )


def _operators(passes: list[Notes], functions: tuple[Operator, ...]) -> tuple[Operator, ...]:
    names = {name for each in passes for name in each.seconds}
    found = [
        Operator(
            name=name,
            calls=sum(each.calls[name] for each in passes) / len(passes),
            seconds=sum(each.seconds.get(name, 0.0) for each in passes) / len(passes),
            share=Share.of([each.seconds.get(name, 0.0) / each.whole_s for each in passes]),
            operations=passes[-1].operations[name],
            moved_bytes=passes[-1].moved_bytes[name],
            precision=passes[-1].precisions.get(name, ""),
        )
        for name in names
    ]
    return (*sorted(found, key=lambda each: each.seconds, reverse=True), *functions)
