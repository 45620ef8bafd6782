"""Other Python environments on this machine, each with an interpreter of its own and one package less."""

import sys
import venv
from pathlib import Path


def make_environment(folder: Path, *, without: str) -> Path:
    """Make an environment in a folder, with this one's packages but for one; return its interpreter."""
    venv.create(folder, with_pip=False, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    for place in filter(None, map(Path, sys.path)):
        if place.name == "site-packages":
            for found in place.iterdir():
                is_left_out = found.name.split(".")[0].split("-")[0] == without or found.suffix == ".pth"
                target = packages / found.name
                if not is_left_out and not target.exists():
                    target.symlink_to(found)
    return folder / "bin" / "python"


def pretend_installed(python: Path, package: str, version: str) -> None:
    """Let an environment say that a package is installed in this version."""
    packages = next(python.parents[1].glob("lib/python*/site-packages"))
    for found in packages.glob(f"{package}-*.dist-info"):
        found.unlink()
    about = packages / f"{package}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")


def make_program(path: Path, script: str) -> Path:
    """Make a program that the shell runs."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path
