"""A table of house prices, generated: it has the shape of the Ames table, and a truth that is known.

The Ames table (De Cock 2011, Journal of Statistics Education 19(3)) as it is mostly taught has 1,460 rows of 79
features; 36 numeric ones and the categorical ones, one column per category, make 331 columns (Zhang et al., Dive into
Deep Learning, section 5.7). Its numbers are not used here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ROWS = 1460
NUMERIC = 36
# Categories of each of the 43 categorical features, missing values being one of them: 295 together.
CATEGORIES = (26, 17, 16, 16, 10, *[9] * 3, *[8] * 5, *[7] * 6, *[6] * 7, *[5] * 4, *[4] * 4, *[3] * 5, *[2] * 4)
MISSING = 0.06  # share of the numeric values
NOISE = 0.1  # standard deviation of the log price that no feature explains


@dataclass(frozen=True, kw_only=True)
class Houses:
    """What is known of houses, shape ``(rows, 331)``, and the natural logarithm of their prices, ``(rows,)``."""

    features: np.ndarray
    log_prices: np.ndarray


def houses(seed: int) -> Houses:
    """Return the table, float32: numeric columns standardised, missing values at their mean, categories as 0 and 1.

    The log price is a saturating function of the first numeric feature, times a linear one of the second, and a sum of
    small effects of all of them and of the categories, of which those of the first categorical feature weigh most.
    """
    rng = np.random.default_rng(seed)
    # Half of them skewed, as areas and distances are.
    numeric = rng.normal(size=(ROWS, NUMERIC))
    numeric[:, ::2] = np.exp(0.5 * numeric[:, ::2])
    numeric = (numeric - numeric.mean(axis=0)) / numeric.std(axis=0)
    area = np.tanh(numeric[:, 0])
    log_prices = 12 + 0.3 * area + 0.25 * area * numeric[:, 1]
    log_prices += numeric @ rng.normal(scale=0.02, size=NUMERIC)
    columns = [np.where(rng.random(numeric.shape) < MISSING, 0, numeric)]
    for number, count in enumerate(CATEGORIES):
        category = rng.choice(count, size=ROWS, p=rng.dirichlet(np.ones(count)))
        log_prices += rng.normal(scale=0.02 if number else 0.15, size=count)[category]
        columns.append(np.eye(count)[category])
    log_prices += rng.normal(scale=NOISE, size=ROWS)
    return Houses(features=np.hstack(columns).astype(np.float32), log_prices=log_prices.astype(np.float32))
