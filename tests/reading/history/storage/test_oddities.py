"""Histories as they come: all runs are read, in their order, and what is odd is told in a sentence each."""

import random
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from runs import STORED, arm, effect, run, save, trial

from harness.reading.history.storage.index import history
from harness.reading.history.storage.order import longest_ascending
from harness.record import SCHEMA_VERSION

FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def hour(number):
    return (FIRST + timedelta(hours=number)).isoformat()


def compared(name="net", technique="amp", **fields):
    pair = (arm({technique: "off"}, 1.0), arm({technique: "on"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster")))
    return trial(*pair, id=f"benchmarks/test_it.py::test_it[{name}]", **fields)


ONE = (compared(),)


def keep(folder, *numbers, trials=ONE, hours=lambda number: number, **fields):
    for number in numbers:
        save(run(*trials, **fields), folder / f"{number:04}_run.json", taken=hour(hours(number)))


def told(folder):
    kept = history(folder)
    return kept.runs["run"].str.rpartition("/")[2].tolist(), [each.replace(f"{folder}/", "") for each in kept.remarks]


def test_a_plain_history_has_nothing_odd(tmp_path):
    keep(tmp_path, 1, 2, 3)
    assert told(tmp_path) == (["0001_run", "0002_run", "0003_run"], [])


def test_gaps_in_the_numbers_are_counted(tmp_path):
    keep(tmp_path / "m", 1, 4, 5, 7, 107)
    assert told(tmp_path)[1] == ["m: 102 numbers missing: 0002 to 0003, 0006, 0008 to 0106"]


def test_a_number_whose_file_is_unreadable_or_a_repeat_is_not_missing(tmp_path):
    keep(tmp_path, 1, 2, 5)
    shutil.copy(tmp_path / "0002_run.json", tmp_path / "0003_copy.json")
    (tmp_path / "0004_bad.json").write_text("{")
    assert not any("missing" in remark for remark in told(tmp_path)[1])


def test_runs_beyond_the_last_number_of_four_digits_come_after_it(tmp_path):
    keep(tmp_path, 9998, 9999, 10000, 10001)
    assert told(tmp_path) == (["9998_run", "9999_run", "10000_run", "10001_run"], [])


@pytest.mark.parametrize("wrong", [-50_000, 50_000])
def test_a_clock_that_is_wrong_for_some_runs_does_not_change_their_order(tmp_path, wrong):
    keep(tmp_path, *range(1, 9), hours=lambda number: number + (wrong if number in (5, 6) else 0))
    names, remarks = told(tmp_path)
    assert names == [f"{number:04}_run" for number in range(1, 9)]
    (remark,) = remarks
    assert remark == (
        "example-2c-8g: the clock and the numbers disagree on when 2 runs of 8 were made, and the numbers decide: "
        "example-2c-8g/0005_run, example-2c-8g/0006_run"
    )


def test_runs_that_do_not_say_when_they_were_made_stand_where_their_number_puts_them(tmp_path):
    keep(tmp_path, 1, 3)
    save(run(compared()), tmp_path / "0002_run.json", taken=None)
    assert told(tmp_path) == (
        ["0001_run", "0002_run", "0003_run"],
        ["1 run does not say when made: example-2c-8g/0002_run"],
    )


def test_two_machines_in_one_folder_are_two_histories(tmp_path):
    keep(tmp_path / "all", 1, 3, 5)
    keep(tmp_path / "all", 2, 4, machine="other-4c", hours=lambda number: number - 3)
    names, remarks = told(tmp_path)
    assert names == ["0002_run", "0001_run", "0004_run", "0003_run", "0005_run"]
    (remark,) = remarks
    assert remark == (
        "all: runs of 2 machines in one folder, each a history of its own: other-4c with 2 runs, "
        "example-2c-8g with 3 runs"
    )


def test_a_run_that_lies_there_twice_counts_once(tmp_path):
    keep(tmp_path / "a", 1, 2)
    keep(tmp_path / "b", 1)
    save(run(compared(), compared("other")), tmp_path / "c" / "output.json", taken=hour(2))
    names, remarks = told(tmp_path)
    assert names == ["0001_run", "0002_run"]
    (remark,) = remarks
    assert remark == (
        "2 files left out, since another one holds the same run: b/0001_run.json as a/0001_run.json, "
        "c/output.json as a/0002_run.json"
    )


def test_different_runs_of_one_name_are_told_apart(tmp_path):
    keep(tmp_path / "a", 1)
    keep(tmp_path / "b", 1, hours=lambda number: number + 6)
    assert told(tmp_path) == (["0001_run", "0001_run (2)"], [])


def test_numbers_that_were_given_twice_are_told(tmp_path):
    keep(tmp_path, 1, 2)
    save(run(compared()), tmp_path / "0001_again.json", taken=hour(1.5))
    names, remarks = told(tmp_path)
    assert names == ["0001_run", "0001_again", "0002_run"]
    assert remarks == [f"{tmp_path}: 0001 number more than one run of a machine; their times decide the order"]


def test_an_added_technique_is_told_with_the_run_that_brought_it(tmp_path):
    keep(tmp_path, 1, 2)
    keep(tmp_path, 3, 4, trials=(compared(), compared("more", "tf32"), compared("yet", "compile")))
    assert told(tmp_path)[1] == [
        "example-2c-8g: 2 techniques added after the first run: torch tf32, torch compile in example-2c-8g/0003_run"
    ]


def test_renamed_cases_are_told_once_however_many_they_are(tmp_path):
    keep(tmp_path, 1, 2, trials=[compared(f"old-{number}", workload=f"net-{number}") for number in range(20)])
    keep(tmp_path, 4, 5, trials=[compared(f"new-{number}", workload=f"net-{number}") for number in range(20)])
    _, remark = told(tmp_path)[1]
    assert remark == (
        "example-2c-8g/0004_run: 40 cases ended before, and as many of the same workload, technique and level began: "
        "renamed or given other parameters, they are series of their own, such as "
        "benchmarks/test_it.py::test_it[old-0]|amp off and benchmarks/test_it.py::test_it[new-0]|amp off"
    )


def test_a_case_that_is_left_out_of_some_runs_has_not_been_renamed(tmp_path):
    keep(tmp_path, 1, 3, trials=(compared("a"), compared("b")))
    keep(tmp_path, 2, trials=(compared("b"),))
    assert told(tmp_path)[1] == []


def test_files_of_every_schema_version_are_read(tmp_path):
    stored = sorted(STORED.parent.glob("run_v*.json"))
    for path in stored:
        shutil.copy(path, tmp_path)
    kept = history(tmp_path)
    assert kept.observations["run"].nunique() == len(stored)
    older = ", ".join(str(number) for number in range(1, SCHEMA_VERSION))
    said = f"{SCHEMA_VERSION - 1} runs written in older schema versions ({older}; now {SCHEMA_VERSION}): "
    assert [each.startswith(said) for each in kept.formats] == [True]


def test_texts_of_a_file_that_could_move_a_cursor_stay_one_line(tmp_path):
    keep(tmp_path, *range(1, 9), machine="a\x1b[2J\nb", hours=lambda number: number + 50 * (number in (5, 6)))
    (remark,) = history(tmp_path).remarks
    assert remark.startswith(r"a\x1b[2J\nb: the clock and the numbers disagree")
    assert remark.isprintable()


def test_the_longest_ascending_subsequence_is_as_long_as_any():
    chance = random.Random(0)
    for _ in range(50):
        values = [chance.randrange(8) for _ in range(9)]
        found = [values[place] for place in longest_ascending(values)]
        assert found == sorted(found)
        longest = max(
            chosen.bit_count()
            for chosen in range(2**9)
            if (kept := [value for place, value in enumerate(values) if chosen >> place & 1]) == sorted(kept)
        )
        assert len(found) == longest
