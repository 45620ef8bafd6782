"""A folder of images, one subfolder per class, read and checked once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from math import ceil
from pathlib import Path

from joblib import cpu_count

from harness.errors import BadInput

SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
MOST = 10_000  # a larger tree is thinned evenly, so that decoding every file once stays a matter of seconds
EXPECTED = "expected one subfolder of images per class"


@dataclass(frozen=True, kw_only=True)
class ImageFolder:
    """The images that can be decoded, each with the index of its class, and those that cannot."""

    paths: tuple[Path, ...]
    labels: tuple[int, ...]
    classes: tuple[str, ...]
    broken: tuple[Path, ...]


@cache
def scan(folder: Path) -> ImageFolder:
    """Read a class-per-folder tree, and decode every file once to know the broken ones.

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
