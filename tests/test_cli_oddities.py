"""Histories as they come, through every command that reads them: all is read, and each oddity is told in a sentence."""

import json
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner
from runs import STORED, arm, effect, run, save, trial

from harness.cli import main

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
FOREIGN = {"machine_info": {"cpu": {"brand_raw": "Theirs", "count": 2}}, "datetime": "2025-01-01T00:00:00"}


def compared(name="net", technique="amp"):
    pair = (arm({technique: "off"}, 1.0), arm({technique: "on"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster")))
    return trial(*pair, id=f"benchmarks/test_it.py::test_it[{name}]")


def keep(folder, number, *trials, hours=None, **fields):
    taken = (FIRST + timedelta(hours=hours or number)).isoformat()
    return save(run(*(trials or (compared(),)), **fields), folder / f"{number:04}_run.json", taken=taken)


@pytest.fixture
def history(tmp_path, monkeypatch):
    """Runs with every oddity that is known."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("harness.report.content.draw", lambda *_: [])  # figures take a second each
    folder = tmp_path / "results"
    for number in (1, 2, 4, 9998, 9999, 10000):
        keep(folder / "m", number)
    keep(folder / "m", 10001, compared("renamed"), compared("more", "tf32"), hours=9000)
    keep(folder / "m", 10002, compared("renamed"), compared("more", "tf32"))
    keep(folder / "m", 10003, compared("renamed"), compared("more", "tf32"))
    keep(folder / "m", 3, machine="other-4c")
    shutil.copy(folder / "m" / "0002_run.json", folder / "copy.json")
    shutil.copy(STORED, folder / "first.json")
    entry = {"fullname": "t.py::test_sort", "name": "test_sort", "stats": {"median": 1.0, "rounds": 5}}
    (folder / "theirs.json").write_text(json.dumps(FOREIGN | {"benchmarks": [entry]}))
    (folder / "cut.json").write_text('{"accelbench"')


SENTENCES = [
    "results/cut.json: not complete JSON",
    "1 file left out, since another one holds the same run: results/copy.json",
    "results/m: 9,993 numbers missing: 0005 to 9997",
    "results/m: runs of 2 machines in one folder, each a history of its own",
    "example-2c-8g: the clock and the numbers disagree on when 1 run of",
    "example-2c-8g: 1 technique added after the first run: torch tf32 in example-2c-8g/10001_run",
    "example-2c-8g/10001_run: 2 cases ended before, and as many of the same workload, technique and level began",
]
FORMATS = [
    "1 run of pytest-benchmark alone, times without effects",
    "1 run written in older schema versions (1; now",
]


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("command", [("check",), ("compare", "10002", "10003")], ids=" ".join)
def test_each_oddity_is_told_once(command):
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert [result.output.count(sentence) for sentence in SENTENCES] == [1] * len(SENTENCES)
    told = int(command == ("check",))  # of all runs; what is compared has nothing to tell
    assert [result.output.count(sentence) for sentence in FORMATS] == [told] * len(FORMATS)


@pytest.mark.usefixtures("history")
def test_of_the_runs_that_are_compared_an_older_one_is_told():
    result = CliRunner().invoke(main, ["compare", "first", "10003"])
    assert [result.output.count(sentence) for sentence in FORMATS] == [0, 1]


@pytest.mark.usefixtures("history")
def test_the_page_tells_each_oddity(tmp_path):
    result = CliRunner().invoke(main, ["report"])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "reports" / "run" / "index.html").read_text()
    assert [sentence for sentence in [*SENTENCES, *FORMATS] if sentence not in page] == []
    assert "results/m/10003_run.json" in result.stdout
