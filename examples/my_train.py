"""A training program of one's own: a small network that learns to read digits."""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from accelbench import Program


def build() -> Program:
    """A convolutional network on 8×8 images of digits."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 36, 10)
    )
    return Program(
        model=model,
        loader=DataLoader(TensorDataset(images, torch.tensor(digits.target)), batch_size=16, shuffle=True),
        step=lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
        optimizer=torch.optim.AdamW(model.parameters()),
    )
