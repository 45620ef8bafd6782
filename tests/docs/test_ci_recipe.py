"""The recipes for CI are valid YAML and shell. Their commands and options are tested with those of all pages."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).parents[2]
TUTORIAL = CHECKOUT / "docs" / "tutorials" / "ci.md"
HOW_TO = CHECKOUT / "docs" / "how-to" / "ci.md"
ACTION = yaml.safe_load((CHECKOUT / "action.yml").read_text())


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def steps() -> list[dict]:
    (workflow,) = blocks(TUTORIAL, "yaml")
    (publishing,) = blocks(HOW_TO, "yaml")
    return [*yaml.safe_load(workflow)["jobs"]["measure"]["steps"], *yaml.safe_load(publishing)["steps"]]


def test_the_workflow_restores_measures_comments_keeps_and_publishes() -> None:
    named = [step.get("name", "") for step in steps()]
    assert named == [
        "", "Restore the history", "Install", "Measure, report and check", "Comment", "Keep the run",
        "Restore the pages", "Publish the page",
    ]  # fmt: skip


def test_the_workflow_gives_the_action_inputs_that_it_has() -> None:
    (given,) = (step["with"] for step in steps() if "accelbench" in step.get("uses", ""))
    assert given.keys() <= ACTION["inputs"].keys()


@pytest.mark.parametrize("place", range(8))
def test_every_script_is_shell(place: int) -> None:
    shown = [*blocks(TUTORIAL, "sh"), *blocks(HOW_TO, "sh")]
    scripts = [*shown, "\n".join(step["run"] for step in steps() if "run" in step)]
    script = re.sub(r"\$\{\{.*?\}\}", "value", scripts[place])
    subprocess.run(["sh", "-n"], input=script.encode(), check=True)
