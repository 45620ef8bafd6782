"""Compiling an arm's model, with empty caches in every trial, and recording it as CUDA graphs. Needs PyTorch.

PyTorch caches compiled code in the process, and in a folder that outlives it. A first call would then cost as little as
in a second program that compiles the same, so every arm starts with an empty folder. When an arm is built again in its
trial, only its speed is of interest, and its folder is used again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from itertools import count
from types import FunctionType
from typing import Any

import torch

from accelbench.core import Arm, Setting
from accelbench.errors import Unavailable, check_choice
from accelbench.files import cache_folder
from accelbench.schema.reasons import message_or_type, reason

EAGER = "eager"
REDUCE_OVERHEAD = "reduce-overhead"
MAX_AUTOTUNE = "max-autotune"
MODES = (EAGER, "default", REDUCE_OVERHEAD, MAX_AUTOTUNE)
RECORDING = (REDUCE_OVERHEAD, MAX_AUTOTUNE)  # use CUDA graphs on CUDA devices: `torch._inductor.list_mode_options`
_FOLDERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")

_numbers = count(1)
_open: set[str] = set()  # folders of arms that are not closed


def compiled(
    arm: Arm, parts: Sequence[Any], mode: str, setting: Setting, *options: object, searchable: bool = True
) -> Arm:
    """Return the arm, whose first step compiles the ``forward`` of models or of anything else that has one.

    Arms of one trial and mode differ in ``options``. ``searchable`` says whether the model may have products
    for which there are several kernels on a CPU.

    Raises:
        BadInput: there is no such mode.
        Unavailable: nothing can be compiled here, or the mode means nothing on this device.
    """
    check_choice(mode, MODES, "compile mode")
    if mode == EAGER:
        return arm
    device = (arm.device or "cpu").partition(":")[0]
    # The mode sets `triton.cudagraphs` alone: `torch._inductor.list_mode_options`.
    if mode == REDUCE_OVERHEAD and device != "cuda":
        raise Unavailable(reason("needs-cuda-graphs", mode=mode, device=str(device)))
    # Seen in 2.13: it tries C++ kernels for batched products, and for products with constants, which weights that learn
    # are not (`use_cpp_gemm_template` of `torch._inductor.utils`). In channels-last, 1×1 convolutions become products.
    if mode == MAX_AUTOTUNE and device == "cpu" and not searchable:
        raise Unavailable(reason("no-products", mode=mode))
    if why := obstacle(device):
        raise Unavailable(f"torch.compile cannot compile for {device} here: {why}")
    kind = (mode, *options)
    folder = _folder(setting, kind)
    for part in parts:
        # Not `model.compile`, which leaves a model as it is whose class is one of PyTorch's own (seen in 2.13).
        part.forward = torch.compile(_wrap(part.forward), mode=mode)
    _open.add(folder)

    def close() -> None:
        arm.close()
        _open.discard(folder)
        for part in parts:
            del part.forward  # its class has the one that is not compiled
        _closed_folders(setting, kind).append(folder)
        if not _open:  # else compiled functions within a model would serve the next one, and count against a limit
            torch.compiler.reset()

    return replace(arm.inside(_compiling_into, folder), close=close)


def _wrap(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls this one, with code of its own.

    PyTorch stores compiled code and the shapes it saw with a function's code, by its name. Arms that shared code would
    share both: the second one would start without compiling, or be compiled for shapes that may change.
    """

    def call(*arguments: Any, **options: Any) -> Any:
        return function(*arguments, **options)

    code = call.__code__.replace(co_name=f"call_{next(_numbers)}")
    return FunctionType(code, call.__globals__, code.co_name, None, call.__closure__)


def _folder(setting: Setting, kind: tuple[object, ...]) -> str:
    """Return the folder of such an arm that was closed in this trial, or an empty one that ends with the trial."""
    from torch._inductor.utils import clear_caches  # here, since its import takes seconds

    if closed := _closed_folders(setting, kind):
        return closed.pop()
    clear_caches()  # those in the process
    folder = tempfile.mkdtemp(prefix="accelbench-")
    weakref.finalize(setting.storage, shutil.rmtree, folder, ignore_errors=True)
    return folder


def _closed_folders(setting: Setting, kind: tuple[object, ...]) -> list[str]:
    """Return the folders of a trial's closed arms of one kind, to which more can be added."""
    folders: list[str] = setting.storage.values.setdefault(("compiled", kind), [])
    return folders


@contextmanager
def _compiling_into(folder: str) -> Iterator[None]:
    """Let PyTorch cache compiled code in this folder, and restore its own settings."""
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
    """Return why nothing can be compiled for this kind of device, if so. A first use also loads the compiler.

    PyTorch asks the C++ compiler once which instructions it knows, which takes some ten seconds, and keeps the answers
    in its cache. They stay for later processes in accelbench's cache, if that can be written to.
    """
    from torch._inductor.utils import clear_caches, fresh_cache  # here, since their import takes seconds

    lasting = cache_folder() / "torchinductor"
    with suppress(OSError):
        lasting.mkdir(parents=True, exist_ok=True)
    try:
        with _compiling_into(str(lasting)) if os.access(lasting, os.W_OK) else fresh_cache():
            torch.compile(lambda numbers: numbers.sin() + 1)(torch.ones(4, device=device))
    except Exception as error:  # no compiler, no headers, no Triton: each has an exception of its own
        return message_or_type(error)
    finally:
        torch.compiler.reset()
        clear_caches()  # those in the process, which name files in that folder
    return ""


def check_recording(device: Any, *, amp: str, compile: str, activation_checkpointing: bool) -> None:  # noqa: A002  the technique's name
    """Make CUDA graphs unavailable where none can be recorded.

    Raises:
        Unavailable: the device has no CUDA graphs, or the model's other options leave nothing to record.
    """
    if device.type != "cuda":
        raise Unavailable(f"CUDA graphs need a CUDA device, and the model computes on {device} here")
    if amp != "fp32":
        raise Unavailable("CUDA graphs are recorded in float32 here: autocast's cache of weights must not be recorded")
    if compile != EAGER:
        raise Unavailable("torch.compile records CUDA graphs by its mode reduce-overhead")
    if activation_checkpointing:
        raise Unavailable("checkpointing reads the state of the random numbers, which no CUDA graph can record")


def records(device: Any, *, cuda_graphs: bool, compile: str) -> bool:  # noqa: A002  the technique's name
    """Whether CUDA graphs compute the gradients."""
    return cuda_graphs or (device.type == "cuda" and compile in RECORDING)


def record(model: Any, inputs: tuple[Any, ...]) -> None:
    """Record the model's forward and backward pass for inputs of this shape; from then on it replays them.

    See `torch.cuda.make_graphed_callables`, which warms up and records on a stream of its own. Every replay copies its
    inputs into those of the recording, which are therefore copies.
    """
    # Else the graph would use the workspace of the one recorded before it, and lose the workspace with that one:
    # https://github.com/pytorch/pytorch/issues/193402
    torch._C._cuda_clearCublasWorkspaces()  # noqa: SLF001  nothing public does it
    copies = tuple(each.detach().clone().requires_grad_(each.requires_grad) for each in inputs)
    torch.cuda.make_graphed_callables(model, copies)
