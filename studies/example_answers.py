"""How much of the advice on the examples is decided, and does it repeat? `python -m studies.example_answers --write`.

Every program in examples/ is asked about several times in turn, in this environment, which must have all that they
need: 25 minutes for three times. Counted are the answers to the techniques that people ask about first.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from accelbench.text import format_levels
from accelbench.units import minutes, speedup
from studies.example_advice import BUDGET, CHECKOUT, PROGRAMS, run_in_checkout
from studies.marked_tables import machine_and_date, show_tables

PAGE = CHECKOUT / "studies" / "advice_evaluation.md"
FIRST = {
    "amp", "mixed_precision", "dtype", "memory_format", "compile", "xla", "workers", "pin_memory", "threads",
    "batch_size",
}  # fmt: skip


@dataclass(kw_only=True)
class Answers:
    """The answers to several commands about one program, by technique and level; None where one is undecided."""

    pays: dict[str, list[bool | None]] = field(default_factory=lambda: defaultdict(list))
    gains: list[float] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)

    def add(self, advice: dict[str, Any], took_s: float) -> None:
        """Add the advice of one command."""
        for each in advice["alone"]:
            if each["technique"] in FIRST and each["judgement"] is not None:
                self.pays[format_levels({each["technique"]: each["level"]})].append(each["pays"])
        self.gains.append(advice["gain"]["speedup"] if advice["gain"] else 1.0)
        self.took_s.append(took_s)

    def row(self, program: str) -> str:
        """Return the row of a table."""
        given = [pays for answers in self.pays.values() for pays in answers]
        undecided = [f"{name} ({answers.count(None)}×)" for name, answers in self.pays.items() if None in answers]
        opposite = [name for name, answers in self.pays.items() if {True, False} <= {*answers}]
        cells = (
            program,
            f"{len(given) - given.count(None)} of {len(given)}",
            ", ".join(undecided),
            ", ".join(opposite),
            f"{speedup(min(self.gains))} to {speedup(max(self.gains))}",
            minutes(max(self.took_s)),
        )
        return f"| {' | '.join(cells)} |"


def ask(program: str, budget: str) -> tuple[dict[str, Any], float]:
    """Return the advice about an example, and the seconds that the command took."""
    command = [sys.executable, "-m", "accelbench", "advise", f"examples/{program}:build", "--budget", budget, "--json"]
    start_s = time.perf_counter()
    return json.loads(run_in_checkout(command)), time.perf_counter() - start_s


def table(times: int, budget: str) -> Iterator[str]:
    """Ask about all examples in turn, ``times`` times, and yield the lines of the table."""
    asked = {program: Answers() for program in PROGRAMS}
    for number in range(times):
        for program, answers in asked.items():
            answers.add(*ask(program, budget))
            print(number + 1, answers.row(program), file=sys.stderr, flush=True)
    yield f"{machine_and_date()}, {times} commands each with `--budget {budget}`."
    yield ""
    yield "| program | answers decided | undecided | decided both ways | advised, per item | longest command |"
    yield "|---|---:|---|---|---|---:|"
    for program, answers in asked.items():
        yield answers.row(program)
    given = [pays for answers in asked.values() for each in answers.pays.values() for pays in each]
    yield f"| **all** | **{len(given) - given.count(None)} of {len(given)}** | | | | |"


def main() -> None:
    """Print the table, and write it into the page if wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=3, help="commands about each program; 3 by default")
    parser.add_argument("--budget", default=BUDGET, help=f"of each command; {BUDGET} by default")
    parser.add_argument("--write", action="store_true", help="write the table into studies/advice_evaluation.md")
    options = parser.parse_args()
    show_tables(PAGE, "answers", table(options.times, options.budget), write=options.write)


if __name__ == "__main__":
    main()
