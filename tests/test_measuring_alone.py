"""Measuring where only its own packages are: nothing of the reading wing's, and accelbench itself not installed."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent
LEFT_OUT = ("accelbench", "pandas", "seaborn", "matplotlib", "statsmodels", "ruptures", "jinja2", "pyarrow", "fsspec",
            "click", "pydoe3")  # fmt: skip


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A Python with the packages of this one but for those left out."""
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    ours = place / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if not package.name.lower().lstrip("_").startswith((*LEFT_OUT, "editable", "pycache")):
            (ours / package.name).symlink_to(package)
    return place / "bin" / "python"


@pytest.mark.skipif(sys.platform == "win32", reason="links and folders of virtual environments are others there")
def test_the_suite_is_collected_and_a_trial_measured(python: Path, tmp_path: Path) -> None:
    missing = f"import importlib.util as found; print([name for name in {LEFT_OUT!r} if found.find_spec(name)])"
    assert subprocess.run([python, "-c", missing], capture_output=True, text=True).stdout.strip() == "[]"
    command = [python, "-m", "pytest", "benchmarks", "-p", "no:cacheprovider", "-k", "numpy and row-normalisation"]
    options = ["--accel-budget=0.05", "--accel-wait", "--accel-minutes=8", f"--benchmark-storage={tmp_path}"]
    done = subprocess.run(
        [*command, *options, "--benchmark-save=alone"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = tmp_path.rglob("*_alone.json")
    (trial,) = json.loads(file.read_text())["accelbench"]["trials"]
    assert {arm["outcome"] for arm in trial["arms"]} == {"measured"}
