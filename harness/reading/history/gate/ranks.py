"""How surely the newest runs lie on one side of those before them, by their order alone.

Ranks know nothing of how far off a run is: outliers and skewed values, which widen every spread, do not weaken them.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from harness.reading.history.autocorrelation import MOST, inflation
from harness.reading.history.gate.learning import Matrix

_FEWEST = 5  # runs that tell anything of how much neighbours resemble each other


def chance_by_ranks(newest: Matrix, held: Matrix) -> Matrix:
    """Return for each case the chance that runs which did not change lie so much on one side, either way.

    Both are of shape ``(runs, cases)``, not a number where a case has no value, in the order in which they were made.
    It is that of the exact Wilcoxon test, its normal deviate weakened by how much neighbours resemble each other.
    """
    alike = resemblance(held)
    new, old = np.sort(newest, axis=0), np.sort(held, axis=0)  # what is missing comes last
    chances = np.full(held.shape[1], np.nan)
    counts = np.stack([np.isfinite(new).sum(axis=0), np.isfinite(old).sum(axis=0)])
    for numbers in np.unique(counts[:, counts.all(axis=0)], axis=1).T:
        cases = (counts == numbers[:, None]).all(axis=0)
        pair = new[: numbers[0], cases], old[: numbers[1], cases]
        exact = stats.mannwhitneyu(*pair, axis=0, method="exact").pvalue
        weakened = stats.norm.isf(exact / 2) / np.sqrt(inflation((int(numbers[0]), int(numbers[1])), alike))
        chances[cases] = 2 * stats.norm.sf(weakened)
    return chances


def resemblance(held: Matrix) -> float:
    """Return the autocorrelation, that of the ranks of neighbours: the mean of all cases, since one tells it poorly.

    Corrected as in :func:`harness.reading.history.autocorrelation.autocorrelation`, a standard error on top.
    """
    numbers = np.isfinite(held).sum(axis=0)
    ranks = stats.rankdata(held, axis=0, nan_policy="omit") - (numbers + 1) / 2
    products, squares = np.nansum(ranks[1:] * ranks[:-1], axis=0), np.nansum(ranks**2, axis=0)
    tell = (numbers >= _FEWEST) & (squares > 0)
    if not tell.any():
        return 0.0
    found = (products[tell] / squares[tell] + 1 / numbers[tell]) / (1 - 3 / numbers[tell])
    return float(np.clip(found.mean() + 1 / np.sqrt(numbers[tell].sum()), 0.0, MOST))
