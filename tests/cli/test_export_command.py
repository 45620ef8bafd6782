"""The command `accelbench export`, as a user types it."""

import json

import pytest
from click.testing import CliRunner
from runs import arm, effect, run, save, trial

from accelbench.cli import main

AMP = trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster")))


@pytest.fixture
def export(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(run(AMP), tmp_path / "results" / "0001_old.json", taken="2026-01-01T00:00:00+00:00")
    save(run(AMP, AMP), tmp_path / "results" / "0002_new.json", taken="2026-01-02T00:00:00+00:00")
    return lambda *arguments: CliRunner().invoke(main, ["export", *arguments])


def test_the_newest_run_is_printed_for_trackers_that_keep_the_history(export):
    entries = json.loads(export("--format", "github-action-benchmark").stdout)
    assert len(entries) == 6
    assert {"name", "unit", "value"} <= set(entries[0])


def test_a_file_is_written_where_the_user_wants_it(export, tmp_path):
    result = export("results/0001_old.json", "--format", "bmf", "--output", "bmf.json")
    assert (result.exit_code, result.stdout) == (0, "")
    assert len(json.loads((tmp_path / "bmf.json").read_text())) == 2


def test_asv_gets_a_folder_and_hears_of_runs_without_a_commit(export, tmp_path):
    named = save(run(AMP), tmp_path / "results" / "0003_named.json", taken="2026-01-03T00:00:00+00:00")
    named.write_text(json.dumps(json.loads(named.read_text()) | {"commit_info": {"id": "a" * 40}}))
    result = export("--format", "asv")
    assert result.exit_code == 0
    assert result.stdout == "results of 1 commit for asv: asv/asv.conf.json (wrote 4 files, left 0 unchanged)\n"
    assert (
        result.stderr
        == "Warning: asv needs the commit of a run; left out without one: example-2c-8g/0001_old and 1 more\n"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere", "--format", "bmf"], "nowhere: no such file or folder"),
        (["--format", "bmf", "--output", "no/folder.json"], "no/folder.json: cannot be written (No such file"),
        (["--format", "csv"], "'csv' is not one of"),
        ([], "Missing option '--format'"),
        (["--format", "asv"], "example-2c-8g/0001_old and 1 more: no commit is named"),
    ],
)
def test_a_mistake_is_one_line(export, arguments, words):
    result = export(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert words in line


@pytest.mark.parametrize("content", ["[]", '{"benchmarks": []}'])
def test_a_newest_file_that_is_no_result_is_warned_about(export, tmp_path, content):
    (tmp_path / "results" / "0003_theirs.json").write_text(content)
    result = export("--format", "bmf")
    assert len(json.loads(result.stdout)) == 2
    assert result.stderr.startswith("Warning: results/0003_theirs.json: not a result of accelbench")


def test_a_newest_run_without_a_time_is_exported(export, tmp_path):
    save(run(AMP), tmp_path / "results" / "0003_timeless.json", taken=None)
    assert len(json.loads(export("--format", "github-action-benchmark").stdout)) == 3
