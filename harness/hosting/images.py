"""The user's own images, looked through before anything is measured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

NAMED = 10  # broken files are named up to so many, and counted beyond


def count_images(folder: Path) -> int:
    """Return how many images of a folder can be decoded.

    Raises:
        BadInput: the folder does not exist, or holds none.
    """
    from harness.workloads.data.image_folder import scan

    return len(scan(folder).paths)


def images_lines(folder: Path) -> Iterator[str]:
    """Yield what was found in the folder, naming the files that cannot be decoded."""
    from harness.workloads.data.image_folder import scan

    found = scan(folder)
    yield f"accelbench: {len(found.paths)} images in {len(found.classes)} classes under {folder}"
    if found.broken:
        names = ", ".join(str(path.relative_to(folder)) for path in found.broken[:NAMED])
        more = f" and {len(found.broken) - NAMED} more" if len(found.broken) > NAMED else ""
        yield f"accelbench: {len(found.broken)} of its images cannot be decoded and are left out: {names}{more}"
