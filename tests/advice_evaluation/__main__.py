"""Let `accelbench advise` search beside others where every configuration is known: `python tests/advice_evaluation`.

Takes 40 minutes at most, with fewer repetitions where the machine is slow. Everything is measured for real: first
every configuration of each workload, then each search over again with the same budget, at last what was chosen, side by
side. With --write, all figures go into measured.json beside this file, workload by workload, and the table of what is
there into docs/advice.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from advice_cases import CASES
from advice_searches import SEARCHES, measured, settled
from advice_tables import Contest, Outcome, read, sentence, table

sys.path.append(str(Path(__file__).parents[1]))  # a script sees its own folder only
from marked_tables import write_tables

from harness.advice.advising import Request, prepare
from harness.experiment import Plan
from harness.hosting.lock import alone
from harness.measuring.pool import Pool

PAGE = Path(__file__).parents[2] / "docs" / "advice.md"
KEPT = Path(__file__).with_name("measured.json")
SHARE = 0.17  # of the cost of measuring everything: the budget begins when the baseline has run once


def main() -> None:
    """Measure, let the searches compete, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=10, help="how often each search runs (10)")
    parser.add_argument("--look", type=float, default=1.0, help="seconds an arm where everything is measured (1)")
    parser.add_argument("--minutes", type=float, default=40, help="time for all workloads, in equal parts (40)")
    parser.add_argument("--only", help="names of workloads with commas between; all unless given")
    parser.add_argument("--no-lock", action="store_true", help="do not wait for other runs on this machine")
    parser.add_argument("--write", action="store_true", help="put the table into docs/advice.md")
    options = parser.parse_args()
    chosen = [case for case in CASES if not options.only or case.workload in options.only.split(",")]
    pool = Pool(Plan())
    try:
        with nullcontext() if options.no_lock else alone(print):
            part_s = 60 * options.minutes / len(chosen)
            for case in chosen:
                contest = _contest(case, pool, options.look, options.repetitions, part_s)
                print("\n".join(table([contest])), flush=True)
                if options.write:
                    _keep(contest)
    finally:
        pool.close()


def _keep(contest: Contest) -> None:
    """Write a workload's figures down, and the tables of all that are there."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    kept[contest.workload] = asdict(contest)
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    contests = [read(kept[case.workload]) for case in CASES if case.workload in kept]
    write_tables(PAGE, "evaluation", ["", *table(contests), "", sentence(contests, "advise"), ""])


def _contest(case: Request, pool: Pool, look_s: float, repetitions: int, most_s: float) -> Contest:
    """Let every search compete so often, or less often where the next turn would not end in time, at least once."""
    begin_s = time.monotonic()
    prepared = prepare(case, pool)
    grid = measured(prepared, look_s)
    print(f"{case.workload}: {prepared.space.size} configurations in {grid.spent_s:.0f} s", flush=True)
    found = []
    for seed in range(repetitions):
        passed_s = time.monotonic() - begin_s
        if seed and passed_s + (passed_s - grid.spent_s) / seed > most_s:
            break
        for name, search in SEARCHES.items():  # in turn, so that a bad minute of the machine meets them all
            start_s = time.monotonic()
            chosen = search(case, grid, pool, SHARE * grid.spent_s, seed)
            found.append((name, chosen, (time.monotonic() - start_s) / grid.spent_s))
    speedups = settled(grid, [chosen for _, chosen, _ in found])
    best = max(speedups.values())
    outcomes = []
    for name, chosen, cost in found:
        regret, words = 1 - speedups.get(chosen, 0.0) / best, prepared.space.named(chosen)
        print(f"  {name}: {regret:.1%} behind at {cost:.0%} of the cost: {words}", flush=True)
        outcomes.append(Outcome(search=name, chosen=words, regret=regret, cost=cost))
    return Contest(
        workload=str(case.workload),
        configurations=prepared.space.size,
        exhaustive_s=grid.spent_s,
        best=best,
        outcomes=outcomes,
    )


if __name__ == "__main__":
    main()
