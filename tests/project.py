"""A small repository of somebody else's, with a benchmark in it: what the plugin's tests run pytest on."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import hypothesis  # noqa: F401  whose plugin would load it at the end of every session
import numpy.fft  # noqa: F401  which cannot be loaded twice, nor can NumPy
import pytest

import accelbench.report.page  # noqa: F401  which loads pandas and more of the same kind
from accelbench.measuring.workers import pool as pools
from accelbench.measuring.workers.process import Worker

# What a session loads when it measures, and what renders its report, loaded once for all of them: pytester unloads the
# modules that a test was the first to import, and some of them cannot be loaded twice.

DECLARED = '''
import os
import time

import pytest
from accelbench import Arm, technique, toggles, workload


@technique("numpy", levels={levels!r}, tolerance={{level: 2.0 for level in {levels!r} if level == "lax"}})
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
def test_walk(measure):
    measure("walk")
"""


def narrow_intervals(path: Path) -> None:
    """Give every effect of a result file a narrow interval, since a busy machine decides nothing in a moment."""
    document = json.loads(path.read_text())
    arms = (arm for trial in document["accelbench"]["trials"] for arm in trial["arms"])
    for effect in (effect for arm in arms for effect in arm["effects"]):
        low, high = effect["speedup"] / 1.02, effect["speedup"] * 1.02
        verdict = "faster" if low > 1.01 else "slower" if high < 1 / 1.01 else "undecided"
        effect.update(low=low, high=high, verdict=verdict)
    path.write_text(json.dumps(document))


SETTLE = """
import os, sys
os.chdir(folder)
os.environ.clear()
os.environ.update(environment)
for name, module in list(sys.modules.items()):
    if str(getattr(module, "__file__", "")).startswith(sys.path[0]):
        del sys.modules[name]
sys.path[:] = path
catalogues = [vars(sys.modules[f"accelbench.core.{name}"])[f"_{name.upper()}S"] for name in ("technique", "workload")]
own = vars(sys).setdefault("own_catalogues", [dict(catalogue) for catalogue in catalogues])
for catalogue, declared in zip(catalogues, own):
    catalogue.clear()
    catalogue.update(declared)
"""


class WarmWorker(Worker):
    """A worker that the next session takes over, as a trial takes over that of the trial before it.

    The start of a worker takes as long as all else that a small session does. Where a worker was lost, interrupted or
    changed, the next session gets another one.
    """

    idle: ClassVar[list["WarmWorker"]] = []
    is_spoiled = False

    @classmethod
    def take(cls, framework: str, environment: Mapping[str, str]) -> Worker:
        """Return a worker that is idle, or a new one."""
        if framework != "numpy" or environment:
            return Worker(framework, environment)
        worker = cls.idle.pop() if cls.idle else cls(framework, environment)
        path = [str(Path.cwd()), *filter(None, sys.path)]
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join(path[1:])}
        worker.call(exec, SETTLE, {"folder": path[0], "environment": variables, "path": path})
        return worker

    def ask(self, *order: Any, **options: Any) -> Any:
        """Send an order and return the reply."""
        was_spoiled, self.is_spoiled = self.is_spoiled, True  # until there is a reply
        reply = super().ask(*order, **options)
        self.is_spoiled = was_spoiled or getattr(reply, "changes_process", False)
        return reply

    def close(self) -> None:
        """Wait for the next session, or end."""
        if self.is_spoiled:
            super().close()
        else:
            self.idle.append(self)

    @classmethod
    def close_idle(cls) -> None:
        """End the workers that wait."""
        while cls.idle:
            Worker.close(cls.idle.pop())


class Project:
    """A repository in which accelbench is used, but not developed.

    ``starts_workers`` says whether each session starts workers of its own, as it does elsewhere.
    """

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester
        self.path = pytester.path
        self.starts_workers = False

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
        """Run pytest in this process, at a budget of next to nothing; forget what the project declares afterwards."""
        with pytest.MonkeyPatch.context() as patch:
            for module, catalogue in (("technique", "_TECHNIQUES"), ("workload", "_WORKLOADS")):
                home = sys.modules[f"accelbench.core.{module}"]
                patch.setattr(home, catalogue, dict(getattr(home, catalogue)))
            if not self.starts_workers:
                patch.setattr(pools, "Worker", WarmWorker.take)
            return self._pytester.runpytest_inprocess("--accel-budget=0.1", "--accel-visits=1", *map(str, arguments))

    def run_subprocess(self, *arguments: object) -> pytest.RunResult:
        """Run pytest in a process of its own, which may die or be changed for good."""
        return self._pytester.runpytest_subprocess("--accel-budget=0.1", "--accel-visits=1", *map(str, arguments))
