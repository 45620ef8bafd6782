"""Score the detectors of changes beside others on the same made-up histories: `python tests/evaluation` (10 minutes).

The truth is known, since it was planted; everything is drawn from fixed seeds. Other tools are installed into
environments of their own below .tox/; one that cannot be is left out, and said. The tables are printed; with --write
they are put into docs/history.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from evaluating import evaluated

PAGE = Path(__file__).parents[2] / "docs" / "history.md"
BEGIN, END = "<!-- evaluation: begin -->", "<!-- evaluation: end -->"


def main() -> None:
    """Score everything, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=200, help="series per cell (200)")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/history.md")
    options = parser.parse_args()
    lines = []
    for line in evaluated(options.series):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text("\n".join([f"{before}{BEGIN}", *lines, f"{END}{rest.partition(END)[2]}"]))


if __name__ == "__main__":
    main()
