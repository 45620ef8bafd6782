"""A convolutional network that Lightning teaches to read scikit-learn's digits."""

from typing import Any

import lightning
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import accelbench

EPOCHS, BATCH_SIZE = 10, 32


class Digits(lightning.LightningModule):
    """A network of two convolutions, with dropout, and its training."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(
            *(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()),
            *(nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Dropout(0.25), nn.Linear(64 * 16, 10)),
        )

    def forward(self, images: torch.Tensor) -> Any:
        return self.network(images)

    def training_step(self, batch: Any) -> torch.Tensor:
        images, labels = batch
        loss = nn.functional.cross_entropy(self(images), labels)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.AdamW(self.parameters())
        steps = int(self.trainer.estimated_stepping_batches)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def make_loader() -> Any:
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    return DataLoader(TensorDataset(images, torch.tensor(digits.target)), batch_size=BATCH_SIZE, shuffle=True)


def make_trainer() -> lightning.Trainer:
    return lightning.Trainer(
        max_epochs=EPOCHS, gradient_clip_val=1.0, devices=1, logger=False, enable_checkpointing=False
    )


def build() -> accelbench.Program:
    """A convolutional network that Lightning teaches to read digits."""
    return accelbench.from_lightning(Digits(), make_loader(), make_trainer())


if __name__ == "__main__":
    make_trainer().fit(Digits(), make_loader())
