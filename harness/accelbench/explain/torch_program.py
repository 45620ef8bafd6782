"""A user's PyTorch program without one of its burdens. Needs PyTorch.

A burden is taken off by changing the program before it is built, or by replacing a function of PyTorch for as long as a
block of it runs. What must happen, such as a copy, is done twice instead: the time that is added is what it takes.
"""

from __future__ import annotations

import copy
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from pathlib import Path
from typing import Any

import torch

from accelbench.core import Arm, Program, Setting
from accelbench.errors import BadInput
from accelbench.text import name_type
from accelbench.user_code import PACKAGE
from accelbench.workloads.torch.batch import map_parts
from accelbench.workloads.torch.training_loop import TrainOptions
from accelbench.workloads.torch.user_program import train_program

READINGS = ("item", "tolist", "__float__", "__int__", "__bool__", "numpy", "cpu")
COPIES = ("clone", "to", "double", "float", "half", "bfloat16", "type", "contiguous")
MOST_REPLAYED = 10_000  # readings of one line in a block: a loop may wait for the value to change
TORCH_FOLDER = str(Path(torch.__file__).parent)
OWN_FOLDER = str(PACKAGE)

CallKey = tuple[str, int, str]  # file, line and function that is called there


def build_without(
    build: Callable[[], Program], setting: Setting, options: TrainOptions, *, taken_off: str = "none"
) -> Arm:
    """Return the arm of a program without the burdens that ``taken_off`` joins by ``+``, such as ``input+copies``.

    Raises:
        BadInput: the function returned something other than a program, or a program that cannot run.
        Unavailable: a burden is not there, or cannot be taken off; the message says why.
    """
    burdens = frozenset(taken_off.split("+")) - {"none"}
    given = {name: getattr(options, name) for name in options.given}
    if burdens & {"input", "transfer"}:
        given["ablation"] = "resident" if "transfer" in burdens else "decoded"
    arm = train_program(AblationBuilder(build, burdens), setting, TrainOptions(**given))
    for burden in sorted(burdens & CONTEXTS.keys()):
        arm = arm.inside(CONTEXTS[burden])
    return replace(arm, ignore_output=arm.ignore_output or bool(burdens & CHANGES_OUTPUT))


CHANGES_OUTPUT = frozenset({"update", "backward", "float64", "readings"})


@dataclass(frozen=True)
class AblationBuilder:
    """A function that builds a program, and changes it so that some burdens can be taken off while it runs.

    Builders of one program are equal, whatever they take off: the arms of a trial share what they store.
    """

    build: Callable[[], Program]
    burdens: frozenset[str] = field(compare=False)

    def __call__(self) -> Program:
        """Build the program and change it.

        Raises:
            BadInput: the function returned something other than a program.
        """
        program = self.build()
        if not isinstance(program, Program):
            raise BadInput(f"the function returned {name_type(program)}; expected an accelbench.Program")
        if "float64" in self.burdens:
            program.model.float()
            torch.set_default_dtype(torch.float32)
            for optimizer in _list_optimizers(program):
                optimizer.load_state_dict(optimizer.state_dict())  # casts what it holds to the type of its parameters
        if "update" in self.burdens:
            for optimizer in _list_optimizers(program):
                optimizer.step = _skip_update
        change = _convert_to_float32 if "float64" in self.burdens else None
        if program.train_step is not None:
            return replace(program, train_step=_StepMarker(program.train_step, change))
        return replace(program, step=_StepMarker(program.step, change))


def _list_optimizers(program: Program) -> list[Any]:
    if program.optimizer is None:
        return []
    return list(program.optimizer) if isinstance(program.optimizer, list | tuple) else [program.optimizer]


def _skip_update(closure: Callable[[], Any] | None = None) -> Any:
    return closure() if closure else None


def _convert_to_float32(part: Any) -> Any:
    is_wide = isinstance(part, torch.Tensor) and part.dtype == torch.float64
    return part.to(torch.float32) if is_wide else part


class _StepMarker:
    """A program's step, which says that it is running; ``change`` is made to every part of its batch."""

    is_running = False

    def __init__(self, step: Any, change: Callable[[Any], Any] | None) -> None:
        self._step, self._change = step, change
        self.__closure__ = getattr(step, "__closure__", None)  # where counters of the program lie
        if owner := getattr(step, "__self__", None):
            self.__self__ = owner

    def __call__(self, *arguments: Any) -> Any:
        *before, batch = arguments
        if self._change is not None:
            batch = map_parts(batch, self._change)
        _StepMarker.is_running = True
        try:
            return self._step(*before, batch)
        finally:
            _StepMarker.is_running = False


def find_caller() -> tuple[str, int] | None:
    """Return the file and line that called the replaced function, None outside of a step, or within PyTorch itself."""
    if not _StepMarker.is_running:
        return None
    frame = sys._getframe(3)  # noqa: SLF001  beyond the replacement and what it calls; a stack would take too long
    file = frame.f_code.co_filename
    return None if file.startswith((TORCH_FOLDER, OWN_FOLDER)) else (file, frame.f_lineno)


@dataclass
class CallCounter:
    """The calls of a kind that a program's own lines make, counted by place."""

    counts: Counter[CallKey] = field(default_factory=Counter)

    @contextmanager
    def count(self, names: tuple[str, ...], is_one: Callable[[Any, Any], bool]) -> Iterator[None]:
        """Count the calls of these methods of tensors for which ``is_one`` holds of argument and result."""

        def call(name: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
            result = function(*arguments, **named)
            if (place := find_caller()) and is_one(arguments[0] if arguments else None, result):
                self.counts[*place, name] += 1
            return result

        with _replace_methods(names, call):
            yield


@contextmanager
def _replace_methods(names: tuple[str, ...], call: Callable[..., Any]) -> Iterator[None]:
    """Replace methods of tensors by ``call(name, method, *arguments)``; for copies, also the functions that copy."""
    places: list[tuple[Any, str]] = [(torch.Tensor, name) for name in names]
    if "clone" in names:
        places += [(torch, "tensor"), (copy, "deepcopy")]
    with ExitStack() as stack:
        for owner, name in places:
            stack.enter_context(_set_attribute(owner, name, _wrap(call, name, getattr(owner, name))))
        yield


def _wrap(call: Callable[..., Any], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def replacement(*arguments: Any, **named: Any) -> Any:
        if torch.compiler.is_compiling():  # else torch.compile would break the graph at the look for the caller
            return function(*arguments, **named)
        return call(name, function, *arguments, **named)

    for each in (replacement, call, find_caller, is_reading, is_copy):
        _leave_uncompiled(each)
    return replacement


def _leave_uncompiled(function: Any) -> None:
    """Let torch.compile leave a function alone that runs between two of its graphs.

    `torch.compiler.disable` would hide the caller behind a frame of its own. A program that compiles has imported the
    compiler, which takes seconds, and another one does not need to.
    """
    if compiler := sys.modules.get("torch._dynamo.eval_frame"):
        compiler.skip_code(function.__code__)


@contextmanager
def _set_attribute(owner: Any, name: str, value: Any) -> Iterator[None]:
    own = vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)


def is_reading(tensor: Any, _: Any) -> bool:
    """Return whether a call reads numbers; ``cpu`` and ``numpy`` do so from a device only."""
    return isinstance(tensor, torch.Tensor)


def is_copy(source: Any, result: Any) -> bool:
    """Return whether the result lies at another place than the source."""
    if not (isinstance(source, torch.Tensor) and isinstance(result, torch.Tensor)):
        return True
    return bool(source.device == result.device and source.data_ptr() != result.data_ptr())


def _call_twice(name: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    result = function(*arguments, **named)
    if find_caller() and (name not in ("to", "contiguous", "type") or is_copy(arguments[0], result)):
        function(*arguments, **named)
    return result


@contextmanager
def _replay_readings() -> Iterator[None]:
    """Let every line read what it read first, so that nothing waits for the device."""
    known: dict[CallKey, Any] = {}
    used: Counter[CallKey] = Counter()

    def replay(name: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        place = find_caller()
        if place is None:
            return function(*arguments, **named)
        key = (*place, name)
        used[key] += 1
        if key not in known or used[key] > MOST_REPLAYED:
            known[key] = function(*arguments, **named)
        return known[key]

    with _replace_methods(READINGS, replay):
        yield


@contextmanager
def _disable_anomaly_mode() -> Iterator[None]:
    before, checks_nan = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    switch = torch.set_anomaly_enabled
    switch(False)
    try:
        with _set_attribute(torch, "set_anomaly_enabled", lambda *_, **__: None):
            yield
    finally:
        switch(before, checks_nan)


@contextmanager
def _skip_backward() -> Iterator[None]:
    def skip(*_: Any, **__: Any) -> None:
        """Make no gradients."""

    with _set_attribute(torch.Tensor, "backward", skip), _set_attribute(torch.autograd, "backward", skip):
        yield


CONTEXTS: dict[str, Callable[[], Any]] = {
    "readings": _replay_readings,
    "readings-twice": partial(_replace_methods, READINGS, _call_twice),
    "copies-twice": partial(_replace_methods, COPIES, _call_twice),
    "anomaly": _disable_anomaly_mode,
    "compiled": partial(torch.compiler.set_stance, "force_eager"),
    "backward": _skip_backward,
}
