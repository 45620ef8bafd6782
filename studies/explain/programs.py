"""Twelve programs with a planted cause each, and six innocent ones; all are small and learn from random data."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset, TensorDataset

from accelbench import Program

CLASSES = 10


def rows(count: int, width: int, dtype: torch.dtype = torch.float32) -> TensorDataset:
    """Return a table of random numbers, with labels."""
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randn(count, width, generator=generator, dtype=dtype)
    return TensorDataset(numbers, torch.randint(CLASSES, (count,), generator=generator))


class Batches(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Whole batches of random rows, with labels: nothing is collected row by row."""

    def __init__(self, count: int, batch_size: int, width: int) -> None:
        self._batches = list(zip(*(part.split(batch_size) for part in rows(count, width).tensors), strict=True))

    def __len__(self) -> int:
        return len(self._batches)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        numbers, labels = self._batches[index]
        return numbers, labels


def network(width: int, *hidden: int) -> nn.Sequential:
    """Return a network of linear layers with rectifiers between them."""
    widths = [width, *hidden]
    layers = [part for a, b in zip(widths, hidden, strict=False) for part in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(widths[-1], CLASSES))


def learn(model: Any, batch: Any) -> Any:
    """Return the loss of a batch."""
    return cross_entropy(model(batch[0]), batch[1])


def plain(model: nn.Module, data: Any, batch_size: int | None, **loader: Any) -> Program:
    """Return the program that teaches a model by plain gradient descent."""
    return Program(
        model=model,
        loader=DataLoader(data, batch_size=batch_size, **loader),
        step=learn,
        optimizer=torch.optim.SGD(model.parameters(), lr=1e-3),
    )


class Packed(Dataset[tuple[torch.Tensor, int]]):
    """Rows that are stored compressed, and scaled by a loop when they are read."""

    def __init__(self, count: int, width: int) -> None:
        numbers = np.random.default_rng(0).integers(0, 255, (count, width), dtype=np.uint8)
        self._rows = [zlib.compress(row.tobytes()) for row in numbers]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        numbers = [value / 255 for value in zlib.decompress(self._rows[index])]
        return torch.tensor(numbers), index % CLASSES


def slow_decoder() -> Program:
    return plain(network(2048, 64), Packed(1024, 2048), 32)


def item_every_step() -> Program:
    model = network(64, 128)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    meter: list[float] = []

    def train_step(batch: Any) -> torch.Tensor:
        losses = cross_entropy(model(batch[0]), batch[1], reduction="none")
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        meter[:] = [each.item() for each in losses.detach()]
        return losses.mean()

    loader = DataLoader(rows(8192, 64), batch_size=512)
    return Program(model=model, loader=loader, train_step=train_step, optimizer=optimizer)


def copy_each_step() -> Program:
    model = network(1024, 1024, 1024)
    model[:-1].requires_grad_(False)  # the last layer alone learns, and all are copied
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    last: dict[str, torch.Tensor] = {}

    def train_step(batch: Any) -> torch.Tensor:
        last.update({name: weight.clone() for name, weight in model.state_dict().items()})
        loss = learn(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Program(
        model=model,
        loader=DataLoader(Batches(512, 16, 1024), batch_size=None),
        train_step=train_step,
        optimizer=optimizer,
    )


def tiny_batch() -> Program:
    return plain(network(32, 64, 64), rows(2048, 32), 2)


def one_thread() -> Program:
    torch.set_num_threads(1)
    return plain(network(1024, 2048, 1024), rows(1024, 1024), 512)


class Branching(nn.Module):
    """A network that looks at its numbers to choose a branch."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(256, 256), nn.Linear(256, CLASSES)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        hidden = self.first(numbers)
        if hidden.sum() > 0:
            hidden = hidden * 2
        answer: torch.Tensor = self.last(hidden.relu())
        return answer


def graph_break() -> Program:
    model = Branching()
    model.compile(backend="aot_eager")
    return plain(model, rows(2048, 256), 128)


class Ragged(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Whole batches of sequences, each of another length."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        generator = torch.Generator().manual_seed(index)
        return torch.randn(32, 16 + 8 * index, 64, generator=generator), torch.arange(32) % CLASSES


class Pooled(nn.Module):
    """A network of the mean of a sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(64, 256), nn.Linear(256, CLASSES)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        answer: torch.Tensor = self.last(self.first(numbers).relu().mean(1))
        return answer


def recompilation() -> Program:
    model = Pooled()
    model.compile(backend="aot_eager", dynamic=False)
    return replace(plain(model, Ragged(), None), batches=len(Ragged()))  # the data set makes whole batches


class Chain(nn.Module):
    """Many cheap operations on many numbers, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        for _ in range(6):
            numbers = (numbers * self.scale + 0.1) * 0.9 - 0.05
        return numbers


def memory_chain() -> Program:
    model = Chain()
    numbers = torch.randn(16, 2**20, generator=torch.Generator().manual_seed(0))
    return Program(
        model=model,
        loader=DataLoader(TensorDataset(numbers), batch_size=None, sampler=range(4)),
        step=lambda model, batch: model(batch[0]).mean(),
        optimizer=torch.optim.SGD(model.parameters(), lr=1e-3),
    )


def anomaly_mode() -> Program:
    torch.autograd.set_detect_anomaly(True)
    return plain(network(128, *[128] * 8), rows(2048, 128), 128)


def restarted_workers() -> Program:
    return plain(network(64, 64), rows(1024, 64), 128, num_workers=2)


def float64() -> Program:
    return plain(network(1024, 2048, 1024).double(), rows(1024, 1024, torch.float64), 256)


def optimizer_loop() -> Program:
    model = network(16, *[16] * 100)
    return Program(
        model=model,
        loader=DataLoader(Batches(1024, 256, 16), batch_size=None),
        step=learn,
        optimizer=torch.optim.Adam(model.parameters(), foreach=False),
    )


def large_products() -> Program:
    return plain(network(1024, 2048, 1024), rows(1024, 1024), 512)


def convolutions() -> Program:
    model = nn.Sequential(
        *(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, CLASSES)),
    )
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(256, 3, 32, 32, generator=generator)
    return plain(model, TensorDataset(images, torch.arange(256) % CLASSES), 64)


def living_workers() -> Program:
    data = Batches(4096, 512, 256)
    return plain(network(256, 2048, 2048), data, None, num_workers=1, persistent_workers=True)


def whole_graph() -> Program:
    model = network(512, 1024, 512)
    model.compile(backend="aot_eager")
    return plain(model, Batches(2048, 512, 512), None)


def answers_only() -> Program:
    model = network(1024, 2048, 1024)
    loader = DataLoader(Batches(2048, 512, 1024), batch_size=None)
    return Program(model=model, loader=loader, step=lambda model, batch: model(batch[0]))


def fused_attention() -> Program:
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    model = nn.Sequential(
        nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Flatten(), nn.Linear(128 * 32, 10)
    )
    generator = torch.Generator().manual_seed(0)
    data = TensorDataset(torch.randn(256, 32, 128, generator=generator), torch.arange(256) % CLASSES)
    return Program(
        model=model,
        loader=DataLoader(data, batch_size=64),
        step=learn,
        optimizer=torch.optim.AdamW(model.parameters(), fused=True),
    )
