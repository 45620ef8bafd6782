"""What the documentation shows of a program of one's own runs as it stands there."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from project import Project

ROOT = Path(__file__).parents[1]


def test_the_example_is_measured_in_a_repository_of_its_own(project: Project) -> None:
    shutil.copytree(ROOT / "examples", project.path / "examples")
    result = project.run("examples", "--benchmark-disable", "--accel-max-batch=4", "-k", "not fp16")
    result.assert_outcomes(passed=9)


def test_the_documentation_shows_the_example_itself() -> None:
    shown = (ROOT / "docs" / "your_program.md").read_text()
    for example in ("my_train.py", "test_my_train.py"):
        _, _, code = (ROOT / "examples" / example).read_text().partition('"""\n\n')
        assert code in shown


def test_the_notebook_runs_and_shows_its_results(tmp_path: Path) -> None:
    notebook, done = ROOT / "examples" / "in_a_notebook.ipynb", tmp_path / "done.ipynb"
    subprocess.run([sys.executable, "-m", "jupyter", "execute", notebook, f"--output={done}"], check=True, timeout=300)
    cells = [cell for cell in json.loads(done.read_text())["cells"] if cell["cell_type"] == "code"]
    shown = ["".join(str(output) for output in cell["outputs"]) for cell in cells]
    assert "<td>products</td>" in shown[1]
    assert "precision float32" in shown[2]
    assert "of the bundle" in shown[3]
