"""What can be switched for arrays: the library, NumPy's threads, the C library's allocator."""

import os
import subprocess
import sys
from typing import Any

import joblib
import numpy as np
import pytest
import threadpoolctl

import accelbench.techniques
import accelbench.techniques.cupy
import accelbench.techniques.numpy
import accelbench.workloads.arrays.computations  # noqa: F401  declares the workloads
from accelbench.core import Arm, Setting, apply_all, find_technique, find_workload
from accelbench.errors import Unavailable

FAULTS = """
import resource, numpy as np
a = np.ones(10_000_000, np.float32)  # larger than glibc's own adaptation goes
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    a * a + a
before = faults()
for _ in range(20):
    a * a + a
print((faults() - before) / 20)
"""


def arm_at(framework: str, technique: str, level: str, **options: Any) -> Arm:
    workload = find_workload("matrix-product")
    switched = find_technique(framework, technique)
    return apply_all([(switched, level)], lambda **more: workload.build(Setting(), elements=400, **options, **more))


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}


def test_the_array_libraries_start_with_numpy_as_the_baseline() -> None:
    declared = find_technique("cupy", "array_library")
    assert declared.levels == ("numpy", "resident", "round-trip", "fused")
    assert arm_at("cupy", "array_library", "numpy").step().shape == (20, 20)


def test_an_array_library_that_does_not_apply_says_so() -> None:
    with pytest.raises(Unavailable, match="only elementwise operations can be fused"):
        arm_at("cupy", "array_library", "fused")


@pytest.mark.parametrize(("framework", "level"), [("cupy", "resident"), ("torch", "torch-accelerator")])
def test_the_tolerance_tells_tf32_from_float32(framework: str, level: str) -> None:
    a, b = np.random.default_rng(0).uniform(-1, 1, (2, 300, 300))
    exact = a @ b

    def error(precision: type[np.floating[Any]]) -> float:
        product = a.astype(precision).astype(float) @ b.astype(precision).astype(float)
        return float(np.linalg.norm(product - exact) / np.linalg.norm(exact))

    tolerance = find_technique(framework, "array_library").tolerance_at(level)
    assert error(np.float32) < tolerance < error(np.float16)  # float16 keeps as many digits as TF32


def test_one_thread_holds_inside_a_block_only() -> None:
    before = blas_threads()
    arm = arm_at("numpy", "threads", "1")
    with arm.enter():
        assert blas_threads() == {1}
    assert blas_threads() == before


@pytest.mark.skipif(joblib.cpu_count() == 1, reason="one core")
def test_all_threads_are_one_per_core_of_this_process() -> None:
    with threadpoolctl.threadpool_limits(1), arm_at("numpy", "threads", "all").enter():
        assert blas_threads() == {joblib.cpu_count()}


def test_half_of_four_cores_are_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joblib, "cpu_count", lambda: 4)
    with threadpoolctl.threadpool_limits(1), arm_at("numpy", "threads", "half").enter():
        assert blas_threads() == {2}


def test_one_core_leaves_nothing_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joblib, "cpu_count", lambda: 1)
    arm_at("numpy", "threads", "1")
    for level in ("half", "all"):
        with pytest.raises(Unavailable, match=f"{level} of this process's cores is one core"):
            arm_at("numpy", "threads", level)


def test_the_allocator_is_a_matter_of_process_start_up() -> None:
    declared = find_technique("numpy", "malloc")
    assert declared.scope == "process"
    assert "default" not in declared.environment


def test_another_c_library_makes_keep_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.libc_ver", lambda: ("", ""))
    arm_at("numpy", "malloc", "default")
    with pytest.raises(Unavailable, match="only glibc"):
        arm_at("numpy", "malloc", "keep")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or not sys.platform.startswith("linux"), reason="glibc on Linux")
def test_keeping_memory_ends_the_page_faults_of_temporaries() -> None:
    faults = {}
    for level in ("default", "keep"):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("MALLOC_", "GLIBC_"))}
        environment |= find_technique("numpy", "malloc").environment.get(level, {})
        command = [sys.executable, "-c", FAULTS]
        printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        faults[level] = float(printed)
    assert faults["keep"] < 10 < faults["default"]


def test_pytorch_as_an_array_library_starts_with_numpy_as_the_baseline() -> None:
    declared = find_technique("torch", "array_library")
    assert declared.levels == ("numpy", "torch-cpu", "torch-accelerator")
    assert arm_at("torch", "array_library", "torch-cpu").step().shape == (20, 20)
