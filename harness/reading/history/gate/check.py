"""The gate: what the newest runs changed beyond chance, and whether machine, workload or technique did it.

All series of a check share one false-discovery rate (Benjamini & Hochberg 1995, *Journal of the Royal Statistical
Society* B 57, 289). A change is raised where it is beyond chance and at least as large as the smallest that matters.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from scipy.special import stdtrit
from scipy.stats import false_discovery_control

from harness.reading.history.gate.accepted import Accepted, adjusted
from harness.reading.history.gate.comparable import Setup, comparable, setup
from harness.reading.history.gate.departures import LEAST_RUNS, SPANS, Departures, departures
from harness.reading.history.gate.limits import Limits
from harness.reading.history.gate.lost import lost_speeds
from harness.reading.history.gate.series import Series, Subject, effects_of, times_of
from harness.reading.history.observations import History

Verdict = Literal["lost", "slower", "faster", "undecided", "same"]  # in the order in which they are told
_MOST_RUNS = 200  # nobody waits for more
_UNBOUNDED = 700.0  # of a logarithm: about where a float ends


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What became of one subject.

    ``ratio`` is how many times as fast it has become, between ``low`` and ``high`` at the check's confidence: of an
    effect, the speedup ``now`` over that ``before``. The ``span`` newest runs, from ``since`` on, were held against
    ``runs``. ``p`` is adjusted for the number of series. ``more_runs`` would decide what is undecided; None where no
    number of them would. ``visible`` is the smallest change that these runs can tell from none, as a share, and
    ``learnt`` from how many runs that is known. ``reason`` is why there is no speed any more.
    """

    subject: Subject
    verdict: Verdict
    margin: float
    ratio: float = math.nan
    low: float = 0.0
    high: float = math.inf
    before: float = math.nan
    now: float = math.nan
    since: str = ""
    span: int = 0
    runs: int = 0
    p: float = 1.0
    more_runs: int | None = None
    visible: float = math.inf
    learnt: int = 0
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Check:
    """The findings of a check of one run, those that fail first; ``remarks`` are sentences on what is odd."""

    run: str
    path: str
    findings: list[Finding]
    compared_with: int
    remarks: list[str]

    def of(self, *verdicts: Verdict) -> list[Finding]:
        """Return the findings of these verdicts."""
        return [finding for finding in self.findings if finding.verdict in verdicts]

    @property
    def regressions(self) -> list[Finding]:
        """What became slower, or has no speed any more."""
        return self.of("slower", "lost")

    def status(self, *, strict: bool = False) -> int:
        """Return the exit status: 1 for a regression, 3 for what is undecided if that counts, else 0."""
        return 1 if self.regressions else 3 if strict and self.of("undecided") else 0


def check(
    known: History,
    limits: Limits | None = None,
    accepted: Sequence[Accepted] = (),
    baseline: Collection[str] = (),
    *,
    newest: str = "",
    missing: pd.DataFrame | None = None,
) -> Check:
    """Return what the newest run of a history changed, held against the runs before it or a baseline of runs.

    The newest is the last one unless named. ``missing`` are the rows of its arms that have no speed, as in
    :func:`harness.reading.load`.

    Raises:
        BadInput: there is no run, or the baseline cannot be compared with it.
    """
    limits = limits or Limits()
    runs = comparable(known, baseline, newest)
    observed = known.observations
    seen = observed[observed["run"].isin(runs["run"].tolist())] if len(observed) else observed

    @cache
    def chosen(framework: str) -> Setup:
        return setup(runs, framework, baseline)

    series = [*times_of(runs, seen, chosen), effects_of(runs, seen, chosen)] if len(seen) else []
    series = [each for each in series if each.subjects]
    changed, remarks = adjusted(series, accepted, runs["run"].tolist())
    findings = _judged(changed, runs["run"].tolist(), limits)
    gone, told = lost_speeds(pd.DataFrame() if missing is None else missing, seen, runs["run"].iloc[-1], accepted)
    findings += [_lost(subject, reason, runs["run"].iloc[-1], limits) for subject, reason in gone]
    return Check(
        run=str(runs["run"].iloc[-1]),
        path=str(runs["path"].iloc[-1]),
        findings=sorted(findings, key=_order),
        compared_with=len(runs) - 1,
        remarks=[*known.remarks, *known.formats, *remarks, *told],
    )


def _order(finding: Finding) -> tuple[int, float]:
    """Return what sorts findings: those that fail first, the largest change on top."""
    size = abs(math.log(finding.ratio)) if finding.ratio > 0 else 0.0
    return get_args(Verdict).index(finding.verdict), -size


def _lost(subject: Subject, reason: str, run: str, limits: Limits) -> Finding:
    margin = limits.margin_of(subject.technique, subject.workload)
    return Finding(subject=subject, verdict="lost", margin=margin, reason=reason, since=run, span=1)


def _judged(series: Sequence[Series], runs: list[str], limits: Limits) -> list[Finding]:
    measured = [departures(each.values, each.rows, each.doubt) for each in series]
    chances = np.concatenate([found.p for found in measured]) if measured else np.empty(0)
    shared = np.full(len(chances), np.nan)
    some = np.isfinite(chances)
    if some.any():
        shared[some] = false_discovery_control(chances[some])
    findings, place = [], 0
    for each, found in zip(series, measured, strict=True):
        for column, subject in enumerate(each.subjects):
            if np.isfinite(each.values[-1, column]):
                findings.append(_finding(subject, _row(found, column), float(shared[place + column]), runs, limits))
        place += len(each.subjects)
    return findings


def _row(found: Departures, column: int) -> dict[str, Any]:
    return {name: values[column].item() for name, values in vars(found).items()}


def _finding(subject: Subject, found: dict[str, Any], shared: float, runs: list[str], limits: Limits) -> Finding:
    """Return the finding on one series."""
    margin, level = limits.margin_of(subject.technique, subject.workload), limits.false_discovery_rate
    if not math.isfinite(found["p"]):
        more = _more_runs(found, margin, level)
        return Finding(
            subject=subject, verdict="undecided", margin=margin, more_runs=more, learnt=found["learnt"],
            runs=found["runs"], since=runs[-1], span=1,
        )  # fmt: skip
    verdict, shift, centre = _verdict(found, shared, margin, level), found["shift"], found["centre"]
    certain = _certain(level, found["freedom"])
    reach, is_effect = certain * found["error"], subject.kind == "technique"
    return Finding(
        subject=subject, verdict=verdict, margin=margin, p=shared,
        ratio=math.exp(shift), low=math.exp(shift - reach), high=_exp(shift + reach),
        before=math.exp(centre) if is_effect else math.nan, now=math.exp(centre + shift) if is_effect else math.nan,
        since=runs[found["first"]], span=found["span"], runs=found["runs"], learnt=found["learnt"],
        visible=-math.expm1(-certain * found["narrowest"]),
        more_runs=_more_runs(found, margin, level) if verdict == "undecided" else None,
    )  # fmt: skip


def _certain(level: float, freedom: float) -> float:
    """Return how many standard errors an interval reaches to either side."""
    return float(stdtrit(max(freedom, 1), 1 - level / 2))


def _exp(value: float) -> float:
    return math.exp(value) if value < _UNBOUNDED else math.inf


def _verdict(found: dict[str, Any], shared: float, margin: float, level: float) -> Verdict:
    """Return the verdict on a departure whose chance is known."""
    matters = _matters(found["shift"], margin)
    if matters and shared <= level:
        return "faster" if found["shift"] > 0 else "slower"
    narrow = _certain(level, found["freedom"]) * found["narrowest"] <= -math.log1p(-margin)
    return "same" if narrow and not matters else "undecided"


def _matters(shift: float, margin: float) -> bool:
    """Say whether a speed fell to, or rose from, no more than ``1 - margin`` times what it is compared with."""
    return abs(shift) >= -math.log1p(-margin)


def _more_runs(found: dict[str, Any], margin: float, level: float) -> int | None:
    """Return how many more runs would narrow the interval to the margin, if they lie apart as those before."""
    needed = max(1, LEAST_RUNS - found["learnt"])
    if found["freedom"] < 1:  # nothing is known of the spread
        return int(needed)
    for more in range(needed, _MOST_RUNS + 1):
        certain = _certain(level, found["freedom"] + more)
        for span in (each for each in SPANS if each <= 1 + more):
            held = int(found["runs"] + more + 1 - span)  # the others of them stand before the new ones
            enough = held >= (1 if span == 1 else LEAST_RUNS)
            if enough and certain * found["deviation"] * math.sqrt(SPANS[span] + 1 / held) <= -math.log1p(-margin):
                return more
    return None
