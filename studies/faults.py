"""Kill and corrupt runs for real, continue them, and count what was lost: `python -m studies.faults` (some minutes).

Each try breaks a small run in a project of its own, repeats its command with --accel-resume, and compares the file
with that of an unbroken run, apart from the samples. The table is written into studies/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from accelbench.pytest_plugin.resume import read_journal
from studies.marked_tables import write_tables

DAYS = 4  # trials of the run
VISITS = 2  # of each trial
ALL = DAYS * VISITS
REFUSED = 2  # exit status
MODULE = '''
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from accelbench import Arm, technique, toggles, workload

HERE = Path(__file__).parent


@technique("numpy", levels=("left", "right"))
def hand(build, level):
    """Which factor comes first."""
    return build(hand=level)


@workload("numpy", unit="step")
def march(setting, *, hand="left", day=0):
    """A product of two matrices."""
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
    measure("march", day=day, hand=hand)
'''
CONFTEST = """
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path

from accelbench.pytest_plugin.resume import Journal

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
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # the kernel kills a process that writes beyond the limit
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + int(fault[3]),) * 2)


if fault:
    sys.addaudithook(watch)


visits = 0
write_visit = Journal.append


def append(journal, visit):
    global visits
    write_visit(journal, visit)
    visits += 1
    if os.environ.get("KILL_AFTER") == str(visits):
        os.kill(os.getpid(), signal.SIGKILL)
    if os.environ.get("FILL_AFTER") == str(visits):
        with suppress(OSError), Path("results", "filler").open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass


Journal.append = append
"""


@dataclass(frozen=True)
class Tally:
    """Visits that had finished before a fault, how many of them were measured again, trials lost, and torn files."""

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
        self.filler = self.results / "filler"  # the run fills the disk with it
        self.cleanup = ExitStack()
        (path / "spare").mkdir()
        (path / "test_march.py").write_text(MODULE.replace("{days}", str(DAYS)))
        (path / "conftest.py").write_text(CONFTEST)
        (path / "pytest.ini").write_text("[pytest]\naccelbench_results = results\n")

    def popen(self, *arguments: str, save: str = "q", **variables: object) -> subprocess.Popen[str]:
        """Start the run; variables name the fault."""
        own = {"HOME": self.path, "XDG_CACHE_HOME": self.path / "cache", "TMPDIR": self.path / "spare"}
        options = ["--accel-budget=0.05", f"--accel-visits={VISITS}", f"--benchmark-save={save}"]
        command = ["-m", "pytest", "-p", "no:cacheprovider", *options]
        return subprocess.Popen(
            [sys.executable, "-u", *command, *arguments],
            cwd=self.path,
            env=os.environ | {name: str(value) for name, value in {**own, **variables}.items()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str, **variables: object) -> subprocess.CompletedProcess[str]:
        """Run to the end, successful or not."""
        with self.popen(*arguments, **variables) as running:
            output, _ = running.communicate()
        return subprocess.CompletedProcess(running.args, running.returncode, output)

    def start(self, finished: int) -> subprocess.Popen[str]:
        """Start a run and return when so many visits have finished and the next one begins."""
        running = self.popen()
        assert running.stdout is not None
        assert any(line.startswith(f"[{finished + 1}/{ALL}]") for line in running.stdout)
        return running

    def resume(self, *, finished: int) -> Tally:
        """Continue the broken run, and count the fate of the visits that had finished."""
        visits = 0
        if list(self.results.rglob("*.journal")):
            ended = self.run("--accel-resume")
            if ended.returncode == REFUSED and not finished:
                ended = self.run()
            assert ended.returncode == 0, ended.stdout
            visits = len(started_visits(ended.stdout))
        elif not finished and not self.files():
            assert self.run().returncode == 0
        assert not finished or not list(self.results.rglob("*.journal"))
        newest = [file for file in self.files() if file.stem.endswith("_q")][-1]
        trials = json.loads(newest.read_bytes())["accelbench"]["trials"]
        kept = sum(len(trial["visits"]) for trial in trials) - visits
        torn = sum(map(is_torn, self.results.rglob("*.json")))
        return Tally(finished, max(0, finished - kept), self.lost(newest), torn)

    def lost(self, file: Path) -> int:
        """Return how many trials a file lacks or stores differently from an unbroken run."""
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

    def is_rescued(self) -> bool:
        """Return whether the whole run lies in the temporary folder."""
        return [self.lost(file) for file in (self.path / "spare").glob("*.json")] == [0]

    def mount(self, size_bytes: int) -> None:
        """Give the results a disk of that size, until `cleanup`."""
        self.results.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", self.results], check=True)
        self.cleanup.callback(subprocess.run, ["umount", self.results], check=True)


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
    """Return the content of a result file without the samples and what follows from them: by trial, and of the run."""
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
    arms = [[arm.get(fact) for fact in facts] + [bool(arm["timing"]), bool(arm["effects"])] for arm in trial["arms"]]
    whole = len(trial["visits"]) >= VISITS and trial["visits"] == sorted(trial["visits"], key=lambda v: v["begun_s"])
    return [trial.keys(), whole, *(trial[name] for name in names), *arms]


def is_torn(file: Path) -> bool:
    """Return whether a file is not complete JSON."""
    try:
        json.loads(file.read_bytes())
    except ValueError:
        return True
    return False


def started_visits(output: str) -> list[str]:
    """Return the lines in which a run announces its visits."""
    return [line for line in output.splitlines() if re.match(r"\[\d+/\d+\]", line)]


PAGE = Path(__file__).with_name("README.md")
FULL_DISK_BYTES = 12 * 2**20


def killed_between_visits(journey: Journey, number: int) -> int:
    """SIGKILL of pytest between two visits."""
    finished = 1 + number % (ALL - 1)
    journey.run(KILL_AFTER=finished)
    return finished


def killed_in_mid_visit(journey: Journey, number: int) -> int:
    """SIGKILL of pytest in mid-visit."""
    return _stop(journey, number, signal.SIGKILL)


def terminated(journey: Journey, number: int) -> int:
    """SIGTERM to pytest in mid-visit."""
    return _stop(journey, number, signal.SIGTERM)


def interrupted(journey: Journey, number: int) -> int:
    """Ctrl-C in mid-visit."""
    return _stop(journey, number, signal.SIGINT)


def _stop(journey: Journey, number: int, by: signal.Signals) -> int:
    """Send a signal at a random moment of a visit, and return how many had finished."""
    finished = number % (ALL - 1)
    with journey.start(finished) as running:
        subprocess.run(["sleep", f"{random.uniform(0, 0.4):.3f}"], check=True)
        running.send_signal(by)
        output, _ = running.communicate()
    return finished + len(started_visits(output))


def worker_killed(journey: Journey, number: int) -> int:
    """SIGKILL of a worker in mid-visit; the run goes on by itself."""
    day = number % DAYS
    ended = journey.run(STUMBLES=day)
    assert ended.returncode == 0, ended.stdout
    return next(place for place, line in enumerate(started_visits(ended.stdout)) if f"day {day}" in line)


def killed_writing_the_journal(journey: Journey, number: int) -> int:
    """Killed by the kernel while a visit is written to the journal."""
    lines = 1 + number % ALL
    broken = journey.run(FAULT=f"open .journal {lines} {random.choice([0, 1, 17, 200, 1500])}")
    assert broken.returncode == -signal.SIGXFSZ, broken.stdout
    return lines - 1


def killed_writing_the_file(journey: Journey, _: int) -> int:
    """Killed by the kernel while the result file is written."""
    broken = journey.run(FAULT=f"open /.0001_q.json 1 {random.choice([0, 1, 100, 2000])}")
    assert broken.returncode == -signal.SIGXFSZ, broken.stdout
    return ALL


def killed_naming_the_file(journey: Journey, _: int) -> int:
    """SIGKILL before the result file gets its name."""
    journey.run(FAULT="os.rename 0001_q.json 1")
    return ALL


def killed_removing_the_journal(journey: Journey, _: int) -> int:
    """SIGKILL after the result file got its name, before the journal is removed."""
    journey.run(FAULT="os.remove .journal 1")
    assert len(journey.files()) == 1
    return ALL


def cut_off(journey: Journey, number: int) -> int:
    """Power cut, simulated: the journal ends within its last line."""
    journey.run(KILL_AFTER=3)
    whole = journey.journal.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    if number == 0:  # in one try, every byte is tried in turn
        for length in range(last, len(whole) - 1):
            journey.journal.write_bytes(whole[:length])
            found = read_journal(journey.journal)
            assert found is not None
            assert sum(map(len, found.visits.values())) == 2, length
    journey.journal.write_bytes(whole[: random.randrange(last, len(whole) - 1)])
    return 2


def zeros(journey: Journey, _: int) -> int:
    """Power cut, simulated: the journal ends in zeros."""
    journey.run(KILL_AFTER=2)
    journey.journal.write_bytes(journey.journal.read_bytes() + b"\0" * random.randrange(1, 8192))
    return 2


def full_disk(journey: Journey, number: int) -> int:
    """Full disk, from a visit to the end of the run; the file is rescued, then there is room again."""
    finished = 1 + number % (ALL - 1)
    journey.mount(FULL_DISK_BYTES)
    broken = journey.run(FILL_AFTER=finished)
    assert broken.returncode == 2, broken.stdout
    assert journey.is_rescued(), broken.stdout
    journey.filler.unlink()
    return finished


def two_at_once(journey: Journey, _: int) -> int:
    """Two runs at once: the second is refused, a third waits; then the first is killed."""
    with journey.start(1) as first:
        first.send_signal(signal.SIGSTOP)  # it holds the machine until the others have started
        refused = journey.run()
        assert refused.returncode == 2, refused.stdout
        assert f"this machine is busy: process {first.pid}" in refused.stdout
        with journey.popen("--accel-wait", save="third") as third:
            assert third.stdout is not None
            assert any(f"waiting for process {first.pid}" in line for line in third.stdout)
            first.kill()
            first.communicate()
            third.communicate()
    assert third.returncode == 0
    assert journey.lost(journey.files()[-1]) == 0
    return 1


FAULTS = (
    killed_between_visits,
    killed_in_mid_visit,
    terminated,
    interrupted,
    worker_killed,
    killed_writing_the_journal,
    killed_writing_the_file,
    killed_naming_the_file,
    killed_removing_the_journal,
    cut_off,
    zeros,
    full_disk,
    two_at_once,
)


@dataclass(frozen=True)
class Row:
    """The cost of a fault in all of its tries."""

    fault: str
    tries: int
    tally: Tally

    def __str__(self) -> str:
        """Return the table's row."""
        tally = self.tally
        return f"| {self.fault} | {self.tries} | {tally.finished} | {tally.again} | {tally.lost} | {tally.torn} |"


def try_fault(fault: Callable[[Journey, int], int], tries: int) -> Row:
    """Break and resume ``tries`` runs."""
    total = Tally()
    for number in range(tries):
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            journey = Journey(Path(folder))
            with journey.cleanup:
                total += journey.resume(finished=fault(journey, number))
    return Row((fault.__doc__ or "").rstrip("."), tries, total)


def table(rows: list[Row]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| fault | tries | visits finished before it | of these measured again | trials lost | torn files |"
    yield "|---|---|---|---|---|---|"
    yield from map(str, rows)
    total = sum((row.tally for row in rows), Tally())
    tries = sum(row.tries for row in rows)
    yield f"| **all** | {tries} | {total.finished} | {total.again} | **{total.lost}** | {total.torn} |"


def main() -> None:
    """Try every fault and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=6, help="tries of each fault (default 6)")
    parser.add_argument(
        "--only", default="", help="only faults whose function has this in its name; the page stays as it is"
    )
    options = parser.parse_args()
    rows = []
    for fault in FAULTS:
        if options.only in fault.__name__:
            rows.append(try_fault(fault, options.tries))
            print(rows[-1], file=sys.stderr, flush=True)
    if options.only:
        print("\n".join(table(rows)))
    else:
        write_tables(PAGE, "faults", table(rows))


if __name__ == "__main__":
    main()
