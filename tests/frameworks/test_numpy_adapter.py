"""The adapter of NumPy."""

import random
import tracemalloc

import numpy as np
import pytest

from accelbench.frameworks import load

framework = load("numpy")


def test_the_allocators_peak_is_seen_although_it_was_freed() -> None:
    framework.reset_peak_memory()
    np.ones(4_000_000, np.float32)
    peak_bytes = framework.peak_memory_bytes()
    assert peak_bytes == pytest.approx(16_000_000, rel=0.01)


def test_arrays_from_before_the_reset_do_not_count() -> None:
    tracemalloc.start()
    kept = np.ones(4_000_000, np.float32)
    framework.reset_peak_memory()
    np.ones(1_000_000, np.float32)
    peak_bytes = framework.peak_memory_bytes()
    tracemalloc.stop()
    assert kept.nbytes > 4_000_000
    assert peak_bytes == pytest.approx(4_000_000, rel=0.05)


def test_tracing_ends_with_the_pass_that_began_it() -> None:
    framework.reset_peak_memory()
    framework.peak_memory_bytes()
    assert not tracemalloc.is_tracing()


def test_a_pass_that_failed_leaves_no_tracing_behind() -> None:
    framework.reset_peak_memory()
    framework.empty_cache()
    assert not tracemalloc.is_tracing()


def test_someone_elses_tracing_goes_on() -> None:
    tracemalloc.start()
    framework.reset_peak_memory()
    framework.peak_memory_bytes()
    assert tracemalloc.is_tracing()
    tracemalloc.stop()


def test_only_a_memory_error_is_out_of_memory() -> None:
    with pytest.raises(MemoryError) as caught:
        np.empty(2**60, np.uint8)
    assert framework.is_out_of_memory(caught.value)
    assert not framework.is_out_of_memory(ValueError("out of memory, says a bad value"))


def test_a_seed_repeats_what_is_drawn() -> None:
    framework.seed(3)
    drawn = random.random(), np.random.rand()  # noqa: NPY002  the global generator is what is tested
    framework.seed(3)
    assert drawn == (random.random(), np.random.rand())  # noqa: NPY002


def test_it_describes_its_version_and_its_blas() -> None:
    facts = framework.describe()
    assert facts["numpy.version"] == np.__version__
    assert int(facts["numpy.blas_threads"]) >= 1
    assert all(isinstance(value, str) and value for value in facts.values())


def test_it_has_no_accelerator_to_wait_for() -> None:
    assert framework.time_on_device(lambda: None, device="cpu", held_s=0.0) is None
    framework.synchronize()
    assert framework.accelerators() == ()
    assert framework.devices() == ()
