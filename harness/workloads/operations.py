"""Plain tensor operations in PyTorch, on data that stays on the device or is sent there and back in every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.experiment import Arm, Setting, workload


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


def _arm(
    setting: Setting,
    shape: tuple[int, ...],
    compute: Callable[[Any, Any], Any],
    items: int,
    device: str | None,
    data_location: str,
) -> Arm:
    import torch

    from harness.workloads import devices
    from harness.workloads.rotation import VARIANTS, Rotation

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
