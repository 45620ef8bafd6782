"""Find what changed over a history: in the machine, in its workloads, and in the effects of techniques.

Only runs of one machine, one identity and one size are compared. A change of the environment at a level shift explains
the shift and does not hide it.

The machine, its workloads and the effects are three questions, and all series of a kind share one false-discovery rate.
A series in which nothing was found counts with a p-value of 1. Transients are questions of their own: many of them must
not make it easier to report a lasting change.

A history is searched from the start. Only the newest runs are searched, which bounds time and memory however long a
history grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import pandas as pd

from accelbench.history.change_points import (
    MIN_SEGMENT,
    Drift,
    LevelShift,
    Segmentation,
    measure_level_shifts,
    segment,
)
from accelbench.history.decompose import MIN_WORKLOADS, WORKLOAD, split_times
from accelbench.history.epochs import differences_between
from accelbench.history.observations import History, pivot
from accelbench.history.run_statistics import adjust_p_values
from accelbench.schema.environment_difference import name_cause, possible_causes, runs_to_separate, summarize
from accelbench.schema.verdict import ratio_of

Kind = Literal["machine", "workload", "technique"]
Shape = Literal["level shift", "drift", "transient"]  # lasting changes first

FALSE_DISCOVERY_RATE = 0.05  # share of the reported changes of a kind that may be wrong
_MAX_RUNS = 1_000
_SHARED = 0.5  # share of a baseline's shift that its candidates must make too, for it to be the workload's
_NEAR = 2  # runs by which a shift may be dated wrongly
_DESCRIPTION = ["framework", "workload", "problem", "technique", "level", "against", "case"]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change of one series: a level shift, dated to the first run after it, or a drift, dated to the first run.

    A transient is a level shift that is over, ``until`` its last run: the old level is back, and nothing has changed.
    One with an ``until`` of "" may still last. ``before`` and ``after`` are levels: speedups of a technique; times of a
    machine or a workload as a share of those before. ``ratio`` is the level after over the level before, for a drift
    over 100 runs, with its interval at 99 %. ``environment`` says what changed in it at a level shift, "" for a drift.
    What does not apply, such as the technique of a machine, is "".
    """

    kind: Kind
    shape: Shape
    machine: str
    size: str
    since: str
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


@dataclass(frozen=True, kw_only=True)
class _Series:
    """Logarithms by run, in order, of time for a machine or a workload, else of speedup.

    ``description`` holds columns of the observations. ``candidates`` is the part of a workload's candidates, for a
    workload that has any. ``runs`` are the rows of all comparable runs.
    """

    kind: Kind
    description: dict[str, str]
    values: pd.Series[float]
    runs: pd.DataFrame
    candidates: pd.Series[float] | None = None

    @property
    def framework(self) -> str:
        return self.description.get("framework", "")

    @property
    def own_runs(self) -> pd.DataFrame:
        """The rows of the runs that have a value."""
        return self.runs.loc[list(self.values.index)]


@dataclass(frozen=True, kw_only=True)
class _Test:
    """A question about a series and one answer to it, None where nothing was found, which is a finding too."""

    question: str
    series: _Series
    segmentation: Segmentation
    found: LevelShift | Drift | None


def find_changes(history: History, *, max_runs: int = _MAX_RUNS) -> list[Change]:
    """Return the changes of a history, the latest first; of comparable runs only the newest are searched."""
    order = {run: place for place, run in enumerate(history.runs["run"])}
    tested = list(_test(list(_comparable_series(history, max_runs))))
    if not tested:
        return []
    p_values = pd.Series([each.found.p_value if each.found else 1.0 for each in tested], dtype=float)
    questions = p_values.groupby([each.question for each in tested])
    adjusted = questions.transform(lambda each: adjust_p_values(each.to_numpy()))
    changes = [
        _describe_change(each, each.found)
        for each, p_value in zip(tested, adjusted, strict=True)
        if each.found and p_value <= FALSE_DISCOVERY_RATE
    ]
    return sorted(changes, key=lambda change: (-order[change.since], change.p_value))


def _explain_change(runs: pd.DataFrame, at: int, framework: str) -> str:
    """Return what changed in the environment at the run of that position; one field is named, several are confounded.

    A level shift among scattered values may be dated to the wrong run. So where nothing changed at this run, but
    something did at a single run close by, that is returned with its run.
    """
    if cause := _environment_change(runs, at, framework, " at that run"):
        return cause
    nearby = [(place, cause) for place in _nearby(runs, at) if (cause := _environment_change(runs, place, framework))]
    if len(nearby) != 1:
        return "nothing known changed at that run"
    ((place, cause),) = nearby
    return f"nothing known changed at that run, but close by, at run {runs.index[place].rpartition('/')[2]}: {cause}"


def _environment_change(runs: pd.DataFrame, place: int, framework: str, when: str = "") -> str:
    """Return what may have changed the numbers since the run before, and ``when``; "" where nothing did."""
    differences = differences_between(runs.iloc[[place - 1]], runs.iloc[[place]], framework)
    causes = possible_causes(differences)
    if len(causes) < 2:
        return f"{summarize(differences)}{when}" if causes else ""
    separating = runs_to_separate(differences)
    apart = f"; to tell them apart: {separating}" if separating else ""
    return f"{name_cause(differences)}{when} ({summarize(differences)}){apart}"


def _nearby(runs: pd.DataFrame, at: int) -> list[int]:
    return [place for place in range(at - _NEAR, at + _NEAR + 1) if 0 < place < len(runs) and place != at]


def _comparable_series(history: History, max_runs: int) -> Iterator[_Series]:
    """Yield every series that is long enough, within the runs that can be compared."""
    for _, group in history.runs.groupby(["machine", "identity", "size"], sort=False, observed=True):
        runs = group.drop_duplicates("run", keep="last").set_index("run", drop=False).iloc[-max_runs:]
        if len(runs) >= 2 * MIN_SEGMENT:
            observed = history.observations[history.observations["run"].isin(runs.index)]
            observed = observed.drop_duplicates(["run", "case"], keep="last")
            for series in (*_series_of_times(observed, runs), *_series_of_effects(observed, runs)):
                if len(series.values) >= 2 * MIN_SEGMENT:
                    yield series


def _series_of_times(observed: pd.DataFrame, runs: pd.DataFrame) -> Iterator[_Series]:
    parts = split_times(_finite(observed, "log_s", [*WORKLOAD, "baseline", "case"], runs))
    if len(parts.workloads) >= MIN_WORKLOADS:
        yield _Series(kind="machine", description={}, values=parts.machine.dropna(), runs=runs)
    for framework, workload in parts.workloads.index:
        key = (framework, workload)
        yield _Series(
            kind="workload",
            description={"framework": framework, "workload": workload},
            values=parts.workloads.loc[key].dropna(),
            runs=runs,
            candidates=parts.candidates.loc[key] if key in parts.candidates.index else None,
        )


def _series_of_effects(observed: pd.DataFrame, runs: pd.DataFrame) -> Iterator[_Series]:
    measured = observed[observed["log_effect"].notna()]
    cases = measured.drop_duplicates("case").set_index("case", drop=False)
    descriptions = cases[_DESCRIPTION].astype(str).T.to_dict()
    for case, values in _finite(measured, "log_effect", ["case"], runs).iterrows():
        yield _Series(kind="technique", description=descriptions[str(case)], values=values.dropna(), runs=runs)


def _finite(observed: pd.DataFrame, value: str, keys: list[str], runs: pd.DataFrame) -> pd.DataFrame:
    return pivot(observed, value, keys, runs["run"].tolist()).replace([np.inf, -np.inf], np.nan)


def _test(compared: list[_Series]) -> Iterator[_Test]:
    """Yield the answers to both questions of each series: what changed for good, and what was transient.

    A series that seems to change is searched again with the autocorrelation that series of its kind have. One series
    estimates its own poorly, and those in which it seems low are those that seem to change.
    """
    values = [np.asarray(series.values, dtype=np.float64) for series in compared]
    found = [segment(each) for each in values]
    own = pd.Series([each.autocorrelation for each in found], dtype=float)
    typical = own.groupby([series.kind for series in compared]).transform("median")
    for place, series in enumerate(compared):
        segmentation = found[place]
        if segmentation.boundaries or segmentation.drift:
            segmentation = segment(values[place], min_autocorrelation=typical[place])
        shifts = [
            shift
            for shift in measure_level_shifts(segmentation)
            if _is_shared_by_candidates(series, shift, segmentation)
            and (not shift.after_opening or _is_explained(series, shift))
        ]
        answers: dict[str, list[LevelShift | Drift]] = {
            "lasting": [*(shift for shift in shifts if shift.end is None), *filter(None, [segmentation.drift])],
            "transient": [shift for shift in shifts if shift.end],
        }
        for question, each in answers.items():
            for answer in tuple(each) or (None,):
                yield _Test(
                    question=f"{series.kind}, {question}", series=series, segmentation=segmentation, found=answer
                )


def _is_shared_by_candidates(series: _Series, shift: LevelShift, segmentation: Segmentation) -> bool:
    """Return whether a workload's candidates make the shift of its baselines too; otherwise an effect changed."""
    if series.candidates is None:
        return True
    candidates = series.candidates.reindex(series.values.index)
    start, end = _segments_around(shift.at, segmentation)
    moved = candidates.iloc[shift.at : end].median() - candidates.iloc[start : shift.at].median()
    share = moved / np.log(shift.ratio)
    return bool(share >= _SHARED or np.isnan(share))


def _is_explained(series: _Series, shift: LevelShift) -> bool:
    """Return whether the environment changed at a shift, or close by."""
    runs = series.own_runs
    return any(_environment_change(runs, place, series.framework) for place in (shift.at, *_nearby(runs, shift.at)))


def _segments_around(at: int, segmentation: Segmentation) -> tuple[int, int]:
    """Return where the segment before a shift begins and the one after it ends."""
    return next((start, end) for (start, place), (_, end) in pairwise(pairwise(segmentation.bounds)) if place == at)


def _describe_change(tested: _Test, found: LevelShift | Drift) -> Change:
    series, segmentation = tested.series, tested.segmentation
    names = list(series.values.index)
    if isinstance(found, LevelShift):
        at, factor = found.at, found.ratio
        start, end = _segments_around(at, segmentation)[0], at
    else:
        at, factor = 0, ratio_of(found.per_run * (len(names) - 1))
        start, end = 0, segmentation.bounds[1]
    level = float(np.median(segmentation.detrended[start:end])) if series.kind == "technique" else 0.0
    change = Change(
        kind=series.kind,
        shape="level shift" if at else "drift",
        machine=str(series.runs["machine"].iloc[0]),
        size=str(series.runs["size"].iloc[0]),
        since=names[at],
        before=ratio_of(level),
        after=ratio_of(level) * factor,
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        p_value=found.p_value,
        environment=_explain_change(series.own_runs, at, series.framework) if at else "",
        **series.description,
    )
    if isinstance(found, LevelShift) and found.end:
        return replace(change, shape="transient", until=names[found.end - 1] if found.end < len(names) else "")
    return change
