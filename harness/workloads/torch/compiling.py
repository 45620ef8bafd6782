"""Compiling an arm's model, from nothing in every trial. Needs PyTorch.

PyTorch keeps what it has compiled, in the process and in a folder for ever. A first call would then cost what it costs
the second program that compiles the same, so every arm starts with an empty folder. When it is built again in its trial
only its speed is of interest, and the folder serves once more.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import count
from types import FunctionType
from typing import Any

import torch

from harness.errors import BadInput, Unavailable
from harness.experiment import Arm, Setting

EAGER = "eager"
REDUCE_OVERHEAD = "reduce-overhead"
MAX_AUTOTUNE = "max-autotune"
MODES = (EAGER, "default", REDUCE_OVERHEAD, MAX_AUTOTUNE)
RECORDING = (REDUCE_OVERHEAD, MAX_AUTOTUNE)  # use CUDA graphs on CUDA devices: `torch._inductor.list_mode_options`
_FOLDERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")

_numbers = count(1)
_open: set[object] = set()  # compiled models whose arms are not closed
_folders: dict[int, dict[tuple[object, ...], list[str]]] = {}  # of closed arms, by trial and kind of arm


def compiled(arm: Arm, model: Any, mode: str, setting: Setting, *options: object, searchable: bool = True) -> Arm:
    """Return the arm, whose first step compiles the ``forward`` of a model or of anything else that has one.

    Arms of one trial and mode differ in ``options``. ``searchable`` says whether the model may have products
    for which there are several kernels on a CPU.

    Raises:
        BadInput: there is no such mode.
        Unavailable: nothing can be compiled here, or the mode means nothing on this device.
    """
    if mode not in MODES:
        raise BadInput(f"unknown compile mode {mode!r}; expected one of: {', '.join(MODES)}")
    if mode == EAGER:
        return arm
    device = (arm.device or "cpu").partition(":")[0]
    # What it asks for is `triton.cudagraphs` alone: `torch._inductor.list_mode_options`.
    if mode == REDUCE_OVERHEAD and device != "cuda":
        raise Unavailable(f"{mode} stands for CUDA graphs, and the model computes on {device} here")
    # Seen in 2.13: it tries C++ kernels for batched products, and for products with constants, which weights that learn
    # are not (`use_cpp_gemm_template` of `torch._inductor.utils`). In channels-last, 1×1 convolutions become products.
    if mode == MAX_AUTOTUNE and device == "cpu" and not searchable:
        raise Unavailable(
            f"{mode} compiles this model for a CPU as default does, since it has no products to search for"
        )
    if reason := obstacle(device):
        raise Unavailable(f"torch.compile cannot compile for {device} here: {reason}")
    kind = (mode, *options)
    folder = _folder(setting, kind)
    # Not `model.compile`, which leaves a model as it is whose class is one of PyTorch's own (seen in 2.13).
    model.forward = torch.compile(_called(model.forward), mode=mode)
    _open.add(model)

    def close() -> None:
        arm.close()
        _open.discard(model)
        del model.forward  # its class has the one that is not compiled
        _folders_of(setting)[kind].append(folder)
        if not _open:  # what functions within a model became would serve the next one, and count against a limit
            torch.compiler.reset()

    return replace(arm.inside(_compiling_into, folder), close=close)


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls this one, with code of its own.

    PyTorch keeps with a function's code, by its name, what it compiled and which shapes it saw. Arms that shared code
    would share both: the second one would start for nothing, or be compiled for shapes that may change.
    """

    def call(*arguments: Any, **options: Any) -> Any:
        return function(*arguments, **options)

    code = call.__code__.replace(co_name=f"call_{next(_numbers)}")
    return FunctionType(code, call.__globals__, code.co_name, None, call.__closure__)


def _folder(setting: Setting, kind: tuple[object, ...]) -> str:
    """Return the folder of such an arm that was closed, or an empty one."""
    from torch._inductor.utils import clear_caches  # here, since its import takes seconds

    if closed := _folders_of(setting)[kind]:
        return closed.pop()
    clear_caches()  # those in the process
    folder = tempfile.mkdtemp(prefix="accelbench-")
    weakref.finalize(setting, shutil.rmtree, folder, ignore_errors=True)
    return folder


def _folders_of(setting: Setting) -> dict[tuple[object, ...], list[str]]:
    """Return the folders of a trial, known by its setting, which is its own although it may equal others."""
    if id(setting) not in _folders:
        _folders[id(setting)] = defaultdict(list)
        weakref.finalize(setting, _folders.pop, id(setting))
    return _folders[id(setting)]


@contextmanager
def _compiling_into(folder: str) -> Iterator[None]:
    """Let PyTorch keep in this folder what it compiles, and put its own back."""
    before = {name: os.environ.pop(name) for name in _FOLDERS if name in os.environ}
    os.environ.update(dict.fromkeys(_FOLDERS, folder))
    try:
        yield
    finally:
        for name in _FOLDERS:
            del os.environ[name]
        os.environ.update(before)


@cache
def obstacle(device: str) -> str:
    """Return why nothing can be compiled for this kind of device, if so. A first use also loads the compiler."""
    from torch._inductor.utils import fresh_cache

    try:
        with fresh_cache():
            torch.compile(lambda numbers: numbers.sin() + 1)(torch.ones(4, device=device))
    except Exception as error:  # no compiler, no headers, no Triton: each has an exception of its own
        return next(filter(None, str(error).splitlines()), type(error).__name__)
    finally:
        torch.compiler.reset()
    return ""
