"""What the tests of measuring share."""

from functools import partial
from random import Random

import pytest
from fake_device import FakeClock

from accelbench.measuring import compare
from accelbench.measuring.interference import InterferenceMonitor


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The clock by which ``compare`` and ``attribute`` time callables, where nobody interferes and coins are the same."""
    clock = FakeClock()
    monkeypatch.setattr(compare, "Random", partial(Random, 0))
    monkeypatch.setattr(compare, "perf_counter", clock)
    monkeypatch.setattr(compare, "InterferenceMonitor", lambda *_: InterferenceMonitor.disabled())
    return clock
