"""What the tests of measuring share."""

import gc
from collections.abc import Iterator
from functools import partial
from random import Random

import pytest
from fake_device import FakeClock

from accelbench.measuring import compare
from accelbench.measuring.interference import InterferenceMonitor


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The clock by which ``compare`` and ``attribute`` time callables, with nobody else and one order of coins."""
    clock = FakeClock()
    monkeypatch.setattr(compare, "Random", partial(Random, 0))
    monkeypatch.setattr(compare, "perf_counter", clock)
    monkeypatch.setattr(compare, "InterferenceMonitor", lambda *_: InterferenceMonitor.disabled())
    return clock


@pytest.fixture
def nothing_is_frozen(_few_objects: None) -> Iterator[None]:
    """A process that has exempted no objects from garbage collection, as most programs that call ``compare``."""
    gc.unfreeze()
    yield
    gc.freeze()
