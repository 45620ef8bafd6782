"""How sure an effect is, what would decide one that is not, and what made a run less sure.

Terminal, page and summary use the same words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from accelbench import units
from accelbench.schema.reasons import OTHER_WORK, Reason, describe
from accelbench.schema.result import Run, TrialRecord, Visit
from accelbench.schema.verdict import NEGLIGIBLE
from accelbench.text import join_names

_NOISE = 0.01  # of a run whose settings do not name it
_LONGEST_S = 1e9  # budgets beyond it are none
_WITHIN_A_BUDGET = 30  # times the pairs; beyond it an estimate of a square law means little
_COUNTED = 1000  # times; beyond it a number would pretend to know


def noise_of(run: Run) -> float:
    """Return the half-width of the noise zone around 1, as a fraction, from the run's settings."""
    noise = run.settings.get("noise")
    return noise if isinstance(noise, float) and 0 < noise < 1 else _NOISE


def budget_of(run: Run) -> float | None:
    """Return the measuring time per arm in seconds from the run's settings, None where they do not say."""
    budget_s = run.settings.get("budget_s")
    if isinstance(budget_s, bool) or not isinstance(budget_s, int | float) or not 0 < budget_s < _LONGEST_S:
        return None
    return float(budget_s)


def times_the_pairs(speedup: float, low: float, high: float, noise: float) -> float | None:
    """Return about how many times the pairs would decide an effect that stays where it is.

    An interval for a median narrows with the square root of the pairs (Serfling 1980, *Approximation Theorems of
    Mathematical Statistics*, 2.3.3). It decides once it lies beyond the noise zone, or where only negligible effects
    do. An interval that may be looked at after every pair narrows a little more slowly (Howard et al. 2021, *Annals of
    Statistics* 49), and the next estimate will lie elsewhere.

    Returns None where an interval without an end tells nothing.
    """
    if not (speedup > 0 and low > 0) or math.isinf(high):
        return None
    zone, negligible, centre = math.log1p(noise), math.log1p(max(noise, NEGLIGIBLE)), math.log(speedup)
    below, above = centre - math.log(low), math.log(high) - centre
    ways = [math.inf]
    if abs(centre) > zone:
        ways.append((below if centre > 0 else above) / (abs(centre) - zone))
    if abs(centre) < negligible:
        ways.append(max(below / (negligible + centre), above / (negligible - centre)))
    return max(1.0, min(ways) ** 2)


def rank(verdict: str, speedup: float, low: float, high: float, noise: float) -> float:
    """Return the key by which effects of one verdict are sorted: the surest gain or loss first.

    Of undecided effects, those that few more pairs would decide come first.
    """
    if verdict == "undecided":
        times = times_the_pairs(speedup, low, high, noise)
        return math.inf if times is None else times
    return high if verdict == "slower" else -low


def what_would_decide(
    times: float | None, *, disturbed: bool, settled: bool, workers: int, budget_s: float | None
) -> str:
    """Return what would decide an undecided effect, with the option that measures for as long.

    Args:
        times: how many times the pairs would decide it, as `times_the_pairs` returns them.
        disturbed: whether something disturbed the trial.
        settled: whether the times of both arms had settled when their warm-up ended.
        workers: over how many fresh workers the pairs are spread, 1 where they are not.
        budget_s: the measuring time per arm in seconds, None where it is not known.
    """
    if times is None:
        pairs = f"at least twice the pairs{_option(2, workers, budget_s)}"
        return f"a quieter machine, and {pairs}" if disturbed else pairs
    if times <= _WITHIN_A_BUDGET:
        enough = max(2, math.ceil(times))
        pairs = f"about {enough} times the pairs{_option(enough, workers, budget_s)}"
        return f"{pairs}, fewer on a quieter machine" if disturbed else pairs
    many = f"about {units.count(float(f'{times:.1g}'))}" if times <= _COUNTED else f"more than {units.count(_COUNTED)}"
    many = f"{many} times the pairs"
    if disturbed:
        return f"a quieter machine; as it was, {many}"
    if not settled:
        return f"a longer warm-up, which a larger budget gives; as it was, {many}"
    return f"{many}, more than one budget gives"


def _option(times: int, workers: int, budget_s: float | None) -> str:
    """Return the option that measures ``times`` as long."""
    if workers > 1:
        return f" (--accel-visits={math.ceil(times * workers)})"
    return f" (--accel-budget={math.ceil(times * budget_s)})" if budget_s else ""


def remarks_on_certainty(trials: Sequence[TrialRecord]) -> list[str]:
    """Return what made the intervals of a run's trials narrower or wider, in sentences without a full stop."""
    return [*filter(None, (describe_joined(trials), describe_odd_visits(trials), describe_cut_short(trials)))]


def describe_odd_visits(trials: Iterable[TrialRecord]) -> str:
    """Return for how long visits found the machine in an unusual state, and how many were repeated, in one sentence.

    A visit that is odd for two reasons counts for both. The text is empty where no visit was odd.
    """
    visits = [visit for trial in trials for visit in trial.visits]
    found: dict[str, list[tuple[Reason, Visit]]] = {}
    for visit in visits:
        for cause in visit.odd:
            found.setdefault(cause.code, []).append((cause, visit))
    if not found:
        return ""
    causes = [
        f"{describe([cause for cause, _ in alike], brief=True)} {_how_long([visit for _, visit in alike])}"
        for alike in sorted(found.values(), key=len, reverse=True)
    ]
    repeated = sum(visit.is_repetition for visit in visits)
    again = f"; {units.plural(repeated, 'visit')} {'was' if repeated == 1 else 'were'} repeated" if repeated else ""
    return f"In this run, {join_names(causes)}{again}"


def is_disturbed(trial: TrialRecord) -> bool:
    """Return whether other work ran beside a trial, or every visit found the machine in an unusual state.

    Its times then say less about the program than about that moment; a speedup compares what the moment did to both.
    """
    is_odd = bool(trial.visits) and all(visit.odd for visit in trial.visits)
    return is_odd or any(remark.code in OTHER_WORK for remark in trial.remarks)


def describe_joined(trials: Iterable[TrialRecord]) -> str:
    """Return how many speedups are means of this run and earlier ones, in a sentence; "" if none is."""
    joined = [arm.effect.joined_runs for trial in trials for arm in trial.arms if arm.effect and arm.effect.joined_runs]
    if not joined:
        return ""
    are_means = "is the mean" if len(joined) == 1 else "are means"
    earlier = "an earlier one" if max(joined) == 1 else f"up to {max(joined)} earlier ones"
    return f"{units.plural(len(joined), 'speedup')} {are_means} of this run and {earlier}"


def describe_cut_short(trials: Iterable[TrialRecord]) -> str:
    """Return of how many trials the time was too short for further visits, in a sentence; "" if of none."""
    cut = sum(any(remark.code == "visits-cut-short" for remark in trial.remarks) for trial in trials)
    if not cut:
        return ""
    return (
        f"There was no time to narrow the intervals of {units.plural(cut, 'trial')}; a larger --accel-within gives it"
    )


def _how_long(visits: Sequence[Visit]) -> str:
    """Return how long visits took, or how many they are where a file does not say how long they took."""
    spans_s = [visit.span_s for visit in visits if visit.span_s is not None]
    if len(spans_s) < len(visits):
        return f"in {units.plural(len(visits), 'visit')}"
    return f"for {units.minutes(math.ceil(sum(spans_s)))}"
