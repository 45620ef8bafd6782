"""Compare `accelbench advise` with other searches where every configuration is measured.

`python -m studies.advice` takes 40 minutes at most, with fewer repetitions where the machine is slow. It measures every
configuration of each workload, runs each search several times with the same budget, and finally times all chosen
configurations side by side. With --write, all figures go into measured.json beside this file, workload by workload,
and the table into studies/advice_evaluation.md.
"""

from __future__ import annotations

import argparse
import json
import time
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from accelbench.advise.session import Request, prepare
from accelbench.core import Plan
from accelbench.machine_lock import hold_machine
from accelbench.measuring.workers.pool import Pool
from studies.advice.cases import CASES
from studies.advice.searches import SEARCHES, measure_grid, settle
from studies.advice.tables import Contest, Outcome, read, sentence, table
from studies.marked_tables import write_tables

PAGE = Path(__file__).parents[2] / "studies" / "advice_evaluation.md"
STORED = Path(__file__).with_name("measured.json")
SHARE = 0.17  # of the cost of measuring everything: the budget begins when the baseline has run once


def main() -> None:
    """Measure, run the searches, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=10, help="how often each search runs (10)")
    parser.add_argument("--look", type=float, default=1.0, help="seconds an arm where everything is measured (1)")
    parser.add_argument("--minutes", type=float, default=40, help="time for all workloads, in equal parts (40)")
    parser.add_argument("--only", help="names of workloads with commas between; all unless given")
    parser.add_argument("--no-lock", action="store_true", help="do not wait for other runs on this machine")
    parser.add_argument("--write", action="store_true", help="put the table into studies/advice_evaluation.md")
    options = parser.parse_args()
    chosen = [case for case in CASES if not options.only or case.workload in options.only.split(",")]
    pool = Pool(Plan())
    try:
        with nullcontext() if options.no_lock else hold_machine(print):
            part_s = 60 * options.minutes / len(chosen)
            for case in chosen:
                contest = _contest(case, pool, options.look, options.repetitions, part_s)
                print("\n".join(table([contest])), flush=True)
                if options.write:
                    _store(contest)
    finally:
        pool.close()


def _store(contest: Contest) -> None:
    """Store a workload's figures, and write the tables of all stored ones."""
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    stored[contest.workload] = asdict(contest)
    STORED.write_text(json.dumps(stored, indent=1) + "\n")
    contests = [read(stored[case.workload]) for case in CASES if case.workload in stored]
    write_tables(PAGE, "evaluation", ["", *table(contests), "", sentence(contests, "advise"), ""])


def _contest(case: Request, pool: Pool, look_s: float, repetitions: int, limit_s: float) -> Contest:
    """Run every search ``repetitions`` times, or fewer where the next turn would not end in time; at least once."""
    begin_s = time.monotonic()
    preparation = prepare(case, pool)
    grid = measure_grid(preparation, look_s)
    print(f"{case.workload}: {preparation.space.size} configurations in {grid.spent_s:.0f} s", flush=True)
    found = []
    for seed in range(repetitions):
        passed_s = time.monotonic() - begin_s
        if seed and passed_s + (passed_s - grid.spent_s) / seed > limit_s:
            break
        for name, search in SEARCHES.items():  # in turn, so that a bad minute of the machine affects all searches
            start_s = time.monotonic()
            chosen = search(case, grid, pool, SHARE * grid.spent_s, seed)
            found.append((name, chosen, (time.monotonic() - start_s) / grid.spent_s))
    speedups = settle(grid, [chosen for _, chosen, _ in found])
    best = max(speedups.values())
    outcomes = []
    for name, chosen, cost in found:
        regret, words = 1 - speedups.get(chosen, 0.0) / best, preparation.space.label(chosen)
        print(f"  {name}: {regret:.1%} behind at {cost:.0%} of the cost: {words}", flush=True)
        outcomes.append(Outcome(search=name, chosen=words, regret=regret, cost=cost))
    return Contest(
        workload=str(case.workload),
        configurations=preparation.space.size,
        exhaustive_s=grid.spent_s,
        best=best,
        outcomes=outcomes,
    )


if __name__ == "__main__":
    main()
