"""Decoders: the same picture whole or no larger than is asked for, and what cannot decode here says so."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Setting, find_technique, find_workload
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.schema.reasons import Reason
from accelbench.workloads.data import images
from accelbench.workloads.data.images import scan
from accelbench.workloads.torch import data
from accelbench.workloads.torch.data import DECODERS, Photographs, find_decoder


@pytest.fixture
def photograph() -> Path:
    return scan(images.image_folder(Setting())).paths[0]  # 256 × 256 pixels


def test_the_decoders_are_the_levels_of_their_technique() -> None:
    assert find_technique("torch", "decode").levels == DECODERS


def test_an_image_scaled_to_less_than_half_is_decoded_smaller_and_looks_alike(photograph: Path) -> None:
    whole, smaller = (find_decoder(name)(photograph, 96).float() for name in DECODERS[:2])
    assert whole.shape == smaller.shape == (3, 96, 96)
    assert 0 < (whole - smaller).abs().mean() < 6  # of 255


def test_an_image_scaled_by_little_is_decoded_whole(photograph: Path) -> None:
    whole, smaller = (find_decoder(name)(photograph, 200) for name in DECODERS[:2])
    assert torch.equal(whole, smaller)


@pytest.mark.parametrize(
    ("workload", "options"),
    [
        ("image-loading", {"images": 16, "workers": 0}),
        ("bottleneck-training", {"model": "cnn", "images": 4, "device": "cpu"}),
    ],
)
def test_what_is_decoded_otherwise_is_compared_with_what_pillow_decodes_whole(
    workload: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert objection_to(workload, **options) is None
    monkeypatch.setattr(data, "_draft", lambda path, side: find_decoder("pillow")(path, side).flip(0))
    assert "differs from what Pillow decodes from whole files by" in str(objection_to(workload, **options))


def objection_to(workload: str, **options: Any) -> Reason | str | None:
    """Return what speaks against the epoch of a workload whose images are decoded no larger than is asked for."""
    arm = find_workload(workload).build(Setting(), decode="pillow-draft", **options)
    try:
        return arm.verify(check.output_of(arm, load("torch")))
    finally:
        arm.close()


def test_images_that_are_not_those_of_the_epoch_are_a_wrong_output() -> None:
    arm = find_workload("image-loading").build(Setting(), images=16, workers=0, decode="pillow-draft")
    means, labels = check.output_of(arm, load("torch"))
    assert arm.verify([means, labels]) is None
    assert arm.verify([np.roll(means, 1), labels])
    assert arm.verify([means, 1 - labels])


@pytest.mark.parametrize("seed", range(10))
def test_smaller_decoding_is_within_its_tolerance_on_every_seed(seed: int) -> None:
    loaded = Photographs(scan(images.image_folder(Setting())), 32, "pillow-draft")
    assert loaded.check_decoding(seed) is None


class Copies(TorchDispatchMode):
    """Counts how often a tensor is copied to another device or type."""

    count = 0

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += operation is torch.ops.aten._to_copy.default  # noqa: SLF001  so it is called
        return operation(*args, **(kwargs or {}))


def test_what_an_image_is_normalised_by_lies_where_the_decoder_leaves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = torch.device("meta")
    monkeypatch.setattr(data.devices, "accelerator", lambda: elsewhere)
    monkeypatch.setattr(data, "find_decoder", lambda _: lambda *_: torch.ones(3, 8, 8, device=elsewhere))
    loaded = Photographs(scan(images.image_folder(Setting())), 8, "device")
    with Copies() as copies:
        image, _ = loaded[0]
    assert (image.device, copies.count) == (elsewhere, 0)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_that_decodes_the_level_says_so() -> None:
    with pytest.raises(Unavailable, match=r"sees no accelerator|on CUDA devices alone"):
        find_decoder("device")


def test_what_is_decoded_on_the_device_comes_from_no_loader_process() -> None:
    with pytest.raises(Unavailable, match="decoded on the device need workers=0"):
        find_workload("image-loading").build(Setting(cores=2), workers=1, decode="device")


def test_an_unknown_decoder_is_named_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match="unknown decoder 'opencv'; expected one of: pillow, pillow-draft, device"):
        find_decoder("opencv")
