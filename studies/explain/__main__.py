"""Asks `accelbench explain` about programs with a planted cause, and about innocent ones, and counts what it names.

``python -m studies.explain --write`` asks about all of them with five seeds each and puts the table into
studies/explain_evaluation.md. A program takes about twice its budget, so that all of it takes hours; ``--seeds 1`` and
names of programs make it shorter. Each is asked about by a command in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accelbench.units import minutes, percent
from studies.example_advice import PROGRAMS, run_in_checkout
from studies.marked_tables import machine_and_date, show_tables

CHECKOUT = Path(__file__).parents[2]
PAGE = CHECKOUT / "studies" / "explain_evaluation.md"
PLANTED_PROGRAMS = "studies/explain/programs.py"
BUDGET, SEEDS = "40s", 5
EXAMPLES_PAGE = CHECKOUT / "docs" / "tutorials" / "examples.md"

# The cause that is planted in each program, and others that are true of it, too. What a program does once per step or
# per operator, such as a copy of its weights, a graph break or a check for anomalies, costs less per item in a larger
# batch, so a small batch is true of those as well.
PLANTED: dict[str, tuple[str, frozenset[str]]] = {
    "slow_decoder": ("input-bound", frozenset()),
    "item_every_step": ("synchronisation-bound", frozenset({"input-bound"})),  # a table is indexed row by row
    "copy_each_step": ("copies", frozenset({"memory-bound", "small-batch"})),
    "tiny_batch": ("small-batch", frozenset({"input-bound"})),
    "one_thread": ("one-thread", frozenset({"compute-bound"})),
    "graph_break": ("graph-breaks", frozenset({"input-bound", "small-batch"})),
    "recompilation": ("recompilation", frozenset({"input-bound"})),
    "memory_chain": ("memory-bound", frozenset({"input-bound"})),
    "anomaly_mode": ("anomaly-mode", frozenset({"input-bound", "small-batch"})),
    "restarted_workers": ("worker-restarts", frozenset({"input-bound"})),
    "float64": ("float64", frozenset({"compute-bound"})),
    "optimizer_loop": ("optimizer-loop", frozenset({"small-batch"})),
}
# What is true of the innocent: a bound of theirs is no reproach.
INNOCENT: dict[str, frozenset[str]] = {
    "large_products": frozenset({"compute-bound"}),
    "convolutions": frozenset({"compute-bound"}),
    "living_workers": frozenset({"compute-bound"}),
    "whole_graph": frozenset({"compute-bound"}),
    "answers_only": frozenset({"compute-bound"}),
    "fused_attention": frozenset({"compute-bound"}),
}


@dataclass(frozen=True, kw_only=True)
class CommandAnswer:
    """What one command named, the largest share first; ``failure`` is its last line where it failed."""

    program: str
    named: tuple[str, ...]
    took_s: float
    failure: str = ""


@dataclass
class ProgramScore:
    """How often a program's cause was named, and what else was."""

    right: int = 0
    answers: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    also: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, answer: CommandAnswer) -> None:
        """Count one answer."""
        cause, true = PLANTED.get(answer.program, ("", INNOCENT.get(answer.program, frozenset())))
        self.answers += 1
        if answer.failure:
            self.failures.append(answer.failure)
            return
        self.right += (cause in answer.named) if cause else not set(answer.named) - true
        self.also.update(name for name in answer.named if name in true)
        self.wrong.update(name for name in answer.named if name != cause and name not in true)


def ask(program: str, seed: int, budget: str) -> CommandAnswer:
    """Ask what holds a program back."""
    arguments = ["explain", f"{PLANTED_PROGRAMS}:{program}", "--budget", budget, "--seed", str(seed), "--json"]
    start_s = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "accelbench", *arguments], cwd=CHECKOUT, capture_output=True, text=True
    )
    took_s = time.perf_counter() - start_s
    if done.returncode:
        return CommandAnswer(program=program, named=(), took_s=took_s, failure=done.stderr.strip().splitlines()[-1])
    explanation: dict[str, Any] = json.loads(done.stdout)
    return CommandAnswer(program=program, named=tuple(cause["code"] for cause in explanation["causes"]), took_s=took_s)


def table(answers: Sequence[CommandAnswer]) -> Iterator[str]:
    """Yield the lines of the table, and a line that sums it up."""
    scores: dict[str, ProgramScore] = {}
    for each in answers:
        scores.setdefault(each.program, ProgramScore()).add(each)
    yield "| program | planted | named, or nothing false said | true as well | named wrongly |"
    yield "|---|---|---:|---|---|"
    for program, score in scores.items():
        planted = PLANTED[program][0] if program in PLANTED else "nothing"
        failures = f"; failed: {score.failures[0]}" if score.failures else ""
        cells = (program.replace("_", " "), planted, f"{score.right} of {score.answers}{failures}")
        yield f"| {' | '.join(cells)} | {_list_counts(score.also)} | {_list_counts(score.wrong)} |"
    yield ""
    guilty = [score for program, score in scores.items() if program in PLANTED]
    named, total = sum(score.right for score in guilty), sum(score.answers for score in guilty)
    wrong = sum(sum(score.wrong.values()) for score in scores.values())
    took_s = sum(each.took_s for each in answers)
    share = f" ({percent(named / total)})" if total else ""
    yield f"Named rightly: {named} of {total}{share}. Named wrongly: {wrong} in {len(answers)} answers."
    yield f"{len(answers)} commands took {minutes(took_s)}."


def _list_counts(names: Counter[str]) -> str:
    return ", ".join(f"{name} ({times}×)" for name, times in names.most_common())


def explain_examples(budget: str) -> Iterator[str]:
    """Ask about every program in examples/, and yield the lines of their sections."""
    yield f"{machine_and_date()}."
    for program, example in PROGRAMS.items():
        arguments = ["explain", f"examples/{program}:build", "--budget", budget]
        start_s = time.perf_counter()
        answer = run_in_checkout([sys.executable, "-m", "accelbench", *arguments])
        took_s = time.perf_counter() - start_s
        yield from ("", f"### {example.title}, explained", "", f"It took {minutes(took_s)}.", "", "```text")
        yield f"$ accelbench {' '.join(arguments)}"
        yield answer.rstrip()
        yield "```"


def main() -> None:
    """Ask, and print the table, and write it into the page if wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", choices=[*PLANTED, *INNOCENT, []], help="all without any")
    parser.add_argument("--budget", default=BUDGET, help=f"of each command; {BUDGET} by default")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"{SEEDS} by default")
    parser.add_argument("--write", action="store_true", help="write the table into studies/explain_evaluation.md")
    parser.add_argument("--examples", action="store_true", help="ask about examples/, for docs/tutorials/examples.md")
    options = parser.parse_args()
    if options.examples:
        show_tables(EXAMPLES_PAGE, "explained examples", explain_examples(options.budget), write=options.write)
        return
    answers = []
    for seed in range(options.seeds):
        for program in options.programs or [*PLANTED, *INNOCENT]:
            answers.append(ask(program, seed, options.budget))
            print(
                f"{program}: {', '.join(answers[-1].named) or answers[-1].failure or 'nothing'}",
                file=sys.stderr,
                flush=True,
            )
    machine = f"{machine_and_date()}, budgets of {options.budget}."
    show_tables(PAGE, "planted causes", [machine, "", *table(answers)], write=options.write)


if __name__ == "__main__":
    main()
