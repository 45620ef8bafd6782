"""The command, as a user types it."""

import re
import subprocess
import sys

import pytest
from click.testing import CliRunner
from runs import arm, effect, run, save, trial

from harness.cli import main

SIMPLE = run(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster"))))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "--colour"], "No such option '--colour'; see accelbench report --help"),
        (["--colour"], "No such option '--colour'; see accelbench --help"),
        (["render"], "No such command 'render'; see accelbench --help"),
        (["doctor", "a"], "Got unexpected extra argument (a); see accelbench doctor --help"),
    ],
)
def test_a_mistyped_command_is_one_line(arguments, words):
    result = CliRunner().invoke(main, arguments, prog_name="accelbench")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"Error: {words}\n")


@pytest.mark.parametrize("arguments", [["--help"], ["report", "--help"], ["report", "-h"], ["doctor", "--help"]])
def test_help_gives_an_example(arguments):
    result = CliRunner().invoke(main, arguments)
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
