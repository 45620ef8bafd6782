"""Options: what they change, and how a bad value ends the session with pytest's status of a usage error."""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from project import Project

BAD_INPUT = 2
USAGE_ERROR = pytest.ExitCode.USAGE_ERROR


def settings(project: Project, *arguments: object) -> dict[str, Any]:
    """Return the settings that a run stores."""
    assert project.run("--benchmark-json=out.json", *arguments).ret == 0
    stored: dict[str, Any] = json.loads((project.path / "out.json").read_text())["accelbench"]["settings"]
    return stored


def refusal(result: pytest.RunResult, status: int) -> str:
    """Return what the terminal shows of a session that measured nothing."""
    assert result.ret == status
    text = result.stderr.str() + result.stdout.str()
    assert "Traceback" not in text
    assert "s an arm" not in text
    return text


@pytest.mark.slow
def test_the_conditions_of_a_run_are_said_and_stored(project: Project) -> None:
    stored = settings(project, "--accel-size=full", "--accel-noise=0.02", "--accel-max-batch=8", "--accel-seed=3")
    expected = {"size": "full", "budget_s": 0.1, "noise": 0.02, "max_batch": 8, "seed": 3, "visits": 1}
    assert stored.items() >= expected.items()
    assert stored["cache"] == "hot"


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/sys/devices/system/cpu/cpu0/cache").is_dir(), reason="this system does not tell its caches"
)
def test_cold_caches_are_said_and_stored(project: Project) -> None:
    result = project.run("--benchmark-json=out.json", "--accel-cold-cache")
    result.stdout.fnmatch_lines(["accelbench: 1 trial, 2 arms, *, cold caches"])
    stored = json.loads((project.path / "out.json").read_text())["accelbench"]
    assert stored["settings"]["cache"] == "cold"
    for arm in stored["trials"][0]["arms"]:
        assert arm["outcome"] == "measured", arm["reason"]
        assert arm["timing"]["iterations_per_block"] == 1


@pytest.mark.slow
def test_several_visits_widen_what_an_interval_stands_for(project: Project) -> None:
    assert settings(project, "--accel-visits=2")["visits"] == 2
    effect = json.loads((project.path / "out.json").read_text())["accelbench"]["trials"][0]["arms"][1]["effects"][0]
    assert effect["workers"] == 2


def test_help_explains_every_option(project: Project) -> None:
    text = project.run("--help").stdout.str()
    for option in ("size", "budget", "visits", "noise", "max-batch", "max-workers", "timeout", "seed", "cold-cache"):
        assert f"--accel-{option}" in text
    assert "--accel-data-dir" in text


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--accel-budget=fast", "a number of seconds above 0"),
        ("--accel-budget=0", "a number of seconds above 0"),
        ("--accel-budget=nan", "a number of seconds above 0"),
        ("--accel-visits=1.5", "a whole number from 1"),
        ("--accel-noise=1%", "a fraction above 0 and below 0.5"),
        ("--accel-max-batch=0", "a whole number from 1"),
        ("--accel-max-workers=-1", "a whole number from 1"),
        ("--accel-timeout=never", "a number of seconds above 0"),
        ("--accel-seed=-1", "a whole number from 0 to 4294967295"),
    ],
)
def test_a_bad_value_is_named_with_what_was_expected(project: Project, option: str, expected: str) -> None:
    name, _, value = option.partition("=")
    complaint = f"argument {name}: {value!r} is not {expected}; for example"
    assert complaint in refusal(project.run(option), USAGE_ERROR)


def test_a_size_that_there_is_not_is_named_with_those_that_there_are(project: Project) -> None:
    assert "argument --accel-size: invalid choice: 'huge'" in refusal(project.run("--accel-size=huge"), USAGE_ERROR)


def test_an_unknown_technique_ends_the_session_and_lists_those_there_are(project: Project) -> None:
    project.benchmark("slow", "quick", tests='\n@toggles("numpy", "pase")\ndef test_walk(measure): ...\n')
    result = project.run()
    assert result.ret == BAD_INPUT
    result.stdout.fnmatch_lines(
        ["!*accelbench: test_pace.py::test_walk: unknown technique 'pase' for numpy; expected one of:*pace*!"]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_toggles_of_two_frameworks_on_one_test_are_refused(project: Project) -> None:
    mixed = '\n@toggles("numpy", "pace")\n@toggles("torch", "amp")\ndef test_walk(measure): ...\n'
    project.benchmark("slow", "quick", tests=mixed)
    result = project.run()
    assert result.ret == BAD_INPUT
    result.stdout.fnmatch_lines(["*test_walk: toggles techniques of numpy and torch; a trial runs in one framework*"])


@pytest.mark.parametrize("folder", ["nowhere", "empty"])
def test_a_data_folder_without_images_is_refused(project: Project, folder: str) -> None:
    (project.path / "empty").mkdir()
    line = refusal(project.run(f"--accel-data-dir={folder}"), USAGE_ERROR)
    assert f"{project.path / folder}: " in line
    assert "expected one subfolder of images per class" in line


@pytest.mark.slow
def test_broken_images_are_named_and_counted_in_the_header(project: Project) -> None:
    image = pytest.importorskip("PIL.Image")
    sound = project.write("photographs/cats/sound.png", "")
    image.fromarray(np.zeros((8, 8, 3), dtype=np.uint8)).save(sound)
    project.write("photographs/cats/broken.png", "not an image")
    assert settings(project, "--accel-data-dir=photographs")["own_images"] == 1
    result = project.run("--accel-data-dir=photographs", "--benchmark-disable")
    result.stdout.fnmatch_lines(["accelbench: 1 of its images cannot be decoded and are left out: cats/broken.png"])


def test_a_results_folder_that_is_a_file_is_refused_before_anything_is_measured(project: Project) -> None:
    project.configure("accelbench_results = results")
    project.write("results", "a file")
    line = refusal(project.run("--benchmark-save=NAME"), BAD_INPUT)
    assert "results cannot be written there (Not a directory)" in line
    assert "--benchmark-storage" in line


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="there is no folder here that nobody can write to")
@pytest.mark.parametrize("options", [("--benchmark-autosave",), ()], ids=["a name", "no name"])
def test_a_results_folder_that_nobody_can_write_to_is_refused(project: Project, options: tuple[str, ...]) -> None:
    assert "/proc/results: results cannot be written there" in refusal(
        project.run(*options, "--benchmark-storage=/proc/results"), BAD_INPUT
    )


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="permissions do not bind this user")
def test_a_read_only_results_folder_is_refused(project: Project) -> None:
    folder = project.path / "results"
    folder.mkdir(mode=0o555)
    line = refusal(project.run("--benchmark-save=NAME", f"--benchmark-storage={folder}"), BAD_INPUT)
    assert "results cannot be written there (Permission denied)" in line


def test_a_full_disk_is_refused_before_anything_is_measured(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=2**20))
    line = refusal(project.run("--benchmark-save=NAME"), BAD_INPUT)
    assert "only 1.00 MiB free, and results need 8.00 MiB" in line


@pytest.mark.parametrize("options", [(), ("--benchmark-disable",)])
def test_an_interpreter_that_cannot_serve_ends_the_session_with_one_line(
    project: Project, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setenv("ACCELBENCH_PYTHON_NUMPY", "/nowhere/python")
    said = refusal(project.run(*options), BAD_INPUT)
    assert "accelbench: ACCELBENCH_PYTHON_NUMPY='/nowhere/python': no such program; name the Python interpreter" in said


def test_an_interpreter_of_a_framework_that_nothing_is_measured_in_is_not_asked_for(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCELBENCH_PYTHON_TORCH", "/nowhere/python")
    assert project.run("--benchmark-disable").ret == 0
