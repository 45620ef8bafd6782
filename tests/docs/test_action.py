"""The reusable action does on a machine what a workflow would make it do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ACTION = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
BENCHMARK = """
import accelbench
import numpy as np

x = np.random.default_rng(0).random(10_000)
test_cube = accelbench.versions("cube", {"power": lambda: x**3, "product": lambda: x * x * x})
"""


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """A repository with a benchmark whose runs are kept in results/."""
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naccelbench_results = "results"\n')
    (tmp_path / "test_cube.py").write_text(BENCHMARK)
    return tmp_path


def run(step: str, runner: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the script of a step as a runner does, with these inputs and the defaults of the others."""
    values = {name: str(each["default"]) for name, each in ACTION["inputs"].items()} | inputs
    given = {}
    for name, value in STEPS[step]["env"].items():
        (expression,) = [value.removeprefix("${{ inputs.").removesuffix(" }}")]
        given[name] = values[expression]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    files = {"GITHUB_STEP_SUMMARY": str(runner / "summary.md"), "GITHUB_OUTPUT": str(runner / "output")}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[step]["run"]],
        cwd=runner, env={**os.environ, **given, **files, "PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_a_first_run_is_measured_summarised_and_undecided(runner: Path) -> None:
    arguments = "--accel-budget=0.05\n--accel-visits=1\n-k=cube and not nothing"
    measured = run("Measure", runner, tests="test_cube.py", arguments=arguments)
    assert measured.returncode == 0, measured.stdout
    assert len(list((runner / "results").glob("*/0001_ci.json"))) == 1
    reported = run("Report", runner)
    assert reported.returncode == 0, reported.stderr
    assert (runner / "reports" / "ci" / "index.html").exists()
    checked = run("Check", runner)
    assert checked.returncode == 0, checked.stderr
    assert (runner / "output").read_text() == "status=0\n"
    summary = (runner / "summary.md").read_text()
    assert summary.startswith("# Which acceleration techniques pay here?")
    assert "0 earlier runs are too few" in summary
    assert run("Check", runner, strict="true").returncode == 3
    assert (runner / "output").read_text() == "status=0\nstatus=3\n"


@pytest.mark.slow
def test_results_that_are_not_there_fail_the_check_with_their_name(runner: Path) -> None:
    checked = run("Check", runner, results="nowhere")
    assert checked.returncode == 2
    assert "nowhere" in checked.stderr


@pytest.mark.parametrize("step", STEPS)
def test_inputs_reach_scripts_only_by_the_environment(step: str) -> None:
    assert "${{" not in STEPS[step]["run"]
