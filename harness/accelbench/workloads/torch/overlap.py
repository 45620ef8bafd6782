"""Copies between host and device, and independent work at once: on threads, on CPU and accelerator, on streams."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from accelbench.core import Arm, Setting, Work, workload

LINKS = 3  # products in a chain: enough work between two joins of the threads
CHUNKS = 8


@workload("torch", unit="operation")
def independent_products(setting: Setting, *, side: int = 512, at_once: bool = False) -> Arm:
    """Two independent chains of three matrix products each on the CPU; throughput counts floating-point operations.

    At once, each chain has a thread of its own, and half of the cores.
    """
    import torch

    from accelbench.workloads.data.rotation import VARIANTS, Rotation

    generator = torch.Generator().manual_seed(setting.seed)
    rotation = Rotation([[_operands(side, generator) for _ in "ab"] for _ in range(VARIANTS)])
    share = max(1, setting.cores // 2)
    # PyTorch has a number of intra-op threads for each calling thread, so each thread of the pool sets its own.
    pool = ThreadPoolExecutor(2, initializer=torch.set_num_threads, initargs=(share,))

    def chain(operands: tuple[Any, Any]) -> Any:
        product, factor = operands
        for _ in range(LINKS):
            product = product @ factor
        return product

    def in_turn() -> Any:
        return [chain(operands) for operands in rotation.take()]

    def in_threads() -> Any:
        return list(pool.map(chain, rotation.take()))

    operations = 2 * LINKS * 2 * side**3
    return Arm(
        step=in_threads if at_once else in_turn,
        items=operations,
        reset=rotation.restart,
        close=pool.shutdown,
        device="cpu",
        inputs=rotation.inputs,
        work=Work(operations=operations, precision="fp32"),
    )


@workload("torch", unit="operation")
def host_and_device_products(
    setting: Setting, *, side: int | None = None, device: str | None = None, at_once: bool = False
) -> Arm:
    """A matrix product on the CPU and one of four times the side on the accelerator; throughput counts operations.

    In turn, the program fetches the accelerator's result, as one does that waits for it, before the CPU begins.
    """
    import torch

    from accelbench.workloads.data.rotation import VARIANTS, Rotation
    from accelbench.workloads.torch import devices

    place = devices.accelerator(device)
    near_side = side or setting.choose(small=512, full=1024)
    far_side = 4 * near_side
    generator = torch.Generator().manual_seed(setting.seed)
    near = Rotation([_operands(near_side, generator) for _ in range(VARIANTS)])
    far = Rotation([tuple(matrix.to(place) for matrix in _operands(far_side, generator)) for _ in range(VARIANTS)])

    def on_device() -> Any:
        return _column_means(*far.take())

    def on_host() -> Any:
        return _column_means(*near.take())

    def in_turn() -> Any:
        return on_device().to("cpu"), on_host()

    def both() -> Any:
        launched, computed = on_device(), on_host()
        return launched.to("cpu"), computed

    def reset() -> None:
        near.restart()
        far.restart()

    return Arm(
        step=both if at_once else in_turn,
        items=2 * (near_side**3 + far_side**3),
        reset=reset,
        observe=lambda: _device_share(on_device, on_host),
        device=devices.label(place),
        inputs=lambda: (near.inputs(), far.inputs()),
        work=Work(operations=2 * far_side**3, precision="fp32"),  # the device's part
    )


def _column_means(a: Any, b: Any) -> Any:
    """Return a product's column means, which are little to fetch, so that the link plays no part."""
    return (a @ b).mean(dim=0)


def _device_share(on_device: Callable[[], Any], on_host: Callable[[], Any]) -> Mapping[str, float]:
    """Return the device's share of the time in turn. At once, a step takes at least as long as the longer part."""
    start_s = time.perf_counter()
    on_device().to("cpu")
    between_s = time.perf_counter()
    on_host()
    return {"device_share": (between_s - start_s) / (time.perf_counter() - start_s)}


@workload("torch", unit="byte")
def chunked_products(setting: Setting, *, side: int | None = None, device: str | None = None, streams: int = 1) -> Arm:
    """A matrix in page-locked host memory, in chunks: each is copied to a CUDA device, multiplied and copied back.

    Consecutive chunks are in flight at once, each on a stream of its own. Throughput counts the bytes sent.
    """
    import torch

    from accelbench.workloads.data.rotation import Rotation
    from accelbench.workloads.torch import devices

    place = devices.accelerator(device)
    lanes = devices.side_streams(place, streams)
    rows = side or setting.choose(small=512, full=2048)
    generator = torch.Generator().manual_seed(setting.seed)
    factor = _operands(rows, generator)[1].to(place)
    batches = [[torch.randn(rows, rows, generator=generator).pin_memory() for _ in range(CHUNKS)] for _ in "ab"]
    results = [torch.empty_like(chunk).pin_memory() for chunk in batches[0]]
    rotation = Rotation(batches)

    def step() -> Any:
        caller = torch.cuda.current_stream(place)
        for lane in lanes:
            lane.wait_stream(caller)  # nothing overtakes what was launched before this step
        for number, (chunk, result) in enumerate(zip(rotation.take(), results, strict=True)):
            # On the device a chunk lives and dies on one stream, and a result is always written by the same one.
            with torch.cuda.stream(lanes[number % streams]):
                result.copy_(chunk.to(place, non_blocking=True) @ factor, non_blocking=True)
        for lane in lanes:
            caller.wait_stream(lane)
        return results

    sent_bytes, operations = sum(chunk.nbytes for chunk in results), CHUNKS * 2 * rows**3
    return Arm(
        step=step,
        items=sent_bytes,
        reset=rotation.restart,
        checked_steps=2,
        device=devices.label(place),
        inputs=lambda: (rotation.inputs(), factor),
        work=Work(operations=operations, to_device_bytes=sent_bytes, from_device_bytes=sent_bytes, precision="fp32"),
    )


def _operands(side: int, generator: Any) -> tuple[Any, Any]:
    """Return two square float32 matrices; products with the second one keep the magnitude of their entries."""
    import torch

    return torch.randn(side, side, generator=generator), torch.randn(side, side, generator=generator) / side**0.5


@workload("torch", unit="byte")
def host_to_device_copy(
    setting: Setting,
    *,
    mebibytes: int = 16,
    device: str | None = None,
    pin_memory: bool = False,
    non_blocking: bool = False,
) -> Arm:
    """Copying a tensor from host memory to the device."""
    import torch

    from accelbench.workloads.torch import devices

    place = devices.accelerator(device)
    sources = _tensors(setting, mebibytes)
    if pin_memory:
        sources = [source.pin_memory() for source in sources]
    target = torch.empty_like(sources[0], device=place)
    return _copying(sources, target, non_blocking, place, Work(to_device_bytes=target.nbytes))


@workload("torch", unit="byte")
def device_to_host_copy(
    setting: Setting,
    *,
    mebibytes: int = 16,
    device: str | None = None,
    pin_memory: bool = False,
    non_blocking: bool = False,
) -> Arm:
    """Copying a tensor from the device to host memory."""
    import torch

    from accelbench.workloads.torch import devices

    place = devices.accelerator(device)
    sources = [source.to(place) for source in _tensors(setting, mebibytes)]
    target = torch.empty(sources[0].shape, pin_memory=pin_memory)
    return _copying(sources, target, non_blocking, place, Work(from_device_bytes=target.nbytes))


def _tensors(setting: Setting, mebibytes: int) -> list[Any]:
    """Return float32 tensors in host memory."""
    import torch

    from accelbench.workloads.data.rotation import VARIANTS

    generator = torch.Generator().manual_seed(setting.seed)
    return [torch.randn(mebibytes * 2**18, generator=generator) for _ in range(VARIANTS)]


def _copying(sources: list[Any], target: Any, non_blocking: bool, place: Any, link: Work) -> Arm:
    """Return the arm that copies the sources in turn to the same place; within the host's memory over no ``link``."""
    from accelbench.workloads.data.rotation import Rotation
    from accelbench.workloads.torch import devices

    rotation = Rotation(sources)
    return Arm(
        step=lambda: target.copy_(rotation.take(), non_blocking=non_blocking),
        items=target.nbytes,
        reset=rotation.restart,
        checked_steps=2,
        device=devices.label(place),
        inputs=rotation.inputs,
        work=Work(memory_bytes=2 * target.nbytes) if place.type == "cpu" else link,
    )
