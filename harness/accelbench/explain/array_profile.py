"""A pass of a NumPy program or workload over recording arrays, which time every operation, and one under cProfile."""

from __future__ import annotations

import cProfile
import operator
import pstats
import time
import timeit
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import threadpoolctl  # type: ignore[import-untyped]  # ships no types

from accelbench.core import Arm, ArrayProgram, Levels, Setting, Workload, apply_levels
from accelbench.errors import Unavailable
from accelbench.explain.profile import OperatorTime, Profile, StepShare
from accelbench.explain.profiler_passes import (
    ProfilerPass,
    average_operators,
    may_take,
    repeat_pass,
    time_first,
    time_steps,
)
from accelbench.explain.recording_array import (
    CREATION,
    PlainArrays,
    RecordingArray,
    RecordingNamespace,
    call_plain,
    is_view,
    strip,
    watch,
)
from accelbench.frameworks.tree import tree_leaves, tree_map
from accelbench.user_code import PACKAGE, is_installed
from accelbench.workloads.arrays.libraries import ArrayLibrary, change_libraries, find_library
from accelbench.workloads.arrays.user_program import build_array_program, copy_arrays

PASSES = 6
STEPS = 3, 200  # to time one: at least, at most
LONGEST_S = 10.0
OUTSIDE = 0.2  # share of the time outside of array operations, from which functions of the program are listed
FUNCTIONS = 5
LAUNCHES = 2000  # operations that are timed to see what starting one takes
PRECISIONS = {"float32": "fp32", "float64": "fp64"}
LONGER = 1.05  # times a step, from which operations are said to be slowed down
SLOWED = ", so that they take longer together than the program does, and shares are those of the recorded time"
PRODUCTS = ("matmul", "dot", "tensordot", "vdot", "inner")
RETURNS_GIVEN = (*CREATION, "astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays")  # unchanged


def profile_workload(workload: Workload, setting: Setting, levels: Levels, options: Mapping[str, Any]) -> Profile:
    """Run a workload of the suite with NumPy, with techniques at these levels, and return what the passes show.

    ``options`` are the workload's own.

    Raises:
        Unavailable: a technique cannot be switched here, or the workload has arrays that no library hands out.
    """
    arm = apply_levels("numpy", levels, partial(workload.build, setting, **options))
    recorder = ArrayPass()
    with change_libraries(partial(_record_library, recorder)):
        recorded = apply_levels("numpy", levels, partial(workload.build, setting, **options))

    def run(step_s: float) -> ArrayPass:
        recorder.forget(step_s)
        recorder.plain.note(recorded.step())
        return deepcopy(recorder)

    with closing(arm), arm.enter(), closing(recorded):
        found = _profile_arm(arm, run)
    if not any(each.calls for each in found.operators if not each.is_function):
        raise Unavailable(f"no array operation of {workload.name} can be recorded: it makes its arrays by itself")
    return found


def profile_array_program(build: Callable[[], ArrayProgram], setting: Setting, levels: Levels) -> Profile:
    """Run an array program with NumPy, with techniques at these levels, and return what the passes show.

    Raises:
        BadInput: the function returned something other than an array program, or one that cannot run.
    """
    arm = apply_levels("numpy", levels, partial(build_array_program, build, setting))
    program, xp = build(), find_library("numpy").xp
    arrays = list(tree_leaves(arm.inputs()))

    def run(step_s: float) -> ArrayPass:
        return record_pass(program.step, xp, arrays, step_s)

    with arm.enter():
        return _profile_arm(arm, run)


def record_pass(step: Callable[..., Any], xp: Any, arrays: Sequence[Any], step_s: float = 0.0) -> ArrayPass:
    """Run a step, which takes ``step_s`` seconds, over recording copies of arrays, and return what they recorded."""
    found = ArrayPass(whole_s=step_s)
    given = [RecordingArray.of(each, found) for each in copy_arrays(arrays)]
    found.plain.note(step(RecordingNamespace(xp, found), *given))
    return found


def _profile_arm(arm: Arm, run: Callable[[float], ArrayPass]) -> Profile:
    """Time an arm, record its passes by ``run``, which takes the seconds of a step, and profile its functions."""
    first_s = time_first(arm.step)
    step_s, faults = time_steps(arm.step, *STEPS)
    # A recorded pass takes longer than a step, by what recording takes.
    passes = repeat_pass(lambda: run(step_s), step_s, PASSES, LONGEST_S)
    is_slowed = _bound_shares(passes)
    functions = _profile_functions(arm) if np.mean([each.outside for each in passes]) > OUTSIDE else ()
    operations = [*_list_operations(passes)]
    outside = StepShare.of([each.outside for each in passes])
    pools = threadpoolctl.threadpool_info()
    return Profile(
        framework="numpy",
        device="cpu",
        seconds=step_s,
        items=float(arm.items),
        operators=(*operations, *functions),
        outside=outside,
        outside_is_python=not passes[-1].plain.were_made and may_take(outside.share * step_s, arm.step),
        launch_s=_time_launch(),
        float64=StepShare.sum_of(each.share for each in operations if each.precision == "fp64"),
        threads=max((pool["num_threads"] for pool in pools), default=1),
        cores=joblib.cpu_count(),
        first_s=first_s,
        page_faults=faults,
        blind="numbers that are taken out of arrays, and what is done with them, count as Python; recording adds some "
        f"microseconds to every operation{SLOWED if is_slowed else ''}",
    )


def _bound_shares(passes: Sequence[ArrayPass]) -> bool:
    """Let shares add up to all of the time at most; return whether operations take longer than a step in most passes.

    Recording slows small operations down. A pass that another process disturbed says nothing about that.
    """
    of_step = []
    for each in passes:
        recorded_s = sum(each.seconds.values())
        of_step.append(recorded_s / each.whole_s)
        each.whole_s = max(each.whole_s, recorded_s)
    return median(of_step) > LONGER


def _time_launch() -> float:
    """Return the seconds that an operation takes on arrays of one element, of which nearly all is starting it."""
    one = np.ones(1)
    return min(timeit.repeat(lambda: one + one, number=LAUNCHES, repeat=5)) / LAUNCHES


@dataclass
class ArrayPass(ProfilerPass):
    """A step in which arrays record operations: also bytes, operations and precision, by the operation's name.

    ``plain`` are the arrays whose making it did not see.
    """

    moved_bytes: Counter[str] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    precisions: dict[str, str] = field(default_factory=dict)
    depth: int = 0
    plain: PlainArrays = field(default_factory=PlainArrays)

    def forget(self, whole_s: float) -> None:
        """Begin another pass of a step that takes ``whole_s`` seconds."""
        self.whole_s = whole_s
        self.plain = PlainArrays()
        for counted in (self.seconds, self.calls, self.moved_bytes, self.operations, self.precisions):
            counted.clear()

    def call(
        self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]
    ) -> Any:
        """Record a call as one operation."""
        self._note(arguments, named)
        plain, by_name = strip(arguments), strip(named)
        result = self._time(name, partial(function, *plain, **by_name), [*tree_leaves(plain)], [*tree_leaves(by_name)])
        return tree_map(result, lambda part: RecordingArray.of(part, self))

    def view(self, function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Record nothing: Python makes the view, and no byte moves."""
        return RecordingArray.of(call_plain(function, arguments, named), self)

    def assign(self, array: Any, place: Any, value: Any) -> None:
        """Record an assignment, whose bytes are those of the value, read and written.

        NumPy copies no part to itself, with which ``a[1:] += b`` ends, so that moves none.
        """
        self._note(place, value)
        target, place, value = strip((array, place, value))
        moved = [] if is_view(place) and _is_same(target[place], value) else [value, value]
        self._time("assignment", partial(operator.setitem, target, place, value), moved)

    def _note(self, *values: Any) -> None:
        if not self.depth:  # a part of another operation has plain arrays always
            self.plain.note(*values)

    def _time(self, name: str, operation: Callable[[], Any], arrays: list[Any], by_name: Sequence[Any] = ()) -> Any:
        """Do an operation on arrays, and record it unless it is part of another one.

        What it is given ``by_name`` does not count as read.
        """
        self.depth += 1
        start_s = time.perf_counter()
        try:
            result = operation()
        finally:
            spent_s = time.perf_counter() - start_s
            self.depth -= 1
        if not self.depth:
            results = [*tree_leaves(result)]
            is_view = _are_views(results, [*arrays, *by_name], may_be_given=name in RETURNS_GIVEN)
            self._add(name, spent_s, arrays, results, is_view=is_view)
        return result

    def _add(self, name: str, spent_s: float, arrays: list[Any], results: list[Any], *, is_view: bool) -> None:
        self.seconds[name] += spent_s
        self.calls[name] += 1
        found = [each for each in (*arrays, *results) if isinstance(each, np.ndarray)]
        kinds = [PRECISIONS[each.dtype.name] for each in found if each.dtype.name in PRECISIONS]
        if not self.precisions.get(name):
            self.precisions[name] = next(iter(kinds), "")
        if is_view:
            return
        self.moved_bytes[name] += sum(each.nbytes for each in found)
        widest = max((each.size for each in found), default=0)
        if name in PRODUCTS and arrays and isinstance(arrays[0], np.ndarray) and arrays[0].ndim:
            widest = 2 * sum(each.size for each in results if isinstance(each, np.ndarray)) * arrays[0].shape[-1]
        self.operations[name] += widest


def _is_same(part: Any, other: Any) -> bool:
    """Return whether two arrays are the same elements of the same memory, in the same order."""
    if not (isinstance(part, np.ndarray) and isinstance(other, np.ndarray)):
        return False
    keys = ("data", "shape", "strides", "typestr")
    one, two = (each.__array_interface__ for each in (part, other))
    return all(one[key] == two[key] for key in keys)


def _are_views(results: Sequence[Any], given: Sequence[Any], *, may_be_given: bool) -> bool:
    """Return whether an operation made nothing but views of the arrays that it was given, which moves no byte.

    One of these arrays itself, as a result, was written to, unless it ``may_be_given`` back unchanged.
    """
    sources = [each for each in given if isinstance(each, np.ndarray)]
    made = [each for each in results if isinstance(each, np.ndarray)]
    if not may_be_given and any(each is source for each in made for source in sources):
        return False
    return bool(made) and all(any(np.may_share_memory(each, source) for source in sources) for each in made)


def _record_library(recorder: ArrayPass, library: ArrayLibrary) -> ArrayLibrary:
    """Return an array library whose arrays, random numbers, image functions and fused kernels are recorded."""

    def send(array: np.ndarray) -> Any:
        return RecordingArray.of(library.send(array), recorder)

    def uniform(seed: int) -> Callable[[tuple[int, ...]], Any]:
        return watch("random", library.uniform(seed), recorder)

    def find_images() -> Any:
        images = library.find_images()
        names = [name for name in dir(images) if not name.startswith("_")]
        return SimpleNamespace(**{name: watch(name, getattr(images, name), recorder) for name in names})

    def fuse(name: str, formula: Callable[..., Any], element: str) -> Callable[..., Any]:
        assert library.fuse is not None
        return watch(f"{name}, fused", library.fuse(name, formula, element), recorder)

    return replace(
        library, send=send, uniform=uniform, find_images=find_images, fuse=None if library.fuse is None else fuse
    )


def _profile_functions(arm: Arm) -> tuple[OperatorTime, ...]:
    """Return the program's own functions that take most time in themselves."""
    profiler = cProfile.Profile()
    start_s = time.perf_counter()
    profiler.runcall(arm.step)
    whole_s = time.perf_counter() - start_s
    stats: Any = pstats.Stats(profiler).stats  # type: ignore[attr-defined]  # undocumented types
    own = [
        (file, line, name, calls, own_s)
        for (file, line, name), (_, calls, own_s, _, _) in stats.items()
        if Path(file).is_file() and not is_installed(Path(file)) and not Path(file).is_relative_to(PACKAGE)
    ]
    return tuple(
        OperatorTime(
            name=f"{name} ({Path(file).name}:{line})",
            calls=calls,
            seconds=own_s,
            share=StepShare(share=own_s / whole_s, low=0.0, high=1.0),
        )
        for file, line, name, calls, own_s in sorted(own, key=lambda each: each[4], reverse=True)[:FUNCTIONS]
        if own_s > 0.01 * whole_s
    )


def _list_operations(passes: list[ArrayPass]) -> Iterator[OperatorTime]:
    last = passes[-1]
    for each in average_operators(passes):
        yield replace(
            each,
            operations=last.operations[each.name],
            moved_bytes=last.moved_bytes[each.name],
            precision=last.precisions.get(each.name, ""),
        )
