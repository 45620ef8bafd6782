"""Comparisons across worker processes: retries after out-of-memory."""

from random import Random
from typing import Any

import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm, Build, Plan, Setting, Trial, Work, technique, workload
from accelbench.measuring.trial_result import TrialResult
from accelbench.measuring.trial_run import TrialRun
from accelbench.measuring.workers.across_processes import retry_after_oom

clock = FakeClock()
device = FakeDevice(clock)
memory: dict[str, Any] = {"rows": 0, "held": 0, "asked": []}
kernels: dict[str, Any] = {"rows": 1000, "error": OverflowError("integer out of range")}


@pytest.fixture(autouse=True)
def _kernels_count_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kernels, "rows", 1000)
    monkeypatch.setitem(kernels, "error", kernels["error"])


@workload("fake", unit="row")
def rows_in_memory(_: Setting, *, rows: int) -> Arm:
    """Rows that stay in the device's memory until the arm is closed."""
    memory["asked"].append(rows)
    if memory["held"] + rows > memory["rows"]:
        raise MemoryError(f"no room for {rows} rows")
    memory["held"] += rows

    def step() -> float:
        if rows > kernels["rows"]:
            raise kernels["error"]
        device.launch(1e-3 + 1e-4 * rows)
        return float(rows)

    def close() -> None:
        memory["held"] -= rows

    return Arm(
        step=step,
        items=rows,
        work=Work(memory_bytes=rows),
        close=close,
    )


@technique("fake", levels=("1", "2", "4", "8", "16", "32"), same_output=False, memory_grows=True)
def row_count(build: Build, level: str) -> Arm:
    """How many rows there are."""
    return build(rows=int(level))


@technique("fake", levels=("off", "on"))
def label(build: Build, level: str) -> Arm:  # noqa: ARG001  both are the same
    """Something that takes no memory."""
    return build()


def sweep(rows_that_fit: int, *arms: dict[str, str]) -> Trial:
    memory.update(rows=rows_that_fit, held=0, asked=[])
    counts = tuple({"row_count": level} for level in ("1", "2", "4", "8", "16", "32"))
    return Trial(framework="fake", workload="rows-in-memory", arms=arms or counts, plan=Plan(budget_s=0.5))


def conducted(trial: Trial) -> TrialResult:
    return TrialRun(trial, device, clock=clock, coin=Random(3)).run()


def swept(rows_that_fit: int) -> tuple[TrialResult, list[str]]:
    """Return a sweep as a pool measures it, and which levels were tried again alone."""
    again = []

    def alone(pair: Trial) -> TrialResult:
        again.append(pair.arms[1]["row_count"])
        return conducted(pair)

    trial = sweep(rows_that_fit)
    return retry_after_oom(trial, conducted(trial), alone), again


def outcomes(measured: TrialResult) -> list[str]:
    return [arm.outcome for arm in measured.arms]


def test_nothing_larger_is_built_than_what_ran_out_of_memory() -> None:
    measured = conducted(sweep(10))
    assert outcomes(measured) == ["measured"] * 3 + ["out-of-memory"] + ["unavailable"] * 2
    assert {str(arm.reason) for arm in measured.arms[4:]} == {"larger than row-count 8, which ran out of memory"}
    assert max(memory["asked"]) == 8


@pytest.mark.parametrize("error", [OverflowError("integer out of range"), RuntimeError("not supported")])
def test_nothing_larger_is_built_than_what_a_kernel_cannot_count(error: Exception) -> None:
    kernels.update(rows=5, error=error)
    measured = conducted(sweep(1000))
    assert outcomes(measured) == ["measured"] * 3 + ["unavailable"] * 3
    assert str(measured.arms[3].reason) == (
        f"a kernel cannot count the elements of arrays of this size: {type(error).__name__}: {error}"
    )
    assert {str(arm.reason) for arm in measured.arms[4:]} == {
        "larger than row-count 8, whose arrays have more elements than a kernel counts"
    }
    assert max(memory["asked"]) == 8


def test_a_message_with_several_meanings_is_an_error_where_nothing_smaller_ran() -> None:
    kernels.update(rows=0, error=RuntimeError("not supported"))
    first = conducted(sweep(1000, {"row_count": "1"})).arms[0]
    assert first.outcome == "failed"
    assert str(first.reason).startswith("RuntimeError: not supported (")


def test_what_found_no_room_and_then_no_kernel_is_not_said_to_lack_memory() -> None:
    kernels["rows"] = 5
    measured, again = swept(10)
    assert again == ["8"]
    assert outcomes(measured) == ["measured"] * 3 + ["unavailable"] * 3
    assert "larger than row-count 8, whose arrays" in str(measured.arms[5].reason)


def test_what_found_no_room_beside_the_others_is_tried_alone_until_memory_ends() -> None:
    measured, again = swept(10)
    assert again == ["8", "16"]
    assert outcomes(measured) == ["measured"] * 4 + ["out-of-memory", "unavailable"]
    assert len(measured.samples_s[3]) > 10
    assert str(measured.arms[4].reason) == "MemoryError: no room for 16 rows (test_across_processes.py, line 31)"
    assert str(measured.arms[5].reason) == "larger than row-count 16, which ran out of memory"


def test_what_was_measured_alone_is_held_to_its_own_work() -> None:
    measured, _ = swept(20)
    assert outcomes(measured) == ["measured"] * 5 + ["out-of-memory"]
    assert [stated.work.memory_bytes if stated else None for stated in measured.stated_work] == [1, 2, 4, 8, 16, None]


def test_where_the_first_is_too_large_even_alone_the_sweep_ends_with_it() -> None:
    measured, again = swept(8)
    assert again == ["8"]  # 8 and the baseline do not fit together here
    assert outcomes(measured) == ["measured"] * 3 + ["out-of-memory"] + ["unavailable"] * 2
    assert str(measured.arms[5].reason) == "larger than row-count 8, which ran out of memory"


def test_where_a_worker_was_lost_with_the_baseline_nothing_is_tried_again() -> None:
    trial = sweep(1000)
    lost = TrialResult.nothing(trial, "out-of-memory", None)
    assert set(outcomes(retry_after_oom(trial, lost, conducted))) == {"out-of-memory"}


def test_only_what_differs_in_size_alone_is_left_out() -> None:
    crossed = [{"label": each, "row_count": level} for each in ("off", "on") for level in ("1", "16", "32")]
    trial = sweep(10, *crossed)
    assert [trial.smaller(place) for place in range(6)] == [(), (0,), (0, 1), (), (3,), (3, 4)]


@pytest.mark.parametrize("rows_that_fit", [63, 1000])
def test_where_memory_suffices_every_size_is_measured(rows_that_fit: int) -> None:
    measured, again = swept(rows_that_fit)
    assert (outcomes(measured), again) == (["measured"] * 6, [])
