"""The outcomes of the searches, as a table and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from accelbench.units import percent, plural, seconds, speedup

NEAR = 0.03  # of the optimum


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One search: its choice, the share by which that is slower than the best, and the share of the full cost."""

    search: str
    chosen: str
    regret: float
    cost: float


@dataclass(frozen=True, kw_only=True)
class Contest:
    """A workload's searches. ``best`` is the speedup of the best configuration over the baseline."""

    workload: str
    configurations: int
    exhaustive_s: float
    best: float
    outcomes: Sequence[Outcome]

    def of(self, search: str) -> list[Outcome]:
        """Return the outcomes of a search, in the order of its repetitions."""
        return [outcome for outcome in self.outcomes if outcome.search == search]


def read(plain: dict[str, Any]) -> Contest:
    """Return a contest from its plain data."""
    return Contest(**{**plain, "outcomes": [Outcome(**each) for each in plain["outcomes"]]})


def table(contests: Iterable[Contest]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| workload | configurations | best | search | regret: median | worst | within 3 % | cost: median | most |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for contest in contests:
        for search in dict.fromkeys(outcome.search for outcome in contest.outcomes):
            reached = contest.of(search)
            regrets, costs = [each.regret for each in reached], [each.cost for each in reached]
            near = sum(regret <= NEAR for regret in regrets)
            yield (
                f"| {contest.workload} | {contest.configurations} in {seconds(contest.exhaustive_s)} "
                f"| {speedup(contest.best)} | {search} | {percent(median(regrets))} | {percent(max(regrets))} "
                f"| {near} of {len(regrets)} | {percent(median(costs))} | {percent(max(costs))} |"
            )


def sentence(contests: Sequence[Contest], search: str) -> str:
    """Return in a sentence on how many workloads a search reaches both aims."""
    successful = [contest for contest in contests if _reaches_aims(contest.of(search))]
    return (
        f"In the median of its repetitions, {search} came within {percent(NEAR)} of the best configuration at 20 % or "
        f"less of the cost of measuring them all on {len(successful)} of {plural(len(contests), 'workload')}."
    )


def _reaches_aims(reached: Sequence[Outcome]) -> bool:
    regret, cost = median(each.regret for each in reached), median(each.cost for each in reached)
    return regret <= NEAR and cost <= 0.2
