"""Passes of a Keras program under TensorFlow's profiler, in a process in which nothing is timed. Needs TensorFlow.

The profiler writes a trace of every thread. Operators are counted on the threads that execute the step; those on which
the input pipeline prepares batches work beside it, and show in the step as the time for which it waits for a batch.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from accelbench.core import Arm, KerasProgram, Levels, Setting, Workload, apply_levels
from accelbench.explain.profile import Profile, StepShare
from accelbench.explain.profiler_passes import ProfilerPass, average_operators, repeat_pass, time_first, time_steps
from accelbench.workloads.tensorflow.fit_data import inputs_of
from accelbench.workloads.tensorflow.model_fit import FittedProgram
from accelbench.workloads.tensorflow.user_program import FitOptions, train_program

PASSES = 5
STEPS = 2, 20  # to time one: at least, at most
LONGEST_S = 6.0  # of the passes under the profiler
WAITING = ("IteratorGetNextOp::DoCompute", "MakeIterator::RootDataset")  # events in which a step waits for a batch
OPERATOR = re.compile(r"[^:]+:(?P<type>\w+)")  # its name in the graph, and its type
PIPELINE = "tf_data"  # begins the names of threads that prepare batches
TRANSFORMATIONS = {"map": "MapDataset", "parallel map": "ParallelMapDataset", "cache": "CacheDataset"}
PICOSECONDS, NANOSECONDS = 1e12, 1e9  # in a second
BLIND = "TensorFlow shows no operations and bytes, and nothing within what XLA compiled; operators may overlap"


def profile_workload(workload: Workload, setting: Setting, levels: Levels, options: Mapping[str, Any]) -> Profile:
    """Run a workload of the suite under TensorFlow's profiler, with techniques at these levels.

    ``options`` are the workload's own. What only a program has, such as its batches, is not in the profile.

    Raises:
        Unavailable: a technique cannot be switched here.
    """
    arm = apply_levels("tensorflow", levels, partial(workload.build, setting, **options))
    with closing(arm), arm.enter():
        return _profile_arm(arm)


def profile_keras_program(build: Callable[[], KerasProgram], setting: Setting, levels: Levels) -> Profile:
    """Run a Keras program under TensorFlow's profiler, with techniques at these levels, and return what it shows.

    Raises:
        BadInput: the function returned something other than a program, or a program that cannot run.
    """
    probe = FittedProgram(build, seed=setting.seed)
    size, most = probe.facts.batch_size, probe.facts.most_items
    pipeline = tuple(_list_transformations(probe)) if probe.facts.data == "dataset" else None
    optimizer = type(probe.model.optimizer).__name__ if probe.program.learns else ""
    probe.close()
    arm = apply_levels("tensorflow", levels, lambda **options: train_program(build, setting, FitOptions(**options)))
    with arm.enter():
        found = _profile_arm(arm)
    return replace(
        found,
        batches=max(1.0, found.items / size) if size else 1.0,
        batch_size=size,
        most=most,
        pipeline=pipeline,
        repeats=not arm.ignore_output,
        optimizer=optimizer,
        is_epoch=bool(most and size and found.items > most - size),
    )


def _list_transformations(fitted: FittedProgram) -> Iterator[str]:
    """Yield what a program's data set does, by the names that a profile's pipeline has."""
    kinds = {type(each).__name__.lstrip("_") for each in inputs_of(fitted.program.data)}
    yield from (name for name, kind in TRANSFORMATIONS.items() if kind in kinds)
    if fitted.facts.prefetch is not None:  # at its end
        yield "prefetch"


def _profile_arm(arm: Arm) -> Profile:
    first_s = time_first(arm.step)
    step_s, faults = time_steps(arm.step, *STEPS)
    passes = repeat_pass(lambda: _profile_step(arm), step_s, PASSES, LONGEST_S)
    cores = joblib.cpu_count()
    return Profile(
        framework="tensorflow",
        device=(arm.device or "cpu").lower(),
        seconds=step_s,
        items=float(arm.items),
        operators=tuple(average_operators(passes)),
        outside=StepShare.of([each.outside for each in passes]),
        loading=StepShare.of([each.loading_s / each.whole_s for each in passes]),
        threads=tf.config.threading.get_intra_op_parallelism_threads() or cores,
        cores=cores,
        first_s=first_s,
        page_faults=faults,
        recipes=arm.recipes,
        blind=BLIND,
    )


@dataclass
class KerasPass(ProfilerPass):
    """An iteration under TensorFlow's profiler; ``covered_s`` is the time in which at least one operator runs."""

    covered_s: float = 0.0

    @property
    def outside(self) -> float:
        """The share of the time in which no operator runs, and the step does not wait for a batch."""
        return max(0.0, 1 - (self.loading_s + self.covered_s) / self.whole_s)


def _profile_step(arm: Arm) -> KerasPass:
    with TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        start_s = time.perf_counter()
        arm.step()
        whole_s = time.perf_counter() - start_s
        tf.profiler.experimental.stop()
        (path,) = Path(folder).rglob("*.xplane.pb")
        trace = xplane_pb2.XSpace.FromString(path.read_bytes())
    return _read_trace(trace, whole_s)


def _read_trace(trace: Any, whole_s: float) -> KerasPass:
    """Count the operators of a trace. One that calls others, such as a function, is none."""
    found, spans = KerasPass(whole_s=whole_s), list[tuple[float, float]]()
    for plane in trace.planes:
        for line in plane.lines:
            for event in line.events:
                name, seconds = plane.event_metadata[event.metadata_id].name, event.duration_ps / PICOSECONDS
                if name in WAITING:
                    found.loading_s += seconds
                elif (operator := OPERATOR.fullmatch(name)) and not line.name.startswith(PIPELINE):
                    found.seconds[operator["type"]] += seconds
                    found.calls[operator["type"]] += 1
                    start_s = line.timestamp_ns / NANOSECONDS + event.offset_ps / PICOSECONDS
                    spans.append((start_s, start_s + seconds))
    found.covered_s = _measure_union(spans)
    return found


def _measure_union(spans: list[tuple[float, float]]) -> float:
    """Return the seconds that lie in at least one of the spans."""
    covered_s, end_s = 0.0, -math.inf
    for start_s, stop_s in sorted(spans):
        covered_s += max(0.0, stop_s - max(start_s, end_s))
        end_s = max(end_s, stop_s)
    return covered_s
