"""Whole epochs of a data loader. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, RandomSampler

from harness.errors import Unavailable
from harness.workloads.image_folder import ImageFolder

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


class Epochs:
    """A data loader each of whose epochs draws the same items in the same order.

    ``batch_size`` None means that the dataset holds whole batches. ``items`` is how many an epoch draws.
    """

    def __init__(
        self,
        dataset: Any,
        *,
        seed: int,
        items: int,
        batch_size: int | None,
        workers: int,
        persistent_workers: bool,
        prefetch_factor: int,
        pin_memory: bool,
    ) -> None:
        self._seed = seed
        self._order = torch.Generator()
        self._loader: Any = DataLoader(
            dataset,
            batch_size=batch_size,
            sampler=RandomSampler(dataset, num_samples=items, generator=self._order),
            num_workers=workers,
            persistent_workers=persistent_workers and workers > 0,
            prefetch_factor=prefetch_factor if workers else None,
            pin_memory=pin_memory,
            generator=torch.Generator(),
        )

    def __iter__(self) -> Iterator[Any]:
        """Begin an epoch."""
        self._order.manual_seed(self._seed)
        return iter(self._loader)

    def close(self) -> None:
        """End the loader's worker processes."""
        self._loader = ()


def worker_count(asked: int | None, cores: int) -> int:
    """Return how many loader processes to start; without a wish, one per core.

    Raises:
        Unavailable: more were asked for than there are cores.
    """
    if asked is not None and asked > cores:
        are = "core is" if cores == 1 else "cores are"
        raise Unavailable(f"asked for {asked} workers; {cores} {are} available to this process")
    return cores if asked is None else asked
