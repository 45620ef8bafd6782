"""Where a run is kept, what is in its file, and that pytest-benchmark's own tools read it."""

import json
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from project import Project
from pytest_benchmark.logger import PytestBenchmarkWarning
from runs import read_run


@pytest.fixture
def keeping(project: Project) -> Project:
    """A project that keeps its results in a folder per machine."""
    project.configure("accelbench_results = results")
    return project


@pytest.fixture
def saved(keeping: Project, shelf: Path) -> Path:
    """The file of a run that the project has saved; it is measured once for all tests."""
    results = keeping.path / "results"
    if shelf.exists():
        shutil.copytree(shelf, results)
    else:
        assert keeping.run("--benchmark-save=quick").ret == 0
        shutil.copytree(results, shelf)
        made_in(shelf).write_text(str(keeping.path))
    (path,) = files(results)
    return path


def made_in(shelf: Path) -> Path:
    """Return the file that names the folder in which the saved run was made."""
    return shelf.with_name("made_in.txt")


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.json"))


@pytest.mark.slow
def test_runs_are_numbered_in_one_folder_per_machine(keeping: Project, saved: Path) -> None:
    second = keeping.run("--benchmark-save=quick")
    assert second.ret == 0
    machine, paths = read_run(saved).machine, files(keeping.path / "results")
    assert [str(path.relative_to(keeping.path)) for path in paths] == [
        f"results/{machine}/0001_quick.json",
        f"results/{machine}/0002_quick.json",
    ]
    second.stdout.fnmatch_lines([f"saved in results/{machine}/0002_quick.json; render it with: accelbench report"])


@pytest.mark.slow
def test_runs_are_numbered_on_after_the_last_number_of_four_digits(keeping: Project, saved: Path) -> None:
    saved.rename(saved.with_name("9999_quick.json"))
    assert [keeping.run("--benchmark-save=quick").ret for _ in range(2)] == [0, 0]
    assert [path.name for path in files(keeping.path / "results")] == [
        "10000_quick.json",
        "10001_quick.json",
        "9999_quick.json",
    ]


@pytest.mark.slow
def test_a_project_that_asks_for_no_results_folder_keeps_pytest_benchmarks_own(project: Project) -> None:
    result = project.run("--benchmark-save=quick")
    (path,) = files(project.path / ".benchmarks")
    assert path.parent.parent == project.path / ".benchmarks"
    shown = path.relative_to(project.path)
    result.stdout.fnmatch_lines([f"saved in {shown}; render it with: accelbench report"])


@pytest.mark.slow
def test_a_storage_that_the_user_names_is_left_as_it_is(keeping: Project) -> None:
    result = keeping.run("--benchmark-autosave", "--benchmark-storage=elsewhere")
    (path,) = files(keeping.path / "elsewhere")
    assert path.parent.parent == keeping.path / "elsewhere"
    assert not (keeping.path / "results").exists()
    shown = path.relative_to(keeping.path)
    result.stdout.fnmatch_lines([f"saved in {shown}; render it with: accelbench report {shown}"])


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["results", ".benchmarks"])
def test_a_run_without_a_name_is_saved_all_the_same(project: Project, folder: str) -> None:
    if folder == "results":
        project.configure("accelbench_results = results")
    result = project.run()
    (path,) = files(project.path / folder)
    assert path.name == "0001_unnamed.json"
    assert [trial.workload for trial in read_run(path).trials] == ["walk"]
    shown = path.relative_to(project.path)
    result.stdout.fnmatch_lines([f"saved in {shown}; render it with: accelbench report"])


def test_where_nothing_was_measured_and_no_name_given_nothing_is_said_of_saving(keeping: Project) -> None:
    keeping.benchmark("devour", "burst")
    result = keeping.run()
    assert result.ret == 1  # what burst
    assert "Not saving anything" not in result.stdout.str() + result.stderr.str()


UNKNOWN = '\n@toggles("numpy", "pace")\ndef test_walk(measure):\n    measure("swim")\n'


def test_where_no_trial_could_be_asked_for_no_file_is_saved(keeping: Project) -> None:
    keeping.benchmark("slow", "quick", tests=UNKNOWN)
    with pytest.warns(PytestBenchmarkWarning, match="Not saving anything"):
        result = keeping.run("--benchmark-save=early")
    result.stdout.no_fnmatch_line("*saved in*")
    assert files(keeping.path / "results") == []


def test_a_file_of_other_benchmarks_alone_is_not_said_to_be_rendered(keeping: Project) -> None:
    keeping.benchmark("slow", "quick", tests=f"{UNKNOWN}\n\ndef test_own(benchmark): benchmark(sum, [1, 2])\n")
    result = keeping.run("--benchmark-save=early")
    (path,) = files(keeping.path / "results")
    assert [entry["name"] for entry in json.loads(path.read_text())["benchmarks"]] == ["test_own"]
    result.stdout.fnmatch_lines([f"saved in {path.relative_to(keeping.path)}"])


@pytest.mark.slow
def test_a_run_that_is_interrupted_before_its_first_visit_saves_no_file_and_says_so(keeping: Project) -> None:
    keeping.write(
        "conftest.py",
        """
from accelbench.pytest_plugin.passes import Passes


def interrupt(*_):
    raise KeyboardInterrupt


Passes.measure = interrupt
""",
    )
    result = keeping.run_subprocess("--benchmark-save=early")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["nothing was measured, so no run is saved"])
    assert files(keeping.path / "results") == []


def test_a_run_that_is_checked_and_not_timed_saves_nothing(keeping: Project) -> None:
    assert keeping.run("--benchmark-disable").ret == 0
    assert not (keeping.path / "results").exists()


def test_where_nothing_can_be_saved_one_line_says_so_and_the_run_goes_on(keeping: Project) -> None:
    keeping.write("results", "a file")
    result = keeping.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["accelbench: this run is not saved: *results*; make it writable*", "*pace quick  walk *"]
    )


def seen_by_git(folder: Path) -> str:
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    command = ["git", "status", "--short", "--untracked-files=all"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_git_sees_no_run_of_a_repository_without_a_folder_for_them(project: Project) -> None:
    project.run("--benchmark-save=quick", "-p", "no:cacheprovider")
    assert files(project.path / ".benchmarks")
    assert ".benchmarks" not in seen_by_git(project.path)


@pytest.mark.slow
def test_git_sees_the_named_runs_of_a_repository_with_a_folder_for_them(keeping: Project) -> None:
    keeping.run("-p", "no:cacheprovider")
    keeping.run("--benchmark-save=quick", "-p", "no:cacheprovider")
    seen = [line.split("/")[-1] for line in seen_by_git(keeping.path).splitlines() if "results" in line]
    assert seen == ["0002_quick.json"]


def test_a_saved_run_follows_the_schema(saved: Path) -> None:
    run = read_run(saved)
    (trial,) = run.trials
    assert (trial.id, trial.module, trial.workload, trial.unit) == (
        "test_pace.py::test_walk",
        "test_pace",
        "walk",
        "step",
    )
    assert [arm.outcome for arm in trial.arms] == ["measured", "measured"]
    assert run.environment.configuration["numpy.version"]
    assert run.interrupted is False


@pytest.mark.slow
def test_a_measured_arm_takes_less_than_four_kibibytes(keeping: Project) -> None:
    keeping.benchmark("slow", "quick", "brisk", "swift", "rapid", "fleet")
    keeping.run("--benchmark-save=quick")
    (path,) = files(keeping.path / "results")
    measured = [arm for trial in read_run(path).trials for arm in trial.arms if arm.timing]
    assert len(measured) == 6
    assert path.stat().st_size / len(measured) < 4096


@pytest.mark.slow
def test_a_file_names_neither_the_host_nor_the_folder_it_was_made_in(saved: Path, shelf: Path) -> None:
    text = saved.read_text()
    document = json.loads(text)
    assert "node" not in document["machine_info"]
    assert not [key for key in document["machine_info"]["cpu"] if key.startswith("hz_")]
    assert made_in(shelf).read_text() not in text
    assert not platform.node() or f'"{platform.node()}"' not in text


def test_other_benchmarks_of_the_session_are_left_alone(project: Project) -> None:
    project.write("test_pace.py", "def test_other(benchmark): benchmark(sum, [1, 2])\n")
    assert project.run("--benchmark-json=out.json", "--benchmark-max-time=0.01").ret == 0
    document = json.loads((project.path / "out.json").read_text())
    assert "accelbench" not in document
    assert "node" in document["machine_info"]


@pytest.mark.slow
def test_benchmark_compare_puts_the_last_run_beside_this_one_without_a_warning(keeping: Project, saved: Path) -> None:
    jittered = json.loads(saved.read_text())
    jittered["machine_info"]["cpu"]["hz_actual_friendly"] = "1.2345 GHz"
    saved.write_text(json.dumps(jittered))
    result = keeping.run("--benchmark-compare")
    assert result.ret == 0
    result.stdout.fnmatch_lines_random(["*pace-quick[]] (0001_quick)*", "*pace-quick[]] (NOW)*"])
    assert "made with another" not in result.stderr.str() + result.stdout.str()


@pytest.mark.slow
def test_benchmark_compare_takes_a_storage_outside_the_project(project: Project, tmp_path: Path) -> None:
    storage = f"--benchmark-storage={tmp_path / 'elsewhere'}"
    for options in ([], ["--benchmark-compare"]):
        result = project.run("--benchmark-save=quick", storage, *options)
        assert result.ret == 0
    result.stdout.fnmatch_lines_random(["*pace-quick[]] (*0001_quick)*", "*pace-quick[]] (NOW)*"])
    assert "machine_info is different" not in result.stderr.str() + result.stdout.str()


@pytest.mark.slow
def test_benchmark_compare_says_in_words_what_changed_since(keeping: Project, saved: Path) -> None:
    older = json.loads(saved.read_text())
    older["machine_info"]["python_version"] = "3.0.1"
    saved.write_text(json.dumps(older))
    keeping.write("below/test_below.py", "def test_below(): pass\n")
    result = keeping.run("--benchmark-compare", "--rootdir=.", "-c", keeping.path / "tox.ini")
    assert result.ret == 0
    result.stderr.fnmatch_lines(["*the earlier run was made with another python_version;*"])


@pytest.mark.parametrize("by", ["path", "storage"])
def test_pytest_benchmarks_own_command_reads_the_files(keeping: Project, saved: Path, by: str) -> None:
    where = [str(saved)] if by == "path" else []
    storage = [] if by == "path" else [f"--storage={saved.parent}"]
    command = [sys.executable, "-m", "pytest_benchmark", *storage, "compare", *where]
    printed = subprocess.run(command, cwd=keeping.path, capture_output=True, text=True, check=True).stdout
    assert "test_walk[pace-quick]" in printed


@pytest.mark.slow
def test_groups_can_be_made_by_parameter(keeping: Project) -> None:
    result = keeping.run("--benchmark-group-by=param:pace")
    result.stdout.fnmatch_lines(["*benchmark 'pace=quick': 1 tests*", "*benchmark 'pace=slow': 1 tests*"])


def test_a_group_that_fails_after_the_run_was_saved_does_not_count_as_unsaved(keeping: Project) -> None:
    keeping.write("test_own.py", "def test_own(benchmark): benchmark(sum, [1, 2])\n")
    result = keeping.run("--benchmark-group-by=param:pace", "--benchmark-max-time=0.01")
    assert result.ret == 2
    (path,) = files(keeping.path / "results")
    said = result.stdout.str()
    assert "pytest-benchmark failed after the run was saved (TypeError: " in said
    assert f"saved in {path.relative_to(keeping.path)}" in said
    assert "could not be saved" not in said
    assert "--accel-resume" not in said


SPOILED = """
import pathlib, shutil


def test_zzz_the_folder_goes_away():
    (folder,) = pathlib.Path("results").iterdir()
    {deed}
"""


@pytest.mark.slow
def test_a_run_that_cannot_be_saved_is_kept_in_the_temporary_folder(
    keeping: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    spare = keeping.path / "spare"
    spare.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spare))  # which is looked up once in a process
    keeping.write("test_zzz.py", SPOILED.format(deed="shutil.rmtree(folder); folder.touch()"))
    result = keeping.run("--benchmark-save=quick")
    assert result.ret == 2
    (kept,) = files(spare)
    assert len(read_run(kept).trials) == 1
    result.stdout.fnmatch_lines(
        [
            "*quick * walk *×*–*",
            f"the run could not be saved (Not a directory); it is kept in {kept}: make room and move it*",
        ]
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on file sizes to set")
def test_a_file_cut_off_by_a_full_disk_is_left_nowhere(keeping: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    spare = keeping.path / "spare"
    spare.mkdir()
    monkeypatch.setenv("TMPDIR", str(spare))
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))"
    keeping.write("test_zzz.py", SPOILED.format(deed=limit))
    result = keeping.run_subprocess("--benchmark-save=quick", "-p", "no:cacheprovider")
    assert result.ret == 2
    assert files(keeping.path / "results") == files(spare) == []
    assert list((keeping.path / "results").rglob("*.journal"))  # with which the run is continued
    result.stdout.fnmatch_lines(["the run could not be saved (File too large), nor kept in *; make room and run again"])


@pytest.mark.slow
def test_a_number_that_is_none_in_another_tests_facts_does_not_spoil_the_file(keeping: Project) -> None:
    keeping.write(
        "test_own.py",
        "def test_own(benchmark):\n    benchmark.extra_info['loss'] = float('nan')\n    benchmark(lambda: None)\n",
    )
    result = keeping.run("--benchmark-save=mixed", "--benchmark-max-time=0.01")
    (path,) = files(keeping.path / "results")
    assert result.ret == 0
    assert [trial.workload for trial in read_run(path).trials] == ["walk"]
    assert None in [entry["extra_info"].get("loss", 0) for entry in json.loads(path.read_text())["benchmarks"]]
