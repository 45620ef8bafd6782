"""Batches fetched ahead: the same ones in the same order, up to a depth, and nothing runs on afterwards."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.workloads.torch.data import DEPTH, arrival, fetch_ahead, send_ahead

framework = load("torch")
without_cuda = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")


def training(tree: Path, **options: Any) -> Arm:
    rng = np.random.default_rng(0)
    for number in range(6):
        path = tree / f"class{number % 2}" / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (60, 80, 3), dtype=np.uint8)).save(path)
    return find_workload("image-training").build(
        Setting(data_dir=tree), model="cnn", device="cpu", batch_size=2, workers=0, **options
    )


def test_every_batch_comes_once_in_its_order() -> None:
    assert list(fetch_ahead(range(10))) == list(range(10))
    assert list(fetch_ahead([])) == []


def test_no_more_than_two_batches_are_fetched_ahead() -> None:
    fetched = threading.Semaphore(0)
    begun: list[int] = []

    def source() -> Iterator[int]:
        for number in range(10):
            begun.append(number)
            fetched.release()
            yield number

    batches = fetch_ahead(source())
    assert next(batches) == 0
    for _ in range(1 + DEPTH):
        assert fetched.acquire(timeout=10)
    assert not fetched.acquire(timeout=0.05)
    assert list(batches) == list(range(1, 10))
    assert begun == list(range(10))


def test_the_fetching_happens_in_another_thread_which_ends_with_the_epoch() -> None:
    before = threading.active_count()
    threads = set(fetch_ahead(threading.current_thread() for _ in range(5)))
    assert threading.current_thread() not in threads
    assert len(threads) == 1
    assert threading.active_count() == before


def test_a_batch_that_cannot_be_fetched_stops_the_consumer() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    batches = fetch_ahead(source())
    assert next(batches) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(batches)


def test_a_thread_changes_nothing_in_what_is_learnt(tmp_path: Path) -> None:
    before = threading.active_count()
    blocking, ahead = (check.output_of(training(tmp_path, loading=how), framework) for how in ("blocking", "thread"))
    assert check.find_invalid_values(blocking) is None
    assert relative_error(ahead, blocking) == 0
    assert threading.active_count() == before


def test_training_from_a_thread_says_how_long_it_waited(tmp_path: Path) -> None:
    observe = training(tmp_path, loading="thread").observe
    assert observe is not None
    assert 0 < observe()["wait_share"] < 1


@without_cuda
def test_without_cuda_batches_cannot_be_on_the_device_ahead_of_time(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"needs CUDA streams, and torch .* computes on cpu here"):
        training(tmp_path, loading="device")


def test_an_unknown_way_of_loading_is_named_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match="'magic'; expected one of: blocking, thread, device"):
        arrival("magic", torch.device("cpu"))


def test_a_batch_is_awaited_on_the_device_and_its_memory_kept_for_the_consumer(cuda: Any) -> None:
    (side,) = cuda.streams(1)
    batches = [(torch.full((2,), float(number)), torch.tensor(number)) for number in (1, 2)]
    for number, (pixels, label) in enumerate(send_ahead(batches, side), start=1):
        assert (pixels.tolist(), label.item()) == ([number, number], number)
        cuda.log.append("consumed")
    once = ["s1 sends", "s1 sends", "s0 waits for s1", "kept for s0", "kept for s0", "consumed"]
    assert cuda.log == 2 * once
