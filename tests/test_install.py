"""What an installation needs: measuring works without any extra, and a command that needs one names it."""

import json
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from accelbench.cli.output import REPORT_MODULES

CHECKOUT = Path(__file__).parents[1]
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
NEVER_NEEDED = (*REPORT_MODULES, "statsmodels", "tabulate", "pyDOE3", "torch", "tensorflow", "keras", "cupy")
# Packages that only reading results needs, and accelbench itself: a host that only measures may lack them.
LEFT_OUT = ("accelbench", "pandas", "seaborn", "matplotlib", "scipy", "statsmodels", "ruptures", "jinja2", "pyarrow",
            "fsspec", "tqdm", "tabulate", "click", "rich")  # fmt: skip


def accelbench(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command where neither the extra `report` nor a framework can be imported."""
    blocked = f"import sys; sys.modules.update(dict.fromkeys({NEVER_NEEDED!r}))"
    code = f"{blocked}; from accelbench.cli import main; sys.argv = {['accelbench', *arguments]!r}; main()"
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)


def names(requirements: list[str]) -> list[str]:
    return [re.split(r"[<>=\[]", requirement)[0].lower() for requirement in requirements]


def test_measuring_has_fewer_than_fifteen_dependencies_and_none_that_reads_or_draws() -> None:
    needed = names(PROJECT["dependencies"])
    assert len(needed) < 15
    assert not {name.lower() for name in NEVER_NEEDED} & set(needed)


def test_the_modules_of_the_extra_are_those_whose_absence_is_explained() -> None:
    assert names(PROJECT["optional-dependencies"]["report"]) == list(REPORT_MODULES)


@pytest.mark.parametrize(
    "arguments",
    [
        ("report",),
        ("compare", "1", "2"),
        ("check",),
        ("export", "--format", "bmf"),
        ("export", "--format", "asv"),
    ],
    ids=" ".join,
)
def test_a_command_that_needs_the_extra_says_so_in_one_line(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    done = accelbench(*arguments, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(
        r"Error: this command needs \w+, which is not installed; install it: pip install 'accelbench\[report\]'\n",
        done.stderr,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        pytest.param(("advise", "ladder-chain", "--budget", "1s"), marks=pytest.mark.slow),
        ("doctor", "--json"),
        ("report", "--help"),
    ],
    ids=" ".join,
)
def test_what_measures_needs_no_extra(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = accelbench(*arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_callables_are_compared_without_extras(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({NEVER_NEEDED!r})); import accelbench; "
        "print(accelbench.compare({'a': lambda: sum(range(500)), 'b': lambda: 500 * 499 // 2}, budget_s=0.2))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert re.search(r"^a .*\n^b ", done.stdout, re.MULTILINE), done.stderr
    assert re.search(r"^b .*×.*–.*(faster|undecided) *$", done.stdout, re.MULTILINE), done.stdout


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
@pytest.mark.slow
def test_the_suite_is_collected_and_a_trial_measured(python: Path, tmp_path: Path) -> None:
    missing = f"import importlib.util as found; print([name for name in {LEFT_OUT!r} if found.find_spec(name)])"
    assert subprocess.run([python, "-c", missing], capture_output=True, text=True).stdout.strip() == "[]"
    command = [python, "-m", "pytest", "benchmarks", "-p", "no:cacheprovider", "-k", "numpy and row-normalisation"]
    options = [
        "--accel-budget=0.05",
        "--accel-visits=1",
        "--accel-wait",
        "--accel-minutes=8",
        f"--benchmark-storage={tmp_path}",
    ]
    done = subprocess.run(
        [*command, *options, "--benchmark-save=alone"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = tmp_path.rglob("*_alone.json")
    (trial,) = json.loads(file.read_text())["accelbench"]["trials"]
    assert {arm["outcome"] for arm in trial["arms"]} == {"measured"}


def test_importing_the_package_loads_no_framework_and_nothing_heavy() -> None:
    heavy = "torch tensorflow keras cupy numpy scipy pandas seaborn matplotlib pytest psutil joblib msgspec"
    found = f"import sys, accelbench; print([name for name in {heavy.split()!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
