"""A small repository of somebody else's, with a benchmark in it: what the plugin's tests run pytest on."""

from pathlib import Path

import pytest

DECLARED = '''
import os
import time

import pytest
from harness import Arm, technique, toggles, workload


@technique("numpy", levels={levels!r}, tolerance={{"lax": 2.0}})
def pace(build, level):
    """How to walk."""
    return build(pace=level)


@technique("numpy", levels=("short", "long"))
def stride(build, level):
    """How far a step reaches."""
    return build(stride=level)


@workload("numpy", unit="step")
def walk(setting, *, pace="slow", stride="short", hills=0):
    """Walk, or stumble."""

    def step():
        if pace == "die":
            os._exit(3)
        if pace == "devour":
            raise MemoryError("no room")
        if pace == "hang":
            time.sleep(600)
        if pace == "burst":
            raise RuntimeError("the boiler burst")
        if pace == "slow":
            time.sleep(0.0005)
        return 2.0 if pace in ("stray", "lax") else 1.0

    return Arm(step=step)

'''

WALK = """
@toggles("numpy", "pace")
def test_walk(measure, pace):
    measure("walk", pace=pace)
"""


class Project:
    """A repository in which accelbench is used, but not developed."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester
        self.path = pytester.path

    def configure(self, *lines: str) -> None:
        """Write the project's pytest settings."""
        self._pytester.makeini("\n".join(["[pytest]", "filterwarnings = error", *lines]))

    def benchmark(self, *levels: str, tests: str = WALK) -> None:
        """Write a module that declares a technique with these levels, and its tests."""
        self.write("test_pace.py", DECLARED.format(levels=levels) + tests)

    def write(self, name: str, text: str) -> Path:
        """Write a file."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run(self, *arguments: object) -> pytest.RunResult:
        """Run pytest in a process of its own, at a budget of next to nothing."""
        return self._pytester.runpytest_subprocess("--accel-budget=0.05", *map(str, arguments))
