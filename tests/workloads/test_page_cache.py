"""How much of a file lies in memory already."""

import ctypes
import mmap
from pathlib import Path

import pytest

from harness.workloads.data.page_cache import resident_share

without_mincore = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mincore"), reason="no mincore here")


@without_mincore
def test_pages_that_were_written_are_resident_and_holes_that_nobody_read_are_not(tmp_path: Path) -> None:
    half, whole = tmp_path / "half", tmp_path / "whole"
    for path in (half, whole):
        path.write_bytes(b"x" * 64 * mmap.PAGESIZE)
    with half.open("r+b") as file:
        file.truncate(128 * mmap.PAGESIZE)
    assert resident_share([whole]) == 1
    assert resident_share([half]) == 0.5
    assert resident_share([half, whole]) == pytest.approx(128 / 192)


def test_nothing_is_said_of_files_that_are_empty_or_gone(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert resident_share([tmp_path / "empty"]) is None
    assert resident_share([tmp_path / "gone"]) is None
