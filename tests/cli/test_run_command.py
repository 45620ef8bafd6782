"""`accelbench run`: the suite in any folder."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ACCELBENCH = (sys.executable, "-m", "accelbench", "run")


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ACCELBENCH, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def collected(*arguments: str, folder: Path) -> list[str]:
    """Return the ids of the tests that would run, of modules that ask for no accelerator."""
    narrowed = "--ignore-glob=/*/test_[!mn]*.py", "-k", "test_numpy_threads or bert and amp"
    done = run(*arguments, *narrowed, "--collect-only", "-q", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.mark.slow
def test_a_selection_is_measured_saved_and_left_to_report(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--nosuch-option"\n')
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    modules = "--ignore-glob=/*/test_[!v]*.py"  # none that asks for an accelerator, which takes seconds
    options = "-k", "numpy and row-normalisation", "--accel-budget=0.05", "--accel-visits=1"
    done = run("quick", modules, *options, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = (tmp_path / "results").rglob("*.json")
    assert file.name == "0001_quick.json"
    (trial,) = json.loads(file.read_text())["accelbench"]["trials"]
    assert trial["id"].startswith("benchmarks/test_")
    assert f"saved in {file.relative_to(tmp_path)}; render it with: accelbench report" in done.stdout
    assert "warnings summary" not in done.stdout
    status = subprocess.run(["git", "status", "--short"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert status.stdout == "?? pyproject.toml\n"


@pytest.mark.slow
def test_quick_is_the_default_and_leaves_out_what_takes_long(tmp_path: Path) -> None:
    quick, every = collected(folder=tmp_path), collected("all", folder=tmp_path)
    assert set(quick) < set(every)
    assert any("amp-fp16" in name for name in set(every) - set(quick))
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_a_selection_of_nothing_but_what_quick_leaves_out_says_so(tmp_path: Path) -> None:
    done = run("--ignore-glob=/*/test_[!m]*.py", "-k", "resnet18 and amp-fp16", folder=tmp_path)
    assert not (tmp_path / "results").exists()
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "No benchmark of a quick run is what you selected; all of them: accelbench run all ..." in done.stderr


def test_a_mistyped_selection_is_one_line(tmp_path: Path) -> None:
    done = run("quik", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "Error: 'quik' is no selection; expected quick or all, then options of pytest such as -k amp\n"
    )


@pytest.mark.slow
def test_an_option_that_pytest_does_not_know_is_pytests_error(tmp_path: Path) -> None:
    done = run("quick", "--accel-bugdet=1", folder=tmp_path)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "unrecognized arguments: --accel-bugdet=1" in done.stderr
    assert [*tmp_path.iterdir()] == []
