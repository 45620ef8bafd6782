"""The array libraries that compute from one source, through the namespace that Python's array API standard fixes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from accelbench.core import Arm, Setting, Work
from accelbench.core.workload import import_installed
from accelbench.errors import BadInput, Unavailable, check_choice
from accelbench.schema.reasons import reason
from accelbench.workloads.arrays.ndimage import SciPyImages, TorchImages
from accelbench.workloads.data.rotation import Rotation

FUSED = ("numexpr", "numba", "fused", "kernel")  # these join operations, element by element
INPUT_SETS = 2  # no more, because a small problem should stay in the cache as it does in a program
Operands = tuple[np.ndarray, ...]
Compute = Callable[..., Any]
Fuse = Callable[[str, Compute, str], Compute]
Draw = Callable[[tuple[int, ...]], Any]


def uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return float32 numbers, uniform in [-1, 1), without an array beside it, since a large one takes long to fill."""
    drawn = rng.random(shape, dtype=np.float32)
    drawn *= 2
    drawn -= 1
    return drawn


@dataclass(frozen=True, kw_only=True)
class ArrayLibrary:
    """The memory in which arrays lie, and the library that computes with them.

    ``xp`` is the namespace of https://data-apis.org/array-api. ``send`` brings a host array to the memory of the
    library, ``fetch`` brings one back. ``uniform`` takes a seed and returns a function of a shape, which draws float32
    numbers from [0, 1) with the library's own generator. ``find_images`` returns its
    ``gaussian_filter`` and ``zoom``. ``device`` is the label of its device.
    ``fuse``, if given, joins elementwise operations in one kernel. It takes the kernel's name, a function of the
    operands, and one element of the result as an expression that C++ and Python share.
    """

    xp: Any
    send: Callable[[np.ndarray], Any]
    fetch: Callable[[Any], np.ndarray]
    uniform: Callable[[int], Draw]
    find_images: Callable[[], Any]
    device: str = "cpu"
    round_trip: bool = False
    fuse: Fuse | None = None

    @cached_property
    def ndimage(self) -> Any:
        """SciPy's image functions for this library's arrays, as far as workloads use them."""
        return self.find_images()

    def arm(
        self,
        compute: Compute,
        inputs: Sequence[Operands],
        *,
        output_bytes: int,
        operations: float = 0,
        saving: float = 1,
        items_of: Callable[[Any], Any] = lambda array: array,
        **facts: Any,
    ) -> Arm:
        """Return the arm that computes with each of the inputs in turn, resident or sent and fetched in every step.

        It takes ``operations`` operations; a known algorithm does with ``saving`` times fewer. ``items_of`` returns a
        view of an operand whose first axis counts the items that matter to the output.
        """
        input_bytes = sum(array.nbytes for array in inputs[0])
        work = Work(
            operations=operations,
            saving=saving,
            memory_bytes=input_bytes + output_bytes,
            to_device_bytes=input_bytes if self.round_trip else 0,
            from_device_bytes=output_bytes if self.round_trip else 0,
            precision="fp32",
        )
        rotation = Rotation(inputs if self.round_trip else [tuple(map(self.send, each)) for each in inputs])

        def resident() -> Any:
            return compute(*rotation.take())

        def there_and_back() -> Any:
            output = compute(*map(self.send, rotation.take()))
            return tuple(map(self.fetch, output)) if isinstance(output, tuple) else self.fetch(output)

        return Arm(
            step=there_and_back if self.round_trip else resident,
            reset=rotation.restart,
            device=self.device,
            inputs=lambda: [tuple(map(items_of, each)) for each in rotation.inputs()],
            work=work,
            **facts,
        )


def find_library(name: str, *, elementwise: bool = False) -> ArrayLibrary:
    """Return the array library of that name, for elementwise or other work.

    Raises:
        BadInput: there is no such library; the message lists those that exist.
        Unavailable: it cannot do this work, or not on this machine.
    """
    check_choice(name, _LIBRARIES, "array library")
    if name in FUSED and not elementwise:
        raise Unavailable(reason("not-elementwise"))
    library = _LIBRARIES[name]()
    for change in _CHANGES:
        library = change(library)
    return library


@contextmanager
def change_libraries(change: Callable[[ArrayLibrary], ArrayLibrary]) -> Iterator[None]:
    """Have `find_library` return changed libraries within the context, such as those that a profiler watches."""
    _CHANGES.append(change)
    try:
        yield
    finally:
        _CHANGES.remove(change)


_CHANGES: list[Callable[[ArrayLibrary], ArrayLibrary]] = []


def check_elements(setting: Setting, elements: object, *, small: int) -> int:
    """Return the number of elements if a run of this size may have as many.

    Raises:
        BadInput: the number is not a whole number from 1.
        Unavailable: more than ``small`` need a run of full size.
    """
    if not isinstance(elements, int) or elements < 1:
        raise BadInput(f"elements must be a whole number from 1, got {elements!r}")
    if elements > setting.choose(small=small, full=elements):
        raise Unavailable(reason("needs-full-size", elements=elements))
    return elements


def _numpy(*, fuse: Fuse | None = None) -> ArrayLibrary:
    return ArrayLibrary(
        xp=array_namespace(np.empty(0)),
        send=lambda array: array,
        fetch=lambda array: array,
        uniform=lambda seed: partial(np.random.default_rng(seed).random, dtype=np.float32),
        find_images=SciPyImages,
        fuse=fuse,
    )


def _cupy(*, round_trip: bool = False, fuse: Fuse | None = None) -> ArrayLibrary:
    from accelbench.frameworks.cupy import namespace  # here, because pytest's own process imports no framework

    cupy = namespace()
    return ArrayLibrary(
        xp=array_namespace(cupy.empty(0)),
        send=cupy.asarray,
        fetch=cupy.asnumpy,
        uniform=lambda seed: partial(cupy.random.default_rng(seed).random, dtype=np.float32),
        find_images=partial(import_module, "cupyx.scipy.ndimage"),
        device=f"cuda:{cupy.cuda.Device().id}",
        round_trip=round_trip,
        fuse=fuse,
    )


def _fuse(name: str, formula: Compute, _: str) -> Compute:
    """Return the kernel that CuPy makes of the operations that it traces in the formula."""
    from accelbench.frameworks.cupy import namespace

    return namespace().fuse(kernel_name=name)(formula)  # type: ignore[no-any-return]


def _write_kernel(name: str, formula: Compute, element: str) -> Compute:
    """Return a kernel written in CUDA C++; the formula provides the names of its operands."""
    from accelbench.frameworks.cupy import namespace

    operands = ", ".join(f"float32 {operand}" for operand in signature(formula).parameters)
    return namespace().ElementwiseKernel(operands, "float32 result", f"result = {element}", name)  # type: ignore[no-any-return]


def _interpret(_: str, formula: Compute, element: str) -> Compute:
    """Return a function that NumExpr computes block by block on all cores; the formula names its operands."""
    from joblib import cpu_count  # here, since it takes as long to load as NumPy

    numexpr = import_installed("numexpr", "'accelbench[numpy]'")
    numexpr.set_num_threads(min(cpu_count(), numexpr.MAX_THREADS))
    operands = [*signature(formula).parameters]
    return lambda *arrays: numexpr.evaluate(element, dict(zip(operands, arrays, strict=True)))


def _machine_code(_: str, formula: Compute, element: str) -> Compute:
    """Return Numba's compiled loop over all elements, which runs on one core."""
    numba = import_installed("numba", "'accelbench[numpy]'")
    operands = [*signature(formula).parameters]
    scalar = eval(f"lambda {', '.join(operands)}: {element}", vars(math))
    numbers = f"float32({', '.join('float32' for _ in operands)})"
    return numba.vectorize([numbers])(scalar)  # type: ignore[no-any-return]


def _torch(device: str | None) -> ArrayLibrary:
    import torch

    from accelbench.workloads.torch import devices

    place = devices.accelerator(device)

    def uniform(seed: int) -> Draw:
        generator = torch.Generator(place).manual_seed(seed)
        return partial(torch.rand, generator=generator, device=place)

    return ArrayLibrary(
        xp=array_namespace(torch.empty(0)),
        send=lambda array: torch.from_numpy(array).to(place),
        fetch=lambda tensor: tensor.numpy(force=True),
        uniform=uniform,
        find_images=TorchImages,
        device=devices.label(place),
    )


_LIBRARIES: dict[str, Callable[[], ArrayLibrary]] = {
    "numpy": _numpy,
    "numexpr": partial(_numpy, fuse=_interpret),
    "numba": partial(_numpy, fuse=_machine_code),
    "resident": _cupy,
    "round-trip": partial(_cupy, round_trip=True),
    "fused": partial(_cupy, fuse=_fuse),
    "kernel": partial(_cupy, fuse=_write_kernel),
    "torch-cpu": partial(_torch, "cpu"),
    "torch-accelerator": partial(_torch, None),
}
