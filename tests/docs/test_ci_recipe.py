"""The recipe for CI is valid YAML and shell. Its commands and options are tested with those of all pages."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

RECIPE = Path(__file__).parents[2] / "docs" / "ci.md"


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
