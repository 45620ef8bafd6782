"""Time `accelbench report` in folders of many runs, beside other tools: `python tests/report_scale.py` (some minutes).

`pytest-benchmark compare` reads the same files, `asv publish` the same medians as results of its own. Each answers a
question of its own: accelbench renders the newest run, the other two look at all of them. The table is printed;
with --write it is put into docs/reports.md.
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

from many_runs import ARMS, write_runs

from harness.cache import CACHE_VARIABLE

PAGE = Path(__file__).parent.parent / "docs" / "reports.md"
BEGIN, END = "<!-- scale: begin -->", "<!-- scale: end -->"
LONGEST_S = 200  # for one command
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


def cells(number: int, asv: Path, folder: Path) -> Iterator[str]:
    """Yield the cells of the row of so many runs."""
    with ProcessPoolExecutor(1) as apart:  # making them takes memory, which must not be this process's
        apart.submit(write_runs, folder, number).result()
    yield f"{number:,}"
    accelbench = [sys.executable, "-m", "harness", "report"]
    yield str(measured(*accelbench, folder=folder))
    yield str(measured(*accelbench, folder=folder))
    yield str(measured(*accelbench, "--no-history", folder=folder))
    yield str(measured(*accelbench, "--format", "markdown", folder=folder))
    storage = ["--storage", (folder / "results").as_uri()]
    compare = Path(sys.executable).with_name("pytest-benchmark")
    yield str(measured(compare, *storage, "compare", "--columns=median", folder=folder))
    yield str(measured(asv, "-m", "asv", "publish", folder=folder / "asv"))
    made = (folder / "reports" / "run" / "index.html", folder / "asv" / "html" / "index.json")
    assert [path for path in made if not path.is_file()] == []


def table(numbers: list[int]) -> Iterator[str]:
    """Yield the table's lines."""
    with tempfile.TemporaryDirectory(prefix="scale-") as place:
        os.environ[CACHE_VARIABLE] = str(Path(place, "cache"))  # the first report finds no index, and leaves none
        asv = asv_in(Path(place, "venv"))
        told = [asv, "-c", "from importlib.metadata import version; print(version('asv'))"]
        version_of_asv = subprocess.run(told, check=True, capture_output=True, text=True).stdout.strip()
        yield (
            f"| runs of {ARMS} arms | `accelbench report`, first | again | `… --no-history` | `… --format markdown` "
            f"| `pytest-benchmark compare` {version('pytest-benchmark')} | `asv publish` {version_of_asv} |"
        )
        yield "|---:|---:|---:|---:|---:|---:|---:|"
        for number in numbers:
            folder = Path(place, str(number))
            folder.mkdir()
            yield f"| {' | '.join(cells(number, asv, folder))} |"
            shutil.rmtree(folder)
    yield ""
    yield (
        f"Wall time, and the memory of the largest process; {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, files in the page cache, one command after the other."
    )


def main() -> None:
    """Time every number of runs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 100, 1000], help="numbers of runs (1 100 1000)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reports.md")
    options = parser.parse_args()
    lines = []
    for line in table(options.runs):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text("\n".join([f"{before}{BEGIN}", *lines, f"{END}{rest.partition(END)[2]}"]))


if __name__ == "__main__":
    main()
