"""Saving a model and loading it again.

Files lie in the system's folder for temporary files and, having just been written, in the page cache. A step that saves
ends when the system has taken the data, which may be long before a disk holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.experiment import Arm, Look, Setting, Work, workload


@workload("torch", unit="byte")
def checkpoint_save(
    setting: Setting, *, model: str = "cnn", device: str | None = None, checkpoint_format: str = "state-dict"
) -> Arm:
    """Saving a model's parameters over those of another version of it; checked is the model that the file holds."""
    from harness.workloads.data.rotation import Rotation
    from harness.workloads.torch import devices
    from harness.workloads.torch.checkpoint_files import Checkpoints

    kept = Checkpoints(
        model=model, checkpoint_format=checkpoint_format, device=devices.chosen(device), seed=setting.seed
    )
    path = kept.paths[0]
    rotation = Rotation(kept.versions)

    def held() -> Mapping[str, Any]:
        kept.restore(path)
        return kept.restored()

    def step() -> Look:
        kept.save(rotation.take(), path)
        return Look(held)

    def reset() -> None:
        path.unlink(missing_ok=True)
        rotation.restart()

    def weights() -> list[list[Any]]:
        # Biases and statistics may be zero or single numbers.
        return [[part for part in version.state_dict().values() if part.ndim > 1] for version in kept.versions]

    return replace(_arm(kept, step, reset, Work(from_device_bytes=kept.bytes)), inputs=weights)


@workload("torch", unit="byte")
def checkpoint_load(
    setting: Setting,
    *,
    model: str = "cnn",
    device: str | None = None,
    checkpoint_format: str = "state-dict",
    mapped: bool = False,
) -> Arm:
    """Loading a model's parameters from a file into a model that holds those of another version of it."""
    from harness.workloads.data.rotation import Rotation
    from harness.workloads.torch import devices
    from harness.workloads.torch.checkpoint_files import Checkpoints

    kept = Checkpoints(
        model=model, checkpoint_format=checkpoint_format, device=devices.chosen(device), seed=setting.seed
    )
    for version, path in zip(kept.versions, kept.paths, strict=True):
        kept.save(version, path)
    rotation = Rotation(kept.paths)

    def step() -> Look:
        kept.restore(rotation.take(), mapped=mapped)
        return Look(kept.restored)

    def reset() -> None:
        kept.forget()
        rotation.restart()

    return _arm(kept, step, reset, Work(to_device_bytes=kept.bytes))


def _arm(kept: Any, step: Any, reset: Any, link: Work) -> Arm:
    """Return the arm that saves or loads; from or to the CPU it is copied within memory, and over no ``link``."""
    from harness.workloads.torch import devices

    def observe() -> Mapping[str, float]:
        return {"file_bytes": kept.paths[0].stat().st_size}

    return Arm(
        step=step,
        items=kept.bytes,
        reset=reset,
        checked_steps=len(kept.versions),
        verify=kept.verify,
        observe=observe,
        device=devices.label(kept.device),
        parameters=kept.parameters,
        work=Work(memory_bytes=2 * kept.bytes) if kept.device.type == "cpu" else link,
        close=kept.close,
    )
