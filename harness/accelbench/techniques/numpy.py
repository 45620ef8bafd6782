"""What can be switched for NumPy on the host."""

from __future__ import annotations

import platform

import threadpoolctl  # type: ignore[import-untyped]  # ships no types

from accelbench.core import ROUNDING, Arm, Build, technique
from accelbench.errors import Unavailable
from accelbench.techniques.shared import cpu_count, threads_at, threads_here

# Above any array here: glibc then takes arrays from its heap, which it never shrinks, instead of mapping fresh pages
# for every one. Setting one of the thresholds ends glibc's own adaptation of both, so they go together.
KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(2**40),
    "MALLOC_TRIM_THRESHOLD_": str(2**40),
    "MALLOC_TOP_PAD_": str(64 * 2**20),
}


def _threads(level: str) -> int:
    return threads_at(level, cpu_count())


@technique(
    "numpy",
    often_pays=True,
    group="threads",
    aliases=("num_threads", "set_num_threads", "OMP_NUM_THREADS", "BLAS threads", "threadpoolctl"),
    levels=("1", "half", "all"),
    tolerance={"*": ROUNDING},
    parallelism=_threads,
    is_usual=lambda level: all(pool["num_threads"] == _threads(level) for pool in threadpoolctl.threadpool_info()),
    snippet={
        "1": "threadpoolctl.threadpool_limits(limits=1)",
        "half": "threadpoolctl.threadpool_limits(limits=len(os.sched_getaffinity(0)) // 2)",
        "all": "threadpoolctl.threadpool_limits(limits=len(os.sched_getaffinity(0)))",
    },
)
def threads(build: Build, level: str) -> Arm:
    """Threads of the BLAS library behind NumPy's linear algebra: one, one for every second core, or one per core."""
    count = threads_here(level)
    arm = build()
    pools = threadpoolctl.ThreadpoolController()  # after the build, which may load a library
    if level != "1" and not len(pools):
        raise Unavailable("threadpoolctl knows no thread pool of this NumPy, so its threads cannot be set")
    return arm.inside(lambda: pools.limit(limits=count))


@technique(
    "numpy",
    group="memory",
    aliases=("inplace", "out argument"),
    levels=("off", "on"),
    snippet={"on": "numpy.multiply(a, b, out=a)  # likewise every operation: into an array that is done with"},
)
def in_place(build: Build, level: str) -> Arm:
    """A new array for the result of every operation, or one that the next operation overwrites."""
    return build(in_place=level == "on")


@technique(
    "numpy",
    group="memory",
    aliases=("tiling", "chunking", "cache blocking"),
    levels=("off", "on"),
    snippet={"on": "for start in range(0, len(a), block):  # every operation on a[start : start + block]"},
)
def blocking(build: Build, level: str) -> Arm:
    """Every operation on whole arrays, or all of them on one block after another that fits into a cache."""
    return build(blocking=level == "on")


@technique(
    "numpy",
    group="threads",
    aliases=("ThreadPoolExecutor", "multithreading"),
    levels=("1", "all"),
    parallelism=_threads,
    snippet={
        "all": "with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:\n"
        "    list(pool.map(compute, parts))  # parts of the arrays"
    },
)
def thread_pool(build: Build, level: str) -> Arm:
    """Parts of an array one after another, or at once on a thread per core, since NumPy lets other threads run."""
    return build(workers=threads_here(level))


@technique(
    "numpy",
    group="array library",
    aliases=("JIT", "njit", "numba.vectorize"),
    levels=("numpy", "numexpr", "numba"),
    tolerance={"*": ROUNDING},
    parallelism=lambda level: cpu_count() if level == "numexpr" else 1,
    snippet={
        "numexpr": 'numexpr.evaluate("sqrt(a * a + b * b)")  # the whole expression, of arrays a and b',
        "numba": '@numba.vectorize(["float32(float32, float32)"])  # on a function of one element of each array',
    },
)
def expression_compiler(build: Build, level: str) -> Arm:
    """Operation after operation, each on whole arrays, or all in one pass: NumExpr's on all cores, Numba's on one."""
    return build(expression_compiler=level)


@technique(
    "numpy",
    group="memory",
    aliases=("allocator", "glibc"),
    levels=("default", "keep"),
    environment={"keep": KEEP_MEMORY},
)
def malloc(build: Build, level: str) -> Arm:
    """The C library's allocator: it returns freed arrays to the kernel, or keeps their memory for the next ones."""
    if level == "keep" and platform.libc_ver()[0] != "glibc":
        raise Unavailable("only glibc on Linux keeps freed memory by these variables, and this is another C library")
    return build()
