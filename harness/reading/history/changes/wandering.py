"""A level that wanders: it strays from run to run, is held and left again, and no run is the one at which it changed.

What is left over beside steps tells little about it, since steps take up the slow part of any wandering. So both are
held against each other as forecasts: a step and what neighbours beside it have in common, against one level that
follows the runs (exponential smoothing, the forecast of an ARIMA(0, 1, 1): Muth 1960, JASA 55) or to which they return
(a first-order autoregression).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from harness.reading.history.autocorrelation import MOST

_GAINS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)  # shares of a surprise by which a smoothed level moves
_FIRST = 5  # values whose mean a smoothed level begins with
_OF_A_STEP = 3.5  # times log n for a level and its place; 3 if values were independent (Zhang and Siegmund 2007,
# Biometrics 63), and a little more since what wanders is no smoothed level exactly

Values = NDArray[np.float64]


def wanders(values: Values, at: int) -> bool:
    """Say whether a level that wanders foretells the values as well as one that steps at a place."""
    number, before, after = len(values), values[:at], values[at:]
    stepped = _surprise(np.concatenate([before - before.mean(), after - after.mean()]))
    wandered = min(_surprise(values - values.mean()), *(_smoothed(values, gain) for gain in _GAINS))
    return bool(stepped) and number * math.log(wandered / stepped) < _OF_A_STEP * math.log(number)


def _surprise(left: Values) -> float:
    """Return the sum of squares that a first-order autoregression leaves, the first value being as likely as any."""
    alike, inner = float(left[1:] @ left[:-1]), float(left[1:-1] @ left[1:-1])
    phi = min(max(alike / inner, 0.0), MOST) if inner else 0.0
    return float(left @ left) - 2 * phi * alike + phi**2 * inner


def _smoothed(values: Values, gain: float) -> float:
    """Return the sum of squares by which a smoothed level misses the next value."""
    left = values - values[:_FIRST].mean()
    level = signal.lfilter([gain], [1.0, gain - 1.0], left)
    missed = left - np.concatenate([[0.0], level[:-1]])
    return float(missed @ missed)
