"""Plain tensor operations in PyTorch, on data that stays on the device or is sent there and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accelbench.core import Arm, Setting, Work, workload
from accelbench.errors import check_choice

LOCATIONS = ("resident", "round-trip")


@workload("torch", unit="operation")
def matmul_torch(
    setting: Setting,
    *,
    side: int | None = None,
    device: str | None = None,
    data_location: str = "resident",
    compile: str = "eager",  # noqa: A002  the technique's name
) -> Arm:
    """Product of two square float32 matrices; throughput counts its 2·side³ additions and multiplications."""
    side = side or setting.choose(small=1024, full=8192)
    operations = 2 * side**3
    formula = Formula(lambda a, b: a @ b)
    return _arm(setting, (side, side), formula, operations, operations, device, data_location, compile)


@workload("torch", unit="element")
def chain_torch(
    setting: Setting,
    *,
    elements: int | None = None,
    device: str | None = None,
    data_location: str = "resident",
    compile: str = "eager",  # noqa: A002  the technique's name
) -> Arm:
    """A chain of four elementwise operations on float32 vectors: product, sum, tanh, square."""
    elements = elements or setting.choose(small=1_000_000, full=16_000_000)
    formula = Formula(lambda a, b: (a * b + a).tanh().square())
    return _arm(setting, (elements,), formula, elements, 4 * elements, device, data_location, compile)


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
    check_choice(intermediates, LOCATIONS, "intermediates")
    import torch

    from accelbench.workloads.data.rotation import VARIANTS, Rotation
    from accelbench.workloads.torch import devices

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

    visits = operations if intermediates == "round-trip" and place.type != "cpu" else 0
    return Arm(
        step=step,
        items=operations * count,
        reset=rotation.restart,
        device=devices.label(place),
        inputs=lambda: (rotation.inputs(), factor),
        work=_work(2 * operations * count, factor, sent=visits, fetched=visits),
    )


class Formula:
    """What is computed from two operands, and can be compiled as a model is."""

    def __init__(self, forward: Callable[[Any, Any], Any]) -> None:
        self.forward = forward


def _arm(
    setting: Setting,
    shape: tuple[int, ...],
    formula: Formula,
    items: int,
    operations: int,
    device: str | None,
    data_location: str,
    mode: str,
) -> Arm:
    """Return the arm that computes with a few pairs of operands in turn, resident or sent there and back."""
    import torch

    from accelbench.workloads.data.rotation import VARIANTS, Rotation
    from accelbench.workloads.torch import devices
    from accelbench.workloads.torch.compile import compiled

    generator = torch.Generator().manual_seed(setting.seed)
    pairs = [[torch.randn(shape, generator=generator) for _ in "ab"] for _ in range(VARIANTS)]
    place = devices.choose(device)

    def resident() -> Any:
        return formula.forward(*rotation.take())

    def round_trip() -> Any:
        return formula.forward(*(operand.to(place) for operand in rotation.take())).to("cpu")

    check_choice(data_location, LOCATIONS, "data location")
    stays = data_location == "resident"
    if stays:
        pairs = [[operand.to(place) for operand in pair] for pair in pairs]
    rotation = Rotation(pairs)
    crosses = not stays and place.type != "cpu"
    arm = Arm(
        step=resident if stays else round_trip,
        items=items,
        reset=rotation.restart,
        device=devices.label(place),
        inputs=rotation.inputs,
        work=_work(operations, pairs[0][0], sent=2 * crosses, fetched=crosses),
    )
    return compiled(arm, [formula], mode, setting, searchable=False)


def _work(operations: int, array: Any, *, sent: int, fetched: int) -> Work:
    """Return the work of making one array of two, while ``sent`` and ``fetched`` arrays of this size cross the link."""
    return Work(
        operations=operations,
        memory_bytes=3 * array.nbytes,
        to_device_bytes=sent * array.nbytes,
        from_device_bytes=fetched * array.nbytes,
        precision="fp32",
    )
