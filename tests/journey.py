"""The small run that `faults.py` breaks, and what is compared once it was continued."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

DAYS = 4  # trials of the run
REFUSED = 2  # exit status
MODULE = '''
import os
import signal
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from harness import Arm, technique, toggles, workload

HERE = Path(__file__).parent


@technique("numpy", levels=("left", "right"))
def hand(build, level):
    """Which factor comes first."""
    return build(hand=level)


@workload("numpy", unit="step")
def march(setting, *, hand="left", day=0):
    """A product of two matrices."""
    with (HERE / "built").open("a") as file:
        file.write(str(day))
    a, b = np.random.default_rng(day).standard_normal((2, 32, 32))
    stumbled = HERE / "stumbled"

    def step():
        if os.environ.get("STUMBLES") == str(day) and not stumbled.exists():
            stumbled.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return a @ b if hand == "left" else (b.T @ a.T).T

    return Arm(step=step)


@pytest.mark.parametrize("day", range({days}))
@toggles("numpy", "hand")
def test_march(measure, day, hand):
    if os.environ.get("KILL_BEFORE") == str(day):
        os.kill(os.getpid(), signal.SIGKILL)
    if os.environ.get("FILL_BEFORE") == str(day):
        with suppress(OSError), (HERE / "results" / "filler").open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
    measure("march", day=day, hand=hand)
'''
CONFTEST = """
import os
import resource
import signal
import sys

# EVENT PART COUNT [BYTES]: die at the count-th such event on a path with this part, or so many bytes later.
fault = os.environ.get("FAULT", "").split()
seen = 0


def watch(event, arguments):
    global seen
    if event != fault[0] or fault[1] not in " ".join(map(str, arguments[:2])):
        return
    if event == "open" and arguments[1] not in ("w", "a"):
        return
    seen += 1
    if seen != int(fault[2]):
        return
    if len(fault) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    size = os.path.getsize(arguments[0]) if os.path.exists(arguments[0]) else 0
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # the kernel kills who writes beyond the limit
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + int(fault[3]),) * 2)


if fault:
    sys.addaudithook(watch)
"""


@dataclass(frozen=True)
class Tally:
    """Trials that had finished before a fault, how many of them were measured again, how many lost, and torn files."""

    finished: int = 0
    again: int = 0
    lost: int = 0
    torn: int = 0

    def __add__(self, other: Tally) -> Tally:
        """Return the tally of both."""
        return Tally(
            self.finished + other.finished, self.again + other.again, self.lost + other.lost, self.torn + other.torn
        )


class Journey:
    """A project of four quick trials, each a day's march."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results = path / "results"
        self.filler = self.results / "filler"  # with which a trial fills the disk
        self.ending = ExitStack()
        (path / "spare").mkdir()
        (path / "test_march.py").write_text(MODULE.replace("{days}", str(DAYS)))
        (path / "conftest.py").write_text(CONFTEST)
        (path / "pytest.ini").write_text("[pytest]\naccelbench_results = results\n")

    def popen(self, *arguments: str, save: str = "q", **variables: object) -> subprocess.Popen[str]:
        """Start the run; variables say how it is to break."""
        own = {"HOME": self.path, "XDG_CACHE_HOME": self.path / "cache", "TMPDIR": self.path / "spare"}
        command = ["-m", "pytest", "-p", "no:cacheprovider", "--accel-budget=0.05", f"--benchmark-save={save}"]
        return subprocess.Popen(
            [sys.executable, "-u", *command, *arguments],
            cwd=self.path,
            env=os.environ | {name: str(value) for name, value in {**own, **variables}.items()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str, **variables: object) -> subprocess.CompletedProcess[str]:
        """Run to the end, whatever it is."""
        with self.popen(*arguments, **variables) as running:
            output, _ = running.communicate()
        return subprocess.CompletedProcess(running.args, running.returncode, output)

    def started(self, day: int) -> subprocess.Popen[str]:
        """Start a run and return when that day's trial begins."""
        running = self.popen()
        assert running.stdout is not None
        assert any(line.startswith(f"[{day + 1}/{DAYS}]") for line in running.stdout)
        return running

    def continued(self, *, finished: int) -> Tally:
        """Continue the broken run, and count what became of the trials that had finished."""
        built = self.path / "built"
        if list(self.results.rglob("*.journal")):
            built.unlink()
            ended = self.run("--resume")
            if ended.returncode == REFUSED and not finished:
                ended = self.run()
            assert ended.returncode == 0, ended.stdout
        assert not finished or not list(self.results.rglob("*.journal"))
        again = sum(str(day) in built.read_text() for day in range(finished)) if built.exists() else 0
        newest = [file for file in self.files() if file.stem.endswith("_q")][-1]
        return Tally(finished, again, self.lost(newest), sum(map(is_torn, self.results.rglob("*.json"))))

    def lost(self, file: Path) -> int:
        """Return how many trials a file lacks or holds otherwise than an unbroken run's."""
        here, whole = shape(json.loads(file.read_bytes())), unbroken()
        assert here.keys() == whole.keys(), sorted(here.keys() ^ whole.keys())
        return sum(here[name] != whole[name] for name in whole)

    def files(self) -> list[Path]:
        """Return the result files."""
        return sorted(self.results.glob("*/*.json"))

    @property
    def journal(self) -> Path:
        """The journal of the broken run."""
        (journal,) = self.results.rglob("*.journal")
        return journal

    def rescued(self) -> bool:
        """Say whether the whole run lies in the temporary folder."""
        return [self.lost(file) for file in (self.path / "spare").glob("*.json")] == [0]

    def mount(self, size_bytes: int) -> None:
        """Give the results a disk of that size, until the journey's ending."""
        self.results.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", self.results], check=True)
        self.ending.callback(subprocess.run, ["umount", self.results], check=True)


@cache
def unbroken() -> dict[str, Any]:
    """Return the shape of an unbroken run."""
    with TemporaryDirectory() as folder:
        journey = Journey(Path(folder))
        ended = journey.run()
        assert ended.returncode == 0, ended.stdout
        (file,) = journey.files()
        return shape(json.loads(file.read_bytes()))


def shape(document: dict[str, Any]) -> dict[str, Any]:
    """Return what a result file holds, apart from the samples and what rests on them: by trial, and of the run."""
    run = document["accelbench"]
    environment = run["environment"]
    alike = ("schema_version", "machine", "settings", "interrupted")
    parts = {trial["id"]: _trial(trial) for trial in run["trials"]}
    parts["run"] = [run.keys(), *(run[name] for name in alike), environment["identity"], environment["configuration"]]
    parts["order"] = [trial["id"] for trial in run["trials"]]
    names = ("fullname", "group", "params")
    parts["entries"] = [[entry[name] for name in names] + [len(entry["stats"])] for entry in document["benchmarks"]]
    return parts


def _trial(trial: dict[str, Any]) -> list[Any]:
    names = ("id", "module", "framework", "workload", "summary", "unit", "techniques", "problem", "fixed")
    facts = ("levels", "outcome", "reason", "items", "placement")
    arms = [[arm.get(fact) for fact in facts] + [bool(arm["timing"]), bool(arm["effect"])] for arm in trial["arms"]]
    return [trial.keys(), *(trial[name] for name in names), *arms]


def is_torn(file: Path) -> bool:
    """Say whether a file is no whole JSON."""
    try:
        json.loads(file.read_bytes())
    except ValueError:
        return True
    return False
