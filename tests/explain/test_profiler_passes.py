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


def test_steps_that_only_queue_work_are_timed_by_when_the_device_is_done(ran: list[float]) -> None:
    queued: list[float] = []

    def launch() -> None:
        ran.append(1e-4)
        queued.append(0.3)

    def wait() -> None:
        ran.extend(queued)
        queued.clear()

    assert time_first(launch, wait) == pytest.approx(0.3001)
    assert not queued
    before = sum(ran)
    assert time_steps(launch, 2, 50, wait)[0] == pytest.approx(0.3001)
    assert sum(ran) - before == pytest.approx(2 * 0.3001)  # of 50 steps that take no time to launch
