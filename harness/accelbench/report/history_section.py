"""The part of a page on many runs: what changed last, what was set up differently, and a figure per technique."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import pandas as pd

from accelbench import units
from accelbench.disk_cache import recall
from accelbench.history.change_points import MIN_SEGMENT
from accelbench.history.changes import FALSE_DISCOVERY_RATE, Change, Shape, find_changes
from accelbench.history.epochs import EpochChange, find_epoch_changes
from accelbench.history.observations import History
from accelbench.report.figures import name_uniquely
from accelbench.report.figures.drawing import FigureWithData, RenderedFigure
from accelbench.report.figures.history import EffectLine, MachinePanel, RunSeries, draw_over_runs
from accelbench.results.arm_table import rows_of
from accelbench.text import format_case, join_names

_MIN_RUNS = 3  # that make a line
_MAX_RUNS, _MAX_LINES = 40, 6  # that a reader can tell apart, and that keep a page below 3 MB
_MAX_PANELS = 12  # on a page
_MAX_CHANGES = 12  # in the table, the latest first
_MAX_SENTENCES = 12  # of a kind, the latest first
_NAMES = ("case", "workload", "technique", "level", "problem", "fixed")  # columns that name a line
_MAX_CAUSE = 80  # characters of a cause that a title or a row of the table has room for


@dataclass(frozen=True, kw_only=True)
class HistorySection:
    """The part of a page on many runs.

    ``columns`` and ``rows`` are the table of changes in times and effects, the latest first. A row names a long cause
    by its number among ``causes``. ``counted_changes`` says how many changes there are and how certain they are;
    ``turns`` are sentences on where machines or their set-up changed.
    """

    counted: str
    columns: list[str]
    rows: list[list[str]]
    causes: list[str]
    counted_changes: str
    turns: list[str]
    remarks: list[str]
    figures: list[RenderedFigure]


def summarize_history(history: History, *, draw: bool = True) -> HistorySection | None:
    """Return what many runs show together; None where fewer than three of one machine can be compared.

    With ``draw`` false there are no figures. The changes and the figures are kept by a hash of the history.
    """
    series = _comparable_runs(history)
    if not series:
        return None
    inputs = [pd.util.hash_pandas_object(table).to_numpy().tobytes() for table in (history.runs, history.observations)]
    changes = recall("changes", list[Change], inputs, lambda: find_changes(history))
    epochs = find_epoch_changes(history.runs)[-_MAX_SENTENCES:]
    runs = join_names([f"{units.plural(each.total, 'run')} of {each.machine}" for each in series])
    latest = changes[:_MAX_CHANGES]
    causes = list(dict.fromkeys(each.environment for each in latest if len(each.environment) > _MAX_CAUSE))
    table = [_describe_change(change, causes) for change in latest]
    if len(series) == 1:
        table = [{name: cell for name, cell in row.items() if name != "machine"} for row in table]

    def figures() -> list[RenderedFigure]:
        return [figure.render() for figure in draw_history(history, changes)]

    return HistorySection(
        counted=f"{runs} can be compared: the same machine, the same size.",
        columns=list(table[0]) if table else [],
        rows=[list(row.values()) for row in table],
        causes=causes,
        counted_changes=_count_changes(changes),
        turns=[_describe_epoch_change(change, history) for change in reversed(epochs)],
        remarks=history.irregularities[:_MAX_SENTENCES],
        figures=recall("history", list[RenderedFigure], inputs, figures) if draw else [],
    )


def _comparable_runs(history: History) -> list[RunSeries]:
    """Return the runs that can be compared, machine by machine, the machine of the latest run first.

    A series does not continue over another identity or another size: those of the machine's latest run count.
    """
    machines = history.runs["machine"].iloc[::-1].drop_duplicates()
    return [series for machine in machines if (series := _comparable_runs_of(history, machine))]


def _comparable_runs_of(history: History, machine: str) -> RunSeries | None:
    runs = history.runs[history.runs["machine"] == machine]
    newest = runs.iloc[-1]
    comparable = runs[(runs["identity"] == newest["identity"]) & (runs["size"] == newest["size"])]
    comparable = comparable.drop_duplicates("run", keep="last")
    latest = comparable[-_MAX_RUNS:]
    names = [str(name) for name in latest["run"]]
    observed = history.observations
    finite = np.isfinite(observed["log_effect"].astype(float))
    effects = observed[observed["run"].isin(names) & ~observed["baseline"].astype(bool) & finite]
    effects = effects[~effects["ablation"] & (effects["technique"] != "")]
    if len(comparable) < _MIN_RUNS or effects.empty:
        return None
    positions = {name: place for place, name in enumerate(names)}
    return RunSeries(
        machine=machine,
        runs=names,
        labels=[
            f"{number:04}" if number else str(name)
            for number, name in zip(latest["number"], latest["name"], strict=True)
        ],
        comparable={*comparable["run"]},
        effects=effects.assign(at=[positions[str(name)] for name in effects["run"]]),
    )


def _count_changes(changes: Sequence[Change]) -> str:
    if not changes:
        return f"No level shift and no drift is certain; a shift takes {MIN_SEGMENT} runs on either side, a drift more."
    transients = sum(change.shape == "transient" for change in changes)
    counts = [(len(changes) - transients, "change"), (transients, "transient")]
    each = join_names([units.plural(count, noun) for count, noun in counts if count])
    back = ", in which a level was left and came back" if transients else ""
    latest = f"the latest {_MAX_CHANGES} of " if len(changes) > _MAX_CHANGES else ""
    share = f"at most {units.percent(FALSE_DISCOVERY_RATE)} of the changes found are false alarms"
    return f"What changed last: {latest}{each}{back}. On average, {share}."


def _describe_epoch_change(change: EpochChange, history: History) -> str:
    """Return a change of epoch as a sentence, which names the machine where there are several."""
    machine = change.run.rpartition("/")[0]
    return f"{machine}, {change}" if history.runs["machine"].nunique() > 1 else str(change)


def _describe_change(change: Change, causes: Sequence[str]) -> dict[str, str]:
    """Return a row of the table: since when, what it concerns, what changed, and what changed along with it."""
    return {
        "since run": _format_runs(change, ", until "),
        "machine": change.machine,
        "change of": change.kind,
        "what": _describe_subject(change),
        "became": _describe_size(change),
        "along with": _refer_to_cause(change.environment, causes),
    }


def _refer_to_cause(environment: str, causes: Sequence[str]) -> str:
    """Return the beginning of a cause with its number below the table, such as ``confounded (1)``, or a short cause."""
    if environment not in causes:
        return environment
    beginning, colon, _ = environment.partition(": ")
    return f"{beginning if colon else 'see'} ({causes.index(environment) + 1})"


def _describe_subject(change: Change) -> str:
    if change.kind == "machine":
        return "all workloads together"
    where = format_case(workload=change.workload, problem=change.problem)
    return f"{change.level} on {where} ({change.framework})" if change.level else f"{where} ({change.framework})"


def _describe_size(change: Change) -> str:
    if change.shape == "drift":
        return f"drifts: {units.ratio(change.ratio, change.low, change.high)} in 100 runs"
    perhaps = ", perhaps for a while" if change.shape == "transient" and not change.until else ""
    if change.kind == "technique":
        ends = change.before * change.low, change.before * change.high
        size = f"{units.speedup(change.before)} → {units.ratio(change.after, *ends)}"
        return f"{size} → {units.speedup(change.before)}" if change.until else size + perhaps
    ratio = units.ratio(change.ratio, change.low, change.high)
    return f"took {ratio} as long, and is over" if change.until else f"takes {ratio} as long{perhaps}"


def _format_runs(change: Change, until: str = " to ") -> str:
    """Return the run of a change, or the first and the last of a transient, such as ``0042 to 0048``."""
    names = [run.rpartition("/")[2] for run in (change.since, change.until) if run]
    numbers = [name.partition("_")[0] for name in names]
    return until.join(number if number.isdecimal() else name for number, name in zip(numbers, names, strict=True))


def _describe_event(change: Change) -> str:
    """Return what changed, and what changed along with it where that is short."""
    level = change.level.removeprefix(f"{change.technique} ")
    along = f"; {change.environment}" if 0 < len(change.environment) <= _MAX_CAUSE else ""
    when = f"in runs {_format_runs(change)}" if change.until else f"since run {_format_runs(change)}"
    return f"{change.workload} ({level}) {_describe_size(change)} {when}{along}"


def draw_history(history: History, changes: Sequence[Change]) -> list[FigureWithData]:
    """Draw the techniques that changed first, then those that moved furthest; as many as a page has room for."""
    panels: dict[tuple[str, str], list[MachinePanel]] = {}
    epochs = {name: find_epoch_changes(history.runs, name) for name in history.observations["framework"].unique()}
    for each in _comparable_runs(history):
        changed = [change.case for change in changes if change.since in each.comparable]
        by_technique = each.effects.groupby(["framework", "technique"], sort=False, observed=True)
        for (framework, technique), effects in by_technique:
            if lines := _choose_lines(effects, changed):
                panel = _make_panel(each, lines, changes, epochs[framework])
                panels.setdefault((str(framework), str(technique)), []).append(panel)
    room = _MAX_PANELS
    figures = []
    for (framework, technique), own in sorted(panels.items(), key=lambda item: _movement(item[1]), reverse=True):
        if room >= len(own):
            room -= len(own)
            figures.append(draw_over_runs(framework, technique, own))
    return name_uniquely(figures)


def _choose_lines(effects: pd.DataFrame, changed: Collection[str]) -> list[EffectLine]:
    """Return a technique's lines: of each workload the case where it is strongest, for at most six workloads.

    A case that changed precedes a stronger one.
    """
    runs = effects.groupby("case", observed=True)["at"].transform("nunique")
    strength = effects["log_effect"].abs().groupby(effects["case"], observed=True).transform("median")
    ranked = effects.assign(strength=strength, changed=effects["case"].isin(list(changed)))[runs >= _MIN_RUNS]
    cases = ranked.sort_values(["changed", "strength"], ascending=False, kind="stable").drop_duplicates("case")
    chosen = cases.drop_duplicates("workload")[:_MAX_LINES]
    several = chosen["level"].nunique() > 1
    return [_make_line(row, effects, several=several) for row in rows_of(chosen[[*_NAMES]])]


def _make_line(row: dict[str, Any], effects: pd.DataFrame, *, several: bool) -> EffectLine:
    own = effects[effects["case"] == row["case"]].drop_duplicates("at", keep="last").sort_values("at")
    points = pd.DataFrame({"at": own["at"].to_numpy()})
    for name, column in (("speedup", "log_effect"), ("low", "log_low"), ("high", "log_high")):
        points[name] = np.exp(own[column].to_numpy(float))
    level = row["level"].removeprefix(f"{row['technique']} ")
    return EffectLine(
        case=row["case"],
        name=f"{row['workload']} ({level})" if several else row["workload"],
        label=format_case(row["workload"], level, problem=row["problem"], fixed=row["fixed"]),
        points=points,
    )


def _make_panel(
    series: RunSeries, lines: Sequence[EffectLine], changes: Sequence[Change], epochs: Sequence[EpochChange]
) -> MachinePanel:
    """Return a panel from the first run to the last that any of the lines has."""
    first = int(min(line.points["at"].min() for line in lines))
    last = int(max(line.points["at"].max() for line in lines))
    shown = replace(series, runs=series.runs[first : last + 1], labels=series.labels[first : last + 1])
    cases = {line.case for line in lines}
    own = [change for change in changes if change.case in cases and shown.shows(change)]
    own.sort(key=lambda change: get_args(Shape).index(change.shape))
    return MachinePanel(
        series=shown,
        lines=[replace(line, points=line.points.assign(at=line.points["at"] - first)) for line in lines],
        changes=own,
        sentence=_describe_event(own[0]) if own else "",
        # Another machine has a panel of its own and needs no mark.
        setup_changes=[each for each in epochs if each.kind == "configuration" and each.run in shown.runs],
    )


def _movement(panels: Sequence[MachinePanel]) -> tuple[bool, float]:
    """Return whether anything changed, and the largest distance between the intervals of two runs of one line."""
    return any(panel.changes for panel in panels), max(line.separation for panel in panels for line in panel.lines)
