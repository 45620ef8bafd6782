"""What the documentation shows of a user's own program runs as it is written there, if for less time."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from project import Project

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_example_is_measured_in_a_repository_of_its_own(project: Project) -> None:
    shutil.copytree(ROOT / "examples", project.path / "examples")
    result = project.run("examples", "--benchmark-disable", "--accel-max-batch=4", "-k", "not fp16")
    result.assert_outcomes(passed=8, skipped=1)  # the program is in float32 and contiguous already


def test_the_documentation_shows_the_example_itself() -> None:
    tutorials = {"my_train": "training_script", "test_my_train": "training_script", "my_simulation": "arrays"}
    for example, tutorial in tutorials.items():
        _, _, code = (ROOT / "examples" / f"{example}.py").read_text().partition('"""\n\n')
        assert code in (ROOT / "docs" / "tutorials" / f"{tutorial}.md").read_text()


def with_a_small_budget(cell: nbformat.NotebookNode) -> int:
    """Shorten what a cell measures, and return how many budgets it names."""
    cell["source"], budgets = re.subn(r"\bbudget_s=[\d.]+", "budget_s=0.4", cell["source"])
    return budgets


@pytest.mark.slow
def test_the_notebook_runs_and_shows_its_results() -> None:
    notebook = nbformat.read(ROOT / "examples" / "in_a_notebook.ipynb", as_version=4)
    budgets = [with_a_small_budget(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert budgets == [0, 1, 1, 0]
    NotebookClient(notebook, timeout=300).execute()
    outputs = ["".join(map(str, cell["outputs"])) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert "<td>products</td>" in outputs[1]
    assert "precision float32" in outputs[2]
    assert "Of the bundle" in outputs[3]
