"""How far the newest runs depart from those before them, and how surely: the runs are what is counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy import stats

from harness.reading.history.autocorrelation import inflation
from harness.reading.history.gate.learning import Matrix, Spread, fenced, learn, mean
from harness.reading.history.gate.ranks import chance_by_ranks, resemblance
from harness.reading.history.medians import median

# From which a spread is learnt: the order of two sets of so many can show a difference at 1 %, 2 / C(10, 5) = 0.8 %;
# that of four cannot, 2 / C(8, 4) = 2.9 %.
LEAST_RUNS = 5
# Numbers of newest runs that are looked at together, since what departs by little takes several, and the variance of
# their median where one run has 1 (Teichroew 1956, *Annals of Mathematical Statistics* 27, 410-426).
SPANS = {1: 1.0, 2: 0.5, 3: 0.4487, 5: 0.2868}
_MOST_NEW = max(SPANS)  # of which the order is looked at, too: that of fewer tells little
_LEAST_PAST, _TAIL = 50, 0.01  # spans of the past that tell what is rare; the share of them that is its tail
_SURPRISE = 0.05  # chance of the farthest span of the past from which on t does not explain it
_LEAST_TAIL = 10  # spans in it


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Which runs are new, which they are held against, and the state in which each was made.

    All are of shape ``(runs, cases)``. A run may be both: it is then new to those spans that reach back to it.
    """

    new: NDArray[np.bool_]
    reference: NDArray[np.bool_]
    states: NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Departures:
    """For each case the departure of the newest runs, as a difference of logarithms, at its surest span.

    ``error`` is the standard error, ``narrowest`` the smallest of any span, and ``freedom`` that of the spread behind
    it, which is known from ``learnt`` runs. So many ``runs`` stand against the ``span`` newest ones, of which the first
    is at the position ``first``. ``p`` is the chance of such a departure, in any look, where nothing changed; not a
    number where there is nothing to compare.
    """

    shift: Matrix
    error: Matrix
    narrowest: Matrix
    deviation: Matrix
    freedom: Matrix
    p: Matrix
    centre: Matrix
    span: NDArray[np.int_]
    runs: NDArray[np.int_]
    learnt: NDArray[np.int_]
    first: NDArray[np.int_]


def departures(values: Matrix, rows: Rows, doubt: Matrix | None = None) -> Departures:
    """Return how the newest of the values, of shape ``(runs, cases)``, depart from those that they are held against.

    ``doubt`` is the standard error that each value has of its own; where the newest have more of it than is usual,
    their departure is the less sure. A case that the last run lacks has none.
    """
    doubt = np.zeros_like(values) if doubt is None else doubt
    each = [_at(span, values, rows, doubt) for span in SPANS]
    each.append(_by_ranks(each[-1], values, rows, doubt))
    chances = np.array([found["p"] for found in each])
    tried = np.isfinite(chances).sum(axis=0)
    surest = np.where(tried, np.argmin(np.where(np.isfinite(chances), chances, 2.0), axis=0), 0)
    pick = {name: np.take_along_axis(np.array([f[name] for f in each]), surest[None], axis=0)[0] for name in each[0]}
    errors = np.array([np.where(np.isfinite(found["p"]), found["error"], np.inf) for found in each])
    p = np.minimum(pick.pop("p") * np.maximum(tried, 1), 1.0)  # Bonferroni, over the looks
    return Departures(p=p, span=np.array([*SPANS, _MOST_NEW])[surest], narrowest=errors.min(axis=0), **pick)


def _at(span: int, values: Matrix, rows: Rows, doubt: Matrix) -> dict[str, Any]:
    """Return the departure of so many newest runs, by how far off they are."""
    there = np.isfinite(values)
    new, before, first = _parted(span, there, rows)
    reference = rows.reference & before
    known, runs = np.where(before, values, np.nan), reference.sum(axis=0)
    spread = learn(known, rows.states)
    held = np.where(reference, values, np.nan)
    centre = mean(fenced(held))
    shift = median(np.where(new, values, np.nan)) - centre
    own = spread.deviation**2 + _unusual(doubt, new, reference)
    error = np.sqrt(SPANS[span] * own + spread.deviation**2 / np.maximum(runs, 1))
    least = 1 if span == 1 else LEAST_RUNS
    usable = there[-1] & (new.sum(axis=0) == span) & (runs >= least) & (before.sum(axis=0) >= LEAST_RUNS)
    inflated = inflation((span, max(1, int(np.median(runs)))), resemblance(held))
    chance = np.where(usable, _chance(shift / error, spread, _past(held, spread, span), inflated), np.nan)
    return {
        "shift": shift, "error": error, "centre": centre, "p": chance, "runs": runs,
        "learnt": before.sum(axis=0), "first": first, "deviation": spread.deviation, "freedom": spread.freedom,
    }  # fmt: skip


def _by_ranks(found: dict[str, Any], values: Matrix, rows: Rows, doubt: Matrix) -> dict[str, Any]:
    """Return the departure of the most newest runs, by their order; of runs that doubt themselves unusually, none."""
    new, before, _ = _parted(_MOST_NEW, np.isfinite(values), rows)
    reference = rows.reference & before
    chance = chance_by_ranks(*(np.where(chosen, values, np.nan) for chosen in (new, reference)))
    sure = _unusual(doubt, new, reference) <= found["deviation"] ** 2
    return {**found, "p": np.where(sure & np.isfinite(found["p"]), chance, np.nan)}


def _parted(
    span: int, there: NDArray[np.bool_], rows: Rows
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int_]]:
    """Return which values are those of so many newest runs, which were made before them, and where they begin."""
    new = rows.new & there
    new &= np.cumsum(new[::-1], axis=0)[::-1] <= span
    first = np.where(new.any(axis=0), new.argmax(axis=0), len(there))
    return new, there & (np.arange(len(there))[:, None] < first), first


def _unusual(doubt: Matrix, new: NDArray[np.bool_], reference: NDArray[np.bool_]) -> Matrix:
    """Return the variance that the newest values have of their own beyond what those before them had."""
    usual = np.nan_to_num(median(np.where(reference, doubt, np.nan)))
    beyond = np.where(new, np.maximum(doubt**2 - usual**2, 0), 0)
    beyond = np.where(np.isnan(beyond), 0, beyond)  # a value that says nothing about itself
    return np.asarray(beyond.sum(axis=0) / np.maximum(new.sum(axis=0), 1))


def _chance(standard: Matrix, spread: Spread, past: Matrix, inflated: float) -> Matrix:
    """Return the chance of such a departure, either way, where nothing changed.

    Student's t says it, weakened by ``inflated``, since runs that resemble their neighbours tell less; or the past of
    all cases, where that says more: it knows of outliers, of two modes and of runs that follow one another (an
    empirical null: Efron 2004, *Journal of the American Statistical Association* 99, 96). Where the past went further
    than t can explain, its tail is continued as a power (Hill 1975, *Annals of Statistics* 3, 1163).
    """
    far, freedom = np.abs(standard), np.maximum(spread.freedom, 1)
    by_theory = np.asarray(2 * stats.t.sf(far / np.sqrt(inflated), freedom))
    if len(past) < _LEAST_PAST:
        return by_theory
    seen = (len(past) - np.searchsorted(past, far, side="left")) / len(past)
    if 2 * stats.t.sf(past[-1] / np.sqrt(inflated), np.median(freedom)) * len(past) < _SURPRISE:
        tail = past[-max(_LEAST_TAIL, round(_TAIL * len(past))) :]
        power = 1 / np.mean(np.log(tail[1:] / tail[0]))
        continued = len(tail) / len(past) * np.maximum(far / tail[0], 1) ** -power
        seen = np.where(far > tail[0], np.maximum(seen, continued), seen)
    return np.asarray(np.maximum(by_theory, seen))


def _past(held: Matrix, spread: Spread, span: int) -> Matrix:
    """Return by how many standard errors each span of the past departed from the rest of it, in order.

    The runs right after a span are left out: when it was new, nobody knew whether they would go on as it did.
    """
    if len(held) < span:
        return np.empty(0)
    tame = fenced(held)
    tame, held = tame - mean(tame), held - mean(tame)
    later = np.concatenate([tame, np.full((_MOST_NEW, tame.shape[1]), np.nan)])
    windows = sliding_window_view(later, span + _MOST_NEW, axis=0)
    inside, squares = np.nansum(windows, axis=-1), np.nansum(windows**2, axis=-1)
    rest = np.isfinite(held).sum(axis=0) - np.isfinite(windows).sum(axis=-1)
    around = -inside / np.maximum(rest, 1)
    left = np.nansum(tame**2, axis=0) - squares - np.maximum(rest, 1) * around**2
    variance = spread.with_others(left / np.maximum(rest - 1, 1), np.maximum(rest - 1, 0))  # a span hides nothing in it
    apart = np.median(sliding_window_view(held, span, axis=0), axis=-1) - around
    standard = np.abs(apart) / np.sqrt(variance * (SPANS[span] + 1 / np.maximum(rest, 1)))
    known = np.isfinite(standard) & (rest >= LEAST_RUNS - 1)
    return np.sort(standard[known])
