"""Work done at once gives what it gives in turn, and nothing runs on after the arm is closed."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check

framework = load("torch")
SIDE = 32
NAMES = ("independent-products", "host-and-device-products")
without_accelerator = pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")


@pytest.fixture
def built() -> Iterator[Any]:
    arms: list[Arm] = []

    def build(name: str, *, cores: int = 2, **options: Any) -> Arm:
        place = {} if name == "independent-products" else {"device": "cpu"}
        arms.append(find_workload(name).build(Setting(cores=cores), side=SIDE, **place, **options))
        return arms[-1]

    yield build
    for arm in arms:
        arm.close()


@pytest.mark.parametrize("name", NAMES)
def test_at_once_and_in_turn_compute_the_same(name: str, built: Any) -> None:
    in_turn, at_once = (check.output_of(built(name, at_once=how), framework) for how in (False, True))
    assert check.find_invalid_values(in_turn) is None
    assert len(in_turn) == 2
    assert relative_error(at_once, in_turn) < 1e-4


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("at_once", [False, True])
def test_the_inputs_vary_and_start_over_with_a_reset(name: str, at_once: bool, built: Any) -> None:
    arm = built(name, at_once=at_once)
    first, second = framework.to_host(arm.step()), framework.to_host(arm.step())
    assert relative_error(second, first) > 0.1
    assert relative_error(check.output_of(arm, framework), first) < 1e-4


def test_a_chain_multiplies_three_times(built: Any) -> None:
    arm = built("independent-products")
    generator = torch.Generator().manual_seed(0)
    a, b = (matrix.double().numpy() for matrix in (torch.randn(SIDE, SIDE, generator=generator) for _ in "ab"))
    first, _ = check.output_of(arm, framework)
    assert relative_error([first], [a @ np.linalg.matrix_power(b / SIDE**0.5, 3)]) < 1e-5
    assert arm.items == 2 * 3 * 2 * SIDE**3


def test_two_threads_share_the_cores_and_end_with_the_arm(built: Any) -> None:
    before = threading.active_count()
    counts: list[int] = []
    arm = built("independent-products", cores=6, at_once=True)
    matmul = torch.Tensor.__matmul__

    def counted(a: Any, b: Any) -> Any:
        counts.append(torch.get_num_threads())
        return matmul(a, b)

    main = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "__matmul__", counted)
        arm.step()
    assert counts == [3] * 6
    assert torch.get_num_threads() == main
    arm.close()
    assert threading.active_count() == before


def test_an_observation_says_which_share_of_the_time_in_turn_is_the_devices(built: Any) -> None:
    assert 0 < built("host-and-device-products").observe()["device_share"] < 1


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("streams", [1, 2, 4])
def test_every_chunk_comes_back_multiplied_on_any_number_of_streams(streams: int, built: Any) -> None:
    arm = built("chunked-products", streams=streams)
    generator = torch.Generator().manual_seed(0)
    _, factor = (torch.randn(SIDE, SIDE, generator=generator).double().numpy() for _ in "ab")
    batches = [[torch.randn(SIDE, SIDE, generator=generator).double().numpy() for _ in range(8)] for _ in "ab"]
    for batch in batches:
        results = framework.to_host(arm.step())
        assert relative_error(results, [chunk @ factor / SIDE**0.5 for chunk in batch]) < 1e-5
    assert arm.items == 8 * SIDE**2 * 4


def test_chunks_take_turns_on_the_streams_between_what_came_before_and_what_comes_after(built: Any, cuda: Any) -> None:
    arm = built("chunked-products", streams=2)
    cuda.log.clear()
    arm.step()
    begin, end = ["s1 waits for s0", "s2 waits for s0"], ["s0 waits for s1", "s0 waits for s2"]
    assert cuda.log == [*begin, *(["s1 sends", "s1 fetches", "s2 sends", "s2 fetches"] * 4), *end]


@without_accelerator
@pytest.mark.parametrize("name", ["host-and-device-products", "chunked-products"])
def test_without_an_accelerator_there_is_nothing_to_work_beside(name: str) -> None:
    with pytest.raises(Unavailable, match=r"torch .* sees no accelerator"):
        find_workload(name).build(Setting())


def test_a_device_without_cuda_streams_is_named(built: Any) -> None:
    with pytest.raises(Unavailable, match=r"needs CUDA streams, and torch .* computes on cpu here"):
        built("chunked-products")
