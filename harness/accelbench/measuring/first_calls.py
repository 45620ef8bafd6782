"""The first calls of callables: which framework they use, what they return, and how it can be compared."""

from __future__ import annotations

import io
import math
import pickle
import random
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np

from accelbench.core import ROUNDING, Arm
from accelbench.core.verification import relative_error
from accelbench.errors import AccelbenchError, BadInput, LazyOutput
from accelbench.frameworks import Framework, load
from accelbench.frameworks.protocol import ADAPTERS, IN_USE_ONCE_IMPORTED
from accelbench.frameworks.tree import tree_leaves
from accelbench.measuring.callables import MOST_PARTS, find_promise, held_values, packages_of
from accelbench.measuring.checks import output as check
from accelbench.measuring.labels import find_other_labels
from accelbench.schema.reasons import Reason, describe_error, reason
from accelbench.schema.result import Outcome
from accelbench.text import join_names

_TABLES = ("pandas", "pyarrow", "polars")  # packages whose objects hold their values, although they look like lazy ones
# Frameworks whose devices work on after a call, and for which there is no adapter.
_UNKNOWN_FRAMEWORKS = ("jax", "jaxlib", "mlx", "mxnet", "paddle", "taichi", "tinygrad", "pycuda", "pyopencl")
_CONTAINERS = (dict, list, set, deque, bytearray)  # of Python, which a call may change
MOST_BYTES = 16 * 2**20  # of the copies that show whether a callable changes what it holds
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)
_VARIES = (
    "differs from call to call, as where it draws random numbers, goes on from its last state or has come to the end "
    "of an iterator"
)
_WAY_OUT_OF_VARYING = "let every call start from the same seed and data, or pass verify= to check each output by itself"


@dataclass(kw_only=True)
class ArmCalls:
    """The first calls of one arm.

    ``shown`` are the adapters of the arrays in its outputs, "numpy" for numbers; ``held`` those of what the callable
    holds, without NumPy's. ``outputs`` are what it returned, ``values`` the same on the host, read after each call, as
    far as it can be read; if it cannot, ``unreadable`` says why. ``promise`` says why the first output is no result.
    ``error`` is what it raised. ``draws`` says whether it holds a generator of random numbers. ``changed`` are the
    types of the containers it holds that its first call changed, ``remembers`` says whether the second call found its
    answer in a cache of ``functools``, and ``shortest_s`` are the seconds of the shorter call.
    """

    items: float = 1
    shown: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    unknown: str = ""
    draws: bool = False
    changed: list[str] = field(default_factory=list)
    remembers: bool = False
    shortest_s: float = math.inf
    step: Callable[[], Any] | None = None
    outputs: list[Any] = field(default_factory=list)
    values: list[list[np.ndarray]] = field(default_factory=list)
    unreadable: str = ""
    promise: str = ""
    error: BaseException | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it returned None, or a container of nothing else."""
        return bool(self.outputs) and not any(True for _ in tree_leaves(self.outputs[0]))

    @property
    def is_done(self) -> bool:
        """Whether its first call returned a result."""
        return bool(self.outputs) and not self.promise

    def varies(self, tolerance: float) -> bool:
        """Return whether the second output differs from the first one."""
        return len(self.values) == 2 and not _agree(self.values[1], self.values[0], tolerance)


@dataclass(frozen=True, kw_only=True)
class FirstCalls:
    """What the first calls of the arms showed.

    ``adapter`` is that of the framework whose devices are synchronised, ``items`` are the items of a call of each arm.
    ``checked`` are the names of the arms whose outputs the trial checks, ``varying`` of those whose outputs differ from
    call to call although the baseline's do not. ``failures`` are the outcomes of arms that have no speed. ``copies``
    says whether copies of the arms do the same. ``baseline_error`` is what the baseline raised.
    """

    adapter: Framework
    items: Mapping[str, float]
    checked: Collection[str]
    varying: Collection[str]
    failures: Mapping[str, tuple[Outcome, Reason]]
    copies: bool
    baseline_error: BaseException | None
    warnings: tuple[str, ...]


class FirstCallsRun:
    """Calls every arm, the first of which is the baseline, once or twice, and those of their copies that are needed.

    Args:
        builders: return the arms by their names.
        copies: return copies of them with data of their own; empty if there are none.
        framework: the name of the framework's adapter, None to find it.
        tolerance: relative error between outputs; None if they are not compared.
        verifies: whether the user's function checks the outputs instead.
        rebuild: whether builders make new data, for which random generators are seeded.
        clock: returns seconds.
        require_time: is called with the seconds of the baseline's shortest call, and raises if they are too many.

    Raises:
        BadInput: the arms use several frameworks, the baseline returned None, or an arm is no function.
        LazyOutput: the baseline returned the promise of a result.
    """

    def __init__(
        self,
        builders: Mapping[str, Callable[[], Arm]],
        copies: Mapping[str, Callable[[], Arm]],
        *,
        framework: str | None,
        tolerance: float | None,
        verifies: bool,
        rebuild: bool,
        clock: Callable[[], float] = perf_counter,
        require_time: Callable[[float], None] = lambda _: None,
    ) -> None:
        self.clock, self.require_time = clock, require_time
        self.builders, self.copies, self.framework = builders, copies, framework
        self.baseline = next(iter(builders))
        self.compares = tolerance is not None and not verifies
        self.tolerance = tolerance or 0.0
        self.reads = self.compares or verifies
        self.seeds = rebuild
        self.failures: dict[str, tuple[Outcome, Reason]] = {}
        self.warnings: list[str] = []
        seeding = load("numpy")
        self.calls = {name: self._call_original(build, seeding) for name, build in builders.items()}
        self.adapter = load(framework) if framework else _choose_adapter(self.calls.values())
        if rebuild and self.adapter.name != seeding.name:  # whose generators could not be seeded before it was known
            self.calls = {name: self._call_original(build, self.adapter) for name, build in builders.items()}
        self.adapter.synchronize()

    def result(self) -> FirstCalls:
        """Return what the calls showed, after a look at what the arms returned."""
        for name, calls in self.calls.items():
            self._refuse(name, calls)
        self._warn_of_unknown_frameworks()
        self._warn_of_other_dtypes()
        self._warn_of_changed_data()
        self._warn_of_remembered_answers()
        copies = self._compare_copies()
        checked = self._choose_checked(copies)
        if self.compares and self.baseline in checked:
            self._find_unwritten(checked, copies)
        varying = {name for name, calls in self.calls.items() if calls.varies(self.tolerance)}
        return FirstCalls(
            adapter=self.adapter,
            items={name: calls.items for name, calls in self.calls.items()},
            checked=checked,
            varying=varying if self.baseline not in varying else (),
            failures=self.failures,
            copies=copies,
            baseline_error=self.calls[self.baseline].error,
            warnings=tuple(self.warnings),
        )

    def _call(
        self, build: Callable[[], Arm], times: int, seeding: Framework | None = None, *, watches: bool = False
    ) -> ArmCalls:
        """Build an arm and call it that often; if it is watched, see whether the first call changes what it holds."""
        calls = ArmCalls()
        if seeding and self.seeds:
            seeding.seed(0)
        try:
            arm = build()
            calls.items, calls.step = arm.items, arm.step
            values = list(held_values(arm.step)) if watches else []
            held, caches = _HeldData(values), _caches_in(values)
            for number in range(times):
                hits, start_s = sum(cache.cache_info().hits for cache in caches), self.clock()
                output = arm.step()
                calls.shortest_s = min(calls.shortest_s, self.clock() - start_s)
                calls.remembers = number > 0 and sum(cache.cache_info().hits for cache in caches) > hits
                if not calls.outputs:
                    calls.changed = sorted(held.changed())
                self._add_call(calls, output)
                if calls.promise:
                    break
        except AccelbenchError:
            raise
        except (Exception, SystemExit) as error:  # the trial will meet it again and record it
            calls.error = error
        return calls

    def _call_original(self, build: Callable[[], Arm], seeding: Framework) -> ArmCalls:
        """Call an arm twice, or once if its outputs are not compared, and look at what it holds."""
        calls = self._call(build, 2 if self.compares else 1, seeding, watches=True)
        if build is self.builders[self.baseline] and calls.is_done:
            self.require_time(calls.shortest_s)
        held = list(held_values(calls.step))
        packages = {package for value in held for package in packages_of(value)}
        calls.held = _adapters(packages) - {"numpy"}
        calls.draws = any(isinstance(value, _GENERATORS) or _is_torch_generator(value) for value in held)
        if not calls.shown:
            calls.unknown = next((package for package in _UNKNOWN_FRAMEWORKS if package in packages), "")
        return calls

    def _add_call(self, calls: ArmCalls, output: Any) -> None:
        leaves = list(tree_leaves(output))
        numbers = bool(leaves) and all(isinstance(leaf, int | float | complex) for leaf in leaves)
        packages = (package for kind in {*map(type, leaves)} for package in packages_of(kind))
        calls.shown |= {"numpy"} if numbers else _adapters(packages)
        calls.outputs.append(output)
        if promise := find_promise(output):
            calls.promise = promise
        elif self.reads and not calls.unreadable:
            others = sorted(calls.shown - {"numpy"})
            adapter = load(self.framework or (others[0] if len(others) == 1 else "numpy"))
            adapter.synchronize()
            try:
                calls.values.append(adapter.to_host(output))
            except LazyOutput as error:
                table = next((leaf for leaf in leaves if {*packages_of(leaf)} & {*_TABLES}), None)
                if table is not None:
                    kind = type(table).__name__
                    calls.unreadable = f"a {kind} cannot be checked; return its values as an array, as by to_numpy()"
                elif len(others) > 1:
                    calls.unreadable = str(error)  # of one framework's array to the other's adapter
                else:
                    calls.promise = str(error).removeprefix("the step ")
            except BadInput as error:
                calls.unreadable = str(error)

    def _refuse(self, name: str, calls: ArmCalls) -> None:
        """Refuse the promise of a result, the end of the program, and None, of which nothing shows that work was done.

        Raises:
            BadInput: it is the baseline.
        """
        if calls.promise:
            self._take_out(name, "wrong-work", calls.promise, LazyOutput)
        elif isinstance(calls.error, SystemExit):
            self._take_out(name, "failed", "ended the program (SystemExit); let it return instead")
        elif calls.is_empty and self.reads:
            output = calls.outputs[0]
            empty = "None" if output is None else f"an empty {type(output).__name__}"
            why = (
                f"returned {empty}, so nothing shows that it did its work; return what it computed, such as the array "
                "that it writes to, or pass tolerance=None to compare the times alone"
            )
            self._take_out(name, "wrong-output", why)

    def _take_out(self, name: str, outcome: Outcome, why: str, error: type[BadInput] = BadInput) -> None:
        """Take the speed from an arm for what it did.

        Raises:
            BadInput: it is the baseline.
        """
        if name == self.baseline:
            raise error(f"the baseline {name!r} {why}")
        self.failures[name] = outcome, reason("message", message=f"the arm {why}")

    def _warn_of_unknown_frameworks(self) -> None:
        for name, calls in self.calls.items():
            if calls.unknown and calls.is_done:
                self.warnings.append(
                    f"{name!r} uses {calls.unknown}, for whose devices accelbench cannot wait: work that goes on after "
                    "the call is not timed, unless the call ends by waiting for it"
                )

    def _warn_of_other_dtypes(self) -> None:
        """Warn where an arm computes in another precision, although its output agrees with the baseline's."""
        if not self.compares or not self.calls[self.baseline].is_done:
            return
        expected = self._dtypes(self.baseline)
        found: dict[str, list[str]] = {}
        for name, calls in self.calls.items():
            if calls.is_done and (other := check.find_other_dtypes(self._dtypes(name), expected)):
                found.setdefault(str(other), []).append(repr(name))
        self.warnings += [f"{join_names(names)}: {other}" for other, names in found.items()]

    def _warn_of_changed_data(self) -> None:
        for name, calls in self.calls.items():
            if calls.changed and calls.is_done and name not in self.failures:
                kinds = join_names([f"the {kind}" for kind in calls.changed])
                self.warnings.append(
                    f"{name!r} changes {kinds} that it holds, so its timed calls work on what earlier calls left: "
                    "let every arm copy the data inside its function, or make fresh data there"
                )

    def _warn_of_remembered_answers(self) -> None:
        names = [repr(name) for name, calls in self.calls.items() if calls.remembers and calls.is_done]
        if names:
            self.warnings.append(
                f"{join_names(names)}: later calls find their answer in a cache of functools, where the first one "
                "left it; call cache_clear() inside the function, unless looking it up is what you compare"
            )

    def _dtypes(self, name: str) -> list[str]:
        """Return the dtypes of the arrays that an arm returned."""
        leaves = tree_leaves(self.calls[name].outputs[0])
        return [info.dtype for leaf in leaves if (info := self.adapter.array_info(leaf))]

    def _compare_copies(self) -> bool:
        """Return whether copies return what the arms did in their first calls; a warning says why not."""
        for name, build in self.copies.items():
            calls = self.calls[name]
            if not calls.is_done or name in self.failures:
                continue
            copied = self._call(build, 1)
            if copied.error:
                error = copied.error
                self.warnings.append(not_copied(name, f"stopped in a copy with {describe_error(error)}"))
                return False
            if bool(copied.values) != bool(calls.values):
                self.warnings.append(not_copied(name, "returned something else in a copy"))
                return False
            if calls.values and not _agree(copied.values[0], calls.values[0], max(ROUNDING, self.tolerance)):
                why = "draws random numbers, counts calls elsewhere or shares data with another arm"
                self.warnings.append(not_copied(name, f"returned other values in a copy, as it does if it {why}"))
                return False
        return bool(self.copies)

    def _choose_checked(self, copies: bool) -> set[str]:
        """Return the arms whose outputs the trial can check, and warn of the others."""
        calls = self.calls[self.baseline]
        if not self.reads or not calls.outputs:
            return {*self.builders} if self.reads else set()
        if not self.compares:
            return {name for name in self.builders if not self._warn_unreadable(name)}
        invalid = check.find_invalid_values(calls.values[0]) if calls.values else None
        if why := calls.unreadable or invalid:
            self.warnings.append(f"outputs were not compared: {why}")
            return set()
        if calls.varies(self.tolerance):
            self._compare_two_calls(copies)
            return set()
        others = [name for name, each in self.calls.items() if each.items != calls.items and each.values]
        varying = [name for name in others if self.calls[name].varies(self.tolerance)]
        self.warnings += [f"the output of {name!r} was not checked: it {_VARIES}" for name in varying]
        self._compare_labels()
        return {*self.builders} - {*varying}

    def _warn_unreadable(self, name: str) -> bool:
        if unreadable := self.calls[name].unreadable:
            self.warnings.append(f"the output of {name!r} was not checked: {unreadable}")
        return bool(unreadable)

    def _compare_two_calls(self, copies: bool) -> None:
        """Compare what changes from call to call from the same start on, if the arms can be started again."""
        calls = self.calls[self.baseline]
        alike = {name: each for name, each in self.calls.items() if each.items == calls.items and each.values}
        again = None
        if not any(each.draws for each in alike.values()):
            if self.seeds:
                again = self._call(self.builders[self.baseline], 2, self.adapter)
            elif copies:
                again = self._call(self.copies[self.baseline], 2)
        if again is None or not _agree(_all_values(again), _all_values(calls), max(ROUNDING, self.tolerance)):
            rebuild = "" if self.seeds else ", or functions that prepare the data with rebuild=True"
            self.warnings.append(
                f"outputs were not compared: the baseline's output {_VARIES}; {_WAY_OUT_OF_VARYING}{rebuild}"
            )
            return
        self.warnings.append(
            "outputs were compared for the first two calls only, since the baseline goes on from its last state"
        )
        if _is_nothing(calls.values[1]) and not _is_nothing(calls.values[0]):
            self.warnings.append(
                f"the second output of {self.baseline!r} is empty or zero, and the first one is not: an iterator that "
                "it holds may have come to its end"
            )
        self._compare_labels()
        for name, each in alike.items():
            outputs = _all_values(each), _all_values(calls)
            error = relative_error(*outputs)
            if name not in self.failures and (wrong := check.find_error_to_baseline(error, self.tolerance, outputs)):
                self.failures[name] = "wrong-output", wrong

    def _compare_labels(self) -> None:
        """Take the speed from arms that return other keys, columns or another index than the baseline."""
        expected = self.calls[self.baseline]
        for name, calls in self.calls.items():
            if name == self.baseline or name in self.failures or not calls.values or calls.items != expected.items:
                continue
            if wrong := find_other_labels(calls.outputs[0], expected.outputs[0]):
                self.failures[name] = "wrong-output", wrong

    def _find_unwritten(self, checked: Collection[str], copies: bool) -> None:
        """Find arms that return memory which they do not write: a finished answer, or what another arm has written."""
        readable = [
            name
            for name, calls in self.calls.items()
            if name in checked
            and name not in self.failures
            and len(calls.values) == 2
            and not calls.varies(self.tolerance)
        ]
        extents = {name: _extents(self.calls[name].outputs[0], self.adapter) for name in readable}
        writes = {}
        for name in readable:
            shared = not copies and any(_overlap(extents[name], extents[other]) for other in readable if other != name)
            if shared or _overlap(extents[name], _extents(self.calls[name].outputs[1], self.adapter)):
                writes[name] = self._writes(name, self.copies[name] if copies else None)
        finished = []
        for name in (name for name, written in writes.items() if not written):
            writers = [other for other, written in writes.items() if written]
            owner = next((other for other in writers if not copies and _overlap(extents[name], extents[other])), None)
            if owner is None:
                finished.append(repr(name))
                continue
            why = (
                f"returned memory that {owner!r} writes, and does not write it itself; let it compute, and give each "
                "arm arrays of its own"
            )
            self._take_out(name, "wrong-work", why)
        if finished:
            self.warnings.append(
                f"{join_names(finished)}: each call returns the same memory and does not write to it, as where it "
                "hands out a view of its data, or an answer that was computed before"
            )

    def _writes(self, name: str, copy: Callable[[], Arm] | None) -> bool:
        """Return whether a call writes the memory that it returns, by overwriting it before; true if unknown."""
        calls = self._call(copy, 1) if copy else self.calls[name]
        output, step = calls.outputs[-1], calls.step
        assert step is not None
        arrays = [leaf for leaf in tree_leaves(output) if self.adapter.memory_of(leaf)]
        before = [self.adapter.item(array, ()) for array in arrays]
        try:
            if any(self.adapter.put(array, (), 0) is not array for array in arrays):
                return True  # it cannot be written
            again = self.adapter.to_host(step())
            return _agree(again, calls.values[0], max(ROUNDING, self.tolerance))
        except Exception:
            return True
        finally:
            for array, values in zip(arrays, before, strict=True):
                self.adapter.put(array, (), values)


class _HeldData:
    """The containers among the values that a callable holds, with copies of them as they are now.

    A container that cannot be pickled or is too large has no copy. Arrays in containers are not copied, since
    outputs are written to them.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        self._copies: list[tuple[Any, bytes]] = []
        room = MOST_BYTES
        for value in _outermost_containers(values):
            if (copy := _pickled(value, room)) is not None:
                self._copies.append((value, copy))
                room -= len(copy)

    def changed(self) -> set[str]:
        """Return the names of the types of those that are no longer what they were.

        One that was empty, or had one value everywhere and keeps its length, may be there to be written to: it is left
        out.
        """
        return {type(value).__name__ for value, copy in self._copies if _has_changed(value, copy)}


def _outermost_containers(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the containers among values, without those that lie in one of them."""
    inside: set[int] = set()
    for value in values:
        if not isinstance(value, _CONTAINERS):
            continue
        if id(value) not in inside:
            yield value
        if not isinstance(value, bytearray):
            parts = value.values() if isinstance(value, dict) else value
            inside |= {id(part) for part in islice(parts, MOST_PARTS)}


class _Limited(io.BytesIO):
    """A file in memory that takes no more than a number of bytes."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def write(self, content: Any) -> int:
        """Write bytes.

        Raises:
            BufferError: they are too many.
        """
        self._room -= memoryview(content).nbytes
        if self._room < 0:
            raise BufferError
        return super().write(content)


class _ContainerPickler(pickle.Pickler):
    """Pickles the values of containers, and of arrays only that they are there."""

    def reducer_override(self, obj: Any) -> Any:
        """Return the name of an array's type for it; leave other objects to pickle."""
        if isinstance(obj, type | np.generic | np.dtype) or not any(
            package in ADAPTERS for package in packages_of(obj)
        ):
            return NotImplemented
        return str, (type(obj).__name__,)


def _pickled(value: Any, room: int) -> bytes | None:
    """Return a container's pickle; None if it cannot be pickled, or there is no room for it."""
    file = _Limited(room)
    pickler = _ContainerPickler(file, protocol=5)
    pickler.fast = True  # the same bytes for equal values, whether or not they are one object
    try:
        pickler.dump(value)
    except Exception:
        return None
    return file.getvalue()


def _has_changed(value: Any, copy: bytes) -> bool:
    """Return whether a container is no longer what its pickle holds; false if unknown."""
    now = _pickled(value, MOST_BYTES)
    if now is None or now == copy:
        return False
    try:
        before, after = pickle.loads(copy), pickle.loads(now)
        is_room = not before or (len(before) == len(after) and _has_one_value(before))
        return not is_room and before != after
    except Exception:
        return False


def _has_one_value(container: Any) -> bool:
    values = iter(container.values() if isinstance(container, dict) else container)
    first = next(values, None)
    return all(each == first for each in values)


def _caches_in(values: Iterable[Any]) -> list[Any]:
    """Return the functions with a cache of ``functools`` among values."""
    return [value for value in values if callable(getattr(type(value), "cache_info", None))]


def not_copied(name: str, why: str) -> str:
    """Return the warning that the arms were not copied, because of one of them."""
    return (
        f"the arms were timed as they are instead of as copies, and the interval leaves out where their data lie: "
        f"{name!r} {why}"
    )


def hint_on_error(kind: str, message: str, *, is_inside: bool) -> str:
    """Return the way out of an error that a call of a callable raised, or code within it, "" without a usual one."""
    if kind in ("StopIteration", "StopAsyncIteration"):
        return "; an iterator that it holds has come to its end: make the iterator inside the function"
    if kind == "TypeError" and "argument" in message and not is_inside:
        return "; arms are called without arguments: give a function that passes them, as in lambda: f(x)"
    return ""


def hint_on_output(*, varies: bool) -> str:
    """Return the way out for an arm whose output is not the baseline's; ``varies`` says whether it is its own again."""
    if varies:
        return f"; it {_VARIES}: {_WAY_OUT_OF_VARYING}"
    return "; tolerance= allows more, or None if outputs differ by design"


def _adapters(packages: Iterable[str]) -> set[str]:
    """Return the adapters of these packages whose frameworks this process has imported."""
    return {ADAPTERS[package] for package in packages if package in ADAPTERS and ADAPTERS[package] in sys.modules}


def _choose_adapter(arms: Collection[ArmCalls]) -> Framework:
    """Return the adapter of the arms' arrays, or else of the framework that may have left work on a device.

    Raises:
        BadInput: there are several.
    """
    others = sorted(set[str]().union(*(arm.shown for arm in arms)) - {"numpy"})
    if len(others) > 1:
        raise BadInput(f"the arms return arrays of {join_names(others)}; name one of them as framework=")
    if others:
        return load(others[0])
    held = sorted(set[str]().union(*(arm.held for arm in arms)))
    if not held and all(arm.shown for arm in arms):
        return load("numpy")
    adapters = [load(name) for name in held or IN_USE_ONCE_IMPORTED if name in sys.modules]
    on_devices = [adapter for adapter in adapters if adapter.accelerators()]
    if len(on_devices) > 1:
        names = join_names([adapter.name for adapter in on_devices])
        why = (
            f"the arms use {names} and return no arrays of them"
            if held
            else (f"an arm returns no arrays, and {names} are imported")
        )
        raise BadInput(f"{why}; name the one that it uses as framework=")
    return next(iter(on_devices or adapters), None) or load("numpy")


def _is_torch_generator(value: Any) -> bool:
    return type(value).__name__ == "Generator" and "torch" in packages_of(value)


def _agree(values: list[np.ndarray], expected: list[np.ndarray], tolerance: float) -> bool:
    """Return whether two outputs are equal, or differ by no more than the relative tolerance."""
    return check.identical(values, expected) or relative_error(values, expected) <= tolerance


def _is_nothing(values: list[np.ndarray]) -> bool:
    """Return whether an output is empty, or zero everywhere."""
    return all(array.size == 0 or (array.dtype.kind in "biufc" and not np.any(array)) for array in values)


def _all_values(calls: ArmCalls) -> list[np.ndarray]:
    return [array for values in calls.values for array in values]


def _extents(output: Any, adapter: Framework) -> list[tuple[int, int]]:
    """Return the addresses at which the memory of an output's arrays begins and ends."""
    memories = [memory.root for leaf in tree_leaves(output) if (memory := adapter.memory_of(leaf)) and memory.root.size]
    return [(memory.ctypes.data, memory.ctypes.data + memory.nbytes) for memory in memories]


def _overlap(some: Iterable[tuple[int, int]], others: Collection[tuple[int, int]]) -> bool:
    return any(begin < other_end and other_begin < end for begin, end in some for other_begin, other_end in others)
