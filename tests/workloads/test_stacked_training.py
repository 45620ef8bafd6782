"""The training that ladders climb: what it leaves out until it is asked for."""

from typing import Any

import pytest
import torch

import harness.techniques
import harness.workloads  # noqa: F401  fills the catalogue
from harness.errors import BadInput, Unavailable
from harness.experiment import Arm, Setting, find_technique, find_workload
from harness.frameworks import load
from harness.measuring import check
from harness.workloads.torch.stacked_resnet50 import in_batches
from harness.workloads.torch.stacked_training import epoch

pytestmark = pytest.mark.usefixtures("one_thread")
framework = load("torch")


def build(**options: Any) -> Arm:
    return find_workload("stacked-training").build(Setting(cores=2), model="bert", device="cpu", **options)


def build_in_memory(**options: Any) -> Arm:
    return find_workload("stacked-training-resnet50").build(Setting(), device="cpu", **options)


def test_reading_the_loss_changes_nothing_and_batches_do() -> None:
    output = check.output_of(build(batch_size=4), framework)
    assert check.identical(check.output_of(build(batch_size=4, log_interval=None), framework), output)
    assert [array.shape for array in output] == [(), (4, 2)]
    assert [array.shape for array in check.output_of(build(), framework)] == [(), (1, 2)]


def test_a_rung_adds_to_those_below_it() -> None:
    ladder = find_technique("torch", "ladder")
    arm = ladder.apply(build, "+batch-size 4")
    assert check.identical(check.output_of(arm, framework), check.output_of(build(batch_size=4), framework))


def test_what_the_workload_does_not_have_says_so() -> None:
    with pytest.raises(Unavailable, match="an epoch has 8 items here, too few for a batch of 64"):
        build(batch_size=64)
    with pytest.raises(Unavailable, match="an epoch has 64 items here, too few for a batch of 256"):
        build_in_memory(batch_size=256)
    with pytest.raises(Unavailable, match="BERT has no convolutions"):
        build(memory_format="channels-last")
    with pytest.raises(BadInput, match="unknown model 'gpt'; expected one of: resnet18, bert"):
        find_workload("stacked-training").build(Setting(), model="gpt")


def test_images_in_memory_are_the_same_in_batches_of_any_size() -> None:
    small, large = build_in_memory(), build_in_memory(batch_size=64)
    assert small.items == large.items == 64
    assert check.identical(*(framework.to_host(arm.inputs()) for arm in (small, large)))
    assert [array.shape for array in framework.to_host(small.step())] == [(), (32, 10)]
    assert [array.shape for array in framework.to_host(large.step())] == [(), (64, 10)]
    assert (small.checked_steps, large.checked_steps) == (1, 2)


def test_images_are_page_locked_before_the_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    locked: list[Any] = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: locked.append(tensor.shape) or tensor)
    arm = build_in_memory(pin_memory=True)
    assert [tuple(shape) for shape in locked] == [(64, 3, 32, 32), (64,)]
    arm.step()
    assert len(locked) == 2


def test_batches_are_views_of_what_is_shown() -> None:
    images, labels = torch.zeros(5, 2), torch.zeros(5)
    *_, (last, label) = batches = in_batches((images, labels), 2)
    assert [len(part) for part, _ in batches] == [2, 2, 1]
    images[4], labels[4] = 7, 3
    assert (last.tolist(), label.tolist()) == ([[7, 7]], [3])


@pytest.mark.parametrize(
    ("log_interval", "non_blocking", "seen"),
    [
        (1, False, ["sent", "trained", "read", "sent", "trained", "read"]),
        (2, True, ["sent on", "trained", "sent on", "trained", "read"]),
        (None, False, ["sent", "trained", "sent", "trained"]),
    ],
)
def test_every_batch_is_sent_and_the_loss_read_as_often_as_asked(
    log_interval: int | None, non_blocking: bool, seen: list[str]
) -> None:
    log: list[str] = []

    class Loss:
        def item(self) -> None:
            log.append("read")

    class Part:
        def to(self, device: str, *, non_blocking: bool) -> "Part":
            assert device == "far"
            log.append("sent on" if non_blocking else "sent")
            return self

    class Trainer:
        device = "far"

        def laid_out(self, *parts: Part) -> tuple[Part, ...]:
            return parts

        def train_on(self, *parts: Part) -> tuple[Loss, tuple[Part, ...]]:
            log.append("trained")
            return Loss(), parts

    epoch(Trainer(), [(Part(),), (Part(),)], log_interval, non_blocking)()
    assert log == seen
