"""Where --benchmark-json is told to write: links, devices, folders, and places that vanish during the run."""

import os
import stat
import sys
import tempfile
from pathlib import Path

import pytest
from project import Project
from runs import read_run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need rights, and there are no FIFOs")

SPOILED = "import os, pathlib\n\n\ndef test_zzz_something_happens_meanwhile():\n    {deed}\n"


@pytest.fixture
def spare(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of the session, which tempfile looks up once in a process."""
    folder = project.path / "spare"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.slow
def test_a_link_stays_and_the_run_is_in_the_file_at_its_end(project: Project) -> None:
    (project.path / "far").mkdir()
    (project.path / "out.json").symlink_to("far/run.json")
    assert project.run("--benchmark-json=out.json").ret == 0
    assert (project.path / "out.json").is_symlink()
    assert len(read_run(project.path / "far" / "run.json").trials) == 1


@pytest.mark.slow
def test_a_link_to_a_device_leaves_the_device_as_it_is(project: Project) -> None:
    (project.path / "out.json").symlink_to(os.devnull)
    result = project.run("--benchmark-json=out.json")
    assert result.ret == 0
    assert (project.path / "out.json").is_symlink()
    assert stat.S_ISCHR((project.path / "out.json").stat().st_mode)
    assert not list(Path(os.devnull).parent.glob("*.draft"))
    result.stdout.no_fnmatch_line("saved in*")


@pytest.mark.slow
def test_the_run_is_kept_elsewhere_if_nobody_reads_the_fifo(project: Project, spare: Path) -> None:
    os.mkfifo(project.path / "out.json")
    result = project.run("--benchmark-json=out.json")
    assert result.ret == 2
    assert (project.path / "out.json").is_fifo()
    (kept,) = spare.glob("*.json")
    assert len(read_run(kept).trials) == 1
    result.stdout.fnmatch_lines([f"the run could not be saved (nobody reads this FIFO); it is kept in {kept}: *"])


def test_a_folder_is_refused_before_anything_is_measured(project: Project) -> None:
    (project.path / "out.json").mkdir()
    result = project.run("--benchmark-json=out.json")
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        ["*accelbench: --benchmark-json=out.json: results cannot be written there (Is a directory); name a file*"]
    )
    assert list((project.path / "out.json").iterdir()) == []


def test_a_path_below_a_file_is_refused_before_anything_is_measured(project: Project) -> None:
    project.write("file", "")
    result = project.run("--benchmark-json=file/out.json")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*accelbench: *file: results cannot be written there (*); *with --benchmark-json*"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("deed", "why"),
    [
        ("pathlib.Path('far/out.json').mkdir()", "Is a directory"),
        ("os.symlink('out.json', 'far/out.json')", "Too many levels of symbolic links"),
        ("os.rename('far', 'near')", "No such file or directory"),
    ],
    ids=["a folder is there", "a circle is there", "its folder is gone"],
)
def test_what_was_measured_is_kept_if_the_place_is_spoiled_meanwhile(
    project: Project, spare: Path, deed: str, why: str
) -> None:
    project.write("test_zzz.py", SPOILED.format(deed=deed))
    result = project.run("--benchmark-json=far/out.json")
    assert result.ret == 2
    (kept,) = spare.glob("*.json")
    assert len(read_run(kept).trials) == 1
    result.stdout.fnmatch_lines([f"the run could not be saved ({why}); it is kept in {kept}: *"])


@pytest.mark.slow
def test_a_saved_run_that_nobody_could_read_is_reported_with_a_status(project: Project) -> None:
    project.write(
        "conftest.py",
        "import pytest\n\n\n@pytest.hookimpl(trylast=True)\ndef pytest_benchmark_update_json(output_json):\n"
        "    output_json['accelbench']['trials'][0]['unit'] = 3\n",
    )
    result = project.run("--benchmark-json=out.json")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["the saved run: does not follow schema version 1: *unit*"])


@pytest.mark.slow
def test_facts_of_another_test_that_no_json_holds_do_not_cost_the_run(project: Project, spare: Path) -> None:
    project.write(
        "test_own.py",
        "def test_own(benchmark):\n    benchmark.extra_info[(1, 2)] = 3\n    benchmark(lambda: None)\n",
    )
    result = project.run("--benchmark-json=out.json", "--benchmark-max-time=0.01")
    assert result.ret == 2
    (kept,) = spare.glob("*.json")
    assert len(read_run(kept).trials) == 1
    result.stdout.fnmatch_lines([f"the run could not be saved (keys must be *); it is kept in {kept}: *"])
