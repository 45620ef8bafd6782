"""Finding the newest run without opening the others."""

import pytest
from runs import arm, run, save, trial

from accelbench.errors import BadInput, UnreadableResult
from accelbench.results import find_newest
from accelbench.schema.safe_json import read_bytes

SIMPLE = run(trial(arm({"amp": "fp32"}, 1.0)))


def day(number):
    return f"2026-01-{number:02}T00:00:00+00:00"


def newest(path):
    found = find_newest(path)
    (result,) = found.results
    return result.path.removeprefix(f"{path}/"), [str(error).removeprefix(f"{path}/") for error in found.unreadable]


@pytest.fixture
def opened(monkeypatch):
    """The names of the files that were looked at."""
    names = []

    def seen(path):
        names.append(path.name)
        return read_bytes(path)

    monkeypatch.setattr("accelbench.locations.read_bytes", seen)
    return names


def test_of_a_folder_only_the_highest_number_is_opened(tmp_path, opened):
    for number in range(1, 12):
        save(SIMPLE, tmp_path / "machine" / f"{number:04}_run.json", taken=day(number))
    assert newest(tmp_path) == ("machine/0011_run.json", [])
    assert set(opened) == {"0011_run.json"}


def test_numbers_count_as_numbers(tmp_path):
    save(SIMPLE, tmp_path / "9999_run.json", taken=day(1))
    save(SIMPLE, tmp_path / "10000_run.json", taken=day(2))
    assert newest(tmp_path) == ("10000_run.json", [])


def test_across_folders_the_time_decides_whatever_the_numbers(tmp_path):
    save(SIMPLE, tmp_path / "a" / "0009_old.json", taken=day(1))
    save(SIMPLE, tmp_path / "b" / "c" / "0001_new.json", taken=day(3))
    save(SIMPLE, tmp_path / "b" / "0005_timeless.json", taken=None)
    assert newest(tmp_path) == ("b/c/0001_new.json", [])


def test_a_file_without_a_number_takes_part_by_its_time(tmp_path):
    save(SIMPLE, tmp_path / "0009_old.json", taken=day(1))
    save(SIMPLE, tmp_path / "output.json", taken=day(2))
    save(SIMPLE, tmp_path / "older.json", taken=day(1))
    assert newest(tmp_path) == ("output.json", [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"accelbench"', "not complete JSON"),
        ('{"datetime": "2026-01-09T00:00:00+00:00", "benchmarks": []}', "not a result of accelbench"),
    ],
)
def test_a_newest_file_that_cannot_be_used_is_told_and_the_next_one_taken(tmp_path, text, words):
    save(SIMPLE, tmp_path / "a" / "0001_old.json", taken=day(1))
    save(SIMPLE, tmp_path / "a" / "0002_next.json", taken=day(3))
    save(SIMPLE, tmp_path / "b" / "0007_other.json", taken=day(2))
    (tmp_path / "a" / "0003_bad.json").write_text(text)
    name, unreadable = newest(tmp_path)
    assert name == "a/0002_next.json"
    assert [error.startswith("a/0003_bad.json: ") and words in error for error in unreadable] == [True]


@pytest.mark.parametrize("name", ["a/0002_bad.json", "a/bad.json"])
def test_a_file_that_may_be_newer_is_told_if_it_cannot_be_read(tmp_path, name):
    save(SIMPLE, tmp_path / "a" / "0001_old.json", taken=day(1))
    save(SIMPLE, tmp_path / "b" / "0001_new.json", taken=day(2))
    (tmp_path / name).write_text("{")
    found, (error,) = newest(tmp_path)
    assert found == "b/0001_new.json"
    assert error.startswith(f"{name}: not complete JSON")


def test_a_file_that_does_not_say_when_it_was_made_stands_where_its_number_puts_it(tmp_path):
    save(SIMPLE, tmp_path / "a" / "0001_new.json", taken=day(3))
    save(SIMPLE, tmp_path / "b" / "0007_other.json", taken=day(2))
    save(SIMPLE, tmp_path / "a" / "0002_timeless.json", taken=None)
    assert newest(tmp_path) == ("a/0002_timeless.json", [])
    (tmp_path / "a" / "0003_theirs.json").write_text("[]")
    name, (error,) = newest(tmp_path)
    assert name == "a/0002_timeless.json"
    assert error.startswith("a/0003_theirs.json: not a result of accelbench")


def test_what_is_older_than_the_newest_is_not_looked_at(tmp_path):
    (tmp_path / "0001_bad.json").write_text("{")
    save(SIMPLE, tmp_path / "0002_good.json")
    (tmp_path / ".drafts").mkdir()
    (tmp_path / ".drafts" / "0003_draft.json").write_text("{")
    assert newest(tmp_path) == ("0002_good.json", [])


def test_a_file_is_its_own_newest(tmp_path):
    path = save(SIMPLE, tmp_path / "0001_a.json")
    save(SIMPLE, tmp_path / "0002_b.json")
    assert [result.path for result in find_newest(str(path)).results] == [str(path)]


def test_a_folder_of_nothing_usable_says_what_came(tmp_path):
    with pytest.raises(BadInput, match="no results here; make some with pytest benchmarks/"):
        find_newest(tmp_path)
    (tmp_path / "0001_theirs.json").write_text("{}")
    with pytest.raises(UnreadableResult, match="not a result of accelbench"):
        find_newest(tmp_path)
    (tmp_path / "0002_cut.json").write_text("{")
    with pytest.raises(BadInput, match=r"none of its 2 JSON files can be read; the first: [^:]*0001_theirs\.json:"):
        find_newest(tmp_path)
    with pytest.raises(BadInput, match="nowhere: no such file or folder"):
        find_newest(tmp_path / "nowhere")
