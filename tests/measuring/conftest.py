"""What the tests of measuring share."""

import pytest
from fake_device import FakeClock

from accelbench.measuring import compare
from accelbench.measuring.interference import InterferenceMonitor


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The clock by which ``compare`` and ``attribute`` time callables, on a machine where nobody interferes."""
    clock = FakeClock()
    monkeypatch.setattr(compare, "perf_counter", clock)
    monkeypatch.setattr(compare, "InterferenceMonitor", lambda *_: InterferenceMonitor.disabled())
    return clock
