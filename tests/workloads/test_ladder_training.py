"""The training that ladders climb: what it leaves out until it is asked for."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import ROUNDING, Arm, Setting, find_technique, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.workloads.torch import models
from accelbench.workloads.torch.data import in_batches
from accelbench.workloads.torch.training_loop import READERS
from accelbench.workloads.torch.training_step import Trainer

pytestmark = pytest.mark.usefixtures("one_thread")
framework = load("torch")


def build(*, model: str = "bert", **options: Any) -> Arm:
    return find_workload("ladder-training").build(Setting(cores=2), model=model, device="cpu", **options)


def build_in_memory(**options: Any) -> Arm:
    return find_workload("ladder-training-resnet50").build(Setting(), device="cpu", **options)


@pytest.fixture
def small_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network of two convolutions, which learns from the same images as ResNet-50 does."""
    monkeypatch.setattr(models, "resnet50", lambda *, side, classes: models.cnn(classes=classes))  # noqa: ARG005


def test_reading_the_loss_changes_nothing_and_batches_do() -> None:
    output = check.output_of(build(batch_size=4), framework)
    assert check.identical(check.output_of(build(batch_size=4, log_interval=0), framework), output)
    assert [array.shape for array in output] == [(2,), (4, 2)]
    assert [array.shape for array in check.output_of(build(), framework)] == [(8,), (1, 2)]


@pytest.mark.parametrize("made", [lambda: build(model="resnet18"), build_in_memory], ids=["resnet18", "resnet50"])
def test_a_ladder_repeats_itself_though_a_gpu_adds_up_gradients_in_another_order_each_time(
    made: Callable[[], Arm],
) -> None:
    arm, order = made(), torch.Generator()
    for weights in arm.parameters():
        weights.register_hook(lambda gradient: gradient * (1 + 1e-5 * torch.randn(gradient.shape, generator=order)))
    first, second = (check.output_of(arm, framework) for _ in range(2))
    assert 0 < relative_error(second, first) < ROUNDING


def test_a_rung_adds_to_those_below_it() -> None:
    ladder = find_technique("torch", "ladder")
    arm = ladder.apply(build, "+batch-size 4")
    assert check.identical(check.output_of(arm, framework), check.output_of(build(batch_size=4), framework))


def test_what_the_workload_does_not_have_says_so() -> None:
    with pytest.raises(Unavailable, match="an epoch has 8 items here, too few for a batch of 64"):
        build(batch_size=64)
    with pytest.raises(Unavailable, match="an epoch has 64 items here, too few for a batch of 256"):
        build_in_memory(batch_size=256)
    with pytest.raises(Unavailable, match="the model has no convolutions"):
        build(memory_format="channels-last")
    with pytest.raises(BadInput, match="unknown model 'gpt'; expected one of: resnet18, bert"):
        find_workload("ladder-training").build(Setting(), model="gpt")


@pytest.mark.usefixtures("small_network")
def test_images_in_memory_are_the_same_in_batches_of_any_size() -> None:
    small, large = build_in_memory(), build_in_memory(batch_size=64)
    assert small.items == large.items == 64
    assert check.identical(*(framework.to_host(arm.inputs()) for arm in (small, large)))
    assert [array.shape for array in framework.to_host(small.step())] == [(2,), (32, 10)]
    assert [array.shape for array in framework.to_host(large.step())] == [(), (64, 10)]
    assert (small.checked_steps, large.checked_steps) == (1, 2)


@pytest.mark.usefixtures("small_network")
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
        (0, False, ["sent", "trained", "sent", "trained"]),
    ],
)
def test_every_batch_is_sent_and_the_loss_read_as_often_as_asked(
    log_interval: int, non_blocking: bool, seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[str] = []
    send, learn = Trainer.send, Trainer.train_on

    def sending(trainer: Trainer, batch: Any, *, non_blocking: bool = False) -> Any:
        log.append("sent on" if non_blocking else "sent")
        return send(trainer, batch, non_blocking=non_blocking)

    def learning(trainer: Trainer, batch: Any) -> Any:
        log.append("trained")
        return learn(trainer, batch)

    arm = build(batch_size=4, log_interval=log_interval, non_blocking=non_blocking)
    monkeypatch.setattr(Trainer, "send", sending)
    monkeypatch.setattr(Trainer, "train_on", learning)
    monkeypatch.setitem(READERS, "item", lambda _: log.append("read"))
    arm.step()
    assert log == seen
