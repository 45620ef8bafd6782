"""Ask for advice about every program in examples/: `python -m studies.example_advice --write` (about ten minutes).

Each is asked about as a user would ask, by a command in a process of its own. What the commands print is put into
docs/examples.md, with the machine, the date, and the wall time of each command.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from accelbench.report.machine import describe_machine
from accelbench.schema import environment
from accelbench.units import minutes
from studies.marked_tables import write_tables

CHECKOUT = Path(__file__).parents[1]
PAGE = CHECKOUT / "docs" / "examples.md"
BUDGET = "2m"
PROGRAMS = {
    "vision_transformer.py": "A vision transformer on JPEG files, with random crops",
    "trainer.py": "The Trainer of transformers",
    "lightning_digits.py": "Lightning",
    "keras_fit.py": "Keras",
    "simulation.py": "A simulation in NumPy",
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a command printed, and its wall time in seconds."""

    command: str
    answer: str
    took_s: float


def ask(program: str, budget: str = BUDGET) -> Asked:
    """Ask for advice about an example.

    Raises:
        subprocess.CalledProcessError: the command failed.
    """
    arguments = ["advise", f"examples/{program}:build", "--budget", budget]
    start_s = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "accelbench", *arguments], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True
    )
    took_s = time.perf_counter() - start_s
    return Asked(command=" ".join(["accelbench", *arguments]), answer=done.stdout.rstrip(), took_s=took_s)


def section(program: str, asked: Asked) -> Iterator[str]:
    """Yield the lines of one example's section."""
    yield f"## {PROGRAMS[program]}"
    yield ""
    yield f"[`examples/{program}`](../examples/{program}). The command took {minutes(asked.took_s)}."
    yield ""
    yield "```text"
    yield f"$ {asked.command}"
    yield asked.answer
    yield "```"
    yield ""


def page(budget: str, programs: list[str]) -> Iterator[str]:
    """Ask about examples, and yield the lines of their sections."""
    yield f"{describe_machine(environment.identify())}, {datetime.now(UTC):%Y-%m-%d}."
    yield ""
    for program in programs:
        yield from section(program, ask(program, budget))


def main() -> None:
    """Print the sections, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", choices=[*PROGRAMS, []], help="files in examples/; all without any")
    parser.add_argument("--budget", default=BUDGET, help=f"of each command; {BUDGET} by default")
    parser.add_argument("--write", action="store_true", help="write all sections into docs/examples.md")
    options = parser.parse_args()
    lines = page(options.budget, options.programs or [*PROGRAMS])
    if options.write:
        write_tables(PAGE, "advice of examples", [*lines])
    else:
        for line in lines:
            print(line, flush=True)


if __name__ == "__main__":
    main()
