"""The journal: what is on disk after each trial, and what a cut, a full disk or a damaged byte leaves of it."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from accelbench.measuring.trial_result import Pairs
from accelbench.pytest_plugin.passes import JournaledVisit
from accelbench.pytest_plugin.resume import Journal, JournalHeader, read_journal
from accelbench.schema.reasons import reason
from accelbench.schema.result import SCHEMA_VERSION, ArmRecord, Outcome, Visit

HEADER = JournalHeader(
    schema_version=SCHEMA_VERSION,
    name="quick",
    started="2026-01-01T00:00:00+00:00",
    machine="a",
    settings={"noise": 0.01, "own_images": None},
    configuration={"python": "3"},
    selection={"one": [{"pace": "slow"}]},
    code={},
)


def visited(name: str, outcome: Outcome = "measured") -> JournaledVisit:
    """Return a visit of the trial of this name."""
    return JournaledVisit(
        trial=name,
        workload="walk",
        problem={"hills": 2},
        fixed={"stride": "long"},
        visit=Visit(begun_s=1.5, core_latency_s=2e-7, odd=[reason("slower-than-ever", times=1.5)]),
        arms=[ArmRecord(levels={"pace": "slow"}, outcome=outcome, items=1.0, observed={"wait_share": 1 / 3})],
        samples_s=[(1e-3, 1 / 3)],
        contrasts=[(1, 0)],
        pairs=[Pairs(log_ratios=(0.1, 1 / 3), undisturbed=(True, False))],
        span_s=1.0,
        disturbance={"load_1min": 0.5},
        remarks=[],
        spent_s={"build": 0.25},
        configuration={"numpy.version": "2"},
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of two trials, as a killed run leaves it."""
    journal = Journal(tmp_path / "quick.journal", HEADER)
    journal.append(visited("one"))
    journal.append(visited("two"))
    return journal.path


def test_a_part_that_cannot_be_removed_stays(path: Path) -> None:
    part = path.with_name("0001_quick.json")
    part.write_text("{}")
    journal = Journal(path, HEADER)
    journal.note_parts([part])
    part.unlink()
    part.mkdir()
    continued = read_journal(path)
    assert continued is not None
    continued.remove_parts()
    assert part.exists()


def held(path: Path) -> list[str]:
    journal = read_journal(path)
    assert journal is not None
    return list(journal.visits)


def test_a_trial_is_read_back_as_it_was_with_every_sample(path: Path) -> None:
    journal = read_journal(path)
    assert journal is not None
    assert journal.header == HEADER
    assert journal.visits == {"one": [visited("one")], "two": [visited("two")]}
    assert journal.visits["one"][0].measured.result.pairs[1, 0].log_ratios == (0.1, 1 / 3)
    assert journal.configuration == {"numpy.version": "2"}


@pytest.mark.slow
def test_a_line_cut_off_at_any_byte_costs_no_other_trial_and_the_journal_goes_on(path: Path) -> None:
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for length in range(last, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert held(path) == ["one"]
    journal = read_journal(path)
    assert journal is not None
    journal.append(visited("two"))
    journal.append(visited("three"))
    assert held(path) == ["one", "two", "three"]


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"\xff\xfe garbage", b"0123456789abcdef {}\n"])
def test_what_a_power_cut_leaves_at_the_end_is_passed_over(path: Path, tail: bytes) -> None:
    path.write_bytes(path.read_bytes() + tail)
    assert held(path) == ["one", "two"]


def test_a_damaged_byte_costs_its_own_line_only(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"trial":"one"', b'"trial":"One"'))
    assert held(path) == ["two"]


def test_without_a_header_there_is_nothing_to_continue(path: Path) -> None:
    path.write_bytes(path.read_bytes()[40:])
    assert read_journal(path) is None


def test_what_a_full_disk_refused_is_written_with_the_next_trial(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = read_journal(path)
    assert journal is not None

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        journal.append(visited("three"))
    assert journal.failure == "No space left on device"
    journal.append(visited("four"))
    assert journal.failure == ""
    assert held(path) == ["one", "two", "three", "four"]


def test_a_trial_that_was_lost_with_its_worker_is_left_to_be_measured_again(path: Path) -> None:
    journal = read_journal(path)
    assert journal is not None
    journal.append(visited("three", "crashed"))
    assert held(path) == ["one", "two"]
    journal.append(visited("three"))
    assert held(path) == ["one", "two", "three"]


def test_a_trial_that_two_sessions_lost_is_not_measured_a_third_time(path: Path) -> None:
    journal = read_journal(path)
    assert journal is not None
    journal.append(visited("three", "hung"))
    journal.append(visited("four", "crashed"))
    journal.append(visited("three", "crashed"))
    journal = read_journal(path)
    assert journal is not None
    assert list(journal.visits) == ["one", "two", "three"]
    assert [visit.is_lost for visit in journal.visits["three"]] == [True, True]
