"""Training steps: the same from the same seed, learning, and equal in every precision up to its tolerance."""

from typing import Any

import numpy as np
import pytest
import torch

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, find_technique, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.workloads.data.rotation import VARIANTS
from accelbench.workloads.torch import models, training_step

framework = load("torch")
QUICK = ("cnn-train", "mlp-train", "narrow-mlp-train")
slow = pytest.mark.slow  # millions of weights, which take seconds to draw
LARGE = ("regnet-train", "bert-train", "resnet18-train")
FEW = {name: {"batch_size": 2} for name in LARGE}
ALL = [*QUICK, *(pytest.param(name, marks=slow) for name in LARGE)]


def built(name: str, seed: int = 0, **options: Any) -> Arm:
    return find_workload(name).build(Setting(seed=seed), device="cpu", **options)


@pytest.mark.parametrize("name", ALL)
def test_arms_repeat_exactly_from_a_reset_and_learn_from_inputs_that_vary(name: str) -> None:
    arm, other = (built(name, **FEW.get(name, {})) for _ in "ab")
    outputs = [framework.to_host(arm.step()) for _ in range(VARIANTS + 1)]
    assert relative_error(outputs[1], outputs[0]) > 1e-3
    assert relative_error(outputs[VARIANTS], outputs[0]) > 1e-3  # the same batch again
    assert relative_error(check.output_of(arm, framework), outputs[1]) == 0
    assert relative_error(check.output_of(other, framework), outputs[1]) == 0
    assert check.find_invalid_values(outputs[1]) is None


def test_a_reset_gives_the_same_weights_and_random_numbers_whether_they_were_saved_or_are_drawn_again(
    monkeypatch,
) -> None:
    def after_reset() -> tuple[list[np.ndarray], torch.Tensor]:
        arm = built("mlp-train")
        arm.step()
        torch.rand(3)
        arm.reset()
        state = torch.get_rng_state()
        return framework.to_host(arm.step()), state

    saved, state = after_reset()
    monkeypatch.setattr(training_step, "MOST_SAVED_BYTES", 0)
    drawn, other_state = after_reset()
    assert relative_error(drawn, saved) == 0
    assert torch.equal(other_state, state)


def test_a_batch_with_more_images_than_are_drawn_repeats_them() -> None:
    images, labels = models.cnn().batch(models.DISTINCT + 2, torch.Generator().manual_seed(0))
    assert len(images) == len(labels) == models.DISTINCT + 2
    assert torch.equal(images[models.DISTINCT :], images[:2])
    assert images[: models.DISTINCT].unique(dim=0).shape == images[: models.DISTINCT].shape


@pytest.mark.parametrize("name", QUICK)
def test_another_seed_gives_other_weights_and_data(name: str) -> None:
    outputs = [check.output_of(built(name, seed), framework) for seed in (0, 1)]
    assert relative_error(*outputs) > 0.1


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=slow) for name in ("regnet-train", "bert-train"))])
def test_mixed_precision_stays_within_its_tolerance_and_is_not_float32(name: str) -> None:
    amp = find_technique("torch", "amp")
    exact, *rounded = (
        check.output_of(built(name, amp=level, **FEW.get(name, {})), framework) for level in ("fp32", "bf16", "fp16")
    )
    for level, output in zip(("bf16", "fp16"), rounded, strict=True):
        assert 1e-5 < relative_error(output, exact) < amp.tolerance_at(level)


@pytest.mark.parametrize("amp", ["fp32", "bf16"])
@pytest.mark.parametrize("name", ["cnn-train", "regnet-train", pytest.param("resnet18-train", marks=slow)])
def test_channels_last_holds_for_images_and_weights_and_computes_the_same(name: str, amp: str) -> None:
    arm, usual = (
        built(name, amp=amp, memory_format=level, **FEW.get(name, {})) for level in ("channels-last", "contiguous")
    )
    error = relative_error(check.output_of(arm, framework), check.output_of(usual, framework))
    assert error <= find_technique("torch", "memory_format").tolerance_at("channels-last")
    (images, _), *_ = arm.inputs()
    convolutions = [weight for weight in arm.parameters() if weight.ndim == images.ndim]
    assert convolutions
    assert all(each.is_contiguous(memory_format=torch.channels_last) for each in [images, *convolutions])
    assert not any(each[0].is_contiguous(memory_format=torch.channels_last) for each in usual.inputs())


def test_rows_have_no_channels_to_lay_out() -> None:
    with pytest.raises(Unavailable, match="the model has no convolutions of images"):
        built("mlp-train", memory_format="channels-last")
    built("mlp-train", memory_format="contiguous")


def test_an_unknown_memory_format_is_named_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match="unknown memory format 'nhwc'; expected one of: contiguous, channels-last"):
        built("mlp-train", memory_format="nhwc")


def test_a_round_trip_computes_the_same_on_the_host() -> None:
    resident, sent = (
        check.output_of(built("cnn-train", data_location=place), framework) for place in ("resident", "round-trip")
    )
    assert relative_error(sent, resident) == 0


def test_items_are_the_batch() -> None:
    assert built("cnn-train", batch_size=5).items == 5


def test_an_unknown_precision_is_named_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match=r"unknown precision 'fp8'; expected one of: fp32, bf16, fp16"):
        built("mlp-train", amp="fp8")
