"""The command that measures a trial again selects its tests and no others, under the same options."""

import shlex
import subprocess
from pathlib import Path

import pytest
from _pytest.mark import deselect_by_keyword
from hostile import TEXTS
from runs import arm, trial

from accelbench.core import load_builtins
from accelbench.pytest_plugin.options import Options, RunConfig, read_options
from accelbench.pytest_plugin.plugin import SESSION
from accelbench.pytest_plugin.session import Session
from accelbench.report.sections import rerun

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
WALK = """
@pytest.mark.parametrize("hills", [1, 10, 100], ids=["1", "10", "1 = one"])
@toggles("numpy", "pace")
def test_walk(measure, hills, pace):
    measure("walk", hills=hills, pace=pace)
"""


def arguments(command):
    return shlex.split(command)[1:]


def asked_again(own, path="test_pace.py"):
    return rerun(trial(arm({"pace": "slow"}), arm({"pace": "quick"}), id=f"{path}::test_walk[{own}]"), {})


class Selecting:
    """A plugin that holds what every trial's command selects against the tests that the trial consists of."""

    def __init__(self):
        self.wrong, self.right = [], 0

    def pytest_collection_finish(self, session):
        trials = session.config.stash[SESSION].trials
        tests = {}
        for item in session.items:
            tests.setdefault(trials[item.nodeid].id, []).append(item)
        for name, own in tests.items():
            techniques = [technique.name for technique in trials[own[0].nodeid].techniques]
            test, *keyword = arguments(rerun(trial(arm({}), id=name, techniques=techniques), {}))[:-1]
            chosen = [item for item in session.items if item.nodeid.partition("[")[0] == test]
            session.config.option.keyword = keyword[1] if keyword else ""
            deselect_by_keyword(chosen, session.config)
            self.right += chosen == own
            self.wrong += [name] if chosen != own else []


def test_the_command_of_every_trial_of_the_suite_selects_exactly_its_tests(pytester, monkeypatch):
    monkeypatch.setattr(Session, "_accelerators", lambda *_: ())  # else workers would import every framework
    load_builtins()
    selecting = Selecting()
    root = BENCHMARKS.parent
    settings = (f"--rootdir={root}", "-c", root / "pyproject.toml")
    pytester.inline_run(*settings, "--collect-only", "-q", BENCHMARKS, plugins=[selecting])
    assert selecting.wrong == []
    assert selecting.right > 100


@pytest.mark.parametrize("own", ["1", "1 = one"])
def test_the_command_selects_one_trial_whatever_its_parameters_are_called(project, own):
    project.benchmark("slow", "quick", tests=WALK)
    *selection, saving = arguments(asked_again(own))
    assert saving == "--benchmark-save=again"  # which warns that nothing was measured
    lines = project.run(*selection, "--collect-only", "-q").outlines
    found = [line for line in lines if "::" in line]
    assert found == [f"test_pace.py::test_walk[{own}-pace-{level}]" for level in ("slow", "quick")]


def test_a_test_without_parameters_of_its_own_is_named_alone():
    walked = trial(arm({"pace": "slow"}), id="test_pace.py::test_walk")
    assert rerun(walked, {}) == "pytest test_pace.py::test_walk --benchmark-save=again"


def test_the_command_asks_for_what_the_run_was_asked_for(pytester):
    asked = Options(
        size="full", budget_s=0.7, visits=3, noise=0.02, max_batch=256, max_workers=99, timeout_s=300.0, seed=7,
        minutes=None, within_minutes=None, data_dir=None, resume=False, wait=False, cold_cache=True,
    )  # fmt: skip
    command = rerun(trial(arm({})), RunConfig(asked, rehearse=False).settings)
    assert read_options(pytester.parseconfig(*arguments(command))) == asked


def test_what_was_left_at_its_default_is_left_out(pytester):
    usual = RunConfig(read_options(pytester.parseconfig()), rehearse=False).settings
    assert [each for each in arguments(rerun(trial(arm({})), usual)) if each.startswith("--accel")] == [
        f"--accel-size={usual['size']}"
    ]


@pytest.mark.parametrize("text", [text for text in TEXTS if "\0" not in text])
def test_a_shell_takes_every_name_for_a_name(text):
    command = asked_again(f"{text}'; echo $(id) `id` #", path=f"$(id)-{text}.py")
    printed = subprocess.run(
        ["sh", "-c", command.replace("pytest", r"printf '%s\0'", 1)], capture_output=True, check=True
    )
    assert printed.stdout.decode().split("\0")[:-1] == arguments(command)


@pytest.mark.parametrize("path", ["-pevil", "--rootdir=/", "@arguments"])
def test_a_name_is_never_an_option(path):
    assert arguments(asked_again("1", path))[0] == f"./{path}::test_walk"
