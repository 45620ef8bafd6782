"""Time the quickstart's three starts from an empty shell: `python -m studies.first_answers --write` (12 minutes).

Each start has a fresh clone of this checkout's last commit, a fresh virtual environment and an empty cache folder. The
times are put into docs/index.md, with the machine and the date. Names of starts make it shorter: the others keep their
rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from accelbench.units import minutes
from studies.marked_tables import machine_and_date, show_tables

CHECKOUT = Path(__file__).parents[1]
PAGE = CHECKOUT / "docs" / "index.md"
COMPARE = """
import accelbench
import numpy as np

x = np.random.default_rng(0).random(100_000)
print(accelbench.compare({"power": lambda: x**3, "products": lambda: x * x * x}))
"""


@dataclass(frozen=True, kw_only=True)
class Start:
    """A way to begin: what it answers, what is installed, and the command that gives the answer, by arguments."""

    title: str
    installs: tuple[str, ...]
    command: tuple[str, ...]


STARTS = {
    "compare": Start(title="two lines of Python", installs=(".",), command=("python", "-c", COMPARE)),
    "advise": Start(
        title="a vision transformer on JPEG files, `accelbench advise --budget 2m`",
        installs=(".[torch]",),
        command=("accelbench", "advise", "examples/vision_transformer.py:build", "--budget", "2m"),
    ),
    "quick": Start(title="this machine, `tox -e quick`", installs=("tox",), command=("tox", "-e", "quick")),
}


def time_start(start: Start) -> tuple[float, float]:
    """Return the seconds that the installation of a start and its command take.

    Raises:
        subprocess.CalledProcessError: one of them failed.
    """
    with tempfile.TemporaryDirectory(prefix="start-") as folder:
        clone, bin_folder = Path(folder) / "clone", Path(folder) / "venv" / "bin"
        subprocess.run(["git", "clone", "--quiet", CHECKOUT, clone], check=True)
        variables = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "ACCELBENCH"))}
        variables |= {"XDG_CACHE_HOME": f"{folder}/cache", "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
        start_s = time.perf_counter()
        subprocess.run([sys.executable, "-m", "venv", bin_folder.parent], check=True)
        install = ["pip", "install", "--quiet", "--constraint", "constraints.txt", *start.installs]
        subprocess.run([bin_folder / "python", "-m", *install], cwd=clone, env=variables, check=True)
        installed_s = time.perf_counter()
        subprocess.run(
            [bin_folder / start.command[0], *start.command[1:]],
            cwd=clone, env=variables, check=True, stdout=sys.stderr,
        )  # fmt: skip
        return installed_s - start_s, time.perf_counter() - installed_s


def table(names: Sequence[str], page: str) -> Iterator[str]:
    """Time the named starts, and yield the lines of the table; the other rows are those of the page."""
    yield "| start | installation | command | in all | measured |"
    yield "|---|---:|---:|---:|---|"
    for name, start in STARTS.items():
        if name in names:
            install_s, command_s = time_start(start)
            times = " | ".join(map(minutes, (install_s, command_s, install_s + command_s)))
            yield f"| {start.title} | {times} | {machine_and_date()} |"
        else:
            yield from (line for line in page.splitlines() if line.startswith(f"| {start.title} |"))


def main() -> None:
    """Print the table, and write it into the page if wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("starts", nargs="*", choices=[*STARTS, []], help="all without any")
    parser.add_argument("--write", action="store_true", help="write the table into docs/index.md")
    options = parser.parse_args()
    lines = table(options.starts or [*STARTS], PAGE.read_text())
    show_tables(PAGE, "first answers", lines, write=options.write)


if __name__ == "__main__":
    main()
