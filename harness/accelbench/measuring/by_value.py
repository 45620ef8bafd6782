"""Finished callables, copied with their data: each copy's arrays lie elsewhere in memory, as those of a fresh build do.

A callable travels through cloudpickle, as to a worker. The memory of its arrays stays out of the pickle (PEP 574) and
is copied anew for every copy. Views share the memory of their array in every copy, with the same offset and strides.
"""

from __future__ import annotations

import io
import mmap
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from types import AsyncGeneratorType, CoroutineType, GeneratorType, ModuleType
from typing import Any

import cloudpickle
import numpy as np

from accelbench import units
from accelbench.frameworks import load
from accelbench.frameworks.host import ArrayMemory, base_of
from accelbench.frameworks.protocol import ADAPTERS
from accelbench.measuring.callables import is_users_module, packages_of
from accelbench.measuring.workers.process import modules_of
from accelbench.schema.reasons import message_line

MOST_BYTES = 256 * 2**20  # in the arrays of one callable; its first state and the copies take as much again each
_LOCKS = (type(threading.Lock()), type(threading.RLock()))
_PROMISES = (GeneratorType, CoroutineType, AsyncGeneratorType)
_COMPILERS = ("torch._dynamo", "torch._inductor")  # a copy would compile again, and after eight times not at all
_STREAMS = (io.BytesIO, io.StringIO)  # hold their content themselves


class UncopyableError(Exception):
    """A callable cannot be copied; the message says what it holds, as in "holds a generator"."""


class Prototype:
    """A callable as it is now, of which copies can be made at any time.

    Raises:
        UncopyableError: it holds what cannot be copied, or too much of it.
    """

    def __init__(self, original: Callable[[], Any]) -> None:
        body = io.BytesIO()
        pickler = _ArrayPickler(body)
        with _user_modules_by_value(original):
            try:
                pickler.dump(original)
            except UncopyableError:
                raise
            except Exception as error:
                raise UncopyableError(f"cannot be copied: {message_line(error)}") from None
        self._body = body.getbuffer()
        _check_size(len(self._body) + sum(memory.nbytes for memory, _ in pickler.memories))
        self._memories = [(memory.copy(), alignment) for memory, alignment in pickler.memories]

    def copy(self) -> Callable[[], Any]:
        """Return an equal callable whose arrays have memory of their own."""
        copies = (_copy_aligned(memory, alignment) for memory, alignment in self._memories)
        copied: Callable[[], Any] = pickle.loads(self._body, buffers=copies)
        return copied


def _copy_aligned(memory: np.ndarray, alignment: int) -> np.ndarray:
    """Return a copy at an address that is a multiple of ``alignment``."""
    room = np.empty(memory.nbytes + alignment - 1, np.uint8)
    start = -room.ctypes.data % alignment
    copied = room[start : start + memory.nbytes]
    copied[:] = memory
    return copied


class _Root:
    """The whole memory of an array and its views, which are pickled as its parts."""

    def __init__(self, memory: np.ndarray) -> None:
        self.memory = memory


def _same(memory: np.ndarray) -> np.ndarray:
    return memory


class _ArrayPickler(cloudpickle.Pickler):  # type: ignore[misc]  # ships no types
    """Pickles a callable by value and collects the memory of its arrays, with the alignment that each needs."""

    def __init__(self, body: io.BytesIO) -> None:
        super().__init__(body, protocol=5, buffer_callback=self._collect)
        self.memories: list[tuple[np.ndarray, int]] = []
        self._alignments: dict[int, int] = {}  # by address
        self._roots: dict[tuple[int, int], _Root] = {}  # by address and size
        self._bytes = 0

    def reducer_override(self, obj: Any) -> Any:
        """Return how to rebuild an array on its memory; leave other objects to cloudpickle."""
        if isinstance(obj, _Root):
            return _same, (pickle.PickleBuffer(obj.memory.data),)
        if held := _uncopyable(obj):
            raise UncopyableError(f"holds {held}")
        memory = _memory_of(obj)
        if memory is None or memory.root.nbytes == 0:
            return super().reducer_override(obj)
        return memory.rebuild, (self._root(memory), *memory.arguments)

    def _root(self, memory: ArrayMemory) -> _Root:
        key = memory.root.ctypes.data, memory.root.nbytes
        self._alignments[key[0]] = max(memory.alignment, self._alignments.get(key[0], 1))
        return self._roots.setdefault(key, _Root(memory.root))

    def _collect(self, buffer: pickle.PickleBuffer) -> None:
        memory = np.frombuffer(buffer.raw(), np.uint8) if buffer.raw().nbytes else np.empty(0, np.uint8)
        self._bytes += memory.nbytes
        _check_size(self._bytes)
        self.memories.append((memory, self._alignments.get(memory.ctypes.data, 1)))


def _check_size(size_bytes: int) -> None:
    if size_bytes > MOST_BYTES:
        raise UncopyableError(f"holds {units.size(size_bytes)}, over {units.size(MOST_BYTES)}")


def _memory_of(value: Any) -> ArrayMemory | None:
    """Return the memory of an array that lies on the host; None for anything else.

    Raises:
        UncopyableError: the array lies on an accelerator.
    """
    if isinstance(value, ModuleType | type):
        return None
    adapter = next((ADAPTERS[package] for package in packages_of(value) if package in ADAPTERS), None)
    if adapter is None:
        return None
    framework = load(adapter)
    info = framework.array_info(value)
    if info is not None and info.device != "cpu":
        raise UncopyableError(f"holds an array on {info.device}")
    return framework.memory_of(value)


def _uncopyable(value: Any) -> str | None:
    """Return what a value is if no copy could take its place: a copy would wait, read or compute something else."""
    if isinstance(value, _PROMISES):
        return "a generator" if isinstance(value, GeneratorType) else "a coroutine"
    if isinstance(value, _LOCKS):
        return "a lock"
    if isinstance(value, Executor) or ("multiprocessing" in packages_of(value) and hasattr(value, "apply_async")):
        return "a pool of workers"
    if isinstance(base_of(value) if isinstance(value, np.ndarray) else value, mmap.mmap):
        return "a memory map"
    if type(value).__module__.startswith(_COMPILERS):
        return "a compiled model"
    if isinstance(value, io.IOBase) and not isinstance(value, _STREAMS) and value not in (sys.stdout, sys.stderr):
        return "an open file"
    return None


@contextmanager
def _user_modules_by_value(function: Callable[[], Any]) -> Iterator[None]:
    """Pickle by value what the user's own modules define, as far as the function and its parts come from there."""
    modules = {name: sys.modules[name] for name in modules_of(function) if name in sys.modules}
    known = cloudpickle.list_registry_pickle_by_value()
    own = (name for name in modules if name != "__main__" and is_users_module(name))  # that one always is
    added = [modules[name] for name in own if name not in known]
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in added:
            cloudpickle.unregister_pickle_by_value(module)
