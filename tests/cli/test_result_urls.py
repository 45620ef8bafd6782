"""Every command that takes results takes a folder or any URL that fsspec knows, and says in one line what is wrong."""

import json
import zipfile

import fsspec
import pytest
from click.testing import CliRunner
from runs import arm, effect, run, save, trial

from accelbench.cli import main

SIMPLE = run(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster"))))


@pytest.fixture
def accelbench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("accelbench.report.page.render", lambda *_: [])  # figures take a second each
    return lambda *arguments: CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(params=["memory", "file", "zip"])
def url(request, tmp_path):
    """The URL of two runs."""
    folder = tmp_path / "kept" / "results"
    for number in (1, 2):
        path = save(SIMPLE, folder / "m" / f"{number:04}_a.json", taken=f"2026-01-0{number}T00:00:00+00:00")
        path.write_text(json.dumps(json.loads(path.read_text()) | {"commit_info": {"id": f"{number}" * 40}}))
    if request.param == "file":
        yield folder.as_uri()
        return
    if request.param == "zip":
        with zipfile.ZipFile(tmp_path / "kept.zip", "w") as archive:
            for path in sorted(folder.rglob("*.json")):
                archive.write(path, path.relative_to(folder.parent))
            archive.writestr("results/../../0009_evil.json", "{}")
        yield f"zip://results::{(tmp_path / 'kept.zip').as_uri()}"
        return
    system = fsspec.filesystem("memory")
    system.put(str(folder), "/bucket/results", recursive=True)
    yield "memory://bucket/results"
    system.rm("/bucket", recursive=True)


def test_a_report_of_a_url(accelbench, url):
    told = json.loads(accelbench("report", url, "--json").stdout)
    assert (told["run"], told["machine"], told["wrote"], told["unchanged"]) == ("a", "example-2c-8g", 6, 0)


def test_a_check_of_a_url(accelbench, url):
    result = accelbench("check", url)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("example-2c-8g/0002_a after 1 run of this machine")


def test_a_comparison_of_runs_at_a_url(accelbench, url):
    result = accelbench("compare", "1", "2", "--storage", url)
    assert result.exit_code == 0, result.output
    assert "0001_a on example-2c-8g" in result.stdout


def test_exports_of_a_url(accelbench, url):
    assert len(json.loads(accelbench("export", url, "--format", "bmf").stdout)) == 2
    assert accelbench("export", url, "--format", "asv").exit_code == 0


@pytest.mark.slow
def test_two_urls_are_two_sides(accelbench, url, tmp_path):
    save(SIMPLE, tmp_path / "other" / "0003_b.json", taken="2026-01-03T00:00:00+00:00")
    result = accelbench("compare", url, (tmp_path / "other").as_uri(), "--json")
    assert result.exit_code == 0, result.output
    assert accelbench("report", url, (tmp_path / "other").as_uri()).exit_code == 0


@pytest.mark.slow
def test_a_page_is_published_to_a_bucket_and_then_only_what_changed(accelbench, tmp_path):
    save(SIMPLE, tmp_path / "results" / "0001_a.json")
    system = fsspec.filesystem("memory")
    first, again = (accelbench("report", "--output", "memory://site/pages").stdout for _ in range(2))
    assert first.endswith("memory://site/pages/a/index.html (wrote 6 files, left 0 unchanged)\n")
    assert again.endswith("(wrote 0 files, left 6 unchanged)\n")
    assert b"<h1>" in system.cat("/site/pages/a/index.html")
    accelbench("report", "--output", "memory://site/pages", "--title", "Another")
    result = accelbench("report", "--output", "memory://site/pages", "--title", "Another")
    assert "wrote 0 files" in result.stdout
    system.rm("/site", recursive=True)


def test_single_files_are_written_to_a_bucket(accelbench, tmp_path):
    for number in (1, 2):
        save(SIMPLE, tmp_path / "results" / f"{number:04}_a.json", taken=f"2026-01-0{number}T00:00:00+00:00")
    assert accelbench("export", "--format", "bmf", "--output", "memory://site/bmf.json").exit_code == 0
    assert accelbench("compare", "1", "2", "--json", "--output", "memory://site/deep/shifts.json").exit_code == 0
    system = fsspec.filesystem("memory")
    assert len(json.loads(system.cat("/site/bmf.json"))) == 2
    assert json.loads(system.cat("/site/deep/shifts.json"))
    system.rm("/site", recursive=True)


@pytest.mark.parametrize("output", ["memory://site/", "memory://", "nowhere/bmf.json", "."])
def test_an_output_that_is_no_file_is_one_line(accelbench, tmp_path, output):
    save(SIMPLE, tmp_path / "results" / "0001_a.json")
    result = accelbench("export", "--format", "bmf", "--output", output)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {output}: ")
    assert result.stderr.count("\n") == 1


COMMANDS = [
    ("report",), ("check",), ("compare", "1", "2", "--storage"), ("export", "--format", "bmf"),
    ("export", "--format", "asv"),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("s3://bucket/results", "cannot be reached (Install s3fs to access S3)"),
        ("nosuch://bucket", "cannot be reached (Protocol not known: nosuch)"),
        ("memory://nothing-here", "no results here; make some with"),
        ("zip://::file:///nowhere.zip", "cannot be reached ("),
        ("nowhere", "no such file or folder"),
        ("empty", "no results here; make some with"),
        ("garbage", "none of its 3 JSON files can be read; the first: "),
        ("cut/0001_a.json", "not complete JSON"),
    ],
)
def test_a_place_without_results_is_one_line(accelbench, tmp_path, command, place, words):
    (tmp_path / "empty").mkdir()
    whole = save(SIMPLE, tmp_path / "cut" / "0001_a.json").read_bytes()
    (tmp_path / "garbage" / "deep").mkdir(parents=True)
    (tmp_path / "cut" / "0001_a.json").write_bytes(whole[:500])
    for name, body in (("0001_empty", b""), ("0002_cut", whole[:500]), ("deep/0003_noise", bytes(range(256)))):
        (tmp_path / "garbage" / f"{name}.json").write_bytes(body)
    result = accelbench(*command, place)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert words in line
