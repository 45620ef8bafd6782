"""Time commands in folders of many runs, beside other tools: `python tests/report_scale.py` (some ten minutes).

Timed are making and loading the index, `accelbench check`, also after one more run, and `accelbench report`, each in a
process of its own. `pytest-benchmark compare` reads the same files, `asv publish` the same medians as results of its
own; each answers a question of its own. The table is printed; with --write it is put into docs/reports.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from many_runs import ARMS, add_run, write_runs
from marked_tables import write_tables

from harness.cache import CACHE_VARIABLE

PAGE = Path(__file__).parent.parent / "docs" / "reports.md"
LONGEST_S = 600  # for one command
READ = "from harness.reading.history.storage.index import history; history('results')"
# Started by a small process of its own: a process counts its parent's memory until it becomes another program.
MEASURE = """
import json, os, sys, time
begun = time.perf_counter()
child = os.fork()
if not child:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(child, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), time.perf_counter() - begun, used.ru_maxrss * 1024]))
"""


@dataclass(frozen=True)
class Cost:
    """What a command cost, with all that it started: seconds, and the memory of the largest of its processes."""

    status: int
    wall_s: float
    peak_bytes: int

    def __str__(self) -> str:
        """Return the table's cell."""
        if self.status == 124:
            return f"more than {LONGEST_S} s"
        return f"{self.wall_s:.1f} s, {self.peak_bytes / 2**20:,.0f} MiB" if self.status == 0 else "failed"


def measured(*command: str | Path, folder: Path) -> Cost:
    """Run a command in a folder."""
    limited = ["timeout", "--kill-after=5", str(LONGEST_S), *map(str, command)]
    told = subprocess.run(
        [sys.executable, "-I", "-S", "-c", MEASURE, *limited], cwd=folder, check=True, stdout=subprocess.PIPE
    )
    return Cost(*json.loads(told.stdout))


def asv_in(folder: Path) -> Path:
    """Install asv into an environment of its own, and return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--quiet", "asv"], check=True)
    return python


def measurements(number: int, asv: Path, folder: Path) -> Iterator[tuple[str, Cost]]:
    """Yield what is asked of so many runs, and what it cost."""
    with ProcessPoolExecutor(1) as apart:  # making them takes memory, which must not be this process's
        apart.submit(write_runs, folder, number).result()
    accelbench = [sys.executable, "-m", "harness"]
    for asked in ("build the index", "load the index"):
        yield asked, measured(sys.executable, "-c", READ, folder=folder)
    for command in ("check", "report"):
        yield f"`accelbench {command}`", measured(*accelbench, command, folder=folder)
    yield "the same report again", measured(*accelbench, "report", folder=folder)
    for option in ("--no-history", "--format markdown"):
        yield f"`accelbench report {option}`", measured(*accelbench, "report", *option.split(), folder=folder)
    storage = ["--storage", (folder / "results").as_uri()]
    compare = Path(sys.executable).with_name("pytest-benchmark")
    compared = measured(compare, *storage, "compare", "--columns=median", folder=folder)
    yield f"`pytest-benchmark compare` {version('pytest-benchmark')}", compared
    yield f"`asv publish` {version_of(asv)}", measured(asv, "-m", "asv", "publish", folder=folder / "asv")
    made = (folder / "reports" / "run" / "index.html", folder / "asv" / "html" / "index.json")
    assert [path for path in made if not path.is_file()] == []
    with ProcessPoolExecutor(1) as apart:
        apart.submit(add_run, folder, number + 1).result()
    yield "`accelbench check` after one more run", measured(*accelbench, "check", folder=folder)


def version_of(asv: Path) -> str:
    """Return the version of asv that an environment's Python knows."""
    told = [asv, "-c", "from importlib.metadata import version; print(version('asv'))"]
    return subprocess.run(told, check=True, capture_output=True, text=True).stdout.strip()


def table(numbers: list[int]) -> list[str]:
    """Return the table's lines, having printed each cost when it was known."""
    rows: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(prefix="scale-") as place:
        os.environ[CACHE_VARIABLE] = str(Path(place, "cache"))  # the first command finds no index, and leaves none
        asv = asv_in(Path(place, "venv"))
        for number in numbers:
            folder = Path(place, str(number))
            folder.mkdir()
            for asked, cost in measurements(number, asv, folder):
                print(f"{number:,}: {asked}: {cost}", flush=True)
                rows.setdefault(asked, []).append(str(cost))
            shutil.rmtree(folder)
    around = (
        f"Wall time with starting Python, and the memory of the largest process; {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, files in the page cache, one command after the other."
    )
    return [
        f"| runs of {ARMS} arms | {' | '.join(f'{number:,}' for number in numbers)} |",
        f"|---|{'---:|' * len(numbers)}",
        *(f"| {asked} | {' | '.join(cells)} |" for asked, cells in rows.items()),
        "",
        around,
    ]


def main() -> None:
    """Time every number of runs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 100, 1000], help="numbers of runs (1 100 1000)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reports.md")
    options = parser.parse_args()
    lines = table(options.runs)
    print("\n".join(["", *lines]))
    if options.write:
        write_tables(PAGE, "scale", lines)


if __name__ == "__main__":
    main()
