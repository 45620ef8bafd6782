"""Who is compared: this project's detector, installed tools in environments of their own, and rules of others."""

from __future__ import annotations

import json
import subprocess
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import rules
from generators import Series
from rules import Alarm

from harness.errors import HarnessError
from harness.reading.history.changes.steps import steps

ENVIRONMENTS = Path(__file__).parents[2] / ".tox" / "evaluation"
_ASKED = Path(__file__).with_name("answers_of_peer.py")


class Unreachable(HarnessError):
    """A tool is not there and cannot be installed."""


@dataclass(frozen=True)
class Detector:
    """Something that reports changes in series; what is ours stands in bold."""

    name: str
    find: Callable[[Sequence[Series]], list[list[Alarm]]]
    ours: bool = False

    def find_in(self, groups: Sequence[Sequence[Series]]) -> list[list[list[Alarm]]]:
        """Return what it reports in each series of each group; it is asked once, since a tool takes long to start."""
        found = iter(self.find([series for group in groups for series in group]))
        return [list(islice(found, len(group))) for group in groups]

    def __str__(self) -> str:
        """Return the name as Markdown."""
        return f"**{self.name}**" if self.ours else self.name


@dataclass(frozen=True)
class Installed:
    """A tool as its users have it: the package in an environment of its own, since some pin old libraries."""

    requirement: str
    answer: str

    @property
    def _environment(self) -> Path:
        return ENVIRONMENTS / self.requirement.replace("==", "-")

    def prepare(self) -> None:
        """Install the tool where it is not yet.

        Raises:
            Unreachable: it cannot be installed.
        """
        ready = self._environment / "ready"
        if ready.exists():
            return
        venv.create(self._environment, with_pip=True, clear=True)
        command = [self._environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--quiet", self.requirement]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise Unreachable(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "pip failed")
        ready.touch()

    def __call__(self, series: Sequence[Series]) -> list[list[Alarm]]:
        """Return what the tool reports."""
        logs = json.dumps([each.values.tolist() for each in series])
        command = [self._environment / "bin" / "python", _ASKED, self.answer]
        answers = json.loads(subprocess.run(command, check=True, input=logs, stdout=subprocess.PIPE, text=True).stdout)
        return [[Alarm(at, slower) for at, slower in found] for found in answers]


def _each(rule: Callable[[Series], list[Alarm]]) -> Callable[[Sequence[Series]], list[list[Alarm]]]:
    return partial(_applied, rule)


def _applied(rule: Callable[[Series], list[Alarm]], series: Sequence[Series]) -> list[list[Alarm]]:
    return [rule(each) for each in series]


def _ours(series: Series) -> list[Alarm]:
    """Return the changes of level; an episode that is over is told to users, too, but not as a change.

    Nor is the end of what only the first runs had, unless something is known to have changed then, as nothing is here.
    """
    lasting = [step for step in steps(series.values) if step.over is None and not step.opening]
    return [Alarm(step.at, step.ratio > 1) for step in lasting]


OURS = Detector("accelbench", _each(_ours), ours=True)
OTAVA = Detector("Otava 0.8.0", Installed("apache-otava==0.8.0", "otava"))
ASV = Detector("asv 0.6.5, regressions", Installed("asv==0.6.5", "asv"))
RUPTURES = Detector("ruptures 1.1.10, PELT rbf, 3 ln n", Installed("ruptures==1.1.10", "ruptures"))
TEN_PERCENT = Detector("pytest-benchmark, mean:10%", _each(partial(rules.previous_run, threshold=0.10)))
FIVE_PERCENT = Detector("pytest-benchmark, mean:5%", _each(partial(rules.previous_run, threshold=0.05)))
DETECTORS = (
    OURS,
    RUPTURES,
    OTAVA,
    ASV,
    Detector("asv 0.6.5, all steps", Installed("asv==0.6.5", "asv-steps")),
    Detector("Perfherder's rule", _each(rules.perfherder)),
    Detector("Bencher's t-test, 0.99", _each(rules.bencher)),
    Detector("LNT's rule", _each(rules.lnt)),
    Detector("criterion's rule", _each(rules.criterion)),
    FIVE_PERCENT,
    TEN_PERCENT,
)
