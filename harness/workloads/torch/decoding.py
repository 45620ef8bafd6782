"""Image files as tensors. Needs PyTorch and Pillow."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from PIL import Image

from harness.workloads.data.image_folder import ImageFolder

# Per channel, of ImageNet's photographs: what image classifiers are usually fed.
MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
DEVIATION = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


class Photographs:
    """Image files, decoded and scaled to ``side`` × ``side`` when they are asked for."""

    def __init__(self, folder: ImageFolder, side: int) -> None:
        self._folder = folder
        self._side = side

    def __len__(self) -> int:
        return len(self._folder.paths)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        """Return a normalised float32 image, shape ``(3, side, side)``, and its label."""
        with Image.open(self._folder.paths[index]) as image:
            scaled = image.convert("RGB").resize((self._side, self._side), Image.Resampling.BILINEAR)
        pixels = torch.from_numpy(np.array(scaled)).permute(2, 0, 1).float().div(255)
        return pixels.sub(MEAN).div(DEVIATION), self._folder.labels[index]
