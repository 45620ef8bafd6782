"""What was computed once is not computed again, and no cache, however bad, changes a result."""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pytest

from accelbench import disk_cache
from accelbench.disk_cache import recall


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something that takes long to find out."""

    name: str
    ratio: float
    rows: list[tuple[str, bool]]


FACT = Fact(name="×", ratio=math.inf, rows=[("a", True)])

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of an empty cache."""
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "computed"


@pytest.fixture
def computed():
    """How often something was computed: a list that grows."""
    return []


def ask(computed, inputs=b"data", answer=FACT):
    return recall("fact", Fact, [inputs], lambda: computed.append(inputs) or answer)


def test_an_answer_is_computed_once(computed):
    assert [ask(computed) for _ in range(3)] == [FACT] * 3
    assert len(computed) == 1


def test_other_data_have_another_answer(computed):
    assert ask(computed, b"other", replace(FACT, ratio=2.0)) != ask(computed)
    assert recall("fact", Fact, [b"da", b"ta"], lambda: replace(FACT, ratio=3.0)).ratio == 3.0


def test_numbers_of_numpy_are_kept_as_numbers(computed):
    ask(computed, answer=replace(FACT, ratio=np.float64(0.1)))
    assert ask(computed).ratio == 0.1
    assert len(computed) == 1


@pytest.mark.parametrize("library", ["", "scipy"])
def test_other_code_computes_anew(computed, monkeypatch, tmp_path, library):
    ask(computed)
    if library:
        monkeypatch.setattr(disk_cache, "version", lambda name: "0.1" if name == library else "0")
    else:
        (tmp_path / "changed.py").write_text("answer = 43")
        monkeypatch.setattr(disk_cache, "__file__", str(tmp_path / "disk_cache.py"))
    disk_cache.code_digest.cache_clear()
    try:
        ask(computed)
    finally:
        disk_cache.code_digest.cache_clear()
    assert len(computed) == 2


@pytest.mark.parametrize(
    "damaged", [b"", b"\xc1", b"\x93" * 5_000, b'{"name": "x"}'], ids=["empty", "bad", "deep", "json"]
)
def test_a_damaged_entry_is_computed_and_written_again(folder, computed, damaged):
    ask(computed)
    (entry,) = folder.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(damaged)
    assert ask(computed) == FACT
    assert entry.read_bytes() == whole


def test_without_a_folder_everything_is_computed(folder, computed):
    folder.parent.write_text("a file where a folder should be")
    assert [ask(computed) for _ in range(2)] == [FACT] * 2
    assert len(computed) == 2


def test_a_folder_that_cannot_be_written_still_gives_answers(folder, computed, monkeypatch):
    ask(computed)

    def refuse(*_args, **_options):
        raise PermissionError(13, "read-only")

    monkeypatch.setattr(disk_cache, "write_atomically", refuse)
    monkeypatch.setattr(type(folder), "touch", refuse)
    assert ask(computed) == FACT
    assert ask(computed, b"other") == FACT
    assert computed == [b"data", b"other"]


def test_what_was_not_used_for_longest_is_deleted_first(folder, computed, monkeypatch):
    for name in (b"1", b"2", b"3"):
        ask(computed, name)
        newest = max(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, (int(name), int(name)))
    ask(computed, b"1")  # which was written first, and is used now
    monkeypatch.setattr(disk_cache, "MAX_BYTES", 3 * len(disk_cache.as_bytes(FACT)))
    ask(computed, b"4")
    computed.clear()
    for name in (b"1", b"3", b"4", b"2"):
        ask(computed, name)
    assert computed == [b"2"]


def test_several_at_a_time_get_the_same_answer():
    answers = [[] for _ in range(8)]
    with ThreadPoolExecutor(len(answers)) as pool:
        assert list(pool.map(ask, answers)) == [FACT] * len(answers)
