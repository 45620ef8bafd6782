"""Image files as tensors. Needs PyTorch and Pillow; decoding on the device needs torchvision as well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from harness.errors import BadInput, Unavailable
from harness.workloads.data.image_folder import ImageFolder
from harness.workloads.torch import devices

# Per channel, of ImageNet's photographs: what image classifiers are usually fed.
MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
DEVIATION = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
DECODERS = ("pillow", "pillow-draft", "device")

Decoder = Callable[[Path, int], Any]


class Photographs:
    """Image files, decoded and scaled to ``side`` × ``side`` when they are asked for."""

    def __init__(self, folder: ImageFolder, side: int, decoder: str = "pillow") -> None:
        self._folder = folder
        self._side = side
        self._decode = find_decoder(decoder)
        place = devices.accelerator() if decoder == "device" else "cpu"  # where the images will be
        self._mean, self._deviation = MEAN.to(place), DEVIATION.to(place)

    def __len__(self) -> int:
        return len(self._folder.paths)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        """Return a normalised float32 image, shape ``(3, side, side)``, and its label."""
        pixels = self._decode(self._folder.paths[index], self._side).float().div(255)
        return pixels.sub(self._mean).div(self._deviation), self._folder.labels[index]


def find_decoder(name: str) -> Decoder:
    """Return the function that makes of a file and a side in pixels a tensor of bytes, shape ``(3, side, side)``.

    Raises:
        BadInput: there is no such decoder.
        Unavailable: it cannot decode on this machine.
    """
    if name not in DECODERS:
        raise BadInput(f"unknown decoder {name!r}; expected one of: {', '.join(DECODERS)}")
    if name == "device":
        return _device_decoder()
    return _draft if name == "pillow-draft" else _whole


def _whole(path: Path, side: int) -> Any:
    with Image.open(path) as image:
        return _scaled(image, side)


def _draft(path: Path, side: int) -> Any:
    with Image.open(path) as image:
        image.draft("RGB", (side, side))  # of a JPEG file, so few frequencies that it stays at least as large
        return _scaled(image, side)


def _scaled(image: Image.Image, side: int) -> Any:
    scaled = image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
    return torch.from_numpy(np.array(scaled)).permute(2, 0, 1)


def _device_decoder() -> Decoder:
    """Return the decoder of JPEG files on a CUDA device, which is nvJPEG, by way of torchvision."""
    place = devices.accelerator()
    if place.type != "cuda":
        raise Unavailable(
            f"torchvision decodes on CUDA devices alone, and torch {torch.__version__} computes on {place}"
        )
    try:
        from torchvision import io  # type: ignore[import-not-found]  # of the user's own, since few need it
    except (ImportError, RuntimeError) as failure:  # a torchvision built for another PyTorch fails in its own ways
        raise Unavailable(f"torchvision, which decodes on the device, cannot be imported: {failure}") from None

    def decode(path: Path, side: int) -> Any:
        # Waits until the image is there. Its bytes are read on the host.
        image = io.decode_jpeg(io.read_file(str(path)), mode=io.ImageReadMode.RGB, device=place)
        scaled = torch.nn.functional.interpolate(
            image[None].float(), size=(side, side), mode="bilinear", antialias=True, align_corners=False
        )
        return scaled[0].round().clamp(0, 255)

    return decode
