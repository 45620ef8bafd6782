"""What can be switched between NumPy and CuPy, and what CuPy alone offers."""

from __future__ import annotations

from accelbench.core import ROUNDING, Arm, Build, technique


@technique(
    "cupy",
    group="array library",
    aliases=("GPU", "CUDA", "cupy.asarray", "array backend"),
    levels=("numpy", "resident", "round-trip", "fused"),
    tolerance={"*": ROUNDING},
    snippet={
        "resident": "array = cupy.asarray(array)  # once, then CuPy's functions",
        "round-trip": "result = cupy.asnumpy(compute(cupy.asarray(array)))  # in every step",
        "fused": "@cupy.fuse()  # on the function; array = cupy.asarray(array) once, before it",
    },
)
def array_library(build: Build, level: str) -> Arm:
    """NumPy on the host, or CuPy: data resident on the device, copied there and back in every step, or fused."""
    return build(array_library=level)


_LIBRARIES = {"unfused": "resident", "fused": "fused", "elementwise-kernel": "kernel"}


@technique(
    "cupy",
    group="kernels",
    aliases=("cupy.fuse", "kernel fusion", "ElementwiseKernel", "custom kernel"),
    levels=tuple(_LIBRARIES),
    tolerance={"*": ROUNDING},
    snippet={
        "fused": "@cupy.fuse()  # on the function",
        "elementwise-kernel": 'kernel = cupy.ElementwiseKernel("T a, T b", "T out", "out = a * b + a;", "kernel")',
    },
)
def kernels(build: Build, level: str) -> Arm:
    """A kernel for each operation, one that ``cupy.fuse`` makes of all, or one that is written in CUDA C++."""
    return build(array_library=_LIBRARIES[level])


@technique(
    "cupy",
    group="memory",
    aliases=("allocator", "get_default_memory_pool"),
    levels=("on", "off"),
    not_recommended={"*": "the pool, on by default, is there to save what this costs"},
)
def memory_pool(build: Build, level: str) -> Arm:
    """CuPy's pool, which keeps freed memory for the next arrays, or memory asked of the driver for every array.

    The device's memory is counted by the pool, so without it no peak is known.
    """
    arm = build()
    if level == "on":
        return arm
    from accelbench.frameworks.cupy import framework  # here, because pytest's own process imports no framework

    return arm.inside(framework.without_pool)


@technique(
    "cupy",
    group="overlap",
    aliases=("CUDA streams", "cupy.cuda.Stream"),
    levels=("1", "2", "4"),
    snippet={"*": "with streams[part % {level}]:  # streams = [cupy.cuda.Stream(non_blocking=True), ...]"},
)
def streams(build: Build, level: str) -> Arm:
    """CUDA streams on which independent work is launched in turn, so that it may run at once."""
    return build(streams=int(level))
