"""Kill and corrupt runs for real, continue them, and count what was lost: `python tests/faults.py` (some minutes).

Every try breaks a small run in a project of its own, repeats its command with --resume, and compares the file with that
of an unbroken run, apart from the samples. The table is written into docs/files.md.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from journey import DAYS, Journey, Tally
from marked_tables import write_tables

from harness.hosting.journal import read_journal

PAGE = Path(__file__).parent.parent / "docs" / "files.md"
FULL_DISK_BYTES = 12 * 2**20


def killed_between_trials(journey: Journey, number: int) -> int:
    """SIGKILL of pytest between two trials."""
    day = 1 + number % (DAYS - 1)
    journey.run(KILL_BEFORE=day)
    return day


def killed_in_mid_trial(journey: Journey, number: int) -> int:
    """SIGKILL of pytest in mid-trial."""
    return stopped(journey, number, signal.SIGKILL)


def terminated(journey: Journey, number: int) -> int:
    """SIGTERM to pytest in mid-trial."""
    return stopped(journey, number, signal.SIGTERM)


def interrupted(journey: Journey, number: int) -> int:
    """Ctrl-C in mid-trial."""
    return stopped(journey, number, signal.SIGINT)


def stopped(journey: Journey, number: int, by: signal.Signals) -> int:
    """Send a signal at a random moment of a trial, and return how many had finished."""
    day = 1 + number % (DAYS - 1)
    running = journey.started(day)
    with running:
        subprocess.run(["sleep", f"{random.uniform(0, 0.4):.3f}"], check=True)
        running.send_signal(by)
        running.communicate()
    return day


def worker_killed(journey: Journey, number: int) -> int:
    """SIGKILL of a worker in mid-trial; the run goes on by itself."""
    assert journey.run(STUMBLES=number % DAYS).returncode == 0
    (journey.path / "built").unlink()  # the run is whole, and nothing is left to continue
    return number % DAYS


def killed_writing_the_journal(journey: Journey, number: int) -> int:
    """Killed by the kernel while a trial is written to the journal."""
    lines = 1 + number % DAYS
    broken = journey.run(FAULT=f"open .journal {lines} {random.choice([0, 1, 17, 200, 1500])}")
    assert broken.returncode == -signal.SIGXFSZ, broken.stdout
    return lines - 1


def killed_writing_the_file(journey: Journey, number: int) -> int:
    """Killed by the kernel while the result file is written."""
    where = ["/.accelbench-drafts/0001", "/.0001_q.json"][number % 2]
    broken = journey.run(FAULT=f"open {where} 1 {random.choice([0, 1, 100, 2000])}")
    assert broken.returncode == -signal.SIGXFSZ, broken.stdout
    return DAYS


def killed_naming_the_file(journey: Journey, _: int) -> int:
    """SIGKILL before the result file gets its name."""
    journey.run(FAULT="os.rename 0001_q.json 1")
    return DAYS


def killed_removing_the_journal(journey: Journey, _: int) -> int:
    """SIGKILL after the result file got its name, before the journal is removed."""
    journey.run(FAULT="os.remove .journal 1")
    assert len(journey.files()) == 1
    return DAYS


def cut_off(journey: Journey, number: int) -> int:
    """Power cut, simulated: the journal ends within its last line."""
    journey.run(KILL_BEFORE=3)
    whole = journey.journal.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    if number == 0:  # in one try, every byte is tried in turn
        for length in range(last, len(whole) - 1):
            journey.journal.write_bytes(whole[:length])
            found = read_journal(journey.journal)
            assert found is not None
            assert len(found.finished) == 2, length
    journey.journal.write_bytes(whole[: random.randrange(last, len(whole) - 1)])
    return 2


def zeros(journey: Journey, _: int) -> int:
    """Power cut, simulated: the journal ends in zeros."""
    journey.run(KILL_BEFORE=2)
    journey.journal.write_bytes(journey.journal.read_bytes() + b"\0" * random.randrange(1, 8192))
    return 2


def full_disk(journey: Journey, number: int) -> int:
    """Full disk, from a trial to the end of the run; the file is rescued, then there is room again."""
    day = 1 + number % (DAYS - 1)
    journey.mount(FULL_DISK_BYTES)
    broken = journey.run(FILL_BEFORE=day)
    assert broken.returncode == 2, broken.stdout
    assert journey.rescued(), broken.stdout
    journey.filler.unlink()
    return day


def two_at_once(journey: Journey, _: int) -> int:
    """Two runs at once: the second is refused, a third waits; then the first is killed."""
    with journey.started(1) as first:
        first.send_signal(signal.SIGSTOP)  # it keeps the machine, and does not end before the others came
        refused = journey.run()
        assert refused.returncode == 2, refused.stdout
        assert f"this machine is taken: process {first.pid}" in refused.stdout
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
    killed_between_trials,
    killed_in_mid_trial,
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
    """What a fault cost in all of its tries."""

    fault: str
    tries: int
    tally: Tally

    def __str__(self) -> str:
        """Return the table's row."""
        tally = self.tally
        return f"| {self.fault} | {self.tries} | {tally.finished} | {tally.again} | {tally.lost} | {tally.torn} |"


def tried(fault: Callable[[Journey, int], int], tries: int) -> Row:
    """Break and continue as many runs."""
    total = Tally()
    for number in range(tries):
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            journey = Journey(Path(folder))
            with journey.ending:
                total += journey.continued(finished=fault(journey, number))
    return Row((fault.__doc__ or "").rstrip("."), tries, total)


def table(rows: list[Row]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| fault | tries | trials finished before it | of these measured again | trials lost | torn files |"
    yield "|---|---|---|---|---|---|"
    yield from map(str, rows)
    total = sum((row.tally for row in rows), Tally())
    tries = sum(row.tries for row in rows)
    yield f"| **all** | {tries} | {total.finished} | {total.again} | **{total.lost}** | {total.torn} |"


def main() -> None:
    """Try every fault and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=6, help="tries of each fault (default 6)")
    parser.add_argument("--only", default="", help="faults whose function's name holds this; the page is then left")
    options = parser.parse_args()
    rows = []
    for fault in FAULTS:
        if options.only in fault.__name__:
            rows.append(tried(fault, options.tries))
            print(rows[-1], file=sys.stderr, flush=True)
    if options.only:
        print("\n".join(table(rows)))
    else:
        write_tables(PAGE, "faults", table(rows))


if __name__ == "__main__":
    main()
