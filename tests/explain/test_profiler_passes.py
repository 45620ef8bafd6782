"""Slow steps are run less often, and none begins that is too late."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from accelbench.core import Setting
from accelbench.errors import Unavailable
from accelbench.explain.profiler_passes import LimitedStep, StepLimit, time_first, time_steps


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


def test_no_slow_step_begins_once_the_time_is_over(ran: list[float]) -> None:
    step = LimitedStep(ran.append, StepLimit(15.0))
    for _ in range(2):
        step(10.0)
    with pytest.raises(Unavailable, match=r"^a step of your program takes 10.0 s, .*; raise --budget to 200s$"):
        step(10.0)
    assert ran == [10.0, 10.0]


@pytest.mark.parametrize("steps", [[100.0, 0.1, 0.1, 0.1], [0.1] * 40])
def test_quick_steps_go_on_and_one_that_starts_slowly_is_no_reason(ran: list[float], steps: list[float]) -> None:
    step = LimitedStep(ran.append, StepLimit(1.0))
    for step_s in steps:
        step(step_s)
    assert ran == steps


def test_a_limited_step_shows_what_its_function_holds() -> None:
    held = 3
    step = LimitedStep(lambda: held, StepLimit(1.0))
    assert step() == 3
    assert [cell.cell_contents for cell in step.__closure__ or ()] == [3]
    assert not hasattr(step, "__self__")
    owner = [1]
    assert LimitedStep(owner.append, StepLimit(1.0)).__self__ is owner


def test_an_array_program_of_slow_steps_is_not_profiled_beyond_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    from accelbench import ArrayProgram
    from accelbench.explain.array_profile import profile_array_program

    ran: list[int] = []

    def step(_: Any, array: Any) -> Any:
        ran.append(1)
        time.sleep(0.02)
        return array + 1

    monkeypatch.setattr("accelbench.explain.profiler_passes.SLOW_S", 0.01)
    with pytest.raises(Unavailable, match="raise --budget to 10s"):
        profile_array_program(lambda: ArrayProgram(step=step, arrays=(np.ones(3),)), Setting(), {}, 0.05)
    assert len(ran) <= 4
