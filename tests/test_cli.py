"""The command, as a user types it."""

import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner
from runs import arm, effect, run, save, trial

from harness.cli import main
from harness.record import SCHEMA_VERSION

SIMPLE = run(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster"))))


@pytest.fixture
def accelbench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, [str(argument) for argument in arguments])


def complaint(result):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


def test_the_newest_run_under_results_is_reported(accelbench, tmp_path):
    save(SIMPLE, tmp_path / "results" / "a" / "0007_old.json", taken="2026-01-01T00:00:00+00:00")
    save(SIMPLE, tmp_path / "results" / "b" / "0001_new.json", taken="2026-01-02T00:00:00+00:00")
    result = accelbench("report")
    assert result.exit_code == 0
    assert result.stdout == "report of results/b/0001_new.json: reports/new/index.html\n"
    assert (tmp_path / "reports" / "new" / "index.html").is_file()
    assert (tmp_path / "reports" / "new" / "summary.md").is_file()


def test_one_file_is_reported_where_the_user_wants_it(accelbench, tmp_path):
    result = accelbench("report", save(SIMPLE, tmp_path / "0001_a.json"), "--output", tmp_path / "elsewhere")
    assert result.exit_code == 0
    assert (tmp_path / "elsewhere" / "a" / "index.html").is_file()


def test_programs_read_json(accelbench, tmp_path):
    told = json.loads(accelbench("report", save(SIMPLE, tmp_path / "0001_a.json"), "--json").stdout)
    assert told["report"] == "reports/a/index.html"
    assert [(found["levels"], found["verdict"]) for found in told["effects"]] == [({"amp": "bf16"}, "faster")]


def test_a_bad_file_beside_a_good_one_is_named_and_skipped(accelbench, tmp_path):
    save(SIMPLE, tmp_path / "results" / "0001_good.json")
    (tmp_path / "results" / "0002_cut.json").write_text('{"accelbench"')
    result = accelbench("report")
    assert result.exit_code == 0
    assert "0001_good.json" in result.stdout
    (warning,) = result.stderr.splitlines()
    assert warning.startswith("Warning: results/0002_cut.json: not complete JSON")
    assert warning.endswith("skipped")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"accelbench": {"schema', "truncated"),
        (
            '{"accelbench": {"schema_version": 9}}',
            f"schema version 9, this accelbench reads up to {SCHEMA_VERSION}; upgrade",
        ),
        ('{"benchmarks": [], "version": "5.3.1"}', "not a result of accelbench"),
        ('{"accelbench": {"schema_version": 1}}', "does not follow schema version 1"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(accelbench, tmp_path, content, words):
    (tmp_path / "0001_bad.json").write_text(content)
    line = complaint(accelbench("report", "0001_bad.json"))
    assert line.startswith("Error: 0001_bad.json: ")
    assert words in line


def test_a_path_that_is_not_there_is_one_line(accelbench):
    assert complaint(accelbench("report", "nowhere")).startswith("Error: nowhere: no such file or folder")
    assert complaint(accelbench("report")).startswith("Error: results: no such file or folder")


def test_an_empty_folder_is_one_line(accelbench, tmp_path):
    (tmp_path / "results").mkdir()
    assert "no results here; make some with" in complaint(accelbench("report"))


def test_an_output_that_cannot_be_written_is_one_line(accelbench, tmp_path):
    path = save(SIMPLE, tmp_path / "0001_a.json")
    (tmp_path / "taken").write_text("")
    assert "cannot be written (Not a directory)" in complaint(accelbench("report", path, "--output", "taken"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "--colour"], "No such option '--colour'; see accelbench report --help"),
        (["--colour"], "No such option '--colour'; see accelbench --help"),
        (["render"], "No such command 'render'; see accelbench --help"),
        (["report", "a", "b"], "Got unexpected extra argument (b); see accelbench report --help"),
    ],
)
def test_a_mistyped_command_is_one_line(arguments, words):
    result = CliRunner().invoke(main, arguments, prog_name="accelbench")
    assert complaint(result) == f"Error: {words}"


@pytest.mark.parametrize("arguments", [["--help"], ["report", "--help"], ["report", "-h"], ["doctor", "--help"]])
def test_help_gives_an_example(accelbench, arguments):
    result = accelbench(*arguments)
    assert result.exit_code == 0
    assert re.search(r"Example:\n    (pytest benchmarks/|accelbench \w+)", result.stdout)


def test_the_module_is_the_command():
    shown = subprocess.run([sys.executable, "-m", "harness", "--help"], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("Usage: accelbench [OPTIONS] COMMAND")


def test_reporting_loads_no_framework_and_no_pytest(tmp_path):
    path = save(SIMPLE, tmp_path / "0001_a.json")
    script = (
        "import sys; from harness.cli import main; assert 'pandas' not in sys.modules;"
        f"main(['report', {str(path)!r}, '--output', {str(tmp_path)!r}], standalone_mode=False);"
        "loaded = {'torch', 'tensorflow', 'cupy', 'transformers', 'pytest', 'harness.measuring', 'harness.plugin'};"
        "print(sorted(loaded & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "[]"
