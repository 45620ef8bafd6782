"""The tensors of a batch, whatever its form: tuples, mappings, dataclasses, objects of a library. Needs PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

import torch

from accelbench.frameworks.tree import sequence_with


def map_parts(batch: Any, change: Callable[[Any], Any]) -> Any:
    """Return a batch of the same form with every part changed: its tensors, and whatever is no container."""
    if isinstance(batch, Mapping):
        return _mapping_with(batch, {key: map_parts(part, change) for key, part in batch.items()})
    if isinstance(batch, tuple | list):
        return sequence_with(batch, [map_parts(part, change) for part in batch])
    if is_dataclass(batch) and not isinstance(batch, type):
        changed_batch = copy.copy(batch)
        for each in fields(batch):
            object.__setattr__(changed_batch, each.name, map_parts(getattr(batch, each.name), change))
        return changed_batch
    return None if batch is None else change(batch)


def _mapping_with(batch: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    """Return a mapping of the batch's type, such as a tokenizer's, with other values; else a dictionary."""
    if type(batch) is not dict:
        with suppress(Exception):  # a mapping that cannot be copied, or not be written to
            changed: Any = copy.copy(batch)
            for key, value in values.items():
                changed[key] = value
            return changed
    return values


def parts_of(batch: Any) -> Iterator[Any]:
    """Yield the parts of a batch in the order of :func:`map_parts`."""
    found: list[Any] = []
    map_parts(batch, found.append)
    yield from found


def tensors_of(batch: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors of a batch."""
    return (part for part in parts_of(batch) if isinstance(part, torch.Tensor))


def items_in(batch: Any) -> int:
    """Return how many items a batch has: the length of its first tensor, or of a list without tensors."""
    lengths = [len(part) for part in tensors_of(batch) if part.ndim]
    if lengths:
        return lengths[0]
    return len(batch) if isinstance(batch, list) and batch else 1


def send_part(part: Any, device: Any, *, non_blocking: bool = False, **layout: Any) -> Any:
    """Return a part of a batch on the device: a tensor, or an object of a library that has a method ``to``."""
    if isinstance(part, torch.Tensor):
        return part.to(device, non_blocking=non_blocking, **layout)
    if isinstance(part, type) or not callable(getattr(part, "to", None)):
        return part
    try:
        return part.to(device, non_blocking=non_blocking)
    except TypeError:  # it knows no such option
        return part.to(device)


def pinned(batch: Any) -> Any:
    """Return the batch in page-locked memory."""
    return map_parts(batch, lambda part: part.pin_memory() if callable(getattr(part, "pin_memory", None)) else part)
