"""The command `accelbench report`, as a user types it."""

import json
import subprocess
from dataclasses import replace

import pytest
from click.testing import CliRunner
from runs import arm, effect, run, save, trial

from accelbench.cli import main
from accelbench.schema.result import SCHEMA_VERSION

SIMPLE = run(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster"))))


@pytest.fixture
def accelbench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("accelbench.report.page.render", lambda *_: [])  # figures take a second each
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
    told, _, published = result.stdout.partition(" (")
    assert told == "report of results/b/0001_new.json: reports/new/index.html"
    assert published == "wrote 6 files, left 0 unchanged)\n"
    written = {path.name for path in (tmp_path / "reports" / "new").iterdir()}
    assert written == {"index.html", "summary.md", "effects.csv", "effects.parquet", "card.svg", "badge.svg"}


def test_the_last_run_is_found_without_settings_and_git_does_not_see_the_report(accelbench, tmp_path):
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    save(SIMPLE, tmp_path / ".benchmarks" / "machine" / "0001_unnamed.json")
    result = accelbench("report")
    assert result.stdout.startswith("report of .benchmarks/machine/0001_unnamed.json: reports/unnamed/index.html (")
    status = subprocess.run(["git", "status", "--short"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert status.stdout.split() == ["??", ".benchmarks/"]


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


@pytest.fixture
def two_machines(tmp_path):
    for machine, taken in (("a", "2026-01-01"), ("b", "2026-01-02")):
        save(replace(SIMPLE, machine=machine), tmp_path / machine / "0001_first.json", taken=f"{taken}T00:00:00+00:00")


@pytest.mark.usefixtures("two_machines")
def test_several_runs_are_one_report(accelbench, tmp_path):
    result = accelbench("report", "a", "b", "--title", "Old and <new>")
    name = "first-on-a-and-first-on-b"
    assert result.stdout.startswith(f"report of a/0001_first.json, b/0001_first.json: reports/{name}/index.html (")
    folder = tmp_path / "reports" / name
    assert "<h1>Old and &lt;new&gt;</h1>" in (folder / "index.html").read_text()
    assert [row.split(",")[3] for row in (folder / "effects.csv").read_text().splitlines()] == ["machine", "a", "b"]


@pytest.mark.usefixtures("two_machines")
def test_of_two_runs_programs_read_both(accelbench):
    told = json.loads(accelbench("report", "a", "b", "--json").stdout)
    assert [run["machine"] for run in told["runs"]] == ["a", "b"]


@pytest.mark.usefixtures("two_machines")
def test_a_run_named_twice_is_reported_once(accelbench, tmp_path):
    result = accelbench("report", "b", tmp_path / "b" / "0001_first.json", ".")
    assert result.stdout.startswith("report of b/0001_first.json: reports/first/index.html (")


@pytest.mark.parametrize(
    ("kind", "begins"),
    [("markdown", "# Mine\n"), ("csv", "run,number,taken,machine,")],
)
def test_other_formats_are_printed_and_nothing_is_written(accelbench, tmp_path, kind, begins):
    path = save(SIMPLE, tmp_path / "0001_a.json")
    result = accelbench("report", path, "--format", kind, "--title", "Mine")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(begins)
    assert "amp bf16" in result.stdout
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--format", "csv", "--output", "x.csv"], "Error: --output: csv is only printed; leave --output out"),
        (["--format", "markdown", "--output", "x y"], "markdown is only printed; leave --output out and write > 'x y'"),
        (["--format", "pdf"], "'pdf' is not one of 'html', 'json', 'markdown', 'csv'"),
        (["--certificates", "nowhere"], "Directory 'nowhere' does not exist"),
    ],
)
def test_options_that_do_not_fit_are_one_line(accelbench, tmp_path, arguments, words):
    save(SIMPLE, tmp_path / "results" / "0001_a.json")
    assert words in complaint(accelbench("report", *arguments))


@pytest.mark.usefixtures("two_machines")
def test_one_bad_path_among_several_is_one_line(accelbench):
    assert complaint(accelbench("report", "a", "nowhere", "b")).startswith("Error: nowhere: no such file or folder")


def test_a_folder_of_three_runs_shows_what_changed_over_time_and_a_file_does_not(accelbench, tmp_path):
    for number in (1, 2, 3):
        path = save(SIMPLE, tmp_path / "results" / f"{number:04}_a.json", taken=f"2026-01-0{number}T00:00:00+00:00")
    shown = {}
    for named, arguments in (("folder", ()), ("without", ("--no-history",)), ("file", (path,))):
        assert accelbench("report", *arguments, "--output", tmp_path / named).exit_code == 0
        shown[named] = "What changed over time" in (tmp_path / named / "a" / "index.html").read_text()
    assert shown == {"folder": True, "without": False, "file": False}
