"""The rules of other tools, implemented from their documentation or source.

A rule takes a series of one case and returns the alarms that it would have raised, run after run. Settings that a tool
leaves to its user are those of its documentation's example. A one-sided rule reports what became slower.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from studies.history.simulated_series import Series

_RESAMPLES = 100  # criterion takes 100,000


@dataclass(frozen=True, order=True)
class Alarm:
    """A change that a detector reports: the first run after it, and its direction."""

    at: int
    slower: bool = True


def previous_run(series: Series, threshold: float) -> list[Alarm]:
    """pytest-benchmark's ``--benchmark-compare-fail=mean:10%``: the mean of the rounds against the run before.

    https://pytest-benchmark.readthedocs.io/en/latest/usage.html
    """
    means = np.exp(series.rounds).mean(axis=1)
    return _alarms(means[1:] / means[:-1] - 1 > threshold, first=1)


def criterion(series: Series, noise: float = 0.01, level: float = 0.05) -> list[Alarm]:
    """criterion: a bootstrapped t-test of the rounds of two runs, and the change's interval outside a noise zone.

    https://bheisler.github.io/criterion.rs/book/analysis.html
    """
    rounds = np.exp(series.rounds)
    each = rounds.shape[1]
    rng = np.random.default_rng(0)  # the same resamples for every pair of runs
    old, new = (_resample(rng, each, of=each) @ rounds.T for _ in range(2))
    low, high = np.quantile(new[:, 1:] / old[:, :-1] - 1, [level / 2, 1 - level / 2], axis=0)
    pooled = np.concatenate([rounds[:-1], rounds[1:]], axis=1)
    drawn = [_resample(rng, each, of=2 * each) for _ in range(2)]
    means = [weights @ pooled.T for weights in drawn]
    squares = [weights @ (pooled.T**2) for weights in drawn]
    spread = sum(square - mean**2 for square, mean in zip(squares, means, strict=True))
    chance = (means[1] - means[0]) / np.sqrt(spread / (each - 1))
    seen = (rounds[1:].mean(axis=1) - rounds[:-1].mean(axis=1)) / np.sqrt(
        (rounds[1:].var(axis=1) + rounds[:-1].var(axis=1)) / (each - 1)
    )
    differs = (np.abs(chance) >= np.abs(seen)).mean(axis=0) < level
    return sorted(
        [*_alarms(differs & (low > noise), first=1), *_alarms(differs & (high < -noise), first=1, slower=False)]
    )


def lnt(series: Series, least: float = 0.01, level: float = 0.05, deviations: float = 2.576) -> list[Alarm]:
    """LNT: the least of the new rounds against the nearest old one, where Mann and Whitney see a difference too.

    https://github.com/llvm/llvm-lnt, ``lnt/server/reporting/analysis.py``; changes below 10 ms, which LNT
    ignores, count here, since a case may be short.
    """
    rounds = np.exp(series.rounds)
    new, old = rounds[1:], rounds[:-1]
    best = new.min(axis=1)
    nearest = old[np.arange(len(old)), np.abs(old - best[:, None]).argmin(axis=1)]
    change = best - nearest
    differs = stats.mannwhitneyu(new, old, axis=1, method="asymptotic").pvalue < level
    clear = differs & (np.abs(change / nearest) >= least) & (np.abs(change) > deviations * new.std(axis=1, ddof=1))
    return sorted([*_alarms(clear & (change > 0), first=1), *_alarms(clear & (change < 0), first=1, slower=False)])


def bencher(series: Series, boundary: float = 0.99, most: int = 64) -> list[Alarm]:
    """Bencher's t-test: a prediction interval from up to 64 runs before, one-sided.

    https://bencher.dev/docs/explanation/thresholds/
    """
    seconds = np.exp(series.values)
    before = [seconds[max(0, run - most) : run] for run in range(2, len(seconds))]
    numbers = np.array([len(values) for values in before])
    middles, spreads = np.array([(values.mean(), values.std(ddof=1)) for values in before]).T
    limits = middles + stats.t.ppf(boundary, numbers - 1) * spreads * np.sqrt(1 + 1 / numbers)
    return _alarms(seconds[2:] > limits, first=2)


def perfherder(series: Series, score: float = 7.0, least: float = 0.02, back: int = 24, fore: int = 12) -> list[Alarm]:
    """Perfherder: a weighted t above 7 between up to 24 runs before and 12 after, at its peak, and at least 2 %.

    https://wiki.mozilla.org/TestEngineering/Performance/Sheriffing/Alert_FAQ and https://github.com/mozilla/treeherder,
    ``treeherder/perfalert``; nearer runs weigh more. It needs 12 runs on each side.
    """
    seconds = np.exp(series.values)
    scores = np.zeros(len(seconds) + 1)
    changes = np.zeros(len(seconds) + 1)
    for run in range(fore, len(seconds) - fore + 1):
        before, after = seconds[max(0, run - back) : run][::-1], seconds[run : run + fore]
        (old, old_error), (new, new_error) = _weighted(before), _weighted(after)
        scores[run] = abs(new - old) / np.hypot(old_error, new_error)
        changes[run] = new / old - 1
    peaks = (scores > score) & (scores >= np.roll(scores, 1)) & (scores >= np.roll(scores, -1))
    clear = peaks & (np.abs(changes) >= least)
    return [Alarm(int(run), bool(changes[run] > 0)) for run in np.flatnonzero(clear)]


def _weighted(nearest_first: np.ndarray) -> tuple[float, float]:
    """Return the mean in which nearer runs weigh more, and its standard error."""
    weights = np.linspace(1, 0, len(nearest_first), endpoint=False)
    error = nearest_first.std(ddof=1) / np.sqrt(len(nearest_first))
    return float(np.average(nearest_first, weights=weights)), float(error)


def _resample(rng: np.random.Generator, draws: int, of: int) -> np.ndarray:
    """Return the weights of resamples with replacement, shape ``(resamples, of)``: with values, they give the means."""
    return rng.multinomial(draws, np.full(of, 1 / of), size=_RESAMPLES) / draws


def _alarms(raised: np.ndarray, first: int, slower: bool = True) -> list[Alarm]:
    return [Alarm(int(run) + first, slower) for run in np.flatnonzero(raised)]
