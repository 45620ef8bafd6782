"""Passes of a PyTorch program under profilers, in a process in which nothing is timed. Needs PyTorch."""

from __future__ import annotations

import logging
import multiprocessing
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from textwrap import shorten
from typing import Any

import joblib
import torch
from torch._C._profiler import _ExperimentalConfig
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from accelbench.core import Arm, Levels, Program, Setting, Workload, apply_levels
from accelbench.explain.profile import CallSite, Compilation, OperatorTime, Profile, StepShare
from accelbench.explain.profiler_passes import ProfilerPass, average_operators, repeat_pass, time_first, time_steps
from accelbench.explain.torch_program import COPIES, READINGS, CallCounter, build_without, is_copy, is_reading
from accelbench.frameworks.tree import tree_leaves
from accelbench.user_code import is_installed
from accelbench.workloads.torch import compile as compile_module
from accelbench.workloads.torch.training_loop import TrainOptions
from accelbench.workloads.torch.training_step import ProgramTask
from accelbench.workloads.torch.user_loader import UserLoader

PASSES = 5
STEPS = 2, 50  # to time one: at least, at most
LONGEST_S = 6.0  # of the passes under the profiler
LOADER = "enumerate(DataLoader)"
MAIN_THREAD = 1  # as the profiler numbers them
COMPILED = ("Torch-Compiled Region", "## Call CompiledFxGraph", "CompiledFunction")
PRECISIONS = {torch.float32: "fp32", torch.float64: "fp64", torch.bfloat16: "bf16", torch.float16: "fp16"}
_PLACE = re.compile(r'File "([^"]+)", line (\d+)')
_BREAK_LOGGER = "torch._dynamo.symbolic_convert.__graph_breaks"  # the logger of the artifact graph_breaks
_QUOTED = re.compile(r"'[^']*'")
MOST_CHARACTERS = 160  # of a reason


def profile_workload(workload: Workload, setting: Setting, levels: Levels, options: Mapping[str, Any]) -> Profile:
    """Run a workload of the suite under profilers, with techniques at these levels, and return what they show.

    ``options`` are the workload's own. What only a program has, such as a loader of its own, is not in the profile.
    Operators count in whatever thread they run: some workloads start threads for them.

    Raises:
        Unavailable: a technique cannot be switched here.
    """
    with _collect_graph_breaks() as breaks:
        arm = apply_levels("torch", levels, partial(workload.build, setting, **options))
        with closing(arm), arm.enter():
            return _profile_arm(arm, breaks, observes=bool(levels), all_threads=True)


def profile_program(build: Callable[[], Program], setting: Setting, levels: Levels) -> Profile:
    """Run a program under profilers, with techniques at these levels, and return what they show.

    Raises:
        BadInput: the function returned something other than a program, or a program that cannot run.
    """
    programs: list[Program] = []
    others = {*multiprocessing.active_children()}

    def remember() -> Program:
        programs.append(build())
        return programs[-1]

    with _collect_graph_breaks() as breaks:
        arm = apply_levels("torch", levels, lambda **given: build_without(remember, setting, TrainOptions(**given)))
        with arm.enter():
            found = _describe_program(_profile_arm(arm, breaks, observes=bool(levels)), programs[-1], setting)
            own = {*multiprocessing.active_children()} - others
            return found if found.loads else replace(found, pool=len(own))


def _profile_arm(arm: Arm, breaks: list[str], *, observes: bool, all_threads: bool = False) -> Profile:
    first_s = time_first(arm.step, _synchronize)
    step_s, faults = time_steps(arm.step, *STEPS, _synchronize)
    compilation = _read_compilation(breaks)  # before anything changes what is compiled
    counter = OperationCounter()
    blind = ""
    try:
        with counter:
            arm.step()
    except Exception as error:  # code that no dispatch mode may enter
        counter, blind = OperationCounter(), f"operations and bytes are unknown ({type(error).__name__})"
    passes = repeat_pass(lambda: _profile_step(arm, counter.names, all_threads), step_s, PASSES, LONGEST_S)
    on_device = any(each.kernels for each in passes)
    readings, copies, switched_on = _count_calls(arm.step)
    return Profile(
        framework="torch",
        device=arm.device or "cpu",
        seconds=step_s,
        items=float(arm.items),
        operators=tuple(_list_operators(passes, counter)),
        outside=StepShare.of([each.outside for each in passes]),
        loading=StepShare.of([each.loading_s / each.whole_s for each in passes]),
        update=StepShare.of([each.update_s / each.whole_s for each in passes]),
        float64=StepShare.of([counter.float64_s(each) / each.whole_s for each in passes]),
        threads=torch.get_num_threads(),
        cores=joblib.cpu_count(),
        anomaly=torch.is_anomaly_enabled() or switched_on,
        readings=_list_call_sites(readings),
        copies=_list_call_sites(copies),
        compilation=compilation,
        first_s=first_s,
        observed=dict(arm.observe()) if observes and arm.observe else {},
        page_faults=faults,
        kernels=median(each.kernels for each in passes) if on_device else None,
        device_s=median(each.device_s for each in passes) if on_device else None,
        recipes=arm.recipes,
        blind=blind,
    )


def _count_calls(step: Callable[[], Any]) -> tuple[CallCounter, CallCounter, bool]:
    """Return the calls that read and that copy tensors in a step, and whether it switches anomaly mode on.

    What is compiled runs eagerly meanwhile: torch.compile would compile it again for the methods that are replaced.
    """
    readings, copies = CallCounter(), CallCounter()
    with torch.compiler.set_stance("force_eager"):
        with readings.count(READINGS, is_reading), _watch_anomaly_mode() as switched_on:
            step()
        with copies.count(COPIES, is_copy):
            step()
    return readings, copies, bool(switched_on)


def _describe_program(found: Profile, program: Program, setting: Setting) -> Profile:
    """Return the profile of a program with what its loader and its optimizers show."""
    loader, task = UserLoader(program.loader, setting.seed), ProgramTask(program, setting.seed)
    batches = found.items / loader.batch_size if loader.batch_size else loader.batches_of(found.items)
    groups = [group for each in task.optimizers for group in getattr(each, "param_groups", ())]
    return replace(
        found,
        batches=max(1.0, batches),
        batch_size=loader.batch_size,
        most=loader.most,
        is_epoch=bool(
            loader.most and loader.batch_size and found.items >= loader.most // loader.batch_size * loader.batch_size
        ),
        loading=found.loading if loader.is_data_loader else None,  # the profiler sees no other loader
        workers=loader.processes.workers,
        persistent=loader.processes.persistent_workers,
        loads=loader.is_data_loader,
        draws=not loader.processes.workers and loader.find_draws()[0],
        optimizer=task.implementation(torch.device(task.device)) or "",
        tensors=sum(len(group["params"]) for group in groups),
    )


def _synchronize() -> None:
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()


def _list_call_sites(calls: CallCounter) -> tuple[CallSite, ...]:
    return tuple(
        CallSite(file=Path(file).name, line=line, call=f"{name}()", times=times)
        for (file, line, name), times in calls.counts.most_common()
    )


class OperationCounter(TorchDispatchMode):  # type: ignore[misc]  # PyTorch is not type-checked here
    """Counts the operations and bytes of every operator that autograd has not taken apart any further.

    ``precisions`` counts the calls of each operator by the precision of its first tensor. The profiler tells it only
    beside shapes, and then keeps every tensor of the step, which makes short operators several times slower.
    """

    def __init__(self) -> None:
        super().__init__()
        self.operations: Counter[str] = Counter()
        self.moved_bytes: Counter[str] = Counter()
        self.names: set[str] = set()
        self.precisions: dict[str, Counter[str]] = defaultdict(Counter)

    def float64_s(self, one_pass: TorchPass) -> float:
        """Return the seconds of a pass in operators on float64, by the share of their calls."""
        return sum(
            one_pass.seconds[name] * calls["fp64"] / calls.total()
            for name, calls in self.precisions.items()
            if calls["fp64"] and name in one_pass.seconds
        )

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator and count what it does."""
        kwargs = kwargs or {}
        output = function(*args, **kwargs)
        name = function._schema.name  # noqa: SLF001  as PyTorch's own modes do
        self.names.add(name)
        tensors = [part for part in tree_leaves([*args, *kwargs.values(), output]) if isinstance(part, torch.Tensor)]
        if function.is_view or "empty" in name or "detach" in name:
            return output
        known = [PRECISIONS[part.dtype] for part in tensors if part.dtype in PRECISIONS]
        self.precisions[name].update(known[:1])
        with suppress(Exception):  # sparse tensors and the like have no such storage
            self.moved_bytes[name] += sum(
                min(part.numel() * part.element_size(), part.untyped_storage().nbytes()) for part in tensors
            )
        formula = flop_registry.get(function._overloadpacket)  # noqa: SLF001
        if formula is not None:
            with suppress(Exception):
                self.operations[name] += int(formula(*args, **kwargs, out_val=output))
        elif torch.Tag.pointwise in function.tags:
            self.operations[name] += max((part.numel() for part in tensors), default=0)
        return output


@dataclass
class TorchPass(ProfilerPass):
    """One iteration under PyTorch's profiler: also the seconds of updating the weights, and kernels of accelerators.

    Kernels of several streams may overlap, so ``device_s`` may exceed ``whole_s``.
    """

    update_s: float = 0.0
    kernels: int = 0
    device_s: float = 0.0


def _profile_step(arm: Arm, names: set[str], all_threads: bool) -> TorchPass:
    threads = _ExperimentalConfig(profile_all_threads=all_threads)
    _synchronize()
    with profile(activities=_list_activities(), experimental_config=threads) as profiler:
        start_s = time.perf_counter()
        arm.step()
        _synchronize()
        whole_s = time.perf_counter() - start_s
    return _read_events(profiler.events(), whole_s, names)


def _list_activities() -> list[Any]:
    device = torch.accelerator.current_accelerator(check_available=True)
    on_device = getattr(ProfilerActivity, device.type.upper(), None) if device else None
    return [ProfilerActivity.CPU, *([on_device] if on_device else [])]


def _read_events(events: Any, whole_s: float, names: set[str]) -> TorchPass:
    found = TorchPass(whole_s=whole_s)
    for event in events:
        if event.device_type != DeviceType.CPU:
            if not event.is_user_annotation:  # which spans kernels on the device's timeline
                found.kernels += 1
                found.device_s += event.time_range.elapsed_us() / 1e6
            continue
        kind = _name_event(event, names)
        if event.name.startswith("Optimizer.step#"):
            found.update_s += event.cpu_time_total / 1e6
        if not kind or any(_name_event(parent, names) for parent in _walk_parents(event)):
            continue
        spent_s = (getattr(event, "device_time_total", 0) or event.cpu_time_total) / 1e6
        if kind == LOADER:
            found.loading_s += event.cpu_time_total / 1e6
            continue
        found.seconds[kind] += spent_s
        found.calls[kind] += 1
    return found


def _name_event(event: Any, names: set[str]) -> str:
    """Return the name under which an event's time is counted, "" if it only contains others."""
    name: str = event.name
    if name in names:
        return name
    if name.startswith(LOADER):
        return LOADER
    if name.startswith(COMPILED):
        return "compiled graph"
    return name if name.startswith("aten::") and (not names or _is_unseen(event, names)) else ""


def _is_unseen(event: Any, names: set[str]) -> bool:
    """Return whether the counter, which sees the main thread alone, has seen no part of another thread's operator."""
    return event.thread != MAIN_THREAD and not any(_contains_known(each, names) for each in event.cpu_children)


def _contains_known(event: Any, names: set[str]) -> bool:
    return event.name in names or any(_contains_known(each, names) for each in event.cpu_children)


def _walk_parents(event: Any) -> Iterator[Any]:
    while (event := event.cpu_parent) is not None:
        yield event


def _list_operators(passes: list[TorchPass], counter: OperationCounter) -> Iterator[OperatorTime]:
    for each in average_operators(passes):
        yield replace(
            each,
            name=each.name.removeprefix("aten::"),
            operations=counter.operations.get(each.name),
            moved_bytes=counter.moved_bytes.get(each.name),
            precision=next(iter(dict(counter.precisions[each.name].most_common(1))), ""),
        )


@contextmanager
def _watch_anomaly_mode() -> Iterator[list[bool]]:
    """Record whether the program switches autograd's anomaly mode on for a while.

    A step that compiles is not watched: torch.compile switches it on while it traces.
    """
    switched_on: list[bool] = []
    switch = torch.set_anomaly_enabled

    def record(mode: bool, check_nan: bool = True) -> None:
        if mode:
            switched_on.append(mode)
        switch(mode, check_nan)

    torch.set_anomaly_enabled = record
    try:
        yield switched_on
    finally:
        torch.set_anomaly_enabled = switch


class _MessageHandler(logging.Handler):
    def __init__(self, messages: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.append(record.getMessage())


@contextmanager
def _collect_graph_breaks() -> Iterator[list[str]]:
    """Collect what torch.compile logs about graph breaks: no counter has their lines."""
    found: list[str] = []
    torch._logging.set_logs(graph_breaks=True)  # noqa: SLF001  torch.compile's documented way
    logger, handler = logging.getLogger(_BREAK_LOGGER), _MessageHandler(found)
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.removeHandler(handler)
        torch._logging.set_logs()  # noqa: SLF001


def _read_compilation(breaks: list[str]) -> Compilation | None:
    from torch._dynamo.utils import get_compilation_metrics

    metrics = get_compilation_metrics()
    if not metrics:
        return None
    return Compilation(
        breaks=tuple(dict.fromkeys(filter(None, map(_describe_break, breaks)))),
        recompilations=tuple(_describe_recompilations(metrics)),
        seconds=sum(each.entire_frame_compile_time_s or 0.0 for each in metrics),
    )


def _describe_recompilations(metrics: Sequence[Any]) -> Iterator[str]:
    """Yield what was compiled again, and why.

    accelbench compiles a model's forward pass within a function of its own. That is named as the forward pass. It is
    left out where a function of the program was compiled again for the same reason.
    """
    again = [each for each in metrics if each.recompile_reason]
    own = {_QUOTED.sub("", _clean_guard(each.recompile_reason)) for each in again if not _is_wrapper(each.co_filename)}
    for each in again:
        why = _clean_guard(each.recompile_reason)
        name = f"{each.co_name} ({Path(each.co_filename).name}:{each.co_firstlineno})"
        if _is_wrapper(each.co_filename):
            if _QUOTED.sub("", why) in own:
                continue
            name = "the model's forward pass"
        yield shorten(f"{name}, since {why}", MOST_CHARACTERS, placeholder=" …")


def _is_wrapper(file: str) -> bool:
    """Return whether a file is one in which accelbench wraps what a program compiles or calls."""
    return file == compile_module.__file__ or Path(file).is_relative_to(Path(__file__).parent)


def _clean_guard(reason: str) -> str:
    """Return why a guard failed, without its number, the source line behind it, and the spaces between both."""
    guard = re.split(r"\s+# ", reason.partition(": ")[2] or reason, maxsplit=1)[0]
    return " ".join(guard.split()).rstrip(".")


def _describe_break(message: str) -> str:
    places = _PLACE.findall(message)
    own = [place for place in places if not is_installed(Path(place[0])) and not _is_wrapper(place[0])]
    why = next((line.partition("Explanation:")[2] for line in message.splitlines() if "Explanation:" in line), "")
    why = " ".join(why.split()).rstrip(".")
    file, line = (own or places or [("", "")])[-1]
    return f"{Path(file).name}:{line}{f': {why}' if why else ''}" if file and not _is_wrapper(file) else ""
