"""Small programs of Lightning. Import them inside tests: Lightning takes seconds to load."""

from collections.abc import Callable
from typing import Any

import torch
from lightning.pytorch import LightningDataModule, LightningModule, Trainer
from torch import nn


class Classifier(LightningModule):  # type: ignore[misc]
    """A small classifier with a scheduler that steps with the optimizer, and hooks."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))
        self.seen: list[float] = []
        self.hooks: list[str] = []

    def setup(self, stage: str) -> None:
        self.hooks.append(stage)

    def on_train_epoch_start(self) -> None:
        self.hooks.append("epoch")

    def forward(self, inputs: Any) -> Any:
        return self.layers(inputs)

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        loss = nn.functional.cross_entropy(self(batch[0]), batch[1]) + 0.01 * (batch_idx % 2)
        self.log("loss", loss)
        self.seen.append(float(loss))
        return loss

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.SGD(self.parameters(), lr=0.5, momentum=0.9)
        steps = self.trainer.estimated_stepping_batches
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


class Adversaries(LightningModule):  # type: ignore[misc]
    """Two optimizers in turn, which is manual optimization."""

    def __init__(self, returns: Callable[[Any], Any] = lambda loss: loss, *, learns: bool = True) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.automatic_optimization = False
        self.layers = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 3))
        self.returns = returns
        self.learns = learns
        self.seen: list[float] = []

    def training_step(self, batch: Any) -> Any:
        for optimizer in self.optimizers():
            loss = nn.functional.cross_entropy(self.layers(batch[0]), batch[1])
            optimizer.zero_grad()
            if self.learns:
                self.manual_backward(loss)
            optimizer.step()
        self.seen.append(float(loss))
        return self.returns(loss)

    def configure_optimizers(self) -> Any:
        return [torch.optim.SGD(layer.parameters(), lr=0.1) for layer in self.layers]


class OfLoader(LightningDataModule):  # type: ignore[misc]
    """A data module with one loader."""

    def __init__(self, loader: Any) -> None:
        super().__init__()
        self.loader = loader

    def train_dataloader(self) -> Any:
        return self.loader


def quiet_trainer(**options: Any) -> Any:
    """Return a trainer that prints, logs and saves nothing."""
    quiet = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    return Trainer(accelerator="cpu", devices=1, max_epochs=1, **dict.fromkeys(quiet, False), **options)
