"""Ask for advice about programs in examples/: `python -m studies.example_advice --write` (three minutes each).

Each is asked about as a newcomer would ask: in a fresh virtual environment with an empty cache folder, into which this
checkout and what the program needs are installed. What the command prints is put into docs/tutorials/examples.md, with
the machine, the date, and the wall times of the installation and of the command.
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
PAGE = CHECKOUT / "docs" / "tutorials" / "examples.md"
BUDGET = "2m"


@dataclass(frozen=True, kw_only=True)
class Example:
    """A program in examples/: the title of its section, and what is installed to ask about it."""

    title: str
    needs: tuple[str, ...]


PROGRAMS = {
    "vision_transformer.py": Example(
        title="A vision transformer on JPEG files, with random crops", needs=(".[torch]",)
    ),
    "trainer.py": Example(title="The Trainer of transformers", needs=(".[torch]", "accelerate")),
    "lightning_digits.py": Example(title="Lightning", needs=(".[torch]", "lightning")),
    "keras_fit.py": Example(title="Keras", needs=(".[tensorflow]",)),
    "simulation.py": Example(title="A simulation in NumPy", needs=(".",)),
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The commands of a newcomer, what the last one printed, and the wall times in seconds."""

    install: str
    command: str
    answer: str
    install_s: float
    took_s: float


def ask(program: str, budget: str = BUDGET) -> Asked:
    """Ask for advice about an example in a fresh environment.

    Raises:
        subprocess.CalledProcessError: a command failed.
    """
    needs, arguments = PROGRAMS[program].needs, ["advise", f"examples/{program}:build", "--budget", budget]
    with tempfile.TemporaryDirectory(prefix="example-") as folder:
        python = Path(folder) / "bin" / "python"
        start_s = time.perf_counter()
        run_in_checkout([sys.executable, "-m", "venv", folder])
        run_in_checkout([python, "-m", "pip", "install", "--quiet", "--constraint", "constraints.txt", *needs])
        installed_s = time.perf_counter()
        answer = run_in_checkout([python, "-m", "accelbench", *arguments], XDG_CACHE_HOME=f"{folder}/cache")
        end_s = time.perf_counter()
    return Asked(
        install=f"pip install {' '.join(map(_quoted, needs))}",
        command=" ".join(["accelbench", *arguments]),
        answer=answer.rstrip(),
        install_s=installed_s - start_s,
        took_s=end_s - installed_s,
    )


def run_in_checkout(command: Sequence[str | Path], **variables: str) -> str:
    """Run a command in the checkout, and return what it prints."""
    done = subprocess.run(
        command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | variables
    )
    return done.stdout


def _quoted(need: str) -> str:
    return f'"{need}"' if "[" in need else need


def section(program: str, asked: Asked) -> Iterator[str]:
    """Yield the lines of one example's section, with its title."""
    yield f"## {PROGRAMS[program].title}"
    yield ""
    total, install, took = map(minutes, (asked.install_s + asked.took_s, asked.install_s, asked.took_s))
    yield f"[`examples/{program}`](../../examples/{program}) on {machine_and_date()}."
    yield f"From an empty shell to this answer: {total}, of which {install} to install and {took} for the command."
    yield ""
    yield "```text"
    yield f"$ {asked.install}"
    yield f"$ {asked.command}"
    yield asked.answer
    yield "```"


def main() -> None:
    """Print the sections, and write them into the page if wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", choices=[*PROGRAMS, []], help="files in examples/; all without any")
    parser.add_argument("--budget", default=BUDGET, help=f"of each command; {BUDGET} by default")
    parser.add_argument("--write", action="store_true", help="write the sections into docs/tutorials/examples.md")
    options = parser.parse_args()
    for program in options.programs or PROGRAMS:
        lines = section(program, ask(program, options.budget))
        show_tables(PAGE, f"advice about {program}", lines, write=options.write)


if __name__ == "__main__":
    main()
