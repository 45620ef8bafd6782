"""Says how well predictions rank techniques: `python -m studies.explain.predictions RESULT`.

RESULT is a run beside which `accelbench explain RESULT` kept its explanation. Its predictions stand beside what was
measured, with the rank correlation of the share of the time that a technique touches and of the speedup. With --write
the table is put into studies/explain_evaluation.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from scipy.stats import spearmanr

from accelbench.explained_run import PREDICTION_HEADINGS, Predicted, count_predictions, list_prediction_cells
from accelbench.results import find_explanation, find_results
from accelbench.schema.run_explanation import list_predictions
from studies.marked_tables import show_tables

PAGE = Path(__file__).parents[1] / "explain_evaluation.md"


def make_table(predictions: Sequence[Predicted]) -> Iterator[str]:
    """Yield the lines of the table, and what they come to."""
    bounded = [pair for pair in predictions if math.isfinite(pair[0].at_most)]
    shares, speedups = [each.share for each, _ in bounded], [found.effect.speedup for _, found in bounded]
    yield count_predictions(predictions)
    yield f"Rank correlation of share and speedup (Spearman): {spearmanr(shares, speedups).statistic:.2f}."
    yield ""
    yield f"| {' | '.join(PREDICTION_HEADINGS)} |"
    yield "|---|---|---|---:|---:|---:|---|"
    for cells in list_prediction_cells(predictions):
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, and write it into the page if wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", help="a result file with its explanation beside it")
    parser.add_argument("--write", action="store_true", help="write the table into studies/explain_evaluation.md")
    options = parser.parse_args()
    (result,) = find_results(options.result).results
    explanation = find_explanation(result.path)
    if explanation is None:
        parser.error(f"{result.path} is not explained; explain it: accelbench explain {result.path}")
    lines = [f"Of {Path(result.path).name}.", *make_table(list_predictions(explanation, result.run))]
    show_tables(PAGE, "predictions", lines, write=options.write)


if __name__ == "__main__":
    main()
