"""Slow steps are run less often."""

from types import SimpleNamespace

import pytest

from accelbench.explain.profiler_passes import time_first, time_steps


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of the steps that have run on a fake clock."""
    took: list[float] = []
    clock = SimpleNamespace(perf_counter=lambda: sum(took), monotonic=lambda: sum(took))
    monkeypatch.setattr("accelbench.explain.profiler_passes.time", clock)
    return took


@pytest.mark.parametrize(("step_s", "first", "timed"), [(0.01, 3, 50), (0.3, 3, 2), (1.5, 3, 2), (10.0, 2, 1)])
def test_slow_steps_are_timed_less_often(ran: list[float], step_s: float, first: int, timed: int) -> None:
    assert time_first(lambda: ran.append(step_s)) == pytest.approx(step_s)
    assert len(ran) == first
    assert time_steps(lambda: ran.append(step_s), 2, 50)[0] == pytest.approx(step_s)
    assert len(ran) == first + timed


def test_steps_after_a_slow_start_are_warmed_up(ran: list[float]) -> None:
    later = iter([20.0, 0.1, 0.1])
    time_first(lambda: ran.append(next(later)))
    assert len(ran) == 3
