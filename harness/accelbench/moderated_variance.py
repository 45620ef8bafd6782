"""Moderated variances: what a few values of one case say about its variance, weighed against what all cases say.

The method is limma's (Smyth 2004, "Linear models and empirical Bayes methods for assessing differential expression in
microarray experiments"; its trend: Law et al. 2014, "voom: precision weights unlock linear model analysis tools for
RNA-seq read counts"). The functions of the fit are written out, so that measuring needs no SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

FEWEST_OF_TREND = 10  # cases, below which their variances within visits are not looked at
_SERIES_FROM = 10.0  # where the asymptotic series of the digamma and trigamma functions are exact to 1e-10
_MOST_HALF = 1000.0  # of a prior's degrees of freedom: Student's t is then the normal distribution within 0.1 %


@dataclass(frozen=True, kw_only=True)
class Variance:
    """An estimated variance with its degrees of freedom; without any, nothing is known."""

    value: float = 0.0
    freedom: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Prior(Variance):
    """What the effects of a run say about the variance of one mean; ``visits`` is their mean number of visits.

    The value is that of an effect whose mean has the variance ``within`` from its pairs alone. For other effects it
    grows with that variance, to the power of ``growth``. ``most_freedom`` is that of all effects' variances together.
    """

    most_freedom: float = math.inf
    visits: float = 1.0
    within: float = 0.0
    growth: float = 0.0

    def of_mean(self, visits: int, within: float = 0.0) -> Variance:
        """Return the variance of a mean over visits, which is larger where there are fewer than usual.

        ``within`` is what the mean's pairs alone explain, 0 where it is not known.
        """
        trend = (within / self.within) ** self.growth if within and self.within else 1.0
        return Variance(value=self.value * trend * max(1.0, self.visits / visits), freedom=self.freedom)

    def moderate(self, *known: Variance, visits: int, within: float) -> Variance:
        """Return the moderated variance of a mean over visits, of which these estimates are known.

        A few effects that happen to agree say no more than all of them together (as in limma's eBayes).
        """
        variance = pool(*known, self.of_mean(visits, within))
        return replace(variance, freedom=min(variance.freedom, self.most_freedom))


def fit_prior(variances: Sequence[Variance], *, within: Sequence[float] = (), visits: float = 1.0) -> Prior:
    """Return the prior that moderates each of these variances: their common value, and what it is worth.

    They belong to means over this many ``visits``, on average, which have the variances ``within`` from their pairs
    alone. The variances are taken as draws from a scaled inverse chi-square distribution around a power of those, which
    is fitted by the moments of their logarithms (Smyth 2004, section 6.2). Where they differ by no more than chance,
    the prior has 2000 degrees of freedom.
    """
    known = [
        (each, inside)
        for each, inside in zip(variances, within or [0.0] * len(variances), strict=True)
        if each.freedom > 0 and each.value > 0
    ]
    if len(known) < 2:
        return Prior()
    halves = [each.freedom / 2 for each, _ in known]
    logs = np.array(
        [math.log(each.value) - digamma(half) + math.log(half) for (each, _), half in zip(known, halves, strict=True)]
    )
    typical, growth, trend = _fit_trend(logs, np.array([inside for _, inside in known]))
    left = logs - trend
    spread = float(np.sum((left - left.mean()) ** 2)) / (len(logs) - (2 if growth else 1))
    half = inverse_trigamma(spread - float(np.mean([trigamma(half) for half in halves])))
    value = math.exp(float(left.mean()) + digamma(half) - math.log(half))
    most_freedom = sum(each.freedom for each, _ in known)
    return Prior(value=value, freedom=2 * half, most_freedom=most_freedom, visits=visits, within=typical, growth=growth)


def _fit_trend(logs: np.ndarray, within: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Return the typical variance within visits, the power by which others grow with it, and what it explains of them.

    An effect whose variance within visits is not known is taken to have the typical one. The power is between 0 and 1:
    what scatters between visits can be unrelated to what scatters within them, or proportional to it.
    """
    seen = within > 0
    nothing = 0.0, 0.0, np.zeros_like(logs)
    if np.count_nonzero(seen) < FEWEST_OF_TREND:
        return nothing
    typical = float(np.exp(np.mean(np.log(within[seen]))))
    relative = np.log(np.where(seen, within, typical) / typical)
    if not relative.any():
        return nothing
    growth = float(np.clip(relative @ (logs - logs.mean()) / (relative @ relative), 0.0, 1.0))
    return typical, growth, growth * relative


def pool(*variances: Variance) -> Variance:
    """Return the mean of estimates of one variance, each weighted by its degrees of freedom."""
    freedom = sum(each.freedom for each in variances)
    if freedom == 0:
        return Variance()
    return Variance(value=sum(each.freedom * each.value for each in variances) / freedom, freedom=freedom)


@lru_cache(maxsize=1024)
def digamma(x: float) -> float:
    """Return the derivative of ``math.lgamma`` (Abramowitz and Stegun 1964, 6.3.5 and 6.3.18)."""
    below = 0.0
    while x < _SERIES_FROM:
        below -= 1 / x
        x += 1
    return below + math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6)


@lru_cache(maxsize=1024)
def trigamma(x: float) -> float:
    """Return the second derivative of ``math.lgamma`` (Abramowitz and Stegun 1964, 6.4.6 and 6.4.12)."""
    below = 0.0
    while x < _SERIES_FROM:
        below += 1 / x**2
        x += 1
    return below + 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5) + 1 / (42 * x**7)


def inverse_trigamma(value: float) -> float:
    """Return where the trigamma function has this value, at most 1000; it falls from infinity to 0."""
    low, high = 1e-3, _MOST_HALF
    if value <= trigamma(high):
        return high
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if trigamma(middle) > value else (low, middle)
    return high
