"""How batches arrive: when they are asked for, or fetched ahead. Needs PyTorch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from harness.errors import BadInput
from harness.workloads.torch import devices

DEPTH = 2  # batches that a thread fetches ahead
LOADING = ("blocking", "thread", "device")


def arrival(loading: str, device: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return what brings an epoch's batches: on demand, from a thread, or from a thread and on to the device.

    Raises:
        BadInput: there is no such way of loading.
        Unavailable: batches are to be on the device ahead of time, and it is no CUDA device.
    """
    if loading not in LOADING:
        raise BadInput(f"unknown way of loading {loading!r}; expected one of: {', '.join(LOADING)}")
    if loading == "blocking":
        return iter
    if loading == "thread":
        return fetched_ahead
    (side,) = devices.side_streams(device, 1)
    return lambda batches: sent_ahead(fetched_ahead(batches), side)


def fetched_ahead(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the batches, which a thread of their own fetches while the consumer works; it ends with them."""
    source = iter(batches)
    with ThreadPoolExecutor(1, thread_name_prefix="prefetch") as thread:
        coming = deque(thread.submit(next, source, None) for _ in range(DEPTH))
        while (batch := coming.popleft().result()) is not None:
            coming.append(thread.submit(next, source, None))
            yield batch


def sent_ahead(batches: Iterable[Any], side: Any) -> Iterator[Any]:
    """Yield the batches, each copied to the device on the side stream while the device works on the one before.

    The copies pass the consumer's work only where the batches lie in page-locked memory.
    """
    for batch in batches:  # asked for as soon as the consumer has launched its work on the one before
        with torch.cuda.stream(side):
            parts = [part.to(side.device, non_blocking=True) for part in batch]
        consumer = torch.cuda.current_stream(side.device)
        consumer.wait_stream(side)  # on the device; the host goes on
        for part in parts:
            part.record_stream(consumer)  # else its memory could be given away while the consumer still reads it
        yield parts
