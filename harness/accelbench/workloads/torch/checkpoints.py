"""Saving a model and loading it again.

Files lie in the system's folder for temporary files and, since they were just written, in the page cache. A step that
saves ends when the system has taken the data, which may be long before a disk holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from accelbench.core import ROUNDING, Arm, DeferredOutput, Setting, Work, workload
from accelbench.core.verification import find_distance
from accelbench.errors import Unavailable, check_choice
from accelbench.schema.reasons import Reason, reason

VERSIONS = 2  # of a model, so that no step finds its result in place already


@dataclass(frozen=True, kw_only=True)
class Format:
    """How a state dictionary is written to a file, and mapped or read from it to a device."""

    save: Callable[[dict[str, Any], Path], None]
    load: Callable[[Path, Any, bool], dict[str, Any]]


def _torch_save(state: dict[str, Any], path: Path) -> None:
    import torch

    torch.save(state, path)


def _torch_load(path: Path, device: Any, mmap: bool) -> dict[str, Any]:
    # Without weights_only, a file could run code of its own.
    import torch

    return torch.load(path, map_location=device, weights_only=True, mmap=mmap)  # type: ignore[no-any-return]


def _safe_save(state: dict[str, Any], path: Path) -> None:
    from safetensors.torch import save_file

    save_file(state, path)


def _safe_load(path: Path, device: Any, mmap: bool) -> dict[str, Any]:
    if mmap:
        raise Unavailable("safetensors maps the file in any case, so there is nothing to switch")
    from safetensors.torch import load_file

    return load_file(path, device=str(device))  # type: ignore[no-any-return]


FORMATS = {
    "state-dict": Format(save=_torch_save, load=_torch_load),
    "safetensors": Format(save=_safe_save, load=_safe_load),
}
MODELS: dict[str, dict[str, Any]] = {"cnn": {}, "resnet18": {"side": 48, "classes": 1000}}


class Checkpoints:
    """Versions of a model, another one to restore them into, and a folder for their files."""

    def __init__(self, *, model: str, checkpoint_format: str, device: Any, seed: int) -> None:
        import torch

        from accelbench.workloads.torch import models

        check_choice(model, MODELS, "model")
        check_choice(checkpoint_format, FORMATS, "format")
        problem = getattr(models, model)(**MODELS[model])
        self.versions = [models.as_trained(problem, seed=seed + number).to(device) for number in range(VERSIONS)]
        self._restored = deepcopy(self.versions[0])  # the last version is what must be restored
        self._inputs = problem.inputs(2, torch.Generator().manual_seed(seed)).to(device)
        self._format = FORMATS[checkpoint_format]
        self.device = device
        self._folder = TemporaryDirectory(prefix="accelbench-")
        self.paths = [Path(self._folder.name) / f"checkpoint-{number}" for number in range(VERSIONS)]
        self.bytes = sum(tensor.nbytes for tensor in self._restored.state_dict().values())
        self.close = self._folder.cleanup

    def save(self, version: Any, path: Path) -> None:
        """Write a version's parameters."""
        self._format.save(version.state_dict(), path)

    def restore(self, path: Path, *, mmap: bool = False) -> None:
        """Load a file's parameters into the model."""
        self._restored.load_state_dict(self._format.load(path, self.device, mmap))

    def forget(self) -> None:
        """Overwrite all of the restored model's tensors, so that only a file can bring them back."""
        import torch

        with torch.no_grad():
            for tensor in self._restored.state_dict().values():
                tensor.fill_(1)

    def parameters(self) -> list[Any]:
        """Return the restored model's parameters."""
        return list(self._restored.parameters())

    def restored(self) -> Mapping[str, Any]:
        """Return the restored model's tensors and its answer."""
        return self._identity(self._restored)

    def verify(self, found: Sequence[np.ndarray]) -> Reason | None:
        """Return a reason if the restored model is not the last version to the bit, or answers otherwise."""
        saved = self._identity(self.versions[-1])
        arrays = dict(zip(sorted(saved), found, strict=True))
        for name, tensor in saved.items():
            if name != "answer" and not np.array_equal(arrays[name], tensor.double().cpu().numpy()):
                return reason("not-restored", tensor=name)
        expected = saved["answer"].double().cpu().numpy()
        return find_distance(arrays["answer"], expected, ROUNDING, "the saved model's answer")

    def _identity(self, model: Any) -> dict[str, Any]:
        """Return a model's parameters and statistics, and its answer to always the same inputs."""
        import torch

        from accelbench.workloads.torch.models import logits_of

        with torch.inference_mode():
            return {**model.state_dict(), "answer": logits_of(model, self._inputs)}


@workload("torch", unit="byte")
def checkpoint_save(
    setting: Setting, *, model: str = "cnn", device: str | None = None, checkpoint_format: str = "state-dict"
) -> Arm:
    """Saving a model's parameters over those of another version of it; the model in the file is checked."""
    from accelbench.workloads.data.rotation import Rotation
    from accelbench.workloads.torch import devices

    kept = Checkpoints(
        model=model, checkpoint_format=checkpoint_format, device=devices.choose(device), seed=setting.seed
    )
    path = kept.paths[0]
    rotation = Rotation(kept.versions)

    def restore() -> Mapping[str, Any]:
        kept.restore(path)
        return kept.restored()

    def step() -> DeferredOutput:
        kept.save(rotation.take(), path)
        return DeferredOutput(restore)

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
    mmap: bool = False,
) -> Arm:
    """Loading a model's parameters from a file into a model that holds those of another version of it."""
    from accelbench.workloads.data.rotation import Rotation
    from accelbench.workloads.torch import devices

    kept = Checkpoints(
        model=model, checkpoint_format=checkpoint_format, device=devices.choose(device), seed=setting.seed
    )
    for version, path in zip(kept.versions, kept.paths, strict=True):
        kept.save(version, path)
    rotation = Rotation(kept.paths)

    def step() -> DeferredOutput:
        kept.restore(rotation.take(), mmap=mmap)
        return DeferredOutput(kept.restored)

    def reset() -> None:
        kept.forget()
        rotation.restart()

    return _arm(kept, step, reset, Work(to_device_bytes=kept.bytes))


def _arm(kept: Any, step: Any, reset: Any, link: Work) -> Arm:
    """Return the arm that saves or loads. On the CPU, data are copied within memory and cross no ``link``."""
    from accelbench.workloads.torch import devices

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
