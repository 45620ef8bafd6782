"""The cache folder, and writing files atomically."""

from pathlib import Path

import pytest

from accelbench.files import CACHE_VARIABLE, cache_folder, write_atomically


def test_a_file_is_replaced_and_no_draft_stays(tmp_path):
    path = tmp_path / "result.json"
    for body in (b"first", b"second"):
        write_atomically(path, body)
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_no_draft(tmp_path):
    occupied = tmp_path / "result.json"
    (occupied / "inside").mkdir(parents=True)  # a file cannot replace this folder
    with pytest.raises(OSError, match="result"):
        write_atomically(occupied, b"body")
    assert list(tmp_path.iterdir()) == [occupied]


def test_the_cache_folder_can_be_set(monkeypatch, tmp_path):
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "accelbench"
    monkeypatch.setenv(CACHE_VARIABLE, "~/own")
    assert cache_folder() == Path.home() / "own"
