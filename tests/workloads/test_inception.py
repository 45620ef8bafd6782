"""The Inception block gives the same however its branches run, and costs what the convolution in its place costs."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.workloads import networks
from accelbench.workloads.torch import inception

framework = load("torch")
NAMES = ("inception-inference", "inception-train")
CPU = torch.device("cpu")


@pytest.fixture
def built() -> Iterator[Any]:
    arms: list[Arm] = []

    def build(name: str, *, cores: int = 2, **options: Any) -> Arm:
        arms.append(find_workload(name).build(Setting(cores=cores), batch_size=1, device="cpu", **options))
        return arms[-1]

    yield build
    for arm in arms:
        arm.close()


@pytest.mark.parametrize("name", NAMES)
def test_branches_at_once_and_in_turn_compute_the_same(name: str, built: Any) -> None:
    serial, parallel = (check.output_of(built(name, branches=how), framework) for how in ("serial", "parallel"))
    assert check.find_invalid_values(serial) is None
    assert relative_error(parallel, serial) < 1e-4


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("branches", networks.INCEPTION_BRANCHES)
def test_the_inputs_vary_and_a_reset_starts_over(name: str, branches: str, built: Any) -> None:
    arm = built(name, branches=branches)
    first = check.output_of(arm, framework)
    with arm.enter():
        assert relative_error(framework.to_host(arm.step()), first) > 0.01
    assert relative_error(check.output_of(arm, framework), first) < 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_the_convolution_costs_about_as_much_as_the_block(name: str, built: Any) -> None:
    operations = []
    for branches in ("serial", "fused"):
        arm = built(name, branches=branches)
        with arm.enter(), FlopCounterMode(display=False) as counter:
            arm.step()
        operations.append(counter.get_total_flops())
    assert operations[1] == pytest.approx(operations[0], rel=0.02)
    assert operations[0] == pytest.approx((2 if name == NAMES[0] else 6) * 163_328 * 28**2, rel=0.001)


def test_a_branch_that_is_left_out_shows_in_the_output(built: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = check.output_of(built("inception-inference"), framework)
    monkeypatch.setattr(
        inception, "in_turn", lambda tasks: [task() * (number != 2) for number, task in enumerate(tasks)]
    )
    assert relative_error(check.output_of(built("inception-inference"), framework), whole) > 0.01


@pytest.mark.parametrize("inferring", [False, True])
def test_threads_know_whether_the_caller_records_gradients_and_share_its_cores(inferring: bool) -> None:
    threads = inception.Threads(6)
    with torch.inference_mode(inferring):
        found = threads.run([lambda: (torch.is_inference_mode_enabled(), torch.get_num_threads())] * 8)
    threads.close()
    assert found == [(inferring, 1)] * 8  # six cores are not two for each of four


def test_the_threads_end_with_the_arm_and_leave_the_number_for_later_ones(built: Any) -> None:
    before, count = threading.active_count(), torch.get_num_threads()
    arm = built("inception-train", branches="parallel")
    arm.step()
    assert threading.active_count() > before
    arm.close()
    assert threading.active_count() == before
    assert torch.get_num_threads() == count


def test_on_a_cuda_device_branches_run_on_four_streams_between_what_came_before_and_what_comes_after(cuda: Any) -> None:
    serial = inception.Inception(inception.in_turn)
    block = inception.Inception(inception.on_streams(CPU))
    block.load_state_dict(serial.state_dict())
    images = torch.randn(1, networks.INCEPTION_CHANNELS, networks.INCEPTION_SIDE, networks.INCEPTION_SIDE)
    placed: list[str] = []
    for branch in block.branches:
        branch.register_forward_hook(lambda *_: placed.append(cuda.current.name))
    cuda.log.clear()
    outputs = [framework.to_host(model(images)) for model in (block, serial)]
    assert relative_error(*outputs) < 1e-6
    assert placed == ["s1", "s2", "s3", "s4"]
    lanes = [f"s{number}" for number in range(1, 5)]
    begin = [f"{lane} waits for s0" for lane in lanes]
    end = [line for lane in lanes for line in (f"s0 waits for {lane}", "kept for s0")]
    assert [line for line in cuda.log if "waits" in line or "kept" in line] == begin + end


def test_one_core_runs_nothing_at_once(built: Any) -> None:
    with pytest.raises(Unavailable, match="one core, so nothing can run at once"):
        built("inception-train", cores=1, branches="parallel")


def test_an_unknown_way_is_named_with_those_that_exist(built: Any) -> None:
    with pytest.raises(BadInput, match="'forked'; expected one of: serial, parallel, fused"):
        built("inception-train", branches="forked")
