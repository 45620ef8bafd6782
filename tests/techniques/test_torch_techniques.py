"""PyTorch's techniques: levels that fit the machine, options passed on, global state put back."""

from typing import Any

import pytest
import torch

import harness.techniques
import harness.workloads  # noqa: F401  fills the catalogue
from harness.errors import Unavailable
from harness.experiment import Arm, Host, Setting, find_technique, find_workload, stack
from harness.frameworks.torch_precision import float32_precision

without_accelerator = pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")


def arm_with(workload: str, setting: Setting | None = None, **levels: str) -> Arm:
    switches = [(find_technique("torch", name), level) for name, level in levels.items()]
    declared = find_workload(workload)
    return stack(switches, lambda **options: declared.build(setting or Setting(), **options))


def options_of(**levels: str) -> dict[str, Any]:
    passed: dict[str, Any] = {}

    def build(**options: Any) -> Arm:
        passed.update(options)
        return Arm(step=dict)

    stack([(find_technique("torch", name), level) for name, level in levels.items()], build)
    return passed


def test_devices_are_the_cpu_and_every_accelerator() -> None:
    device = find_technique("torch", "device")
    assert device.levels_on(Host(accelerators=("cuda:0", "cuda:1"))) == ("cpu", "cuda:0", "cuda:1")
    assert device.levels_on(Host()) == ("cpu", "accelerator")


@without_accelerator
@pytest.mark.parametrize(
    ("technique", "level"), [("device", "accelerator"), ("pin_memory", "on"), ("non_blocking", "on")]
)
def test_without_an_accelerator_what_needs_one_is_skipped_with_the_reason(technique: str, level: str) -> None:
    with pytest.raises(Unavailable, match=r"torch .* sees no accelerator"):
        arm_with("host-to-device-copy", **{technique: level})


def test_batch_sizes_double_up_to_the_limit() -> None:
    batch_size = find_technique("torch", "batch_size")
    assert batch_size.levels_on(Host(max_batch=64)) == ("1", "2", "4", "8", "16", "32", "64")
    assert batch_size.levels_on(Host(max_batch=6)) == ("1", "2", "4")
    assert not batch_size.same_output


@pytest.mark.parametrize(
    ("most", "levels"),
    [(1, ("0", "1")), (2, ("0", "1", "2")), (6, ("0", "1", "2", "4", "6")), (16, ("0", "1", "2", "4", "8", "16"))],
)
def test_worker_counts_double_and_end_with_the_most(most: int, levels: tuple[str, ...]) -> None:
    assert find_technique("torch", "workers").levels_on(Host(max_workers=most)) == levels


def test_levels_become_the_workloads_options() -> None:
    assert options_of(device="cpu", amp="bf16", batch_size="8", data_location="round-trip") == {
        "device": "cpu",
        "autocast": "bf16",
        "batch_size": 8,
        "data_location": "round-trip",
    }
    assert options_of(workers="2", persistent_workers="off", prefetch_factor="4", non_blocking="off") == {
        "workers": 2,
        "persistent_workers": False,
        "prefetch_factor": 4,
        "non_blocking": False,
    }


def test_threads_are_set_for_a_block_and_put_back() -> None:
    before = torch.get_num_threads()
    arm = arm_with("mlp-train", threads="1", device="cpu")
    assert torch.get_num_threads() == before
    with arm.entered():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_all_threads_on_one_core_are_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.techniques.cores.cpu_count", lambda: 1)
    with pytest.raises(Unavailable, match="one core"):
        arm_with("mlp-train", threads="all", device="cpu")


@pytest.mark.parametrize("cores", [2, 3])
def test_half_of_so_few_cores_is_one_thread_and_no_level_of_its_own(
    monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr("harness.techniques.cores.cpu_count", lambda: cores)
    with pytest.raises(Unavailable, match="half of this process's cores is one core"):
        arm_with("mlp-train", threads="half", device="cpu")


def test_half_of_the_cores_are_half_as_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.techniques.cores.cpu_count", lambda: 4)
    with arm_with("mlp-train", threads="half", device="cpu").entered():
        assert torch.get_num_threads() == 2


def flags() -> tuple[str, bool, bool]:
    return (
        torch.get_float32_matmul_precision(),
        torch.backends.cuda.matmul.allow_tf32,
        torch.backends.cudnn.allow_tf32,
    )


@pytest.mark.parametrize("level", ["highest", "high"])
def test_float32_is_float32_in_products_and_convolutions_alike_and_put_back(level: str) -> None:
    before = flags()
    with float32_precision(level):
        assert flags() == (level, level == "high", level == "high")
    assert flags() == before


def test_an_arm_is_built_and_timed_in_full_float32_on_any_machine() -> None:
    seen = []

    def build() -> Arm:
        seen.append(flags())
        return Arm(step=dict)

    with float32_precision("high"):
        with stack([(find_technique("torch", "tf32"), "highest")], build).entered():
            seen.append(flags())
        assert flags() == ("high", True, True)
    assert seen == [("highest", False, False)] * 2


def test_an_arm_is_built_and_timed_with_deterministic_algorithms_alone() -> None:
    seen = []

    def build() -> Arm:
        seen.append(torch.are_deterministic_algorithms_enabled())
        return Arm(step=dict)

    with stack([(find_technique("torch", "deterministic_algorithms"), "on")], build).entered():
        seen.append(torch.are_deterministic_algorithms_enabled())
    assert seen == [True, True]
    assert not torch.are_deterministic_algorithms_enabled()


@without_accelerator
def test_tf32_needs_an_accelerator() -> None:
    with pytest.raises(Unavailable, match=r"torch .* sees no accelerator"):
        arm_with("matmul-torch", tf32="high")


def test_a_technique_skips_aloud_on_a_workload_without_its_option() -> None:
    with pytest.raises(Unavailable, match="workload matmul-torch has no option 'autocast'"):
        arm_with("matmul-torch", amp="bf16")
