"""Checkpoints: a model's parameters in a file, and what a model is that came out of one. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from harness.errors import BadInput, Unavailable
from harness.experiment import ROUNDING
from harness.workloads.torch import models
from harness.workloads.torch.trained_models import as_trained, logits_of
from harness.workloads.verification import unlike

VERSIONS = 2  # of a model, so that no step finds in its place what it is to bring there


@dataclass(frozen=True, kw_only=True)
class Format:
    """How a state dictionary comes into a file, and out of it on to a device, mapped or read."""

    save: Callable[[dict[str, Any], Path], None]
    load: Callable[[Path, Any, bool], dict[str, Any]]


def _torch_load(path: Path, device: Any, mapped: bool) -> dict[str, Any]:
    # Without weights_only, a file could run code of its own.
    return torch.load(path, map_location=device, weights_only=True, mmap=mapped)  # type: ignore[no-any-return]


def _safe_save(state: dict[str, Any], path: Path) -> None:
    from safetensors.torch import save_file

    save_file(state, path)


def _safe_load(path: Path, device: Any, mapped: bool) -> dict[str, Any]:
    if mapped:
        raise Unavailable("safetensors maps the file in any case, so there is nothing to switch")
    from safetensors.torch import load_file

    return load_file(path, device=str(device))  # type: ignore[no-any-return]


FORMATS = {
    "state-dict": Format(save=torch.save, load=_torch_load),
    "safetensors": Format(save=_safe_save, load=_safe_load),
}
MODELS = {"cnn": models.cnn, "resnet18": lambda: models.resnet18(side=48, classes=1000)}


class Checkpoints:
    """Versions of a model, another one to restore them into, and a folder for their files."""

    def __init__(self, *, model: str, checkpoint_format: str, device: Any, seed: int) -> None:
        if model not in MODELS:
            raise BadInput(f"unknown model {model!r}; expected one of: {', '.join(MODELS)}")
        if checkpoint_format not in FORMATS:
            raise BadInput(f"unknown format {checkpoint_format!r}; expected one of: {', '.join(FORMATS)}")
        problem = MODELS[model]()
        *self.versions, self._restored = (
            as_trained(problem, seed=seed + number).to(device) for number in range(VERSIONS + 1)
        )
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

    def restore(self, path: Path, *, mapped: bool = False) -> None:
        """Load a file's parameters into the model."""
        self._restored.load_state_dict(self._format.load(path, self.device, mapped))

    def forget(self) -> None:
        """Overwrite all that the restored model knows, so that nothing but a file can bring it back."""
        with torch.no_grad():
            for tensor in self._restored.state_dict().values():
                tensor.fill_(1)

    def parameters(self) -> list[Any]:
        """Return the restored model's parameters."""
        return list(self._restored.parameters())

    def restored(self) -> Mapping[str, Any]:
        """Return what the restored model is."""
        return self._identity(self._restored)

    def verify(self, found: Sequence[np.ndarray]) -> str | None:
        """Return a sentence where what was restored is not the last version to the bit, or answers otherwise."""
        saved = self._identity(self.versions[-1])
        for array, (name, tensor) in zip(found, saved.items(), strict=True):
            if name != "answer" and not np.array_equal(array, tensor.double().cpu().numpy()):
                return f"the restored model differs from the saved one in {name}"
        return unlike(found[-1], saved["answer"].double().cpu().numpy(), ROUNDING, "the saved model's answer")

    def _identity(self, model: Any) -> dict[str, Any]:
        """Return a model's parameters and statistics, and its answer to always the same inputs."""
        with torch.inference_mode():
            return {**model.state_dict(), "answer": logits_of(model, self._inputs)}
