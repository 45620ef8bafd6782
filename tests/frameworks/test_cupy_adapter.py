"""The adapter of CuPy where there is no GPU, or no CuPy, and NumPy's arms run all the same."""

import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from accelbench.errors import Unavailable
from accelbench.frameworks import cupy as adapter
from accelbench.frameworks import load

framework = load("cupy")


class FakeCudaError(Exception):
    """An error of a CUDA library, as CuPy raises it."""

    __module__ = "cupy_backends.cuda.api.runtime"


class Cycle:
    """What keeps itself alive."""

    def __init__(self) -> None:
        self.itself = self


class Pool:
    """A memory pool of CuPy's."""

    held_bytes = 0

    def total_bytes(self) -> int:
        return self.held_bytes

    def free_all_blocks(self) -> None:
        self.held_bytes = 0


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    """The pool of a stand-in for CuPy that has a device."""
    pool = Pool()
    stand_in = SimpleNamespace(
        fft=SimpleNamespace(config=SimpleNamespace(get_plan_cache=set)),
        cuda=SimpleNamespace(using_allocator=nullcontext, runtime=SimpleNamespace(getDevice=lambda: 1)),
        get_default_memory_pool=lambda: pool,
        get_default_pinned_memory_pool=Pool,
    )
    monkeypatch.setattr(adapter, "cupy", stand_in)
    monkeypatch.setattr(adapter, "unavailable", lambda: None)
    return pool


@pytest.fixture
def no_gpu() -> None:
    if adapter.unavailable() is None:
        pytest.skip("there is a CUDA device here")


@pytest.mark.usefixtures("no_gpu")
def test_numpy_arms_run_without_a_gpu() -> None:
    framework.seed(1)
    framework.synchronize()
    framework.reset_peak_memory()
    assert framework.to_host((np.float32([1, 2]), 3))[0].tolist() == [1, 2]
    assert framework.peak_memory_bytes() is None
    assert framework.accelerators() == ()
    assert framework.devices() == ()
    assert framework.time_on_device(lambda: None, device="cuda:0", held_s=0.0) is None
    framework.empty_cache()


@pytest.mark.skipif(adapter.unavailable() is not None, reason=str(adapter.unavailable()))
def test_work_that_was_queued_while_the_device_was_held_is_timed_by_it() -> None:
    vector = adapter.namespace().ones(1_000_000)
    float((vector + 1).sum())  # compile
    queued = framework.time_on_device(lambda: vector + 1, device="cuda:0", held_s=0.1)
    waited = framework.time_on_device(lambda: float((vector + 1).sum()), device="cuda:0", held_s=0.1)
    assert queued is not None
    assert waited is not None
    assert (queued.queued, waited.queued) == (True, False)
    assert 0 < queued.device_s < 0.1  # without the time for which the device was held
    assert framework.time_on_device(lambda: None, device="cuda:99", held_s=0.0) is None


@pytest.mark.usefixtures("no_gpu")
def test_the_sentence_says_why_cupy_cannot_compute() -> None:
    with pytest.raises(Unavailable, match=r"^cupy (is not installed: pip install|\S+ sees no CUDA device|cannot be)"):
        adapter.namespace()
    assert framework.describe()["cupy.unavailable"] == str(adapter.unavailable())


@pytest.mark.parametrize(("driver", "told"), [(0, ""), (12080, ": the driver is too old")])
def test_what_cuda_says_is_told_where_there_is_a_driver(
    monkeypatch: pytest.MonkeyPatch, driver: int, told: str
) -> None:
    def count() -> int:
        raise FakeCudaError("the driver is too old")

    runtime = SimpleNamespace(getDeviceCount=count, driverGetVersion=lambda: driver, CUDARuntimeError=FakeCudaError)
    monkeypatch.setattr(adapter, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime), __version__="14.2.0"))
    assert str(adapter.unavailable.__wrapped__()) == f"cupy 14.2.0 sees no CUDA device{told}"


def test_without_cupy_the_sentence_says_how_to_install_it() -> None:
    code = (
        "import sys; sys.modules['cupy'] = None\n"
        "from accelbench.frameworks import load\n"
        "framework = load('cupy'); framework.synchronize(); print(framework.to_host(2.5))\n"
        "print(framework.describe()['cupy.unavailable'])\n"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == ["[array(2.5)]", "cupy is not installed: pip install 'accelbench[cupy]'"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError("host"), True),
        (FakeCudaError("cudaErrorMemoryAllocation: out of memory"), True),
        (FakeCudaError("CUFFT_ALLOC_FAILED"), True),
        (FakeCudaError("CUDA_ERROR_OUT_OF_MEMORY: out of memory"), True),
        (FakeCudaError("CURAND_STATUS_ALLOCATION_FAILED"), True),
        (FakeCudaError("cudaErrorIllegalAddress: an illegal memory access was encountered"), False),
        (ValueError("cudaErrorMemoryAllocation"), False),
    ],
    ids=["host", "allocation", "fft-plan", "kernel", "generator", "illegal-access", "not-cupy"],
)
def test_out_of_memory_is_told_from_other_errors(error: BaseException, expected: bool) -> None:
    assert framework.is_out_of_memory(error) is expected


def test_cupys_own_out_of_memory_error_is_recognised() -> None:
    memory = pytest.importorskip("cupy").cuda.memory
    assert framework.is_out_of_memory(memory.OutOfMemoryError(2**40, 2**30))


def test_an_arm_that_puts_nothing_on_the_device_has_no_peak_there(pool: Pool) -> None:
    pool.held_bytes = 4096
    assert framework.peak_memory_bytes() == 4096
    framework.reset_peak_memory()
    assert framework.peak_memory_bytes() is None


def test_what_the_pool_holds_is_no_peak_where_arrays_lay_outside_of_it(pool: Pool) -> None:
    framework.reset_peak_memory()
    pool.held_bytes = 4096
    with adapter.framework.without_pool():
        pass
    assert framework.peak_memory_bytes() is None
    framework.reset_peak_memory()
    pool.held_bytes = 4096
    assert framework.peak_memory_bytes() == 4096


def test_the_growth_of_the_pool_shows_on_which_device_a_step_works(pool: Pool) -> None:
    def grow(size_bytes: int) -> None:
        pool.held_bytes = max(pool.held_bytes, size_bytes)  # as a pool does, which serves from what it has

    pool.held_bytes = 4096  # free, of an earlier step
    assert framework.allocations(lambda: grow(1024)) == ["cuda:1"]
    assert framework.allocations(lambda: grow(0)) == []


@pytest.mark.usefixtures("no_gpu")
def test_without_a_device_nothing_is_allocated_there() -> None:
    assert framework.allocations(lambda: np.ones(1000)) == []


def test_the_current_gpu_and_the_others_that_are_open_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    runtime = SimpleNamespace(getDeviceCount=lambda: 3, getDevice=lambda: chosen[-1])
    runtime.deviceSynchronize = lambda: waited.append(runtime.getDevice())
    chosen = [0]

    @contextmanager
    def device(place: int) -> Iterator[None]:
        chosen.append(place)
        yield
        chosen.pop()

    stand_in = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime, Device=device))
    monkeypatch.setattr(adapter, "cupy", stand_in)
    monkeypatch.setattr(adapter, "unavailable", lambda: None)
    monkeypatch.setattr(adapter, "open_gpus", lambda kind: {f"{kind}:0": "8a1f", f"{kind}:2": "77b0"})
    framework.synchronize()
    assert waited == [0, 2]
    assert framework.current_accelerator() == "cuda:0"
    assert framework.gpu_uuids() == {"cuda:0": "8a1f", "cuda:2": "77b0"}


def test_what_only_a_cycle_keeps_alive_is_freed() -> None:
    alive = weakref.ref(Cycle())
    assert alive() is not None
    framework.empty_cache()
    assert alive() is None


def test_numpys_facts_stand_beside_cupys_because_its_arms_are_the_baseline() -> None:
    assert framework.describe()["numpy.version"] == np.__version__


def test_what_cupy_was_built_for_is_told_without_a_gpu() -> None:
    cupy = pytest.importorskip("cupy")
    facts = framework.describe()
    assert facts["cupy.version"] == cupy.__version__
    assert facts["cupy.built_for"].startswith("CUDA 1")
    assert facts["cupy.nvrtc"] == "not found" or facts["cupy.nvrtc"][0].isdigit()
