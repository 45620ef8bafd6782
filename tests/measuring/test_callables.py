"""What users give to be timed: callables that do their work in a call, and those that do not."""

import asyncio
import functools
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from itertools import chain
from threading import Thread
from typing import Any

import numpy as np
import pytest

from accelbench.errors import BadInput
from accelbench.measuring.callables import find_promise, held_values, packages_of, require_callable

VALUES = np.ones(3)


def generate() -> Iterator[int]:
    yield 1


async def wait() -> int:
    return 1


async def wait_often() -> AsyncIterator[int]:
    yield 1


def scale(factor: float, *, by: float) -> float:
    return factor * by


class Simulation:
    """A program with a state, whose method is its step."""

    def __init__(self) -> None:
        self.values = VALUES

    def step(self, times: int = 1) -> float:
        return float(self.values.sum()) * times

    def generate(self) -> Iterator[int]:
        yield 1


class Waiting:
    """An object whose call is a coroutine."""

    async def __call__(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("step", "line"),
    [
        (VALUES, "arm 'one' is not callable: its type is ndarray; give a function, as in lambda: f(x)"),
        (generate, "is a generator function, whose call computes nothing until somebody reads from it"),
        (Simulation().generate, "is a generator function"),
        (functools.partial(generate), "is a generator function"),
        (wait, "is an async function, whose call computes nothing until it is awaited"),
        (wait_often, "is an async function"),
        (functools.partial(functools.partial(wait)), "is an async function"),
        (Waiting(), "is an async function"),
        (Simulation, "is the class Simulation, whose call makes an object"),
        (scale, "needs the arguments factor and by; give a function without arguments, as in lambda: f(factor, by)"),
        (functools.partial(scale, 1.0), "needs the argument by"),
    ],
)
def test_what_would_not_do_its_work_in_a_call_is_refused_in_one_line(step: Any, line: str) -> None:
    with pytest.raises(BadInput) as caught:
        require_callable(step, "arm 'one'")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "step",
    [
        lambda: 1,
        lambda *many, by=2, **options: (many, by, options),
        functools.partial(scale, 1.0, by=2.0),
        Simulation().step,
        VALUES.sum,
        functools.cache(lambda: 1),
        int,
        functools.partial(np.square, VALUES),
        dict(a=1).items,  # noqa: C408  a method that has no signature
    ],
)
def test_what_can_be_called_without_arguments_is_accepted(step: Callable[[], Any]) -> None:
    require_callable(step, "arm 'one'")


def test_a_class_may_prepare_the_data() -> None:
    require_callable(Simulation, "arm 'one'", is_builder=True)


class Lazy:
    """An array of a library that computes later."""

    def __dask_graph__(self) -> dict[str, int]:
        return {"sum": 1}


class LazyFrame:
    """A table of a library that computes later."""

    def collect(self) -> None:
        """Compute."""


class Array:
    """An array of a library that works on while the program goes on."""

    __module__ = "jaxlib.xla_extension"

    def block_until_ready(self) -> None:
        """Wait."""


class Pipeline:
    """A pipeline of a framework that is read later."""

    def batch(self) -> None:
        """Make batches."""

    def as_numpy_iterator(self) -> None:
        """Read."""


class Pending:
    """The result of a pool of workers."""

    def ready(self) -> bool:
        return False

    def wait(self) -> None:
        """Wait."""


@pytest.mark.parametrize(
    ("output", "clause"),
    [
        (generate(), "returned a generator, which computes nothing until it is read; return list(…) of it"),
        ([1.0, {"later": generate()}], "returned a generator"),
        (map(float, [1]), "returned an iterator (map), which computes nothing until it is read"),
        (chain([1], [2]), "returned an iterator (chain)"),
        (wait_often(), "returned an async generator, which computes nothing until it is awaited"),
        (Future(), "returned a Future, whose work may go on; wait for its end inside, and return the result"),
        (Pending(), "returned a Pending, whose work may go on"),
        (Thread(), "returned a Thread, whose work may go on"),
        (Array(), "returned an array of jaxlib, for whose devices accelbench cannot wait"),
        (Lazy(), "returned a Lazy, which is computed later"),
        (LazyFrame(), "returned a LazyFrame, which is computed later"),
        (Pipeline(), "returned a pipeline (Pipeline), which computes nothing until it is read"),
        (scale, "returned a function instead of a result; call it inside, or pass rebuild=True"),
        (functools.partial(scale, 1), "returned a function instead of a result"),
    ],
)
def test_the_promise_of_a_result_is_none(output: Any, clause: str) -> None:
    assert clause in (find_promise(output) or "")


@pytest.mark.parametrize("output", [None, 1, VALUES, "text", [1, 2.0], {"a": (VALUES, None)}, range(3), Simulation()])
def test_a_result_is_no_promise(output: Any) -> None:
    assert find_promise(output) is None


def test_a_coroutine_that_is_refused_leaves_no_warning_that_nobody_awaited_it() -> None:
    assert "returned a coroutine, which computes nothing until it is awaited" in (find_promise(wait()) or "")


def test_the_future_of_an_event_loop_is_a_promise() -> None:
    async def make() -> str | None:
        return find_promise(asyncio.get_running_loop().create_future())

    assert "returned a Future" in (asyncio.run(make()) or "")


def use_global() -> Any:
    return VALUES * 2


def holders() -> dict[str, Callable[[], Any]]:
    own, simulation = VALUES, Simulation()

    def helper() -> Any:
        return own

    def default(values: Any = own) -> Any:
        return values

    return {
        "closure": lambda: own,
        "global": use_global,
        "global of a function in a closure": functools.partial(use_global),
        "helper": lambda: helper(),
        "default": default,
        "partial": functools.partial(np.sum, own),
        "method": simulation.step,
        "object": lambda: simulation.step(),
        "nested": lambda values={"all": [own]}: values,
        "method of an array": own.sum,
        "cached": functools.cache(use_global),
        "inner function": lambda: [VALUES for _ in range(3)],
    }


@pytest.mark.parametrize("kind", holders())
def test_what_a_callable_holds_is_found(kind: str) -> None:
    assert any(value is VALUES for value in held_values(holders()[kind]))


def test_a_module_that_a_function_names_is_found_and_libraries_are_not_opened() -> None:
    held = list(held_values(lambda: np.fft.fft(VALUES)))
    assert any(value is np for value in held)
    assert len(held) < 10


def test_what_holds_itself_ends() -> None:
    ring: list[Any] = [VALUES]
    ring.append(ring)
    assert len(list(held_values(lambda: ring))) < 10


def test_the_package_of_an_array_is_that_of_the_types_that_it_extends() -> None:
    class Own(np.ndarray):
        """An array of the user's own type."""

    assert "numpy" in packages_of(np.ones(3).view(Own))
    assert packages_of(np) == ["numpy"]
    assert packages_of(random.Random)[0] == "random"


def test_looking_at_callables_imports_no_framework() -> None:
    script = "import sys, accelbench.measuring.callables; print({'torch', 'tensorflow', 'cupy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
