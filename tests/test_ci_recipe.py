"""What the recipe for CI shows exists: its YAML and shell parse, and every option in it is one of ours or of pytest."""

import re
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from harness.cli import main

RECIPE = Path(__file__).parent.parent / "docs" / "ci.md"
COMMAND = re.compile(r"accelbench (\w+)([^\n|`]*)")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", RECIPE.read_text(), re.DOTALL)


def steps():
    (workflow,) = blocks("yaml")
    return yaml.safe_load(workflow)["jobs"]["measure"]["steps"]


def test_the_workflow_restores_measures_checks_comments_and_publishes():
    named = [step.get("name", "") for step in steps()]
    assert named == [
        "", "Restore the history", "Install", "Measure", "Check", "Comment", "Keep the run", "Restore the pages",
        "Publish the page",
    ]  # fmt: skip


@pytest.mark.parametrize("place", range(7))
def test_every_script_is_shell(place):
    scripts = [*blocks("sh"), "\n".join(step["run"] for step in steps() if "run" in step)]
    script = re.sub(r"\$\{\{.*?\}\}", "value", scripts[place])
    subprocess.run(["sh", "-n"], input=script.encode(), check=True)


def test_every_command_and_option_of_accelbench_exists():
    shown = COMMAND.findall(RECIPE.read_text())
    assert {name for name, _ in shown} == {"check", "compare", "report", "export"}
    for name, rest in shown:
        known = {option: each for each in main.commands[name].params for option in each.opts} | {"--help": None}
        for option, value in re.findall(r"(--[\w-]+)(?: ([\w-]+))?", rest.partition("#")[0].partition(">")[0]):
            assert option in known, f"accelbench {name} {option}"
            if option == "--format":
                assert isinstance(known[option].type, click.Choice)
                assert value in known[option].type.choices


def test_every_option_of_pytest_exists(pytester: pytest.Pytester):
    asked = {
        option for line in re.findall(r"pytest (.*)", RECIPE.read_text()) for option in re.findall(r"--[\w-]+", line)
    }
    known = pytester.runpytest_inprocess("--help").stdout.str()
    assert len(asked) > 2
    assert [option for option in asked if option not in known] == []
