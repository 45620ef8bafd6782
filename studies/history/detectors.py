"""The detectors: accelbench, installed tools in environments of their own, and the rules of other tools."""

from __future__ import annotations

import json
import subprocess
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from accelbench.errors import AccelbenchError
from accelbench.history.change_points import measure_level_shifts, segment
from studies.history import rules
from studies.history.rules import Alarm
from studies.history.simulated_series import Series

ENVIRONMENTS = Path(__file__).parents[2] / ".tox" / "evaluation"
_SCRIPT = Path(__file__).with_name("ask_peer.py")


class Unreachable(AccelbenchError):
    """A tool cannot be installed."""


@dataclass(frozen=True)
class Detector:
    """A detector of changes in series; this project's own stands in bold."""

    name: str
    find: Callable[[Sequence[Series]], list[list[Alarm]]]
    ours: bool = False

    def find_in(self, groups: Sequence[Sequence[Series]]) -> list[list[list[Alarm]]]:
        """Return the alarms in each series of each group, from one call, since a tool takes long to start."""
        found = iter(self.find([series for group in groups for series in group]))
        return [list(islice(found, len(group))) for group in groups]

    def __str__(self) -> str:
        """Return the name as Markdown."""
        return f"**{self.name}**" if self.ours else self.name


@dataclass(frozen=True)
class Installed:
    """A published package, in an environment of its own, since some pin old libraries."""

    requirement: str
    answer: str

    @property
    def _environment(self) -> Path:
        return ENVIRONMENTS / self.requirement.replace("==", "-")

    def prepare(self) -> None:
        """Install the tool, unless it is installed.

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
        """Return the tool's alarms in each series."""
        logs = json.dumps([each.values.tolist() for each in series])
        command = [self._environment / "bin" / "python", _SCRIPT, self.answer]
        answers = json.loads(subprocess.run(command, check=True, input=logs, stdout=subprocess.PIPE, text=True).stdout)
        return [[Alarm(at, slower) for at, slower in found] for found in answers]


def _each(rule: Callable[[Series], list[Alarm]]) -> Callable[[Sequence[Series]], list[list[Alarm]]]:
    return partial(_apply, rule)


def _apply(rule: Callable[[Series], list[Alarm]], series: Sequence[Series]) -> list[list[Alarm]]:
    return [rule(each) for each in series]


def _ours(series: Series) -> list[Alarm]:
    """Return the changes of level; a transient that is over is reported to users, but not as a change.

    The end of a level that only the first runs had is no change either, unless something is known to have changed then.
    """
    lasting = [
        step for step in measure_level_shifts(segment(series.values)) if step.end is None and not step.after_opening
    ]
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
