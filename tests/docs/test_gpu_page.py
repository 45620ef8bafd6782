"""What the page on GPU machines says can be done: its commands parse, and select arms of the suite."""

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from test_install import LEFT_OUT

CHECKOUT = Path(__file__).parents[2]
PAGE = (CHECKOUT / "docs" / "how-to" / "gpu.md").read_text()
SCRIPTS = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
ELSEWHERE = {"packaging", "rich", "tqdm"}  # only the reading wing, the doctor and other commands import them
GPU = ("--accel-size=full", "--accel-max-batch=16384", "--accel-max-workers=16")  # as there, on a host of 16 cores
HALF_HOUR = re.findall(r"^timeout --signal=INT 9m python -m pytest (.*)$", SCRIPTS.replace("\\\n", ""), re.MULTILINE)


def test_every_command_is_shell() -> None:
    subprocess.run(["sh", "-n"], input=SCRIPTS.encode(), check=True)


def test_every_option_of_pytest_exists(pytester: pytest.Pytester) -> None:
    help_text = pytester.runpytest_inprocess("--help").stdout.str()
    options = set(re.findall(r"--(?:accel|benchmark)-[\w-]+", SCRIPTS))
    assert len(options) > 3
    assert [option for option in options if option not in help_text] == []


def test_the_packages_that_measuring_needs_are_named() -> None:
    install = PAGE.partition("constraints.txt array-api-compat")[2].partition("```")[0]
    packages = {"array-api-compat", *re.findall(r"[\w-]{3,}", install)}
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[<>=\[]", each)[0] for each in project["dependencies"]}
    assert packages == {each for each in needed if each.lower() not in LEFT_OUT} - ELSEWHERE


def test_every_module_that_is_named_exists() -> None:
    modules = set(re.findall(r"[\w/]*test_\w+\.py", PAGE))
    assert len([module for module in modules if module.startswith("benchmarks/")]) > 10
    assert [module for module in modules if not (CHECKOUT / module).exists()] == []


@pytest.mark.slow
def test_every_arm_and_trial_that_is_named_exists(pytester: pytest.Pytester) -> None:
    named = set(re.findall(r"`(test_\w+\[[^`…]+\])`", PAGE))
    assert len(named) > 5
    arms = {arm.partition("::")[2] for arm in collect(pytester, "benchmarks")}
    trials = {name for name in named if any(arm.startswith(f"{name[:-1]}-") for arm in arms)}
    assert named - arms - trials == set()


@pytest.mark.parametrize("command", HALF_HOUR, ids=lambda command: re.search(r"--benchmark-save=(\w+)", command)[1])
def test_every_command_of_the_half_hour_selects_arms(pytester: pytest.Pytester, command: str) -> None:
    words = shlex.split(command)
    modules = [word for word in words if word.startswith("benchmarks/")]
    selection = ["-k", words[words.index("-k") + 1]] if "-k" in words else []
    arms = collect(pytester, *modules, *selection)
    assert {module.partition("::")[0] for module in modules} == {arm.partition("::")[0] for arm in arms}


def collect(pytester: pytest.Pytester, *arguments: str) -> list[str]:
    """Return the ids of the tests that pytest collects with these arguments at full size, as beside a GPU."""
    ids: list[str] = []

    class Collection:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            ids.extend(item.nodeid for item in session.items)

    # By importlib, since tests of the same names may have been imported.
    settings = (f"--rootdir={CHECKOUT}", "-c", CHECKOUT / "pyproject.toml", "--import-mode=importlib", *GPU)
    paths = [f"{CHECKOUT}/{each}" if each.startswith("benchmarks") else each for each in arguments]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accelbench.measuring.workers.pool.Pool.accelerators", lambda *_: ("cuda:0",))
        pytester.inline_run(*settings, "--collect-only", "-q", *paths, plugins=[Collection()])
    return ids
