"""Score the detectors of changes beside others on the same made-up histories: `python tests/evaluation` (10 minutes).

The truth is known, since it was planted; everything is drawn from fixed seeds. Other tools are installed into
environments of their own below .tox/; one that cannot be is left out, and said. The tables are printed; with --write
they are put into docs/history_evaluation.md.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from evaluating import evaluated

sys.path.append(str(Path(__file__).parents[1]))  # a script sees its own folder only
from marked_tables import write_tables

PAGE = Path(__file__).parents[2] / "docs" / "history_evaluation.md"


def main() -> None:
    """Score everything, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=200, help="series per cell (200)")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/history_evaluation.md")
    options = parser.parse_args()
    lines = []
    for line in evaluated(options.series):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        write_tables(PAGE, "evaluation", lines)


if __name__ == "__main__":
    main()
