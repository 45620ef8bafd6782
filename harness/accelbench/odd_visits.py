"""For how long visits found the machine in an unusual state, in the same words in terminal, page and summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from accelbench import units
from accelbench.schema.reasons import Reason, describe
from accelbench.schema.result import TrialRecord, Visit
from accelbench.text import join_names


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


def _how_long(visits: Sequence[Visit]) -> str:
    """Return how long visits took, or how many they are where a file does not say how long they took."""
    spans_s = [visit.span_s for visit in visits if visit.span_s is not None]
    if len(spans_s) < len(visits):
        return f"in {units.plural(len(visits), 'visit')}"
    return f"for {units.minutes(sum(spans_s))}"
