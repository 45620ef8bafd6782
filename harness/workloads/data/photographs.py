"""JPEG files to load: crops of the two photographs that scikit-learn carries, written once to a cache folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import Unavailable
from harness.experiment import Setting
from harness.workloads.data.cache_folder import kept

SIDE_PX = 256
QUALITY = 90
SEED = 0
SMALLEST_PX, LARGEST_PX = 192, 400  # of the square that is cut out, before it is scaled to SIDE_PX


def folder(setting: Setting) -> Path:
    """Return the user's own class-per-folder tree, or that of the cached crops, which are written first if need be."""
    return setting.data_dir or crops(setting.choose(small=256, full=4096))


def crops(count: int) -> Path:
    """Return a tree of ``count`` crops, one folder per photograph.

    Raises:
        BadInput: the cache folder cannot be written to.
        Unavailable: scikit-learn or Pillow is not installed.
    """
    name = f"photographs-{SIDE_PX}px-q{QUALITY}-seed{SEED}-{count}"
    return kept(name, lambda tree: _write(tree, count), or_else=", or give your own images with --data-dir")


def _write(tree: Path, count: int) -> None:
    photographs = _photographs()
    for name in photographs:
        (tree / name).mkdir(parents=True)
    for number, (name, crop) in enumerate(_cut(photographs, count)):
        crop.save(tree / name / f"{number:05d}.jpg", quality=QUALITY)
    recipe = {
        "source": "sklearn.datasets.load_sample_images",
        "photographs": sorted(photographs),
        "count": count,
        "seed": SEED,
        "side_px": SIDE_PX,
        "quality": QUALITY,
    }
    (tree / "recipe.json").write_text(json.dumps(recipe, indent=2) + "\n", encoding="utf-8")


def _cut(photographs: dict[str, Any], count: int) -> Iterator[tuple[str, Any]]:
    """Yield squares of random place, size and direction, from each photograph in turn."""
    from PIL import ImageOps

    rng = np.random.default_rng(SEED)
    names = sorted(photographs)
    for number in range(count):
        name = names[number % len(names)]
        photograph = photographs[name]
        side = int(rng.integers(SMALLEST_PX, LARGEST_PX + 1))
        left, top = (int(rng.integers(0, length - side + 1)) for length in photograph.size)
        crop = photograph.crop((left, top, left + side, top + side)).resize((SIDE_PX, SIDE_PX))
        yield name, ImageOps.mirror(crop) if rng.random() < 0.5 else crop


def _photographs() -> dict[str, Any]:
    """Return scikit-learn's photographs by name."""
    try:
        from PIL import Image
        from sklearn.datasets import load_sample_images
    except ModuleNotFoundError as error:
        raise Unavailable(
            f"{error.name} is not installed, and the images are made with it: pip install 'accelbench[torch]'"
        ) from None
    bunch = load_sample_images()
    return {
        Path(name).stem: Image.fromarray(pixels) for name, pixels in zip(bunch.filenames, bunch.images, strict=True)
    }
