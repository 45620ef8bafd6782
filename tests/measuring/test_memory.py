"""The peak of resident memory: what a call held at its highest, although it gave it back."""

from pathlib import Path

import numpy as np
import psutil
import pytest

from harness.measuring import memory
from harness.measuring.memory import peak_rss_rise

ARRAY_BYTES = 200_000_000


def hold_and_drop() -> None:
    array = np.ones(ARRAY_BYTES, np.uint8)
    for _ in range(8):
        array.sum()


@pytest.fixture(params=["high-water mark", "samples"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Measure by the kernel's mark, and on a system that has none."""
    if request.param == "samples":
        monkeypatch.setattr(memory, "_PROCESS", tmp_path / "no proc file system")
    return str(request.param)


@pytest.mark.usefixtures("way")
def test_memory_that_was_dropped_again_is_seen() -> None:
    assert peak_rss_rise(hold_and_drop) == pytest.approx(ARRAY_BYTES, rel=0.1)


@pytest.mark.usefixtures("way")
def test_an_earlier_peak_does_not_count() -> None:
    hold_and_drop()
    rise_bytes = peak_rss_rise(lambda: None)
    assert rise_bytes is not None
    assert rise_bytes < ARRAY_BYTES / 20


@pytest.mark.usefixtures("way")
def test_memory_held_from_before_does_not_count() -> None:
    held = np.ones(ARRAY_BYTES, np.uint8)
    rise_bytes = peak_rss_rise(lambda: held.sum())
    assert rise_bytes is not None
    assert rise_bytes < ARRAY_BYTES / 20


@pytest.mark.usefixtures("way")
def test_an_error_in_the_call_is_the_callers() -> None:
    with pytest.raises(ZeroDivisionError):
        peak_rss_rise(lambda: 1 / 0)


def test_a_system_that_tells_nothing_gives_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Secretive:
        def memory_info(self) -> None:
            raise psutil.AccessDenied

    monkeypatch.setattr(memory, "_PROCESS", tmp_path)
    monkeypatch.setattr(psutil, "Process", Secretive)
    done = []
    assert peak_rss_rise(lambda: done.append(1)) is None
    assert done == [1]
