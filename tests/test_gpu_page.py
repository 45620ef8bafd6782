"""What the page on GPU machines says holds: its commands parse, its options and counts are those of the suite."""

import re
import shlex
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from test_measuring_alone import LEFT_OUT

from harness.hosting.suite import Suite

CHECKOUT = Path(__file__).parent.parent
PAGE = (CHECKOUT / "docs" / "gpu.md").read_text()
SCRIPTS = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
ELSEWHERE = {"tqdm", "packaging"}  # only the reading wing and the doctor import them
GPU = ("--accel-size=full", "--accel-max-batch=16384", "--accel-max-workers=16")  # as there, on a host of 16 cores
NO_TENSORFLOW = "not toggles(framework='tensorflow')"
COMMANDS = re.compile(r"^timeout --signal=INT 9m python -m pytest (.*)$", re.MULTILINE)


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


@pytest.fixture
def collected(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return the ids of the tests that pytest collects with some arguments at full size, as beside a GPU."""
    monkeypatch.setattr(Suite, "_accelerators", lambda *_: ())  # else workers would import every framework

    def collect(*arguments: str) -> list[str]:
        found: list[str] = []

        class Collecting:
            def pytest_collection_finish(self, session: pytest.Session) -> None:
                found.extend(item.nodeid for item in session.items)

        # By importlib, since tests of the same names may have been imported.
        settings = (f"--rootdir={CHECKOUT}", "-c", CHECKOUT / "pyproject.toml", "--import-mode=importlib", *GPU)
        paths = [f"{CHECKOUT}/{each}" if each.startswith("benchmarks") else each for each in arguments]
        pytester.inline_run(*settings, "--collect-only", "-q", *paths, plugins=[Collecting()])
        return found

    return collect


def test_every_arm_and_trial_that_is_named_exists(collected: Callable[..., list[str]]) -> None:
    named = set(re.findall(r"`(test_\w+\[[^`…]+\])`", PAGE))
    assert len(named) > 5
    found = {arm.partition("::")[2] for arm in collected("benchmarks")}
    trials = {name for name in named if any(arm.startswith(f"{name[:-1]}-") for arm in found)}
    assert named - found - trials == set()


def test_every_row_of_what_is_measured_counts_the_arms_of_its_modules(collected: Callable[..., list[str]]) -> None:
    section = PAGE.partition("## What is measured")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| [^|]+ \| (`test_[^|]+\.py`) \| (\d+) \|$", section, re.MULTILINE)
    arms = Counter(Path(arm.partition("::")[0]).name for arm in collected("benchmarks", "-m", NO_TENSORFLOW))
    assert [sum(arms[module] for module in re.findall(r"test_\w+\.py", modules)) for modules, _ in rows] == [
        int(count) for _, count in rows
    ]
    assert f"the {arms.total()} arms" in section


def test_every_command_of_the_half_hour_collects_as_many_arms_as_its_row_says(
    collected: Callable[..., list[str]],
) -> None:
    section = PAGE.partition("## With half an hour")[2].partition("\n## ")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", section, re.MULTILINE))
    commands = [shlex.split(line) for line in COMMANDS.findall(section.replace("\\\n", ""))]
    arms = {_value(words, "--benchmark-save"): len(collected(*_selection(words))) for words in commands}
    assert len(arms) > 3
    assert arms == {name: int(count) for name, count in told.items()}


def _selection(words: list[str]) -> list[str]:
    """Return the modules of a command, and what it picks of them."""
    modules = [word for word in words if word.startswith("benchmarks/")]
    return [*modules, "-k", words[words.index("-k") + 1]] if "-k" in words else modules


def _value(words: list[str], option: str) -> str:
    return next(word.partition("=")[2] for word in words if word.startswith(option))
