"""The journal: what is on disk after each trial, and what a cut, a full disk or a damaged byte leaves of it."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from harness.hosting.journal import Finished, Heading, Journal, read_journal
from harness.record import SCHEMA_VERSION, ArmRecord, Outcome, TrialRecord

HEADING = Heading(
    schema_version=SCHEMA_VERSION,
    name="quick",
    started="2026-01-01T00:00:00+00:00",
    machine="a",
    settings={"noise": 0.01, "own_images": None},
    configuration={"python": "3"},
    selection={"one": [{"pace": "slow"}]},
    code={},
)


def finished(name: str, outcome: Outcome = "measured") -> Finished:
    arm = ArmRecord(levels={"pace": "slow"}, outcome=outcome, items=1.0, observed={"wait_share": 1 / 3})
    record = TrialRecord(
        id=name,
        module="test_walk",
        framework="numpy",
        workload="walk",
        summary="Walk.",
        unit="step",
        techniques=["pace"],
        problem={"hills": 2},
        fixed={},
        arms=[arm],
    )
    return Finished.of(record, [(1e-3, 1 / 3)], {"numpy.version": "2"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of two trials, as a killed run leaves it."""
    journal = Journal(tmp_path / "quick.journal", HEADING)
    journal.append(finished("one"))
    journal.append(finished("two"))
    return journal.path


def test_a_part_that_cannot_be_removed_stays(path: Path) -> None:
    part = path.with_name("0001_quick.json")
    part.write_text("{}")
    journal = Journal(path, HEADING)
    journal.note([part])
    part.unlink()
    part.mkdir()
    continued = read_journal(path)
    assert continued is not None
    continued.remove_parts()
    assert part.exists()


def held(path: Path) -> list[str]:
    journal = read_journal(path)
    assert journal is not None
    return list(journal.finished)


def test_a_trial_is_read_back_as_it_was_with_every_sample(path: Path) -> None:
    journal = read_journal(path)
    assert journal is not None
    assert journal.heading == HEADING
    assert journal.finished == {"one": finished("one"), "two": finished("two")}
    assert journal.finished["one"].samples_s == [(1e-3, 1 / 3)]
    assert journal.configuration == {"numpy.version": "2"}


def test_a_line_cut_off_at_any_byte_costs_no_other_trial_and_the_journal_goes_on(path: Path) -> None:
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for length in range(last, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert held(path) == ["one"]
    journal = read_journal(path)
    assert journal is not None
    journal.append(finished("two"))
    journal.append(finished("three"))
    assert held(path) == ["one", "two", "three"]


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"\xff\xfe garbage", b"0123456789abcdef {}\n"])
def test_what_a_power_cut_leaves_at_the_end_is_passed_over(path: Path, tail: bytes) -> None:
    path.write_bytes(path.read_bytes() + tail)
    assert held(path) == ["one", "two"]


def test_a_damaged_byte_costs_its_own_line_only(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"id":"one"', b'"id":"One"'))
    assert held(path) == ["two"]


def test_without_a_heading_there_is_nothing_to_continue(path: Path) -> None:
    path.write_bytes(path.read_bytes()[40:])
    assert read_journal(path) is None


def test_what_a_full_disk_refused_is_written_with_the_next_trial(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = read_journal(path)
    assert journal is not None

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        journal.append(finished("three"))
    assert journal.failure == "No space left on device"
    journal.append(finished("four"))
    assert journal.failure == ""
    assert held(path) == ["one", "two", "three", "four"]


def test_a_trial_that_was_lost_with_its_worker_is_left_to_be_measured_again(path: Path) -> None:
    journal = read_journal(path)
    assert journal is not None
    journal.append(finished("three", "crashed"))
    assert held(path) == ["one", "two"]
    journal.append(finished("three"))
    assert held(path) == ["one", "two", "three"]


def test_a_trial_that_two_sessions_lost_is_not_measured_a_third_time(path: Path) -> None:
    journal = read_journal(path)
    assert journal is not None
    journal.append(finished("three", "hung"))
    journal.append(finished("four", "crashed"))
    journal.append(finished("three", "crashed"))
    journal = read_journal(path)
    assert journal is not None
    assert list(journal.finished) == ["one", "two", "three"]
    assert journal.finished["three"] == finished("three", "crashed")
