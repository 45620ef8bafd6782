"""PyTorch's techniques: levels that fit the machine become options, and global state is put back."""

from collections.abc import Mapping
from typing import Any

import pytest
import torch

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Host, Setting, Trial, apply_all, find_technique, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import Unavailable
from accelbench.frameworks import load
from accelbench.frameworks.torch import float32_precision, thread_count
from accelbench.measuring.checks import output as check
from accelbench.measuring.workers.pool import _environment
from accelbench.results import bottleneck
from accelbench.workloads.networks import INCEPTION_BRANCHES
from accelbench.workloads.torch.checkpoints import FORMATS
from accelbench.workloads.torch.inference import INFERENCE
from accelbench.workloads.torch.training_loop import READERS
from accelbench.workloads.torch.training_step import ATTENTION, OPTIMIZERS

without_accelerator = pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")


def arm_with(workload: str, problem: Mapping[str, Any] | None = None, **levels: str) -> Arm:
    switches = [(find_technique("torch", name), level) for name, level in levels.items()]
    declared = find_workload(workload)
    return apply_all(switches, lambda **options: declared.build(Setting(cores=2), **options, **(problem or {})))


def options_of(**levels: str) -> dict[str, Any]:
    passed: dict[str, Any] = {}

    def build(**options: Any) -> Arm:
        passed.update(options)
        return Arm(step=dict)

    apply_all([(find_technique("torch", name), level) for name, level in levels.items()], build)
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
        "amp": "bf16",
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
    with arm.enter():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_all_threads_on_one_core_are_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelbench.techniques.shared.cpu_count", lambda: 1)
    with pytest.raises(Unavailable, match="one core"):
        arm_with("mlp-train", threads="all", device="cpu")


@pytest.mark.parametrize("cores", [2, 3])
def test_half_of_so_few_cores_is_one_thread_and_no_level_of_its_own(
    monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr("accelbench.techniques.shared.cpu_count", lambda: cores)
    with pytest.raises(Unavailable, match="half of this process's cores is one core"):
        arm_with("mlp-train", threads="half", device="cpu")


def test_half_of_the_cores_are_half_as_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelbench.techniques.shared.cpu_count", lambda: 4)
    with arm_with("mlp-train", threads="half", device="cpu").enter():
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
        with apply_all([(find_technique("torch", "tf32"), "highest")], build).enter():
            seen.append(flags())
        assert flags() == ("high", True, True)
    assert seen == [("highest", False, False)] * 2


def test_an_arm_is_built_and_timed_with_deterministic_algorithms_alone() -> None:
    seen = []

    def build() -> Arm:
        seen.append(torch.are_deterministic_algorithms_enabled())
        return Arm(step=dict)

    with apply_all([(find_technique("torch", "deterministic_algorithms"), "on")], build).enter():
        seen.append(torch.are_deterministic_algorithms_enabled())
    assert seen == [True, True]
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("level", ["off", "on"])
def test_cudnn_searches_in_an_arm_that_wants_it_alone(monkeypatch: pytest.MonkeyPatch, level: str) -> None:
    monkeypatch.setattr("accelbench.techniques.torch._need_cudnn", lambda: None)
    seen = []

    def build() -> Arm:
        seen.append(torch.backends.cudnn.benchmark)
        return Arm(step=dict)

    torch.backends.cudnn.benchmark = level == "off"  # as a user's program may leave it
    try:
        with apply_all([(find_technique("torch", "cudnn_benchmark"), level)], build).enter():
            seen.append(torch.backends.cudnn.benchmark)
        assert torch.backends.cudnn.benchmark == (level == "off")
    finally:
        torch.backends.cudnn.benchmark = False
    assert seen == [level == "on"] * 2


def test_an_arm_whose_convolutions_are_searched_for_shares_no_worker_with_one_whose_are_not() -> None:
    searched, trusted = ({"cudnn_benchmark": level} for level in ("on", "off"))
    alone = Trial(framework="torch", workload="cnn-train", arms=(trusted, searched))
    held = Trial(framework="torch", workload="cnn-train", fixed=searched, arms=({"amp": "fp32"}, {"amp": "bf16"}))
    started = [_environment(alone, arm) for arm in alone.arms] + [_environment(held, arm) for arm in held.arms]
    assert started[0] == {}
    assert started[1] == started[2] == started[3] != {}


@without_accelerator
def test_cudnns_search_needs_an_accelerator() -> None:
    with pytest.raises(Unavailable, match=r"torch .* sees no accelerator"):
        arm_with("cnn-train", cudnn_benchmark="on")


def test_cudnns_search_needs_cudnn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelbench.techniques.torch.need_accelerator", lambda: None)
    monkeypatch.setattr(torch.backends.cudnn, "is_available", lambda: False)
    with pytest.raises(Unavailable, match=r"torch .* has no cuDNN for the accelerator"):
        arm_with("cnn-train", cudnn_benchmark="on")


@without_accelerator
def test_tf32_needs_an_accelerator() -> None:
    with pytest.raises(Unavailable, match=r"torch .* sees no accelerator"):
        arm_with("matmul-torch", tf32="high")


def test_a_technique_skips_aloud_on_a_workload_without_its_option() -> None:
    with pytest.raises(Unavailable, match="workload matmul-torch has no option 'amp'"):
        arm_with("matmul-torch", amp="bf16")


@pytest.mark.parametrize(("level", "steps"), [("never", 0), ("every-100", 100), ("every-10", 10), ("every-step", 1)])
def test_the_loss_is_read_every_so_many_steps(level: str, steps: int) -> None:
    assert options_of(log_interval=level) == {"log_interval": steps}


def test_the_baselines_are_the_ones_that_wait_for_nothing() -> None:
    techniques = (
        "log_interval",
        "log_by",
        "transfers",
        "intermediates",
        "overlap",
        "both_devices",
        "streams",
        "loading",
    )
    baselines = [find_technique("torch", name).levels[0] for name in techniques]  # type: ignore[index]
    assert baselines == ["never", "none", "resident", "resident", "serial", "in-turn", "1", "blocking"]


def test_the_levels_of_reading_the_loss_are_those_of_the_workload() -> None:
    assert find_technique("torch", "log_by").levels == tuple(READERS)
    assert options_of(log_by="print") == {"log_by": "print"}


@without_accelerator
@pytest.mark.parametrize(
    ("workload", "technique", "level"),
    [
        ("mlp-train", "transfers", "resident"),
        ("mlp-train", "transfers", "per-step"),
        ("operation-chain", "intermediates", "resident"),
        ("operation-chain", "intermediates", "round-trip"),
        ("host-and-device-products", "both_devices", "in-turn"),
        ("chunked-products", "streams", "2"),
    ],
)
def test_without_an_accelerator_nothing_is_sent_and_every_level_says_so(
    workload: str, technique: str, level: str
) -> None:
    with pytest.raises(Unavailable, match=r"torch .* sees no accelerator"):
        arm_with(workload, **{technique: level})


def test_a_transfer_in_every_step_is_a_round_trip_of_the_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelbench.techniques.torch.need_accelerator", lambda: None)
    assert options_of(transfers="per-step") == {"data_location": "round-trip"}
    assert options_of(transfers="resident") == {"data_location": "resident"}


@pytest.mark.parametrize(("level", "count"), [("serial", 1), ("threads", 1), ("cores", 6)])
def test_in_turn_means_one_core_or_all_and_is_put_back(level: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelbench.techniques.torch.cpu_count", lambda: 6)
    before = torch.get_num_threads()
    arm = arm_with("independent-products", {"side": 16}, overlap=level)
    with arm.enter():
        assert torch.get_num_threads() == count
        arm.step()
    arm.close()
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("level", ["threads", "cores"])
def test_one_core_does_nothing_at_once(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelbench.techniques.torch.cpu_count", lambda: 1)
    arm_with("independent-products", {"side": 16}, overlap="serial")
    with pytest.raises(Unavailable, match="one core, so nothing can run at once"):
        arm_with("independent-products", {"side": 16}, overlap=level)


def test_ways_of_loading_and_streams_are_passed_on() -> None:
    assert options_of(loading="thread") == {"loading": "thread"}
    assert options_of(streams="4") == {"streams": 4}
    assert options_of(both_devices="at-once") == {"at_once": True}


@pytest.mark.parametrize(
    ("technique", "option", "levels"),
    [
        ("branches", "branches", INCEPTION_BRANCHES),
        ("inference", "inference", INFERENCE),
        ("checkpoint_format", "checkpoint_format", tuple(FORMATS)),
    ],
)
def test_levels_are_those_of_the_workload(technique: str, option: str, levels: tuple[str, ...]) -> None:
    assert find_technique("torch", technique).levels == levels
    assert [options_of(**{technique: level}) for level in levels] == [{option: level} for level in levels]


def test_a_checkpoint_is_mapped_or_not() -> None:
    assert options_of(mmap="on") == {"mmap": True}
    assert options_of(mmap="off") == {"mmap": False}


def test_only_the_convolution_need_not_compute_what_the_branches_compute() -> None:
    branches = find_technique("torch", "branches")
    assert [branches.compared_at(level) for level in INCEPTION_BRANCHES[1:]] == [True, False]


def test_saving_has_nothing_to_map() -> None:
    save = find_workload("checkpoint-save")
    with pytest.raises(Unavailable, match="workload checkpoint-save has no option 'mmap'"):
        apply_all([(find_technique("torch", "mmap"), "on")], lambda **options: save.build(Setting(), **options))


def output(name: str, **levels: str) -> Any:
    workload = find_workload(name)
    switches = [(find_technique("torch", technique), level) for technique, level in levels.items()]
    arm = apply_all(switches, lambda **options: workload.build(Setting(), device="cpu", **options))
    with thread_count(1), arm.enter():
        return check.output_of(arm, load("torch"))


def test_levels_are_those_of_the_workloads() -> None:
    assert find_technique("torch", "optimizer").levels == tuple(OPTIMIZERS)
    assert find_technique("torch", "attention").levels == ATTENTION
    assert options_of(accumulation="4") == {"accumulation": 4}
    assert options_of(activation_checkpointing="on") == {"activation_checkpointing": True}


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("narrow-mlp-train", {"optimizer": "foreach"}),
        ("narrow-mlp-train", {"optimizer": "fused"}),
        ("cnn-train", {"optimizer": "fused", "accumulation": "4"}),
        ("bert-train", {"attention": "eager"}),
        ("bert-train", {"attention": "math", "activation_checkpointing": "on"}),
        ("bert-train", {"attention": "sdpa", "activation_checkpointing": "on", "accumulation": "4"}),
    ],
)
def test_every_way_makes_the_same_step(name: str, levels: dict[str, str]) -> None:
    tolerance = min(find_technique("torch", technique).tolerance_at(level) for technique, level in levels.items())
    assert relative_error(output(name, **levels), output(name)) < tolerance


def test_attention_is_held_to_its_formula_inside_a_block_only() -> None:
    build = find_workload("bert-train").build
    with build(Setting(), attention="math").enter():
        assert not torch.backends.cuda.flash_sdp_enabled()
    with build(Setting(), attention="sdpa").enter():
        assert torch.backends.cuda.flash_sdp_enabled()


def test_every_burden_that_can_be_taken_off_has_a_cause_and_every_cause_a_burden() -> None:
    ablation = find_technique("torch", "ablation")
    assert ablation.kind == "ablation"
    assert ablation.levels_on(Host()) == (bottleneck.NOTHING_OFF, *bottleneck.CAUSES)
