"""Array computations, each written once for every array library, over inputs of any size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isqrt, log2
from typing import Any

import numpy as np

from accelbench.core import Arm, Setting, Work, Workload, register_workload, workload
from accelbench.core.technique import summary_of
from accelbench.errors import BadInput
from accelbench.text import hyphenate
from accelbench.workloads.arrays.libraries import (
    INPUT_SETS,
    Compute,
    Operands,
    check_elements,
    find_library,
    uniform,
)
from accelbench.workloads.data.rotation import Rotation

SMALL_ELEMENTS = 10_000_000  # the most at size small
PARTS = 100  # of a vector, since a sum rounds single elements away
FLOAT_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class Computation:
    """A formula over float32 arrays: ``formula(xp, *operands)``, where ``xp`` is an array library's namespace.

    Operands are vectors, shape ``(elements,)``, or square matrices of about as many entries. ``operations`` and
    ``outputs`` take the number of elements and return the number of operations and of float32 results; a known
    algorithm does with ``saving`` times fewer operations. ``items_of`` returns a view of the parts of an operand that
    show in the results. ``element`` is one element of an elementwise formula's result, in C++ and in Python alike.
    """

    formula: Compute
    operands: int
    square: bool = False
    element: str = ""
    operations: Callable[[int], float] = lambda _: 0
    saving: float = 1
    outputs: Callable[[int], int] = lambda elements: elements
    items_of: Callable[[Any], Any] = lambda array: array

    @property
    def name(self) -> str:
        """The workload's name."""
        return hyphenate(self.formula.__name__)

    def shape(self, elements: int) -> tuple[int, ...]:
        """Return the shape of each operand."""
        return (isqrt(elements),) * 2 if self.square else (elements,)

    def inputs(self, rng: np.random.Generator, elements: int) -> Operands:
        """Return host arrays, uniform in [-1, 1), the same for every array library."""
        return tuple(uniform(rng, self.shape(elements)) for _ in range(self.operands))

    def build(
        self,
        setting: Setting,
        *,
        elements: int = 1_000_000,
        array_library: str = "numpy",
    ) -> Arm:
        """Build the arm that computes the formula with one of the array libraries."""
        return self._arm(setting, elements, array_library)

    def build_elementwise(
        self,
        setting: Setting,
        *,
        elements: int = 1_000_000,
        array_library: str = "numpy",
        expression_compiler: str = "numpy",
    ) -> Arm:
        """Build the arm of an elementwise formula, for which NumPy also has compilers of expressions."""
        if "numpy" not in (array_library, expression_compiler):
            raise BadInput(f"expression compiler {expression_compiler!r} takes NumPy's arrays, not {array_library!r}")
        chosen = expression_compiler if array_library == "numpy" else array_library
        return self._arm(setting, elements, chosen)

    def _arm(self, setting: Setting, elements: int, chosen: str) -> Arm:
        library = find_library(chosen, elementwise=bool(self.element))
        check_elements(setting, elements, small=SMALL_ELEMENTS)
        rng = np.random.default_rng(setting.seed)
        items = int(np.prod(self.shape(elements)))
        compute: Compute = partial(self.formula, library.xp)
        if library.fuse:
            compute = library.fuse(self.formula.__name__, compute, self.element)
        return library.arm(
            compute,
            [self.inputs(rng, elements) for _ in range(INPUT_SETS)],
            items=items,
            checked_steps=INPUT_SETS,
            operations=self.operations(items),
            saving=self.saving,
            output_bytes=FLOAT_BYTES * self.outputs(items),
            items_of=self.items_of,
        )


def _computation(operands: int, **facts: Any) -> Callable[[Compute], Workload]:
    """Declare a formula as a workload; its name is the function's, its summary the docstring's first line."""

    def declare(formula: Compute) -> Workload:
        computation = Computation(formula=formula, operands=operands, **facts)
        return register_workload(
            Workload(
                name=computation.name,
                frameworks=("numpy", "cupy", "torch"),
                unit="element",
                summary=summary_of(formula),
                builder=computation.build_elementwise if computation.element else computation.build,
            )
        )

    return declare


def parts(vector: Any) -> Any:
    """Return views of a vector's parts, or the vector itself where it has fewer elements than parts."""
    if len(vector) < PARTS:
        return vector
    return vector[: len(vector) // PARTS * PARTS].reshape(PARTS, -1)


@_computation(2, element="a + b", operations=lambda elements: elements)
def vector_add(_: Any, a: Any, b: Any) -> Any:
    """Sum of two vectors."""
    return a + b


@_computation(3, element="sqrt(a * a + b * b) * exp(-c * c) + sin(a)", operations=lambda elements: 10 * elements)
def elementwise_chain(xp: Any, a: Any, b: Any, c: Any) -> Any:
    """Ten elementwise operations in a row, each with a temporary array: √(a² + b²)·exp(−c²) + sin a."""
    return xp.sqrt(a * a + b * b) * xp.exp(-c * c) + xp.sin(a)  # no constants: CuPy's fusion may widen them to float64


@_computation(2, element="(((a * b + a) * b + a) * b + a) * b + a", operations=lambda elements: 8 * elements)
def polynomial(_: Any, a: Any, b: Any) -> Any:
    """Horner's scheme of degree 4, eight sums and products in a row, each with a temporary array."""
    return (((a * b + a) * b + a) * b + a) * b + a


@_computation(2, square=True, operations=lambda elements: 2 * elements**1.5)
def matrix_product(_: Any, a: Any, b: Any) -> Any:
    """Product of two square matrices."""
    return a @ b


# Bringing an n×n matrix to two diagonals takes 8/3·n³ operations (Golub and Van Loan 2013, Matrix Computations, 5.4).
@_computation(1, square=True, operations=lambda elements: 8 / 3 * elements**1.5, outputs=isqrt)
def svd(xp: Any, a: Any) -> Any:
    """Singular values of a square matrix."""
    return xp.linalg.svdvals(a)


# Radix 2 takes 5·n·log2 n operations, split radix 4 (Yavne 1968; Johnson and Frigo 2007, IEEE Trans. Signal Process.
# 55, 111), and real numbers half of that.
@_computation(1, operations=lambda n: 2.5 * n * log2(n), saving=1.25, outputs=lambda n: 2 * (n // 2 + 1))
def fft(xp: Any, a: Any) -> Any:
    """Fourier transform of a real vector."""
    return xp.fft.rfft(a)


@_computation(1)
def sort(xp: Any, a: Any) -> Any:
    """Sorted copy of a vector."""
    return xp.sort(a, stable=False)  # as NumPy sorts by itself


@_computation(1, operations=lambda elements: 2 * elements, outputs=lambda _: 1, items_of=parts)
def reduction(_: Any, a: Any) -> Any:
    """Mean of the squares of a vector."""
    return (a * a).mean()


CHAINS = 8


@workload("cupy", unit="element")
def independent_chains_cupy(setting: Setting, *, elements: int = 100_000, streams: int = 1) -> Arm:
    """Eight independent chains of four elementwise operations on float32 vectors, each launched on one of the streams.

    ``elements`` is the length of each chain's vectors; throughput counts all of them.
    """
    from accelbench.frameworks.cupy import namespace

    cupy = namespace()
    library = find_library("resident")
    check_elements(setting, elements, small=SMALL_ELEMENTS)
    rng = np.random.default_rng(setting.seed)
    shape = (CHAINS, 2, elements)
    rotation = Rotation([library.send(uniform(rng, shape)) for _ in range(INPUT_SETS)])
    lanes = [cupy.cuda.Stream(non_blocking=True) for _ in range(streams)]

    def step() -> Any:
        caller = cupy.cuda.get_current_stream()
        begun = caller.record()
        for lane in lanes:
            lane.wait_event(begun)  # nothing overtakes what was launched before this step
        results = []
        for number, (a, b) in enumerate(rotation.take()):
            with lanes[number % streams]:
                results.append(cupy.square(cupy.tanh(a * b + a)))
        for lane in lanes:
            caller.wait_event(lane.record())
        return results

    items = CHAINS * elements
    vector_bytes = 4 * items
    return Arm(
        step=step,
        items=items,
        reset=rotation.restart,
        checked_steps=INPUT_SETS,
        device=library.device,
        inputs=rotation.inputs,
        work=Work(operations=4 * items, memory_bytes=3 * vector_bytes, precision="fp32"),
    )
