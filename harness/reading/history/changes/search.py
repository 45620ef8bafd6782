"""What changed over a history: every step and drift of the machine, of its workloads and of the techniques' effects.

Compared are runs of one machine, of one identity and with problems of one size. What changed in the environment at a
step explains it and does not hide it.

The machine, its workloads and its techniques' effects are three questions, and all series of a kind share one
false-discovery rate (Benjamini and Hochberg 1995). It holds for these p-values although a trial's effects share their
baseline, since that makes them rise and fall together (Benjamini and Yekutieli 2001); a series in which nothing was
found counts with a p-value of 1. Episodes, which are no changes, are questions of their own: many of them must
not make it easier for a step to be told.

A history is looked at anew each time, and nothing is kept that could be stale. So a run that is added costs as much as
the runs that are looked at: the newest so many, which bounds time and memory however long a history grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import pandas as pd
from scipy import stats

from harness.reading.history.changes.causes import did_change, what_changed
from harness.reading.history.changes.drift import Course, Drift, course, ratio_of
from harness.reading.history.changes.parts import Kind, Part, parts
from harness.reading.history.changes.splitting import SHORTEST
from harness.reading.history.changes.steps import ALPHA, Step, sized
from harness.reading.history.observations import History

DISCOVERIES = 0.05  # share of the reported changes of a kind that may be none
_NEWEST = 1_000  # runs
_MARGIN = 0.01  # a change of no more is none
_TOGETHER = 0.5  # share of a baseline's step that its candidates must make, too, for it to be the workload's

_Tested = tuple[str, Part, pd.DataFrame, Course, Step | Drift | None]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change of one series: a step, dated to the first run after it, or a drift, dated to the series' first run.

    An episode is a step that is over, ``until`` its last run: the level is what it was before, and nothing has changed.
    One with an ``until`` of "" may still go on: it is no larger than those before, and has not outlasted them.
    ``before`` and ``after`` are levels: speedups of a technique; times of a machine or a workload as a share of those
    before. ``ratio`` is the level after over the level before, for a drift over 100 runs, with its interval at 99 %.
    ``last`` is the run before a step, and ``environment`` what changed between the two, in words; both "" for a drift.
    What does not apply, such as the technique of a machine, is "".
    """

    kind: Kind
    shape: Literal["step", "drift", "episode"]
    machine: str
    size: str
    since: str
    last: str
    before: float
    after: float
    ratio: float
    low: float
    high: float
    p_value: float
    environment: str
    until: str = ""
    framework: str = ""
    workload: str = ""
    problem: str = ""
    technique: str = ""
    level: str = ""
    against: str = ""
    case: str = ""


def changes(history: History, *, newest: int = _NEWEST) -> list[Change]:
    """Return the changes of a history, the last one first; of comparable runs only the ``newest`` are looked at."""
    order = {run: place for place, run in enumerate(history.runs["run"])}
    tested = list(_tested(list(_comparable(history, newest))))
    if not tested:
        return []
    sure = _sure([question for question, *_ in tested], [found.p_value if found else 1.0 for *_, found in tested])
    told = [
        _change(part, runs, seen, found)
        for (_, part, runs, seen, found), p_value in zip(tested, sure, strict=True)
        if found and p_value <= DISCOVERIES
    ]
    return sorted(told, key=lambda change: (-order[change.since], change.p_value))


def _sure(questions: list[str], p_values: list[float]) -> pd.Series[float]:
    """Return p-values corrected for how many there are of their question."""
    by_question = pd.Series(p_values, dtype=float).groupby(questions)
    return by_question.transform(lambda each: stats.false_discovery_control(each))


def _comparable(history: History, newest: int) -> Iterator[tuple[Part, pd.DataFrame]]:
    """Yield every series that is long enough, with the runs that it is compared within."""
    for _, runs in history.runs.groupby(["machine", "identity", "size"], sort=False, observed=True):
        indexed = runs.drop_duplicates("run", keep="last").set_index("run", drop=False).iloc[-newest:]
        if len(indexed) >= 2 * SHORTEST:
            seen = history.observations[history.observations["run"].isin(indexed.index)]
            for part in parts(seen, list(indexed.index)):
                if len(part.values) >= 2 * SHORTEST:
                    yield part, indexed


def _tested(compared: list[tuple[Part, pd.DataFrame]]) -> Iterator[_Tested]:
    """Yield the answers to both questions of each series; None where there is none, for that is a finding, too.

    What seems to change is looked at again with the autocorrelation that series of its kind have: one series tells its
    own poorly, and those in which it seems low are those that seem to change.
    """
    values = [np.asarray(part.values, dtype=np.float64) for part, _ in compared]
    seen = [course(each, margin=_MARGIN, alpha=ALPHA) for each in values]
    own = pd.Series([each.autocorrelation for each in seen], dtype=float)
    alike = own.groupby([part.kind for part, _ in compared]).transform("median")
    for place, (part, runs) in enumerate(compared):
        if seen[place].found or seen[place].drift:
            seen[place] = course(values[place], margin=_MARGIN, alpha=ALPHA, alike=alike[place])
        steps = [
            step
            for step in sized(seen[place], margin=_MARGIN)
            if _is_shared(part, step, seen[place]) and (not step.opening or _is_explained(part, runs, step))
        ]
        answers: dict[str, list[Step | Drift | None]] = {
            "lasting": [*(step for step in steps if step.over is None), *filter(None, [seen[place].drift])],
            "over": [step for step in steps if step.over],
        }
        for question, found in answers.items():
            for each in found or [None]:
                yield f"{part.kind}, {question}", part, runs, seen[place], each


def _is_shared(part: Part, step: Step, seen: Course) -> bool:
    """Say whether a workload's candidates make the step of its baselines, too; else it is an effect that changed."""
    if part.shared is None:
        return True
    shared = part.shared.reindex(part.values.index)
    start, end = _around(step.at, seen)
    made = (shared.iloc[step.at : end].median() - shared.iloc[start : step.at].median()) / np.log(step.ratio)
    return bool(made >= _TOGETHER or np.isnan(made))


def _is_explained(part: Part, runs: pd.DataFrame, step: Step) -> bool:
    return did_change(runs.loc[list(part.values.index)], step.at, part.about.get("framework", ""))


def _around(at: int, seen: Course) -> tuple[int, int]:
    """Return where the segment before a step begins and the one after it ends."""
    return next((start, end) for (start, place), (_, end) in pairwise(pairwise(seen.bounds)) if place == at)


def _change(part: Part, runs: pd.DataFrame, seen: Course, found: Step | Drift) -> Change:
    names = list(part.values.index)
    over = None
    if isinstance(found, Step):
        at, over, factor = found.at, found.over, found.ratio
        start = _around(at, seen)[0]
    else:
        at, factor = 0, ratio_of(found.per_run * (len(names) - 1))
        start = 0
    level = float(np.median(seen.levelled[start : at or seen.bounds[1]])) if part.kind == "technique" else 0.0
    return Change(
        kind=part.kind,
        shape="episode" if over else "step" if at else "drift",
        machine=str(runs["machine"].iloc[0]),
        size=str(runs["size"].iloc[0]),
        since=names[at],
        last=names[at - 1] if at else "",
        until=names[over - 1] if over and over < len(names) else "",
        before=ratio_of(level),
        after=ratio_of(level) * factor,
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        p_value=found.p_value,
        environment=what_changed(runs.loc[names], at, part.about.get("framework", "")) if at else "",
        **part.about,
    )
