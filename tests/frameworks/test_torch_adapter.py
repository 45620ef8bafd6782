"""PyTorch's adapter: outputs come to the host exactly, and only a lack of memory is called one."""

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from harness.frameworks import load
from harness.frameworks import torch as adapter

framework = load("torch")
without_accelerator = pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.bool])
def test_a_tensor_of_any_type_becomes_float64(dtype: torch.dtype) -> None:
    (array,) = framework.to_host(torch.ones(2, 3, dtype=dtype))
    assert array.dtype == np.float64
    assert np.array_equal(array, np.ones((2, 3)))


def test_nested_outputs_come_in_their_order() -> None:
    output = {"loss": torch.tensor(1.5, requires_grad=True), "rest": (2, [np.arange(3), torch.ones(2, 3).T])}
    assert [array.tolist() for array in framework.to_host(output)] == [1.5, 2, [0, 1, 2], [[1, 1]] * 3]


def test_a_later_step_cannot_change_an_output_already_taken() -> None:
    buffer = torch.ones(3, dtype=torch.float64)
    (array,) = framework.to_host(buffer)
    buffer.zero_()
    assert array.tolist() == [1, 1, 1]


def test_conjugated_complex_tensors_are_resolved() -> None:
    (array,) = framework.to_host(torch.tensor([1 + 2j]).conj())
    assert array.tolist() == [1, -2]


def test_the_hosts_allocator_running_out_is_recognised() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**55)
    assert framework.is_out_of_memory(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        torch.AcceleratorError("CUDA error: out of memory"),
        RuntimeError("Triton Error [CUDA]: out of memory"),
        RuntimeError("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"),
        MemoryError(),
    ],
)
def test_every_kind_of_out_of_memory_is_recognised(error: Exception) -> None:
    assert framework.is_out_of_memory(error)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if the input was not contiguous"),
        RuntimeError("CUDA error: an illegal memory access was encountered"),
        ValueError("out of memory"),
    ],
)
def test_other_errors_are_not_taken_for_out_of_memory(error: Exception) -> None:
    assert not framework.is_out_of_memory(error)


@pytest.mark.parametrize(("free", "expected"), [(2, True), (70, False)])
def test_a_convolution_without_an_engine_is_out_of_memory_where_little_is_free(
    free: int, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (free, 80))
    error = RuntimeError("GET was unable to find an engine to execute this computation")
    assert framework.is_out_of_memory(error) is expected


def test_a_layout_error_is_not_taken_for_out_of_memory() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2, 3).T.view(6)
    assert not framework.is_out_of_memory(caught.value)


@without_accelerator
def test_without_an_accelerator_there_is_nothing_to_wait_for_no_device_clock_and_no_allocator_peak() -> None:
    assert framework.accelerators() == ()
    framework.synchronize()
    assert framework.device_span(lambda: None, device="cuda:0", held_s=0.0) is None
    framework.reset_peak_memory()
    framework.free()
    assert framework.peak_memory_bytes() is None


def test_only_a_peak_that_there_is_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    peaks = {"cuda:0": 0, "cuda:1": 2**20}  # nothing was put on the first one, and CUDA may not have begun there

    def reset(device: str) -> None:
        if not peaks[device]:
            raise RuntimeError("Invalid device argument 0: did you call init?")
        peaks[device] = 0

    monkeypatch.setattr(adapter, "_accelerators", lambda: tuple(peaks))
    monkeypatch.setattr(torch.accelerator, "max_memory_allocated", peaks.__getitem__)
    monkeypatch.setattr(torch.accelerator, "reset_peak_memory_stats", reset)
    assert framework.peak_memory_bytes() == 2**20
    framework.reset_peak_memory()
    assert framework.peak_memory_bytes() is None


def test_workspaces_of_cublas_are_free_before_caches_on_device_and_host_are_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    freed: list[str] = []
    monkeypatch.setattr(adapter, "_accelerators", lambda: ("cuda:0",))
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr("torch._C._cuda_clearCublasWorkspaces", lambda: freed.append("workspaces"), raising=False)
    monkeypatch.setattr("torch._C._host_emptyCache", lambda: freed.append("host"), raising=False)
    monkeypatch.setattr(torch.accelerator, "empty_cache", lambda: freed.append("device"))
    framework.free()
    assert freed == ["workspaces", "host", "device"]


def test_the_same_seed_draws_the_same_numbers() -> None:
    framework.seed(7)
    first = torch.rand(3), np.random.random()  # noqa: NPY002  the global generator is what is seeded
    framework.seed(7)
    again = torch.rand(3), np.random.random()  # noqa: NPY002
    assert torch.equal(first[0], again[0])
    assert first[1] == again[1]


def test_the_description_names_what_changes_speed() -> None:
    facts = framework.describe()
    assert facts["torch.version"] == torch.__version__
    assert facts["torch.threads"] == str(torch.get_num_threads())
    assert {"torch.built_for", "torch.float32_matmul_precision", "torch.cudnn_conv_precision"} <= facts.keys()
    assert {type(value) for value in facts.values()} == {str}  # what PyTorch's own types would make a reader import it


def test_accelerators_are_told_with_their_names_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(framework.devices()) == len(framework.accelerators())
    cuda = SimpleNamespace(
        get_device_properties=lambda _: SimpleNamespace(name="NVIDIA H200", total_memory=140 * 2**30)
    )
    monkeypatch.setattr(adapter, "_accelerators", lambda: ("cuda:0", "cuda:1"))
    monkeypatch.setattr(torch, "get_device_module", lambda _: cuda)
    assert [(device.label, device.name) for device in framework.devices()] == [
        ("cuda:0", "NVIDIA H200"),
        ("cuda:1", "NVIDIA H200"),
    ]
    monkeypatch.setattr(torch, "get_device_module", lambda _: SimpleNamespace())
    assert framework.devices()[0].memory_bytes is None


@pytest.fixture
def profiled(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Stand in for CUDA and its profiler, whose sessions show, one after another, the events that a test names."""

    def showing(*sessions: list[tuple[str, torch.autograd.DeviceType]]) -> None:
        shown = iter([[SimpleNamespace(name=name, device_type=kind) for name, kind in seen] for seen in sessions])
        session = SimpleNamespace(events=lambda: next(shown))
        monkeypatch.setattr(torch.profiler, "profile", lambda **_: nullcontext(session))

    monkeypatch.setattr(adapter, "_accelerators", lambda: ("cpu",))  # where a test can launch and wait
    monkeypatch.setattr(torch.profiler, "supported_activities", lambda: {torch.profiler.ProfilerActivity.CUDA})
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda _: None)
    return showing


CALL = ("cudaLaunchKernel", torch.autograd.DeviceType.CPU)
KERNEL = ("void gemm<float>", torch.autograd.DeviceType.CUDA)
WAITING = ("cudaDeviceSynchronize", torch.autograd.DeviceType.CPU)


@pytest.mark.parametrize(
    ("sessions", "kernels"),
    [
        ([[CALL, KERNEL, CALL, KERNEL, WAITING]], 2),
        ([[("cudaGraphLaunch", torch.autograd.DeviceType.CPU), KERNEL, KERNEL, KERNEL]], 3),
        ([[CALL, ("cuLaunchKernelEx", torch.autograd.DeviceType.CPU), WAITING]], 2),
        ([[WAITING], [CALL, KERNEL]], 0),
        ([[WAITING], [WAITING]], None),
    ],
    ids=["eager", "graph", "kernels-lost", "nothing-started", "blind"],
)
def test_kernels_are_counted_also_where_the_profiler_loses_them(
    sessions: list[list[tuple[str, torch.autograd.DeviceType]]], kernels: int | None, profiled: Callable[..., None]
) -> None:
    profiled(*sessions)
    assert adapter.framework.kernels(lambda: None) == kernels


def test_a_cudnn_that_pytorch_refuses_is_described_by_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise RuntimeError("cuDNN version incompatibility")

    monkeypatch.setattr(torch.backends.cudnn, "version", refuse)
    assert framework.describe()["torch.cudnn"] == "cuDNN version incompatibility"
