"""Check the newest run against its history: what changed beyond chance, and was it machine, workload or technique?

Every effect, every workload's times and the machine's speed have a verdict. All series of a check share one
false-discovery rate. A change is reported where it is beyond chance and at least as large as the smallest that matters.
What would be reported had nobody accepted it is called accepted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import scipy  # its modules load at their first use
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from accelbench import units
from accelbench.errors import BadInput
from accelbench.history.decompose import WORKLOAD, split_times
from accelbench.history.epochs import assign_epochs, differences_between
from accelbench.history.observations import History, describe_disturbed, pivot, standard_errors, tests_by_case
from accelbench.history.policy import Subject, Thresholds, Waiver, log_adjustments, log_margin
from accelbench.history.run_statistics import (
    MAX_RUNS,
    Matrix,
    RunSpread,
    Values,
    adjust_p_values,
    column_means,
    column_medians,
    estimate_spread,
    fewest_runs,
    mean_autocorrelation,
    rank_test,
    variance_inflation,
    winsorize,
)
from accelbench.results.arm_table import rows_of
from accelbench.schema.environment_difference import possible_causes, summarize
from accelbench.schema.result import OUT_OF_REACH
from accelbench.schema.safe_json import printable
from accelbench.schema.verdict import ratio_of
from accelbench.text import format_case, list_some

Verdict = Literal["lost", "slower", "faster", "accepted", "undecided", "same"]  # in the order of a report
WINDOW = 30  # runs that the newest are compared with: what drifted long ago does not count
_MAX_RUNS_READ = 3 * WINDOW  # runs that are looked at, those of other configurations included
_MAX_NAMED = 4  # changes that an error message lists
_CASE_COLUMNS = ("case", "trial", "technique", "level", "against", "workload", "framework", "problem", "fixed")

Chosen = NDArray[np.bool_]

# Runs from which a spread is estimated: the order of two sets of five can show a difference at 1 %,
# 2 / C(10, 5) = 0.8 %; that of four cannot, 2 / C(8, 4) = 2.9 %.
MIN_RUNS = 5
# Numbers of newest runs that are tested together, since a small deviation takes several, with the variance of their
# median where one run has 1 (Teichroew 1956, *Annals of Mathematical Statistics* 27, 410-426).
SPANS = {1: 1.0, 2: 0.5, 3: 0.4487, 5: 0.2868}
_MAX_SPAN = max(SPANS)  # the rank test uses it too; the order of fewer runs says little
_APART = 3.0  # standard errors, beyond which the newest run does not continue the runs right before it
_NO_CHANGE = 1.0  # the chance of a span whose slow or fast runs have passed by the newest one
_MIN_PAST = 50  # spans of the past from which an empirical null distribution is taken
_TAIL_SHARE, _MIN_TAIL = 0.01, 10  # the share, and the least number, of these spans that make its tail
_SURPRISE = 0.05  # chance of the furthest span of the past below which Student's t does not explain it


@dataclass(frozen=True, kw_only=True)
class SubjectVerdict:
    """What became of one subject.

    ``ratio`` is how many times as fast it has become, between ``low`` and ``high`` at the check's confidence; of an
    effect it is the speedup ``now`` over that ``before``. Both are measured. Where a change since then is accepted, the
    ratio is what changed beyond the ``accepted_ratio``. The ``span`` newest runs, from ``since`` on, were compared
    with ``runs`` others. ``p`` is adjusted for the number of series. ``more_runs`` would decide what is undecided, None
    where no number of runs would. ``visible`` is the smallest change that these runs can tell from none, as a share,
    known from ``known_runs`` runs. ``reason`` is why there is no speed any more, ``accepted`` why that was accepted, or
    a change.
    """

    subject: Subject
    verdict: Verdict
    margin: float
    ratio: float = math.nan
    low: float = 0.0
    high: float = math.inf
    before: float = math.nan
    now: float = math.nan
    accepted_ratio: float = 1.0
    since: str = ""
    span: int = 0
    runs: int = 0
    p: float = 1.0
    more_runs: int | None = None
    visible: float = math.inf
    known_runs: int = 0
    reason: str = ""
    accepted: str = ""


@dataclass(frozen=True, kw_only=True)
class RegressionCheck:
    """The findings on one run, those that fail first.

    ``remarks`` are sentences on files, waivers, margins, and what is not compared. ``interrupted`` is why the run says
    less than a whole one, "" where it was not interrupted.
    """

    run: str
    path: str
    findings: list[SubjectVerdict]
    compared_with: int
    remarks: list[str]
    interrupted: str = ""

    def of(self, *verdicts: Verdict) -> list[SubjectVerdict]:
        """Return the findings with these verdicts."""
        return [finding for finding in self.findings if finding.verdict in verdicts]

    @property
    def regressions(self) -> list[SubjectVerdict]:
        """The findings on what became slower, or has no speed any more."""
        return self.of("slower", "lost")

    def status(self, *, strict: bool = False) -> int:
        """Return the exit status: 1 for a regression; if ``strict``, 3 for what is undecided or interrupted; else 0."""
        return 1 if self.regressions else 3 if strict and (self.interrupted or self.of("undecided")) else 0

    def find_change(self, text: str) -> SubjectVerdict:
        """Return the only reported change with a text as its name or key, or as a part of them.

        Raises:
            BadInput: no reported change, or more than one, has that name, or it is empty.
        """
        if not text.strip():
            raise BadInput("the name of the change is empty; give a part of the name of a change that check reports")
        changes = self.of("lost", "slower", "faster")
        names = [(each.subject.key, printable(each.subject.name)) for each in changes]
        found = [each for each, known in zip(changes, names, strict=True) if text in known] or [
            each for each, known in zip(changes, names, strict=True) if text in _searched_in(each.subject, known)
        ]
        if len(found) != 1:
            if not changes:
                raise BadInput(f"{printable(text)!r}: no change is reported, so there is none to accept")
            problem = f"names {len(found)} of the reported changes" if found else "is no reported change"
            listed = list_some((printable(each.subject.name) for each in found or changes), _MAX_NAMED, separator="; ")
            raise BadInput(f"{printable(text)!r}: it {problem}; give one of: {listed}")
        return found[0]


def _searched_in(subject: Subject, names: Sequence[str]) -> str:
    """Return the text in which a part of the name of a subject is sought."""
    return "\n".join((*names, f"{subject.level} on {subject.workload} {subject.kind}"))


@dataclass(frozen=True, kw_only=True)
class RunRoles:
    """Which runs are new, which they are compared with, and the configuration of each.

    The shape is ``(runs,)`` for the cases of one framework, of which ``changed`` says what differs between new and
    reference runs, "" where nothing known does; ``(runs, cases)`` for a series. A run may be both: it is then new to
    the spans that reach back to it.
    """

    new: Chosen
    reference: Chosen
    states: NDArray[Any]
    changed: str = ""


@dataclass(frozen=True, kw_only=True)
class _SpeedSeries:
    """Logarithms of speeds of shape ``(runs, subjects)``, larger for faster, and their own standard errors.

    ``accepted`` is the part of the logarithms that was added for accepted changes.
    """

    subjects: list[Subject]
    values: Matrix
    roles: RunRoles
    errors: Matrix | None = None
    accepted: Matrix | None = None


def check_regressions(
    history: History,
    thresholds: Thresholds | None = None,
    waivers: Sequence[Waiver] = (),
    baseline: Collection[str] = (),
    *,
    newest: str = "",
) -> RegressionCheck:
    """Return what the newest run of a history changed, compared with the runs before it or with ``baseline`` runs.

    The newest run is the last one unless named.

    Raises:
        BadInput: there is no run, or the baseline cannot be compared with the newest run.
    """
    thresholds = thresholds or Thresholds()
    runs = _select_comparable(history.runs, baseline, newest)
    names = runs["run"].tolist()
    observed = history.observations
    observed = observed[observed["run"].isin(names)] if len(observed) else observed

    @cache
    def roles_of(framework: str) -> RunRoles:
        return _assign_roles(runs, framework, baseline)

    tests = _tests_of(history.unmeasured, observed, names[-1])
    series = [*_speeds(runs, observed, roles_of), _effects(runs, observed, roles_of, tests)] if len(observed) else []
    series = [each for each in series if each.subjects]
    as_measured = _judge(series, names, thresholds) if waivers else []
    series, reasons, remarks = _adjust(series, waivers, names)
    remarks += _remark_not_compared(history.runs, runs)
    remarks += describe_disturbed(observed, [*baseline, names[-1]]) if len(observed) else []
    remarks += thresholds.remark_unknown([subject for each in series for subject in each.subjects])
    findings = _name_accepted(_judge(series, names, thresholds), as_measured, reasons)
    lost, left_out = _find_lost(history.unmeasured, observed, names[-1], tests)
    for subject, reason in lost:
        margin = thresholds.margin_of(subject.technique, subject.workload)
        accepted = _reasons_for(subject, [waiver for waiver in waivers if waiver.ratio is None])
        findings.append(
            SubjectVerdict(
                subject=subject, verdict="accepted" if accepted else "lost", margin=margin, reason=reason,
                since=names[-1], span=1, accepted=accepted,
            )
        )  # fmt: skip
    stopped = f"{printable(str(names[-1]))} was interrupted, so what it had not measured by then is not checked"
    interrupted = stopped if runs["interrupted"].iloc[-1] else ""
    return RegressionCheck(
        run=str(names[-1]),
        path=str(runs["path"].iloc[-1]),
        findings=sorted(findings, key=_severity),
        compared_with=len(baseline) or len(runs) - 1,
        remarks=[*filter(None, [interrupted]), *history.irregularities, *remarks, *left_out],
        interrupted=interrupted,
    )


def _select_comparable(runs: pd.DataFrame, baseline: Collection[str] = (), newest: str = "") -> pd.DataFrame:
    """Return the runs of the newest one's machine, identity and size, in order, the newest last.

    Raises:
        BadInput: there is no run, or the baseline is of another machine or size, or is the newest run itself.
    """
    if runs.empty:
        raise BadInput("no run to check; make some with pytest benchmarks/ --benchmark-save=NAME")
    is_newest = runs["run"] == (newest or runs["run"].iloc[-1])
    runs = pd.concat([runs[~is_newest], runs[is_newest]])
    last = runs.iloc[-1]
    comparable = np.logical_and.reduce([runs[name] == last[name] for name in ("machine", "identity", "size")])
    named = runs["run"].isin(list(baseline)).to_numpy()
    if named[-1]:
        raise BadInput(f"{printable(last['run'])} is the newest run and cannot be its own baseline; name earlier runs")
    if (named & ~comparable).any():
        other = printable(runs["run"][named & ~comparable].iloc[0])
        raise BadInput(
            f"{other} is of another machine or size than {printable(last['run'])}; "
            "see what differs with accelbench compare"
        )
    recent = np.zeros(len(runs), dtype=bool)
    recent[np.flatnonzero(comparable)[-_MAX_RUNS_READ:]] = True
    return runs[recent | named].reset_index(drop=True)


def _remark_not_compared(runs: pd.DataFrame, comparable: pd.DataFrame) -> list[str]:
    """Return how many runs of the newest one's machine are not compared, and what differs, where too few are."""
    own = runs[runs["machine"] == comparable["machine"].iloc[-1]]
    others = own[~own["run"].isin(comparable["run"])]
    if others.empty or len(comparable) > MIN_RUNS:
        return []
    listed = [
        str(each)
        for each in differences_between(others, comparable[-1:])
        if each.group == "hardware" or each.field.key in ("settings.size", "settings.cache")
    ]
    why = f", since they differ: {'; '.join(listed)}" if listed else ""
    are = "run of this machine is" if len(others) == 1 else "runs of this machine are"
    return [f"{units.count(len(others))} earlier {are} not compared{why}"]


def _assign_roles(runs: pd.DataFrame, framework: str, baseline: Collection[str]) -> RunRoles:
    """Return which of the comparable runs the newest are compared with, for the cases of one framework.

    These are the baseline, or else the runs of the newest run's own configuration. Right after a change of the
    configuration there are too few of those; the configuration before is the reference then, unless it has still fewer
    runs.
    """
    configurations = states = assign_epochs(runs, framework)["configuration_epoch"].to_numpy()
    reference = runs["run"].isin(list(baseline)).to_numpy()
    if reference.any():
        new = np.arange(len(runs)) > np.flatnonzero(reference)[-1]
        states = 2 * states + new  # a change right after the baseline is no spread between unchanged runs
    else:
        reference = states == _reference_state(states)
        reference[np.flatnonzero(reference)[: -WINDOW - 1]] = False
        others = np.flatnonzero(states != states[-1])
        new = np.arange(len(runs)) > (others[-1] if len(others) else -1)
    before = reference & ~new if (reference & ~new).any() else reference
    after = runs[new & (configurations == configurations[-1])]
    differing = differences_between(runs[before], after, framework) if (states[before] != states[-1]).any() else ()
    changed = summarize(differing) if possible_causes(differing) else ""
    return RunRoles(new=new, reference=reference, states=states, changed=changed)


def _reference_state(states: NDArray[Any]) -> Any:
    own, counts = states[-1], {state: int((states == state).sum()) for state in states}
    earlier = [state for state in states[::-1] if state != own]
    if counts[own] > MIN_RUNS or not earlier:
        return own
    enough = [state for state in earlier if counts[state] >= MIN_RUNS]
    return (enough or earlier)[0] if enough or counts[earlier[0]] >= counts[own] else own


def _tests_of(unmeasured: pd.DataFrame, observed: pd.DataFrame, newest: str) -> dict[str, str]:
    """Return the names of tests by case, where another test of the newest run measures the same."""
    present = {*observed.loc[observed["run"] == newest, "case"]} if len(observed) else set()
    present |= {*unmeasured.loc[unmeasured["run"] == newest, "case"]}
    cases = observed.loc[observed["case"].isin(present), [*_CASE_COLUMNS]] if present else observed[:0]
    return tests_by_case(rows_of(cases.drop_duplicates("case", keep="last").astype(str)))


def _effects(
    runs: pd.DataFrame, observed: pd.DataFrame, roles_of: Callable[[str], RunRoles], tests: Mapping[str, str]
) -> _SpeedSeries:
    """Return the logarithm of every speedup of the runs."""
    found = observed[observed["log_effect"].notna()]
    values = pivot(found, "log_effect", ["case"], runs["run"].tolist())
    errors = standard_errors(found, ["case"], runs).reindex(values.index)
    cases = found[[*_CASE_COLUMNS]].drop_duplicates("case", keep="last").astype(str).set_index("case", drop=False)
    subjects = [
        _subject_of_case(row, tests, roles_of(row["framework"]).changed) for row in rows_of(cases.loc[values.index])
    ]
    return _SpeedSeries(
        subjects=subjects,
        values=values.to_numpy().T,
        errors=errors.to_numpy().T,
        roles=_stack_roles(subjects, len(runs), roles_of),
    )


def _speeds(runs: pd.DataFrame, observed: pd.DataFrame, roles_of: Callable[[str], RunRoles]) -> list[_SpeedSeries]:
    """Return the machine's part of every run's speeds and those of the workloads, as series with separate spreads."""
    telling = observed[observed["baseline"] & ~observed["disturbed"]]
    times = pivot(telling, "log_s", [*WORKLOAD, "case", "baseline"], runs["run"].tolist())
    parts = split_times(times)
    machine = Subject(kind="machine", key=str(runs["machine"].iloc[-1]), changed=roles_of("").changed)
    workloads = [
        Subject(
            kind="workload",
            key=f"{framework} {name}",
            framework=framework,
            workload=name,
            changed=roles_of(framework).changed,
        )
        for framework, name in parts.workloads.index
    ]
    series = [([machine], -parts.machine.to_numpy()[:, None]), (workloads, -parts.workloads.to_numpy().T)]
    return [
        _SpeedSeries(subjects=subjects, values=values, roles=_stack_roles(subjects, len(runs), roles_of))
        for subjects, values in series
    ]


def _subject_of_case(row: Mapping[str, Any], tests: Mapping[str, str], changed: str = "") -> Subject:
    """Return the subject of an arm. That of a baseline has no technique, and is against nothing."""
    return Subject(
        kind="technique",
        key=row["case"],
        held=format_case(problem=row["problem"], fixed=row["fixed"]),
        test=tests.get(row["case"], ""),
        changed=changed,
        against=row["against"] if row["technique"] else "",
        **{name: row[name] for name in ("framework", "workload", "technique", "level")},
    )


def _stack_roles(subjects: list[Subject], runs: int, roles_of: Callable[[str], RunRoles]) -> RunRoles:
    chosen = [roles_of(subject.framework) for subject in subjects]

    def stack(each: list[NDArray[Any]]) -> NDArray[Any]:
        return np.array(each).reshape(len(chosen), runs).T

    return RunRoles(
        new=stack([each.new for each in chosen]),
        reference=stack([each.reference for each in chosen]),
        states=stack([each.states for each in chosen]),
    )


def _adjust(
    series: Sequence[_SpeedSeries], waivers: Sequence[Waiver], runs: list[str]
) -> tuple[list[_SpeedSeries], dict[Subject, str], list[str]]:
    """Return the series as if accepted changes had always been there, why they were accepted, and remarks on waivers.

    The reasons are by subject, of those whose values were changed.
    """
    if not waivers:
        return [*series], {}, []
    subjects = [subject for each in series for subject in each.subjects]
    speeds = [column for each in series for column in each.values.T.tolist()]
    adjustments, remarks = log_adjustments(subjects, waivers, runs, speeds)
    accepted = np.zeros((len(runs), len(subjects)))
    reasons: dict[Subject, dict[str, None]] = {}
    for each in adjustments:
        accepted[: each.runs, each.place] += each.logarithm
        reasons.setdefault(subjects[each.place], {})[each.reason] = None
    ends = np.cumsum([len(each.subjects) for each in series])
    adjusted = [
        replace(each, values=each.values + part, accepted=part)
        for each, part in zip(series, np.split(accepted, ends, axis=1), strict=False)  # nothing is beyond the last end
    ]
    return adjusted, {subject: "; ".join(own) for subject, own in reasons.items()}, remarks


def _name_accepted(
    findings: list[SubjectVerdict], as_measured: list[SubjectVerdict], reasons: Mapping[Subject, str]
) -> list[SubjectVerdict]:
    """Return the findings, those as measured in place of those that report no change only since it was accepted."""
    if not as_measured:
        return findings
    named = []
    for finding, measured in zip(findings, as_measured, strict=True):
        accepted = reasons.get(finding.subject, "")
        if accepted and measured.verdict in ("slower", "faster") and finding.verdict in ("undecided", "same"):
            named.append(replace(measured, verdict="accepted", accepted=accepted))
        else:
            named.append(finding)
    return named


def _reasons_for(subject: Subject, waivers: Sequence[Waiver]) -> str:
    """Return why changes of a subject were accepted; "" where none was."""
    return "; ".join(dict.fromkeys(waiver.reason for waiver in waivers if waiver.covers(subject)))


def _judge(series: Sequence[_SpeedSeries], runs: list[str], thresholds: Thresholds) -> list[SubjectVerdict]:
    if not series:
        return []
    measured = pd.concat([_measure(each) for each in series])
    adjusted = measured.assign(p_adjusted=adjust_p_values(measured["p"].to_numpy()))
    subjects = [subject for each in series for subject in each.subjects]
    is_present = np.concatenate([np.isfinite(each.values[-1]) for each in series])
    return [
        _finding(subject, found, runs, thresholds)
        for subject, found, present in zip(subjects, adjusted.to_dict("records"), is_present, strict=True)
        if present
    ]


def _measure(series: _SpeedSeries) -> pd.DataFrame:
    """Return the deviations of a series, and what was ``accepted`` since the last run that is compared with."""
    found = measure_deviations(series.values, series.roles, series.errors)
    if series.accepted is None:
        return found.assign(accepted=0.0)
    places = np.arange(len(series.values))[:, None]
    compared = series.roles.reference & np.isfinite(series.values) & (places < found["first"].to_numpy())
    last = np.where(compared, places, 0).max(axis=0)
    return found.assign(accepted=series.accepted[last, np.arange(len(found))])


def _finding(subject: Subject, found: Mapping[Any, Any], runs: list[str], thresholds: Thresholds) -> SubjectVerdict:
    margin, level = thresholds.margin_of(subject.technique, subject.workload), thresholds.false_discovery_rate
    p = found["p_adjusted"]
    if not math.isfinite(found["p"]):
        return SubjectVerdict(
            subject=subject, verdict="undecided", margin=margin, more_runs=_more_runs(found, margin, level),
            known_runs=found["known_runs"], runs=found["runs"], since=runs[-1], span=1,
        )  # fmt: skip
    shift, centre, accepted = found["shift"], found["centre"], found["accepted"]
    # Standard errors in half an interval.
    deviate = float(scipy.special.stdtrit(max(found["freedom"], 1), 1 - level / 2))
    reach, narrowest, is_effect = deviate * found["error"], deviate * found["min_error"], subject.kind == "technique"
    matters = abs(shift) >= log_margin(margin)
    verdict: Verdict = "undecided"
    if matters and p <= level:
        verdict = "faster" if shift > 0 else "slower"
    elif not matters and narrowest <= log_margin(margin):
        verdict = "same"
    return SubjectVerdict(
        subject=subject, verdict=verdict, margin=margin, p=p,
        ratio=math.exp(shift), low=math.exp(shift - reach), high=ratio_of(shift + reach),
        before=math.exp(centre - accepted) if is_effect else math.nan,
        now=math.exp(centre + shift) if is_effect else math.nan, accepted_ratio=math.exp(accepted),
        since=runs[found["first"]], span=found["span"], runs=found["runs"], known_runs=found["known_runs"],
        visible=-math.expm1(-narrowest),
        more_runs=_more_runs(found, margin, level) if verdict == "undecided" else None,
    )  # fmt: skip


def _more_runs(found: Mapping[Any, Any], margin: float, level: float) -> int | None:
    """Return how many more runs would narrow the interval to the margin, if they spread as those before."""
    needed = max(1, MIN_RUNS - found["known_runs"])
    if found["freedom"] < 1:  # nothing is known of the spread
        return int(needed)
    more = np.arange(needed, MAX_RUNS + 1)
    deviates = scipy.special.stdtrit(found["freedom"] + more, 1 - level / 2)
    narrowest = np.full(len(more), np.inf)
    for span, variance in SPANS.items():
        reference = found["runs"] + more + 1 - span  # the others of the new runs stand before the span
        usable = (span <= 1 + more) & (reference >= (1 if span == 1 else MIN_RUNS))
        half = deviates * found["deviation"] * np.sqrt(variance + 1 / np.maximum(reference, 1))
        narrowest = np.where(usable, np.minimum(narrowest, half), narrowest)
    (runs,) = fewest_runs(narrowest[None], np.array([log_margin(margin)]), more)
    return int(runs) if math.isfinite(runs) else None


def _severity(finding: SubjectVerdict) -> tuple[int, float]:
    """Return the key that sorts findings: those that fail first, the largest change on top."""
    size = abs(math.log(finding.ratio)) if finding.ratio > 0 else 0.0
    return get_args(Verdict).index(finding.verdict), -size


def measure_deviations(values: Matrix, roles: RunRoles, errors: Matrix | None = None) -> pd.DataFrame:
    """Return how the newest values, of shape ``(runs, cases)``, deviate from those that they are compared with.

    The result has a row per case, with the deviation at its most certain span. ``shift`` is a difference of logarithms,
    ``error`` its standard error, and ``min_error`` the smallest of any span. ``deviation`` is the standard deviation
    between unchanged runs, with ``freedom`` degrees of freedom, estimated from ``known_runs`` runs. The ``span`` newest
    runs, of which the first has the position ``first``, are compared with ``runs`` others around ``centre``. ``p`` is
    the chance of such a deviation at any span where nothing changed; NaN where there is nothing to compare.

    ``errors`` are the standard errors that the runs themselves give. Where those of the newest runs are larger than
    usual, their deviation is less certain. A case that the last run lacks has no deviation.
    """
    errors = np.zeros_like(values) if errors is None else errors
    each = [_deviation_of_span(span, values, roles, errors) for span in SPANS]
    each.append(_deviation_by_ranks(each[-1], values, roles, errors))
    chances = np.array([found["p"] for found in each])
    tests = np.isfinite(chances).sum(axis=0)
    best = np.where(tests, np.argmin(np.where(np.isfinite(chances), chances, 2.0), axis=0), 0)
    pick = {name: np.take_along_axis(np.array([f[name] for f in each]), best[None], axis=0)[0] for name in each[0]}
    all_errors = np.array([np.where(np.isfinite(found["p"]), found["error"], np.inf) for found in each])
    p = np.minimum(pick.pop("p") * np.maximum(tests, 1), 1.0)  # Bonferroni, over the spans
    return pd.DataFrame(
        {**pick, "p": p, "span": np.array([*SPANS, _MAX_SPAN])[best], "min_error": all_errors.min(axis=0)}
    )


def _deviation_of_span(span: int, values: Matrix, roles: RunRoles, errors: Matrix) -> dict[str, Any]:
    """Return the deviation of that many newest runs, by its distance."""
    present = np.isfinite(values)
    new, before, first = _split_runs(span, present, roles)
    reference = roles.reference & before
    runs = reference.sum(axis=0)
    spread = estimate_spread(np.where(before, values, np.nan), roles.states)
    past = np.where(reference, values, np.nan)
    centre = column_means(winsorize(past))
    shift = column_medians(np.where(new, values, np.nan)) - centre
    own = spread.deviation**2 + _unusual_variance(errors, new, reference)
    error = np.sqrt(SPANS[span] * own + spread.deviation**2 / np.maximum(runs, 1))
    min_runs = 1 if span == 1 else MIN_RUNS
    usable = present[-1] & (new.sum(axis=0) == span) & (runs >= min_runs) & (before.sum(axis=0) >= MIN_RUNS)
    inflation = variance_inflation((span, max(1, int(np.median(runs)))), mean_autocorrelation(past))
    chances = np.full(len(usable), np.nan)
    if usable.any():
        null = _past_deviations(past, spread, span)
        chances = np.where(usable, _chance(shift / error, spread, null, inflation), np.nan)
    if span > 1:
        others = column_medians(np.where(new[:-1], values[:-1], np.nan))
        has_passed = np.abs(values[-1] - others) > _APART * np.sqrt(2 * own)
        chances = np.where(usable & has_passed, _NO_CHANGE, chances)
    return {
        "shift": shift, "error": error, "centre": centre, "runs": runs, "p": chances,
        "known_runs": before.sum(axis=0), "first": first, "deviation": spread.deviation, "freedom": spread.freedom,
    }  # fmt: skip


def _deviation_by_ranks(found: dict[str, Any], values: Matrix, roles: RunRoles, errors: Matrix) -> dict[str, Any]:
    """Return the deviation of the longest span by the order of the runs; none for runs with unusual errors."""
    new, before, _ = _split_runs(_MAX_SPAN, np.isfinite(values), roles)
    reference = roles.reference & before
    chance = rank_test(*(np.where(chosen, values, np.nan) for chosen in (new, reference)))
    chance = np.where(found["p"] == _NO_CHANGE, _NO_CHANGE, chance)
    usual = _unusual_variance(errors, new, reference) <= found["deviation"] ** 2
    return {**found, "p": np.where(usual & np.isfinite(found["p"]), chance, np.nan)}


def _split_runs(span: int, present: Chosen, roles: RunRoles) -> tuple[Chosen, Chosen, NDArray[np.int_]]:
    """Return which values belong to the newest runs of a span, which were made before, and where the span begins."""
    new = roles.new & present
    new &= np.cumsum(new[::-1], axis=0)[::-1] <= span
    first = np.where(new.any(axis=0), new.argmax(axis=0), len(present))
    return new, present & (np.arange(len(present))[:, None] < first), first


def _unusual_variance(errors: Matrix, new: Chosen, reference: Chosen) -> Values:
    """Return the variance that the newest values report beyond what those before them reported."""
    usual = np.nan_to_num(column_medians(np.where(reference, errors, np.nan)))
    beyond = np.where(new, np.maximum(errors**2 - usual**2, 0), 0)
    beyond = np.where(np.isnan(beyond), 0, beyond)  # a value without an error of its own
    return np.asarray(beyond.sum(axis=0) / np.maximum(new.sum(axis=0), 1))


def _chance(standard: Values, spread: RunSpread, null: Values, inflation: float) -> Values:
    """Return the chance of such a deviation, either way, where nothing changed.

    It is that of Student's t, weakened by ``inflation``, since runs that are like their neighbours say less; or that of
    the past deviations of all cases where it is larger, which know of outliers, of two modes and of runs that follow
    one another (an empirical null: Efron 2004, *Journal of the American Statistical Association* 99, 96). Where the
    past went further than t can explain, its tail is continued as a power (Hill 1975, *Annals of Statistics* 3, 1163).
    """
    far, freedom = np.abs(standard), np.maximum(spread.freedom, 1)
    by_theory = np.asarray(2 * scipy.special.stdtr(freedom, -far / np.sqrt(inflation)))
    if len(null) < _MIN_PAST:
        return by_theory
    empirical = (len(null) - np.searchsorted(null, far, side="left")) / len(null)
    if 2 * scipy.special.stdtr(np.median(freedom), -null[-1] / np.sqrt(inflation)) * len(null) < _SURPRISE:
        tail = null[-max(_MIN_TAIL, round(_TAIL_SHARE * len(null))) :]
        power = 1 / np.mean(np.log(tail[1:] / tail[0]))
        continued = len(tail) / len(null) * np.maximum(far / tail[0], 1) ** -power
        empirical = np.where(far > tail[0], np.maximum(empirical, continued), empirical)
    return np.asarray(np.maximum(by_theory, empirical))


def _past_deviations(past: Matrix, spread: RunSpread, span: int) -> Values:
    """Return by how many standard errors each span of the past deviated from the rest of it, in ascending order.

    The runs right after a span are left out: when it was new, nobody knew whether they would continue as it did.
    """
    if len(past) < span:
        return np.empty(0)
    tame = winsorize(past)
    tame, past = tame - column_means(tame), past - column_means(tame)
    padded = np.concatenate([tame, np.full((_MAX_SPAN, tame.shape[1]), np.nan)])
    windows = sliding_window_view(padded, span + _MAX_SPAN, axis=0)
    inside, squares = np.nansum(windows, axis=-1), np.nansum(windows**2, axis=-1)
    rest = np.isfinite(past).sum(axis=0) - np.isfinite(windows).sum(axis=-1)
    around = -inside / np.maximum(rest, 1)
    left = np.nansum(tame**2, axis=0) - squares - np.maximum(rest, 1) * around**2
    variance = spread.moderate(left / np.maximum(rest - 1, 1), np.maximum(rest - 1, 0))  # a span hides nothing in it
    distance = np.median(sliding_window_view(past, span, axis=0), axis=-1) - around
    standard = np.abs(distance) / np.sqrt(variance * (SPANS[span] + 1 / np.maximum(rest, 1)))
    known = np.isfinite(standard) & (rest >= MIN_RUNS - 1)
    return np.sort(standard[known])


def _find_lost(
    unmeasured: pd.DataFrame, observed: pd.DataFrame, newest: str, tests: Mapping[str, str]
) -> tuple[list[tuple[Subject, str]], list[str]]:
    """Return the subjects that lost their speed in the newest run, with the reason, and remarks on what was left out.

    A regression is an arm that failed although an earlier run measured it. An arm that was skipped, or is not in the
    newest run at all, is only a remark. Where a baseline failed, nothing is said of the candidates of its trial.
    """
    if observed.empty:
        return [], []
    earlier = observed[observed["run"] != newest]
    before, now = set(earlier["case"].unique()), set(observed.loc[observed["run"] == newest, "case"])
    last = set(earlier.loc[earlier["run"] == earlier["run"].iloc[-1], "case"]) if len(earlier) else set()
    missing = rows_of(unmeasured[unmeasured["run"] == newest])
    lost: list[tuple[Subject, str]] = []
    skipped: Counter[str] = Counter()
    failed = [row for row in missing if row["case"] in before and row["outcome"] not in OUT_OF_REACH]
    without_baseline = {_trial_of(row) for row in failed if not row["technique"]}
    for row in missing:
        subject = _subject_of_case(row, tests)
        if subject.key not in before or (row["technique"] and _trial_of(row) in without_baseline):
            continue
        if row["outcome"] in OUT_OF_REACH:
            skipped[row["reason"] or row["outcome"]] += 1
        else:
            lost.append((subject, f"{row['outcome'].replace('-', ' ')}: {row['reason']}".rstrip(": ")))
    remarks = [f"{units.plural(count, 'arm')} that had a speed, now skipped: {why}" for why, count in skipped.items()]
    if absent := last - now - {row["case"] for row in missing}:
        are = "arm of the run before is" if len(absent) == 1 else "arms of the run before are"
        remarks.append(f"{units.count(len(absent))} {are} missing, such as {min(absent)}")
    return lost, remarks


def _trial_of(row: Mapping[str, Any]) -> str:
    return str(row["case"]).removesuffix(f"|{row['level']}")
