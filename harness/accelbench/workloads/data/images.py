"""Image files, one folder per class: the user's own, or crops of two photographs that are written once.

The photographs come with scikit-learn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from accelbench.core import Setting
from accelbench.core.workload import import_installed
from accelbench.errors import BadInput, Unavailable
from accelbench.schema.reasons import reason
from accelbench.workloads.data.files import keep_folder

SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
MOST = 10_000  # a larger tree is thinned evenly, so that decoding every file once stays a matter of seconds
INSTALL = "scikit-learn pillow"
EXPECTED = "expected one subfolder of images per class"


@dataclass(frozen=True, kw_only=True)
class ImageFolder:
    """The images of a folder that can be decoded, each with the index of its class, and those that cannot."""

    paths: tuple[Path, ...]
    labels: tuple[int, ...]
    classes: tuple[str, ...]
    broken: tuple[Path, ...]


@cache
def scan(folder: Path) -> ImageFolder:
    """Read a class-per-folder tree, and decode every file once to find the broken ones.

    Raises:
        BadInput: the folder does not exist, cannot be read, or holds no image that can be decoded.
    """
    if not folder.is_dir():
        raise BadInput(f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}; {EXPECTED}")
    try:
        classes = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
        found = [(path, label) for label, name in enumerate(classes) for path in _images(folder / name)]
    except OSError as error:
        raise BadInput(f"{error.filename}: cannot be read ({error.strerror}); {EXPECTED}") from None
    if not found:
        raise BadInput(f"{folder}: holds no images ({', '.join(sorted(SUFFIXES))}); {EXPECTED}")
    found = found[:: ceil(len(found) / MOST)]
    from joblib import cpu_count  # here, since it takes as long to load as NumPy

    decodes = _decoder()
    with ThreadPoolExecutor(cpu_count()) as threads:
        sound = list(threads.map(decodes, (path for path, _ in found)))
    kept = [image for image, readable in zip(found, sound, strict=True) if readable]
    if not kept:
        raise BadInput(f"{folder}: none of its {len(found)} images can be decoded, such as {found[0][0]}; {EXPECTED}")
    return ImageFolder(
        paths=tuple(path for path, _ in kept),
        labels=tuple(label for _, label in kept),
        classes=tuple(classes),
        broken=tuple(path for (path, _), readable in zip(found, sound, strict=True) if not readable),
    )


def _images(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())


def _decoder() -> Callable[[Path], bool]:
    """Return a function that says whether a file can be decoded to its end."""
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise BadInput(
            "Pillow is not installed, and images are decoded with it: pip install 'accelbench[torch]'"
        ) from None

    def decodes(path: Path) -> bool:
        try:
            with Image.open(path) as image:
                image.load()
        except Exception:  # Pillow's plugins raise almost anything on a damaged file
            return False
        return True

    return decodes


SIDE_PX = 256  # of a crop, in JPEG of this quality
QUALITY = 90
CROP_SEED = 0
SMALLEST_PX, LARGEST_PX = 192, 400  # of the square that is cut out, before it is scaled to SIDE_PX


def image_folder(setting: Setting) -> Path:
    """Return the user's class-per-folder tree, or that of the cached crops, which are written on first use."""
    return setting.data_dir or crops(setting.choose(small=256, full=4096))


def crops(count: int) -> Path:
    """Return a tree of ``count`` crops, one folder per photograph.

    Raises:
        BadInput: the cache folder cannot be written to.
        Unavailable: scikit-learn or Pillow is not installed.
    """
    name = f"photographs-{SIDE_PX}px-q{QUALITY}-seed{CROP_SEED}-{count}"
    return keep_folder(
        name, lambda tree: _write(tree, count), or_else=", or give your own images with --accel-data-dir"
    )


def _write(tree: Path, count: int) -> None:
    photographs = load_photographs()
    for name in photographs:
        (tree / name).mkdir(parents=True)
    for number, (name, crop) in enumerate(_cut(photographs, count)):
        crop.save(tree / name / f"{number:05d}.jpg", quality=QUALITY)
    recipe = {
        "source": "sklearn.datasets.load_sample_images",
        "photographs": sorted(photographs),
        "count": count,
        "seed": CROP_SEED,
        "side_px": SIDE_PX,
        "quality": QUALITY,
    }
    (tree / "recipe.json").write_text(json.dumps(recipe, indent=2) + "\n", encoding="utf-8")


def _cut(photographs: dict[str, np.ndarray], count: int) -> Iterator[tuple[str, Any]]:
    """Yield squares of random place, size and direction, from each photograph in turn."""
    from PIL import Image, ImageOps

    rng = np.random.default_rng(CROP_SEED)
    names = sorted(photographs)
    for number in range(count):
        name = names[number % len(names)]
        photograph = Image.fromarray(photographs[name])
        side = int(rng.integers(SMALLEST_PX, LARGEST_PX + 1))
        left, top = (int(rng.integers(0, length - side + 1)) for length in photograph.size)
        crop = photograph.crop((left, top, left + side, top + side)).resize((SIDE_PX, SIDE_PX))
        yield name, ImageOps.mirror(crop) if rng.random() < 0.5 else crop


@cache
def load_photographs() -> dict[str, np.ndarray]:
    """Return scikit-learn's photographs by name, uint8, shape ``(height, width, 3)``.

    scikit-learn is not imported, which would take longer than to decode them.

    Raises:
        Unavailable: scikit-learn or Pillow is not installed.
    """
    image = import_installed("PIL.Image", INSTALL)
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise Unavailable(reason("not-installed", package="sklearn", install=INSTALL))
    files = sorted(Path(package.origin).with_name("datasets").glob("images/*.jpg"))
    return {file.stem: np.asarray(image.open(file)) for file in files}
