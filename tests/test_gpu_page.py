"""What the page on GPU machines says holds: its commands parse, its options and counts are those of the suite."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from test_measuring_alone import LEFT_OUT

from harness.hosting.suite import Suite

CHECKOUT = Path(__file__).parent.parent
PAGE = (CHECKOUT / "docs" / "gpu.md").read_text()
SCRIPTS = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
ELSEWHERE = {"tqdm", "packaging"}  # only the reading wing and the doctor import them


def test_every_command_is_shell() -> None:
    subprocess.run(["sh", "-n"], input=SCRIPTS.encode(), check=True)


def test_every_option_of_pytest_exists(pytester: pytest.Pytester) -> None:
    known = pytester.runpytest_inprocess("--help").stdout.str()
    asked = set(re.findall(r"--(?:accel|benchmark)-[\w-]+", SCRIPTS))
    assert len(asked) > 3
    assert [option for option in asked if option not in known] == []


def test_every_module_of_the_suite_but_those_of_tensorflow_has_its_row() -> None:
    modules = {path.name for path in (CHECKOUT / "benchmarks").glob("test_*.py")}
    assert modules - set(re.findall(r"test_\w+\.py", PAGE.partition("## What is measured")[2])) == {
        "test_loop.py", "test_tf_data.py", "test_xla.py"
    }  # fmt: skip


def test_the_packages_that_measuring_needs_are_named() -> None:
    told = PAGE.partition("constraints.txt array-api-compat")[2].partition("```")[0]
    named = {"array-api-compat", *re.findall(r"[\w-]{3,}", told)}
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[<>=\[]", each)[0] for each in project["dependencies"]}
    assert named == {each for each in needed if each.lower() not in LEFT_OUT} - ELSEWHERE


def test_every_arm_beside_a_public_figure_exists(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Suite, "_accelerators", lambda *_: ())  # else workers would import every framework
    found: set[str] = set()

    class Collecting:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            found.update(item.name for item in session.items)

    settings = (f"--rootdir={CHECKOUT}", "-c", CHECKOUT / "pyproject.toml", "--accel-size=full")
    pytester.inline_run(*settings, "--collect-only", "-q", CHECKOUT / "benchmarks", plugins=[Collecting()])
    named = set(re.findall(r"`(test_\w+\[[^`…]+\])`", PAGE))
    assert len(named) > 5
    assert named - found == set()
