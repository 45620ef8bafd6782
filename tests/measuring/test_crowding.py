"""A sweep to the end of memory: what is tried again alone, and what is not tried at all."""

from random import Random
from typing import Any

import pytest

from harness.experiment import Arm, Build, Plan, Setting, Trial, Work, technique, workload
from harness.frameworks.fake import FakeClock, FakeDevice
from harness.measuring.conduct import Conduct
from harness.measuring.crowding import tried_apart
from harness.measuring.measured import Measured
from harness.measuring.repeats import merged

clock = FakeClock()
device = FakeDevice(clock)
memory: dict[str, Any] = {"rows": 0, "held": 0, "asked": []}


@workload("fake", unit="row")
def rows_in_memory(_: Setting, *, rows: int) -> Arm:
    """Rows that stay in the device's memory until the arm is closed."""
    memory["asked"].append(rows)
    if memory["held"] + rows > memory["rows"]:
        raise MemoryError(f"no room for {rows} rows")
    memory["held"] += rows

    def close() -> None:
        memory["held"] -= rows

    return Arm(
        step=lambda: device.launch(1e-3 + 1e-4 * rows) or float(rows),
        items=rows,
        work=Work(memory_bytes=rows),
        close=close,
    )


@technique("fake", levels=("1", "2", "4", "8", "16", "32"), same_output=False, grows=True)
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


def conducted(trial: Trial) -> Measured:
    return Conduct(trial, device, clock=clock, coin=Random(3)).run()


def swept(rows_that_fit: int) -> tuple[Measured, list[str]]:
    """Return a sweep as a pool measures it, and which levels were tried again alone."""
    again = []

    def alone(pair: Trial) -> Measured:
        again.append(pair.arms[1]["row_count"])
        return conducted(pair)

    trial = sweep(rows_that_fit)
    return tried_apart(trial, conducted(trial), alone), again


def outcomes(measured: Measured) -> list[str]:
    return [arm.outcome for arm in measured.arms]


def test_nothing_larger_is_built_than_what_ran_out_of_memory() -> None:
    measured = conducted(sweep(10))
    assert outcomes(measured) == ["measured"] * 3 + ["out-of-memory"] + ["unavailable"] * 2
    assert {arm.reason for arm in measured.arms[4:]} == {"larger than row-count 8, which ran out of memory"}
    assert max(memory["asked"]) == 8


def test_what_found_no_room_beside_the_others_is_tried_alone_until_memory_ends() -> None:
    measured, again = swept(10)
    assert again == ["8", "16"]
    assert outcomes(measured) == ["measured"] * 4 + ["out-of-memory", "unavailable"]
    assert len(measured.samples_s[3]) > 10
    assert measured.arms[4].reason == "MemoryError: no room for 16 rows"
    assert measured.arms[5].reason == "larger than row-count 16, which ran out of memory"


def test_what_was_measured_alone_is_held_to_its_own_work() -> None:
    measured, _ = swept(20)
    assert outcomes(measured) == ["measured"] * 5 + ["out-of-memory"]
    assert [claim.work.memory_bytes if claim else None for claim in measured.claims] == [1, 2, 4, 8, 16, None]


def test_where_the_first_is_too_large_even_alone_the_sweep_ends_with_it() -> None:
    measured, again = swept(8)
    assert again == ["8"]  # 8 and the baseline do not fit together here
    assert outcomes(measured) == ["measured"] * 3 + ["out-of-memory"] + ["unavailable"] * 2
    assert measured.arms[5].reason == "larger than row-count 8, which ran out of memory"


def test_where_a_worker_was_lost_with_the_baseline_nothing_is_tried_again() -> None:
    trial = sweep(1000)
    lost = merged([Measured.nothing(trial, "out-of-memory", "killed"), conducted(trial)], trial.plan)
    assert set(outcomes(tried_apart(trial, lost, conducted))) == {"out-of-memory"}


def test_only_what_differs_in_size_alone_is_left_out() -> None:
    crossed = [{"label": each, "row_count": level} for each in ("off", "on") for level in ("1", "16", "32")]
    trial = sweep(10, *crossed)
    assert [trial.smaller(place) for place in range(6)] == [(), (0,), (0, 1), (), (3,), (3, 4)]


@pytest.mark.parametrize("rows_that_fit", [63, 1000])
def test_where_memory_suffices_every_size_is_measured(rows_that_fit: int) -> None:
    measured, again = swept(rows_that_fit)
    assert (outcomes(measured), again) == (["measured"] * 6, [])
