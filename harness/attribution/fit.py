"""From rounds in which every arm was timed to shares with intervals.

All arms of a round share its weather, so contrasts are taken within rounds. Rounds that follow each other may resemble
each other; they are put into consecutive batches, whose means hardly do, and Student's t on these gives the intervals
(Schmeiser 1982, "Batch size effects in the analysis of simulation output", *Operations Research* 30). Where each batch
is a build of its own, the intervals carry what builds differ by. Medians within stretches of rounds keep single
disturbed blocks out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from harness.attribution.contrasts import Contrast, contrasts
from harness.attribution.design import Row
from harness.attribution.shares import Additivity, Attribution, Share
from harness.errors import BadInput
from harness.verdict import verdict

ALPHA = 0.01  # as a trial's verdicts
FEWEST = 4  # stretches; fewer give no interval worth the name


def batches_for(arms: int) -> int:
    """Return into how many batches the rounds of so many arms are put: more than there are interactions to test."""
    return 10 if arms <= 8 else 20


def fit(
    labels: Mapping[str, str],
    arms: tuple[Row, ...],
    log_speedups: np.ndarray,
    *,
    rounds: int,
    alpha: float = ALPHA,
    noise: float = 0.01,
) -> Attribution:
    """Take a bundle apart.

    Args:
        labels: each technique in words, in the order of the rows of ``arms``.
        arms: of each arm, which techniques are on.
        log_speedups: medians over stretches of rounds, shape ``(stretches, arms)``, over the arm with none on.
        rounds: how many rounds they stand for.
        alpha: error rate of each interval, and of the test whether the effects multiply.
        noise: ratios within this fraction of 1 count as the same.

    Raises:
        BadInput: the arms are no design, or the stretches too few.
    """
    wanted = contrasts(list(labels), arms)
    if not wanted:
        raise BadInput(f"{len(arms)} arms of {len(labels)} techniques are no factorial design")
    if len(log_speedups) < FEWEST:
        raise BadInput(f"{rounds} round(s) are too few to take a bundle apart; expected {FEWEST} at least")
    crossed = [contrast for contrast in wanted if contrast.kind == "interaction"]
    batches = _batches(log_speedups, batches_for(len(arms)))
    shares = [_share(batches, contrast, alpha, noise) for contrast in wanted]

    def of(kind: str) -> dict[str, Share]:
        return {c.of[0]: share for c, share in zip(wanted, shares, strict=True) if c.kind == kind}

    return Attribution(
        labels=labels,
        bundle=shares[0],
        alone=of("alone"),
        average=of("average"),
        on_top=of("on top"),
        interactions={c.of: share for c, share in zip(wanted, shares, strict=True) if c.kind == "interaction"},
        aliases={contrast.of: contrast.aliases for contrast in crossed if contrast.aliases},
        together=next(iter(of("interactions").values()), None),
        additive=_additivity(batches, crossed, alpha, noise),
        rounds=rounds,
    )


def _batches(log_speedups: np.ndarray, count: int) -> np.ndarray:
    """Return the means of consecutive batches, spread further apart by what they hide of the stretches' resemblance.

    The variance of batch means misses a share of that of the whole mean. It is taken as of a first-order autoregression
    (Priestley 1981, *Spectral Analysis and Time Series*, chapter 5), with the resemblance that all arms show together.
    """
    count = min(count, len(log_speedups))
    means = np.array([batch.mean(axis=0) for batch in np.array_split(log_speedups, count)])
    each, r = len(log_speedups) / count, _resemblance(log_speedups)
    missed = 2 * r * (1 - r**each) / (each * (1 - r * r))
    centre = means.mean(axis=0)
    spread: np.ndarray = centre + (means - centre) / math.sqrt(1 - missed)
    return spread


def _resemblance(log_speedups: np.ndarray) -> float:
    """Return the first-order autocorrelation of stretches over all arms, from 0 to 0.9."""
    centred = log_speedups - log_speedups.mean(axis=0)
    whole = float((centred**2).sum())
    return min(max(float((centred[1:] * centred[:-1]).sum()) / whole, 0.0), 0.9) if whole else 0.0


def _interval(batches: np.ndarray, weights: np.ndarray, alpha: float) -> tuple[float, float, float]:
    """Return a contrast's mean over the batches and its interval, on the log scale."""
    from statsmodels.stats.weightstats import DescrStatsW  # here, since it takes a second

    seen = DescrStatsW(batches @ weights)
    low, high = seen.tconfint_mean(alpha)
    return float(seen.mean), float(low), float(high)


def _share(batches: np.ndarray, contrast: Contrast, alpha: float, noise: float) -> Share:
    mean, low, high = _interval(batches, contrast.weights, alpha)
    return Share(ratio=_exp(mean), low=_exp(low), high=_exp(high), verdict=verdict(low, high, noise))


def _additivity(batches: np.ndarray, crossed: list[Contrast], alpha: float, noise: float) -> Additivity:
    """Test whether all interactions are 0; bound them all at once, by Bonferroni."""
    bounds = [_interval(batches, contrast.weights, alpha / len(crossed))[1:] for contrast in crossed]
    furthest = max(abs(bound) for both in bounds for bound in both)
    p_value = _p_value(batches @ np.array([contrast.weights for contrast in crossed]).T)
    if furthest < math.log1p(noise):
        return Additivity(verdict="multiply", p_value=p_value, within=math.expm1(furthest))
    rejected = p_value is not None and p_value < alpha
    return Additivity(verdict="interact" if rejected else "undecided", p_value=p_value, within=_exp(furthest) - 1)


def _p_value(interactions: np.ndarray) -> float | None:
    """Return the p-value of Hotelling's T² test that all of these, shape ``(batches, interactions)``, have mean 0."""
    from statsmodels.stats.multivariate import test_mvmean
    from statsmodels.stats.weightstats import DescrStatsW

    batches, count = interactions.shape
    if batches <= count or np.linalg.matrix_rank(interactions - interactions.mean(axis=0)) < count:
        return None
    if count == 1:  # Student's t, which test_mvmean cannot tell as T²
        return float(DescrStatsW(interactions[:, 0]).ttest_mean()[1])
    return float(test_mvmean(interactions, np.zeros(count)).pvalue)


def _exp(log_ratio: float) -> float:
    return math.exp(min(max(log_ratio, -700.0), 700.0))  # beyond it lies no float
