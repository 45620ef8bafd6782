"""Which code is the user's own: not Python's, not an installed package's, and not accelbench's."""

from __future__ import annotations

import sysconfig
from pathlib import Path

PACKAGE = Path(__file__).parent
INSTALLED = frozenset({"site-packages", "dist-packages"})  # folders of installed packages
_STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib")).resolve()


def is_installed(path: Path) -> bool:
    """Return whether a file or folder belongs to an installed package."""
    return not INSTALLED.isdisjoint(path.parts)


def is_library(path: Path) -> bool:
    """Return whether a file or folder belongs to an installed package or to Python's standard library."""
    return is_installed(path) or path.resolve().is_relative_to(_STANDARD_LIBRARY)


def is_user_file(path: Path) -> bool:
    """Return whether a path is a file of the user's own; generated code, such as ``<string>``, has no file."""
    return path.is_file() and not is_library(path) and not path.resolve().is_relative_to(PACKAGE)
