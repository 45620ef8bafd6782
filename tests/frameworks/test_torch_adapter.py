"""PyTorch's adapter: outputs come to the host exactly, and only a lack of memory is called one."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from accelbench.frameworks import load
from accelbench.frameworks import torch as adapter

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


@pytest.mark.parametrize(
    "message",
    [
        "Expected canUse32BitIndexMath(input) && canUse32BitIndexMath(output) to be true, but got false.  (Could this",
        "input tensor must fit into 32-bit index math",
        "integer out of range",
        "Expected grad_output.numel() <= std::numeric_limits<int32_t>::max() to be true, but got false.",
    ],
)
def test_tensors_that_a_kernel_cannot_count_are_recognised(message: str) -> None:
    assert framework.is_too_large(RuntimeError(message), smaller_ran=False)
    assert not framework.is_out_of_memory(RuntimeError(message))


@pytest.mark.parametrize("smaller_ran", [True, False])
@pytest.mark.parametrize(
    "message",
    [
        "cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you passed in a non-contiguous input.",
        "GET was unable to find an engine to execute this computation",
        "CUDA error: invalid configuration argument",
    ],
)
def test_a_message_with_several_causes_means_the_size_where_a_smaller_one_ran(message: str, smaller_ran: bool) -> None:
    assert framework.is_too_large(RuntimeError(message), smaller_ran=smaller_ran) is smaller_ran


def test_other_errors_are_not_taken_for_tensors_that_are_too_large() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2, 3) @ torch.ones(2, 3)
    assert not framework.is_too_large(caught.value, smaller_ran=True)


@pytest.mark.parametrize(("free", "expected"), [(2, True), (70, False)])
def test_a_convolution_without_an_engine_is_out_of_memory_where_little_is_free(
    free: int, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "_open_accelerators", lambda: ["cuda:0"])
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
    assert framework.time_on_device(lambda: None, device="cuda:0", held_s=0.0) is None
    framework.reset_peak_memory()
    framework.empty_cache()
    assert framework.peak_memory_bytes() is None


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Stand in for CUDA with two GPUs; a test adds those that the process has opened."""
    opened: set[str] = set()
    monkeypatch.setattr(adapter, "_accelerators", lambda: ("cuda:0", "cuda:1"))
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: bool(opened))
    monkeypatch.setattr("torch._C._cuda_hasPrimaryContext", lambda place: f"cuda:{place}" in opened, raising=False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    return opened


def test_only_gpus_that_are_open_are_waited_for(two_gpus: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[str] = []
    monkeypatch.setattr(torch.accelerator, "synchronize", waited.append)
    framework.synchronize()
    assert waited == []
    two_gpus.add("cuda:1")
    framework.synchronize()
    two_gpus.add("cuda:0")
    framework.synchronize()
    assert waited == ["cuda:1", "cuda:0", "cuda:1"]


@pytest.mark.usefixtures("two_gpus")
def test_work_that_names_no_device_runs_on_the_one_that_torch_is_set_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "current_device_index", lambda: 1)
    assert framework.current_accelerator() == "cuda:1"


@pytest.mark.usefixtures("two_gpus")
def test_open_gpus_have_the_uuids_of_their_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "open_gpus", lambda kind: {f"{kind}:1": "77b0"})
    assert framework.gpu_uuids() == {"cuda:1": "77b0"}
    monkeypatch.setattr(torch.version, "cuda", None)  # as in a build for another maker's GPUs
    assert framework.gpu_uuids() == {}


def test_only_a_peak_that_there_is_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    peaks = {"cuda:0": 0, "cuda:1": 2**20}  # nothing was put on the first one, and CUDA may not have begun there

    def reset(device: str) -> None:
        if not peaks[device]:
            raise RuntimeError("Invalid device argument 0: did you call init?")
        peaks[device] = 0

    monkeypatch.setattr(adapter, "_open_accelerators", lambda: tuple(peaks))
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
    framework.empty_cache()
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


def newer_switches() -> dict[str, str]:
    backends = torch.backends
    parts = {"all": backends, "cudnn": backends.cudnn, "matmul": backends.cuda.matmul, "conv": backends.cudnn.conv}
    parts |= {"rnn": backends.cudnn.rnn, "oneDNN": backends.mkldnn, "oneDNN matmul": backends.mkldnn.matmul}
    parts |= {"oneDNN conv": backends.mkldnn.conv, "oneDNN rnn": backends.mkldnn.rnn}
    return {name: part.fp32_precision for name, part in parts.items()}


PROGRAMS = {
    "nothing": "",
    "newer": "torch.backends.cuda.matmul.fp32_precision = 'tf32'",
    "newer-for-all": "torch.backends.fp32_precision = 'tf32'",
    "newer-of-a-library": "lib = torch.backends.cudnn; lib.fp32_precision, lib.conv.fp32_precision = 'ieee', 'none'",
    "newer-on-a-cpu": "torch.backends.mkldnn.matmul.fp32_precision = 'bf16'",
    "older": "torch.set_float32_matmul_precision('medium'); torch.backends.cudnn.allow_tf32 = False",
    "mixed": "torch.set_float32_matmul_precision('high'); torch.backends.cuda.matmul.fp32_precision = 'ieee'",
}


@pytest.fixture
def _switches_restored() -> Iterator[None]:
    with adapter.float32_switches_restored():
        yield


@pytest.mark.usefixtures("_switches_restored")
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_full_float32_can_be_had_whatever_switches_a_program_has_set_and_leaves_them_all(program: str) -> None:
    exec(program)
    before, older = newer_switches(), adapter.Float32Switches.read()
    with framework.disable_tf32():
        assert torch.get_float32_matmul_precision() == "highest"
        assert torch.backends.cudnn.allow_tf32 is False
        assert {newer_switches()[name] for name in ("matmul", "conv", "rnn", "oneDNN matmul", "oneDNN conv")} == {
            "ieee"
        }
    assert (newer_switches(), adapter.Float32Switches.read()) == (before, older)


@pytest.mark.usefixtures("_switches_restored")
def test_a_switch_that_follows_the_one_for_all_goes_on_following_it() -> None:
    with framework.precision_restored():
        torch.backends.mkldnn.conv.fp32_precision = "ieee"
    torch.backends.fp32_precision = "tf32"
    assert newer_switches()["oneDNN conv"] == "tf32"


@pytest.mark.usefixtures("_switches_restored")
def test_a_program_that_mixes_older_and_newer_switches_can_be_described() -> None:
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    with pytest.raises(RuntimeError, match="mix of the legacy and new"):
        torch.get_float32_matmul_precision()
    assert framework.describe()["torch.float32_matmul_precision"] == "high"


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
TEST = [CALL, KERNEL, WAITING]  # a session that sees the test kernel alone
BLIND = [WAITING]


@pytest.mark.parametrize(
    ("sessions", "kernels"),
    [
        ([TEST, [CALL, KERNEL, CALL, KERNEL, *TEST]], 2),
        ([TEST, [("cudaGraphLaunch", torch.autograd.DeviceType.CPU), KERNEL, KERNEL, KERNEL, *TEST]], 3),
        ([[CALL, WAITING], [CALL, ("cuLaunchKernelEx", torch.autograd.DeviceType.CPU), CALL, WAITING]], 2),
        ([TEST, TEST, TEST], 0),
        ([[KERNEL, *TEST], [KERNEL, *TEST], [KERNEL, *TEST]], 0),
        ([BLIND] * 4, None),
    ],
    ids=["eager", "graph", "kernels-lost", "nothing-started", "test-of-two-kernels", "reserved-to-the-administrator"],
)
def test_kernels_are_counted_also_where_the_profiler_loses_them(
    sessions: list[list[tuple[str, torch.autograd.DeviceType]]], kernels: int | None, profiled: Callable[..., None]
) -> None:
    profiled(*sessions)
    assert adapter.framework.kernels(lambda: None) == kernels


@pytest.mark.parametrize(
    ("sessions", "kernels"),
    [
        ([TEST, BLIND, [CALL, KERNEL, *TEST]], 1),
        ([BLIND, TEST, [CALL, KERNEL, *TEST]], 1),
        ([TEST, TEST, [CALL, KERNEL, *TEST]], 1),
        ([TEST, BLIND, TEST, BLIND, TEST], 0),
        ([TEST, TEST, *[BLIND] * 3], None),
    ],
    ids=["blind-session", "blind-test", "lost-once", "twice-nothing", "once-nothing"],
)
def test_a_single_session_without_kernels_shows_nothing(
    sessions: list[list[tuple[str, torch.autograd.DeviceType]]], kernels: int | None, profiled: Callable[..., None]
) -> None:
    profiled(*sessions)
    assert adapter.framework.kernels(lambda: None) == kernels


def test_a_cudnn_that_pytorch_refuses_is_described_by_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise RuntimeError("cuDNN version incompatibility")

    monkeypatch.setattr(torch.backends.cudnn, "version", refuse)
    assert framework.describe()["torch.cudnn"] == "cuDNN version incompatibility"
