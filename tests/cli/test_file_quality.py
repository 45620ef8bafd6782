"""Folders of results as they come: every command reads what it can and reports each bad file once."""

import shutil
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner
from runs import arm, effect, run, save, trial

from accelbench.cli import main

FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def compared(name="net", technique="amp"):
    pair = (arm({technique: "off"}, 1.0), arm({technique: "on"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster")))
    return trial(*pair, id=f"benchmarks/test_it.py::test_it[{name}]")


def keep(folder, number, *, hours=None, **fields):
    taken = (FIRST + timedelta(hours=hours or number)).isoformat()
    return save(run(compared(), **fields), folder / f"{number:04}_run.json", taken=taken)


@pytest.fixture
def history(tmp_path, monkeypatch):
    """Runs beside a copy, a file that was cut, a file of pytest-benchmark alone, and one made by a wrong clock."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("accelbench.report.page.render", lambda *_: [])  # figures take a second each
    folder = tmp_path / "results"
    for number in (1, 2, 4, 9998, 9999, 10000, 10002, 10003):
        keep(folder / "m", number)
    keep(folder / "m", 10001, hours=9000)
    keep(folder / "m", 3, machine="other-4c")
    shutil.copy(folder / "m" / "0002_run.json", folder / "copy.json")
    (folder / "theirs.json").write_text('{"machine_info": {}, "datetime": "2025-01-01T00:00:00", "benchmarks": []}')
    (folder / "cut.json").write_text('{"accelbench"')


SENTENCES = [
    "2 files cannot be read, such as results/cut.json: not complete JSON",
    "1 file left out, since another one holds the same run: results/copy.json",
    "example-2c-8g: the clock and the numbers disagree on when 1 run of",
]


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("command", [("check",), ("compare", "10002", "10003")], ids=" ".join)
def test_each_problem_is_reported_once(command):
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    reported = [sentence.partition(", such as ")[2] or sentence for sentence in SENTENCES]
    assert [result.output.count(sentence) for sentence in reported] == [1] * len(reported)


@pytest.mark.usefixtures("history")
def test_the_page_reports_each_problem(tmp_path):
    result = CliRunner().invoke(main, ["report"])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "reports" / "run" / "index.html").read_text()
    assert [sentence for sentence in SENTENCES if sentence not in page] == []
    assert "results/m/10003_run.json" in result.stdout
