"""Whole epochs of a data loader. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, RandomSampler

from harness.errors import Unavailable


class Epochs:
    """A data loader each of whose epochs draws the same items in the same order.

    ``batch_size`` None means that the dataset holds whole batches. ``items`` is how many an epoch draws, ``collate``
    what makes a batch of them, if not PyTorch's own way.
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
        collate: Any = None,
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
            collate_fn=collate,
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
