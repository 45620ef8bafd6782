"""Array computations, each written once for NumPy and CuPy, over inputs of any size."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Any

import numpy as np

from harness.errors import BadInput, Unavailable
from harness.experiment import Arm, Setting, Workload, register
from harness.workloads.rotation import Rotation

INPUT_SETS = 2  # no more, because a small problem should stay in the cache as it does in a program
SMALL_ELEMENTS = 10_000_000  # the most at size small
Inputs = tuple[Any, ...]
Step = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Computation:
    """A formula over float32 arrays: ``formula(xp, *operands)``, where ``xp`` is ``numpy`` or ``cupy``.

    Operands are vectors, shape ``(elements,)``, or square matrices of about as many entries.
    """

    formula: Step
    operands: int
    square: bool
    elementwise: bool

    @property
    def name(self) -> str:
        """The workload's name."""
        return self.formula.__name__.replace("_", "-")

    def shape(self, elements: int) -> tuple[int, ...]:
        """Return the shape of each operand."""
        return (isqrt(elements),) * 2 if self.square else (elements,)

    def inputs(self, rng: np.random.Generator, elements: int) -> Inputs:
        """Return host arrays, uniform in [-1, 1), the same for every array library."""
        shape = self.shape(elements)
        return tuple(2 * rng.random(shape, dtype=np.float32) - 1 for _ in range(self.operands))

    def build(self, setting: Setting, *, elements: int = 1_000_000, array_library: str = "numpy") -> Arm:
        """Build the arm that computes the formula with one of the array libraries."""
        _check(setting, elements, array_library)
        rng = np.random.default_rng(setting.seed)
        compute, place = _LIBRARIES[array_library](self)
        operands = Rotation([place(self.inputs(rng, elements)) for _ in range(INPUT_SETS)])
        return Arm(
            step=lambda: compute(*operands.take()),
            items=int(np.prod(self.shape(elements))),
            reset=operands.restart,
            checked_steps=INPUT_SETS,
        )


def _check(setting: Setting, elements: int, array_library: str) -> None:
    if array_library not in _LIBRARIES:
        raise BadInput(f"unknown array library {array_library!r}; expected one of: {', '.join(_LIBRARIES)}")
    if not isinstance(elements, int) or elements < 1:
        raise BadInput(f"elements must be a whole number from 1, got {elements!r}")
    if elements > setting.choose(small=SMALL_ELEMENTS, full=elements):
        raise Unavailable(f"{elements} elements need a run of full size: pytest benchmarks/ --accel-size=full")


def _cupy() -> Any:
    from harness.frameworks.cupy import namespace  # here, because pytest's own process imports no framework

    return namespace()


def _in_place(operands: Inputs) -> Inputs:
    return operands


def _on_host(computation: Computation) -> tuple[Step, Step]:
    return partial(computation.formula, np), _in_place


def _resident(computation: Computation) -> tuple[Step, Step]:
    cupy = _cupy()
    return partial(computation.formula, cupy), lambda operands: tuple(map(cupy.asarray, operands))


def _round_trip(computation: Computation) -> tuple[Step, Step]:
    cupy = _cupy()

    def there_and_back(*operands: Any) -> np.ndarray:
        return cupy.asnumpy(computation.formula(cupy, *map(cupy.asarray, operands)))  # type: ignore[no-any-return]

    return there_and_back, _in_place


def _fused(computation: Computation) -> tuple[Step, Step]:
    if not computation.elementwise:
        raise Unavailable(f"{computation.name} is not elementwise, so there are no operations to fuse")
    compute, place = _resident(computation)
    return _cupy().fuse(kernel_name=computation.formula.__name__)(compute), place


# What each array library computes with, and where it wants its operands.
_LIBRARIES: dict[str, Callable[[Computation], tuple[Step, Step]]] = {
    "numpy": _on_host,
    "resident": _resident,
    "round-trip": _round_trip,
    "fused": _fused,
}


def _computation(operands: int, *, square: bool = False, elementwise: bool = False) -> Callable[[Step], Workload]:
    """Declare a formula as a workload; its name is the function's, its summary the docstring's first line."""

    def declare(formula: Step) -> Workload:
        computation = Computation(formula=formula, operands=operands, square=square, elementwise=elementwise)
        return register(
            Workload(
                name=computation.name,
                frameworks=("numpy", "cupy"),
                unit="element",
                summary=(inspect.getdoc(formula) or "").split("\n")[0],
                builder=computation.build,
            )
        )

    return declare


@_computation(2, elementwise=True)
def vector_add(_: Any, a: Any, b: Any) -> Any:
    """Sum of two vectors."""
    return a + b


@_computation(3, elementwise=True)
def elementwise_chain(xp: Any, a: Any, b: Any, c: Any) -> Any:
    """Ten elementwise operations in a row, each with a temporary array: √(a² + b²)·exp(−c²) + sin a."""
    return xp.sqrt(a * a + b * b) * xp.exp(-c * c) + xp.sin(a)  # no constants: CuPy's fusion may widen them to float64


@_computation(2, square=True)
def matrix_product(_: Any, a: Any, b: Any) -> Any:
    """Product of two square matrices."""
    return a @ b


@_computation(1)
def fft(xp: Any, a: Any) -> Any:
    """Fourier transform of a real vector."""
    return xp.fft.rfft(a)


@_computation(1)
def sort(xp: Any, a: Any) -> Any:
    """Sorted copy of a vector."""
    return xp.sort(a)


@_computation(1)
def reduction(_: Any, a: Any) -> Any:
    """Mean of the squares of a vector."""
    return (a * a).mean()
