"""Plain tensor operations in PyTorch, on data that stays on the device or is sent there and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.errors import BadInput
from harness.experiment import Arm, Setting, workload

INTERMEDIATES = ("resident", "round-trip")


@workload("torch", unit="operation")
def matmul_torch(
    setting: Setting, *, side: int = 1024, device: str | None = None, data_location: str = "resident"
) -> Arm:
    """Product of two square float32 matrices; throughput counts its 2·side³ additions and multiplications."""
    return _arm(setting, (side, side), lambda a, b: a @ b, 2 * side**3, device, data_location)


@workload("torch", unit="element")
def chain_torch(
    setting: Setting, *, elements: int = 1_000_000, device: str | None = None, data_location: str = "resident"
) -> Arm:
    """A chain of four elementwise operations on float32 vectors: product, sum, tanh, square."""
    return _arm(setting, (elements,), lambda a, b: (a * b + a).tanh().square(), elements, device, data_location)


@workload("torch", unit="element")
def operation_chain(
    setting: Setting,
    *,
    operations: int = 4,
    elements: int | None = None,
    device: str | None = None,
    intermediates: str = "resident",
) -> Arm:
    """A chain of multiply-adds on float32 vectors on the accelerator; throughput counts elements of every operation.

    Results between them stay there, or visit the host after every operation, as where other code works on them.
    """
    if intermediates not in INTERMEDIATES:
        raise BadInput(f"unknown intermediates {intermediates!r}; expected one of: {', '.join(INTERMEDIATES)}")
    import torch

    from harness.workloads.data.rotation import VARIANTS, Rotation
    from harness.workloads.torch import devices

    place = devices.accelerator(device)
    count = elements or setting.choose(small=1_000_000, full=16_000_000)
    generator = torch.Generator().manual_seed(setting.seed)
    factor = torch.rand(count, generator=generator).to(place)  # below 1, so that the chain stays bounded
    rotation = Rotation([torch.randn(count, generator=generator).to(place) for _ in range(VARIANTS)])

    def step() -> Any:
        summand = result = rotation.take()
        for _ in range(operations):
            result = torch.addcmul(summand, result, factor)
            if intermediates == "round-trip":
                result = result.to("cpu").to(place)
        return result

    return Arm(step=step, items=operations * count, reset=rotation.restart)


def _arm(
    setting: Setting,
    shape: tuple[int, ...],
    compute: Callable[[Any, Any], Any],
    items: int,
    device: str | None,
    data_location: str,
) -> Arm:
    import torch

    from harness.workloads.data.rotation import VARIANTS, Rotation
    from harness.workloads.torch import devices

    generator = torch.Generator().manual_seed(setting.seed)
    pairs = [[torch.randn(shape, generator=generator) for _ in "ab"] for _ in range(VARIANTS)]
    place = devices.chosen(device)

    def resident() -> Any:
        return compute(*rotation.take())

    def round_trip() -> Any:
        return compute(*(operand.to(place) for operand in rotation.take())).to("cpu")

    if data_location == "resident":
        pairs = [[operand.to(place) for operand in pair] for pair in pairs]
    rotation = Rotation(pairs)
    step = resident if data_location == "resident" else round_trip
    return Arm(step=step, items=items, reset=rotation.restart)
