"""Tests of which code is the user's own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import accelbench
from accelbench.user_code import is_installed, is_library, is_user_file


@pytest.fixture
def train(tmp_path: Path) -> Path:
    """Return a file of the user's own."""
    (tmp_path / "train.py").write_text("steps = 3\n")
    return tmp_path / "train.py"


def test_a_file_of_the_user_is_neither_installed_nor_of_a_library(train: Path) -> None:
    assert is_user_file(train)
    assert not is_library(train)
    assert not is_installed(train)


@pytest.mark.parametrize("module", [json, np, accelbench], ids=lambda module: module.__name__)
def test_files_of_python_of_packages_and_of_accelbench_are_not_the_users(module: object) -> None:
    assert not is_user_file(Path(module.__file__))  # type: ignore[attr-defined]


def test_the_standard_library_is_not_installed_as_a_package() -> None:
    assert is_library(Path(json.__file__))
    assert not is_installed(Path(json.__file__))


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_packages_are_installed_wherever_their_folder_lies(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder / "their").mkdir(parents=True)
    (tmp_path / folder / "their" / "model.py").write_text("")
    assert is_installed(tmp_path / folder / "their" / "model.py")
    assert not is_user_file(tmp_path / folder / "their" / "model.py")


@pytest.mark.parametrize("name", ["<string>", "~", "<frozen importlib._bootstrap>"])
def test_generated_code_has_no_file(name: str) -> None:
    assert not is_user_file(Path(name))


def test_a_link_to_a_library_is_not_the_users(tmp_path: Path) -> None:
    link = tmp_path / "own.py"
    link.symlink_to(json.__file__)
    assert not is_user_file(link)
