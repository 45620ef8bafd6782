"""Did the work run where the label says? Evidence from arrays and kernels, and what contradicts the label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from harness.experiment import Arm
from harness.frameworks import Framework
from harness.frameworks.nesting import parts
from harness.frameworks.protocol import Leaf
from harness.record import Placement
from harness.units import size

HOST = "cpu"


def leaves(framework: Framework, value: Any) -> list[Leaf]:
    """Return the arrays in ``value``, each once."""
    distinct = {id(part): part for part in parts(value)}
    return [leaf for part in distinct.values() if (leaf := framework.leaf(part))]


def seen(arm: Arm, framework: Framework, output: Any) -> Placement:
    """Return the devices on which an arm's arrays lie."""
    return Placement(
        inputs=_devices(leaves(framework, arm.inputs())),
        parameters=_devices(leaves(framework, arm.parameters())),
        outputs=_devices(leaves(framework, output)),
    )


def _devices(found: Sequence[Leaf]) -> list[str]:
    return sorted({leaf.device for leaf in found})


def label_of(device: str | None) -> str | None:
    """Return a device's label as adapters spell it: the host is one, an accelerator has a number."""
    if device is None or device == "accelerator":
        return None
    if device.partition(":")[0].lower() == HOST:
        return HOST
    return device if ":" in device else f"{device}:0"


def contradiction(label: str | None, placement: Placement) -> str | None:
    """Return a sentence where the evidence contradicts the label, or None; without a label nothing is claimed.

    Outputs and inputs of an accelerator may lie on the host, from where a step may fetch and send them.
    """
    if label is None:
        return None
    elsewhere = [device for device in placement.parameters if device != label]
    if elsewhere:
        return f"the label says {label}, but parameters lie on {' and '.join(elsewhere)}"
    arrays = {*placement.inputs, *placement.parameters, *placement.outputs}
    if label == HOST:
        return _on_host(arrays, placement.kernels)
    if placement.kernels == 0:
        lie = f" and its arrays lie on {' and '.join(sorted(arrays))}" if arrays - {label} else ""
        return f"the label says {label}, but no kernel was started on an accelerator{lie}"
    return None


def accelerator(label: str | None, placement: Placement) -> str | None:
    """Return the one accelerator that an arm uses by its label and its arrays, None where that is none or several."""
    used = _accelerators(label, placement)
    return used.pop() if len(used) == 1 else None


def computed_on(label: str | None, placement: Placement) -> Literal["CPU", "GPU", ""]:
    """Return on what kind of device an arm computed, an empty text where nothing tells.

    Arrays on the host alone tell nothing: a step may fetch and send them.
    """
    if placement.kernels or _accelerators(label, placement):
        return "GPU"
    return "CPU" if label == HOST or placement.kernels == 0 else ""


def _accelerators(label: str | None, placement: Placement) -> set[str]:
    return {*placement.inputs, *placement.parameters, *placement.outputs, label or HOST} - {HOST}


def unproven(label: str | None, placement: Placement) -> str | None:
    """Return a sentence where nothing speaks for an accelerator, and kernels cannot be counted."""
    arrays = {*placement.inputs, *placement.parameters, *placement.outputs}
    if label in (None, HOST) or label in arrays or placement.kernels is not None:
        return None
    return f"the label says {label}, but nothing shows that the work ran there: no array that was seen lies on it"


def _on_host(arrays: set[str], kernels: int | None) -> str | None:
    if elsewhere := sorted(arrays - {HOST}):
        return f"the label says {HOST}, but arrays lie on {' and '.join(elsewhere)}"
    if kernels:
        return f"the label says {HOST}, but {kernels} kernels were started on an accelerator in one iteration"
    return None


def resident_bytes(arm: Arm, framework: Framework) -> int:
    """Return how much of the arm's parameters lies on accelerators."""
    return sum(leaf.nbytes for leaf in leaves(framework, arm.parameters()) if leaf.device != HOST)


def too_little_memory(parameters_bytes: int, peak_bytes: int | None) -> str | None:
    """Return a sentence where the allocator's peak is less than the parameters that lie on the device."""
    if peak_bytes is None or peak_bytes >= parameters_bytes:
        return None
    return f"the device's memory peaked at {size(peak_bytes)}, but the parameters alone take {size(parameters_bytes)}"
