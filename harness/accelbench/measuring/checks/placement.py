"""Evidence of where the work ran, from arrays and kernels, and what in it contradicts the label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from accelbench.core import Arm
from accelbench.frameworks import Framework
from accelbench.frameworks.host import ArrayInfo
from accelbench.frameworks.tree import stored_leaves
from accelbench.schema.reasons import Reason, reason
from accelbench.schema.result import Placement
from accelbench.text import join_names

HOST = "cpu"


def leaves(framework: Framework, value: Any) -> list[ArrayInfo]:
    """Return the arrays in ``value``, each once."""
    distinct = {id(part): part for part in stored_leaves(value)}
    return [leaf for part in distinct.values() if (leaf := framework.array_info(part))]


def find_placement(arm: Arm, framework: Framework, output: Any) -> Placement:
    """Return the devices on which an arm's arrays lie."""
    return Placement(
        inputs=_devices(leaves(framework, arm.inputs())),
        parameters=_devices(leaves(framework, arm.parameters())),
        outputs=_devices(leaves(framework, output)),
    )


def _devices(found: Sequence[ArrayInfo]) -> list[str]:
    return sorted({leaf.device for leaf in found})


def label_of(device: str | None) -> str | None:
    """Return a device's label as adapters spell it: the host is one, an accelerator has a number."""
    if device is None or device == "accelerator":
        return None
    if device.partition(":")[0].lower() == HOST:
        return HOST
    return device if ":" in device else f"{device}:0"


def find_contradiction(label: str | None, placement: Placement) -> Reason | None:
    """Return a reason if the evidence contradicts the label.

    Inputs and outputs of work on an accelerator may lie on the host, since a step may send and fetch them.
    """
    if label is None:
        return None
    elsewhere = [device for device in placement.parameters if device != label]
    if elsewhere:
        return reason("parameters-elsewhere", label=label, devices=join_names(elsewhere))
    arrays = _arrays(placement)
    if label == HOST:
        return _find_contradiction_on_host(arrays | {*placement.allocations}, placement.kernels)
    if placement.kernels != 0:
        return None
    if arrays - {label}:
        return reason("no-kernels-arrays-elsewhere", label=label, devices=join_names(sorted(arrays)))
    return reason("no-kernels", label=label)


def accelerator(label: str | None, placement: Placement) -> str | None:
    """Return the accelerator that an arm uses by its label and its arrays, None unless it is exactly one."""
    used = _accelerators(label, placement)
    return used.pop() if len(used) == 1 else None


def computed_on(label: str | None, placement: Placement) -> Literal["CPU", "GPU", ""]:
    """Return on what kind of device an arm computed, "" where that is unknown.

    Arrays on the host show nothing, since a step may send and fetch them.
    """
    if placement.kernels or _accelerators(label, placement):
        return "GPU"
    return "CPU" if label == HOST or placement.kernels == 0 else ""


def _accelerators(label: str | None, placement: Placement) -> set[str]:
    return {*_arrays(placement), *placement.allocations, label or HOST} - {HOST}


def _arrays(placement: Placement) -> set[str]:
    return {*placement.inputs, *placement.parameters, *placement.outputs}


def gpu_uuids(label: str | None, placement: Placement, framework: Framework) -> frozenset[str]:
    """Return the UUIDs of the GPUs that an arm uses by its label and its arrays.

    Where both show none, these are all GPUs that the process has opened; for an arm of the CPU there are none.
    """
    opened = framework.gpu_uuids()
    used = _accelerators(label, placement)
    if label == HOST and not used:
        return frozenset()
    return frozenset(opened[device] for device in (used & opened.keys() if used else opened))


def find_missing_proof(label: str | None, placement: Placement) -> Reason | None:
    """Return a reason if nothing shows that the work ran on the labelled accelerator, and kernels cannot be counted."""
    seen = {*_arrays(placement), *placement.allocations}
    if label in (None, HOST) or label in seen or placement.kernels is not None:
        return None
    return reason("placement-unproven", label=label)


def _find_contradiction_on_host(arrays: set[str], kernels: int | None) -> Reason | None:
    if elsewhere := sorted(arrays - {HOST}):
        return reason("arrays-elsewhere", label=HOST, devices=join_names(elsewhere))
    return reason("kernels-on-accelerator", label=HOST, kernels=kernels) if kernels else None


def resident_bytes(arm: Arm, framework: Framework) -> int:
    """Return the size of the arm's parameters that lie on accelerators."""
    return sum(leaf.nbytes for leaf in leaves(framework, arm.parameters()) if leaf.device != HOST)


def find_missing_memory(parameters_bytes: int, peak_bytes: int | None) -> Reason | None:
    """Return a reason if the allocator's peak is less than the parameters that lie on the device."""
    if peak_bytes is None or peak_bytes >= parameters_bytes:
        return None
    return reason("memory-below-parameters", peak_bytes=peak_bytes, parameters_bytes=parameters_bytes)
