"""A small vision transformer that learns to tell two photographs apart by random crops of their JPEG files."""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from sklearn.datasets import load_sample_images
from torch import nn
from torch.utils.data import DataLoader, Dataset

from accelbench import Program

FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vision-transformer-example"
IMAGES_PER_CLASS, FILE_PX = 128, 256
SIDE_PX, PATCH_PX, WIDTH, DEPTH, HEADS = 96, 16, 128, 4, 4
BATCH_SIZE, WARM_UP_STEPS = 32, 20
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def image_files() -> list[Path]:
    """Return the JPEG files, which are cut out of scikit-learn's two photographs at the first call."""
    if not FOLDER.exists():
        FOLDER.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=FOLDER.parent))
        generator = np.random.default_rng(0)
        for label, photograph in enumerate(map(Image.fromarray, load_sample_images().images)):
            for number in range(IMAGES_PER_CLASS):
                left = int(generator.integers(photograph.width - FILE_PX))
                top = int(generator.integers(photograph.height - FILE_PX))
                crop = photograph.crop((left, top, left + FILE_PX, top + FILE_PX))
                crop.save(draft / f"{label}-{number:03}.jpg", quality=90)
        try:
            draft.rename(FOLDER)
        except OSError:  # another process was faster
            for file in draft.iterdir():
                file.unlink()
            draft.rmdir()
    return sorted(FOLDER.glob("*.jpg"))


class Photographs(Dataset[tuple[torch.Tensor, int]]):
    """Images from files, each time with another crop and half of the times mirrored."""

    def __init__(self, files: list[Path]) -> None:
        self.files = files

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        file = self.files[index]
        with Image.open(file) as image:
            size = int(torch.randint(FILE_PX // 2, FILE_PX + 1, ()))
            left, top = (int(torch.randint(FILE_PX - size + 1, ())) for _ in range(2))
            cut = image.resize((SIDE_PX, SIDE_PX), box=(left, top, left + size, top + size))
        pixels = torch.from_numpy(np.array(cut)).permute(2, 0, 1).float() / 127.5 - 1
        return pixels.flip(2) if torch.rand(()) < 0.5 else pixels, int(file.name[0])


class VisionTransformer(nn.Module):
    """Patches, a transformer's encoder and a classifier of their mean."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH_PX, stride=PATCH_PX)
        self.positions = nn.Parameter(torch.randn((SIDE_PX // PATCH_PX) ** 2, WIDTH) * 0.02)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, DEPTH, enable_nested_tensor=False)
        self.classify = nn.Linear(WIDTH, 2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        tokens = self.patches(images).flatten(2).transpose(1, 2) + self.positions
        answer: torch.Tensor = self.classify(self.encoder(tokens).mean(1))
        return answer


def build() -> Program:
    """A vision transformer on JPEG files, with random crops, warm-up and clipping."""
    model = VisionTransformer().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.05)
    warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / WARM_UP_STEPS))

    def train_step(batch: Any) -> torch.Tensor:
        images, labels = (part.to(DEVICE) for part in batch)
        loss = nn.functional.cross_entropy(model(images), labels, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warm_up.step()
        return loss

    loader = DataLoader(Photographs(image_files()), batch_size=BATCH_SIZE, shuffle=True)
    return Program(model=model, loader=loader, train_step=train_step, optimizer=optimizer, state=[warm_up])


if __name__ == "__main__":
    program = build()
    assert program.train_step
    for epoch in range(3):
        losses = [program.train_step(batch).item() for batch in program.loader]
        print(f"epoch {epoch}: loss {np.mean(losses):.3f}")
