"""Decoders: the same picture whole or no larger than is asked for, and what cannot decode here says so."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import harness.techniques
import harness.workloads  # noqa: F401  fills the catalogue
from harness.errors import BadInput, Unavailable
from harness.experiment import Setting, find_technique, find_workload
from harness.workloads.data import photographs
from harness.workloads.data.image_folder import scan
from harness.workloads.torch import decoding
from harness.workloads.torch.decoding import DECODERS, Photographs, find_decoder


@pytest.fixture
def photograph() -> Path:
    return scan(photographs.folder(Setting())).paths[0]  # 256 × 256 pixels


def test_the_decoders_are_the_levels_of_their_technique() -> None:
    assert find_technique("torch", "decode").levels == DECODERS


def test_an_image_scaled_to_less_than_half_is_decoded_smaller_and_looks_alike(photograph: Path) -> None:
    whole, smaller = (find_decoder(name)(photograph, 96).float() for name in DECODERS[:2])
    assert whole.shape == smaller.shape == (3, 96, 96)
    assert 0 < (whole - smaller).abs().mean() < 6  # of 255


def test_an_image_scaled_by_little_is_decoded_whole(photograph: Path) -> None:
    whole, smaller = (find_decoder(name)(photograph, 200) for name in DECODERS[:2])
    assert torch.equal(whole, smaller)


def test_an_epoch_of_smaller_decoding_is_within_its_tolerance() -> None:
    means, smaller = (
        find_workload("image-loading").build(Setting(), images=16, workers=0, decoder=name).step()[0]
        for name in DECODERS[:2]
    )
    error = (smaller - means).norm() / means.norm()
    assert 0 < error < find_technique("torch", "decode").tolerance_at("pillow-draft")


class Copies(TorchDispatchMode):
    """Counts how often a tensor is copied to another device or type."""

    count = 0

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += operation is torch.ops.aten._to_copy.default  # noqa: SLF001  so it is called
        return operation(*args, **(kwargs or {}))


def test_what_an_image_is_normalised_by_lies_where_the_decoder_leaves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = torch.device("meta")
    monkeypatch.setattr(decoding.devices, "accelerator", lambda: elsewhere)
    monkeypatch.setattr(decoding, "find_decoder", lambda _: lambda *_: torch.ones(3, 8, 8, device=elsewhere))
    images = Photographs(scan(photographs.folder(Setting())), 8, "device")
    with Copies() as copies:
        image, _ = images[0]
    assert (image.device, copies.count) == (elsewhere, 0)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_that_decodes_the_level_says_so() -> None:
    with pytest.raises(Unavailable, match=r"sees no accelerator|on CUDA devices alone"):
        find_decoder("device")


def test_what_is_decoded_on_the_device_comes_from_no_loader_process() -> None:
    with pytest.raises(Unavailable, match="decoded on the device need workers=0"):
        find_workload("image-loading").build(Setting(cores=2), workers=1, decoder="device")


def test_an_unknown_decoder_is_named_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match="unknown decoder 'opencv'; expected one of: pillow, pillow-draft, device"):
        find_decoder("opencv")
