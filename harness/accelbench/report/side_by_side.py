"""Several runs side by side: what they are, what changed since the first, and every effect in each of them.

What changed is decided as in a comparison of two sets of runs, by :mod:`accelbench.history.compare_runs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from accelbench import units
from accelbench.errors import BadInput
from accelbench.history.compare_runs import RunComparison, compare_runs
from accelbench.history.observations import History, describe_runs
from accelbench.history.policy import read_thresholds
from accelbench.history.select_runs import add_results, empty_history
from accelbench.report.compare_output import STANDINGS, explain_comparison, summarize_comparison
from accelbench.report.figures.drawing import RenderedFigure
from accelbench.report.figures.shifts import draw_shifts
from accelbench.report.labels import Anchors, format_taken, unique_labels
from accelbench.report.machine import describe_machine
from accelbench.results import Result
from accelbench.results.arm_table import Row, label_case
from accelbench.results.findings import Findings
from accelbench.schema.environment_difference import describe_field, differing_facts, facts_of_run
from accelbench.text import join_names, list_some

_MAX_NAMED = 3  # in a sentence; the table lists all
_ABSENT = "not in this run"
_ALONE, _NOT_COMPARED = "in one run only", "not compared"
_ORDER = (*STANDINGS, _NOT_COMPARED, _ALONE)  # what changed most comes first

Standings = Mapping[tuple[str, ...], str]  # by effect, since the first run


@dataclass(frozen=True, kw_only=True)
class EffectCell:
    """One run's speedup of an effect with its interval, or why there is none."""

    text: str
    anchor: str = ""
    verdict: str = ""
    speedup: float | None = None


@dataclass(frozen=True, kw_only=True)
class EffectInRuns:
    """One effect: its row in each run, None where the run lacks it, and what became of it in the later runs."""

    rows: Sequence[Row | None]
    standings: Mapping[int, str]
    labels: Sequence[str]

    @cached_property
    def measured(self) -> dict[int, Row]:
        """The rows that have a speedup, by the position of their run."""
        return {run: row for run, row in enumerate(self.rows) if row and row["speedup"] is not None}

    @property
    def first(self) -> Row:
        """The first row that has a speedup: it describes the effect, which is the same in all runs."""
        return next(iter(self.measured.values()))

    @property
    def held(self) -> str:
        """The case on which it was measured."""
        return label_case(self.first, framework=self.first["framework"])

    @property
    def cells(self) -> list[EffectCell]:
        """A cell for each run."""
        return [_cell(row, Anchors.of(place)) for place, row in enumerate(self.rows)]

    @property
    def standing(self) -> str:
        """The largest of the changes."""
        if not self.standings:
            return _ALONE if len(self.measured) == 1 else _NOT_COMPARED
        return min(self.standings.values(), key=_ORDER.index)

    @cached_property
    def verdicts(self) -> dict[str, list[int]]:
        """The positions of the runs that came to each verdict."""
        found: dict[str, list[int]] = {}
        for run, row in self.measured.items():
            found.setdefault(row["verdict"], []).append(run)
        return found

    @property
    def is_opposed(self) -> bool:
        """Whether it is faster in one run and slower in another."""
        return {"faster", "slower"} <= set(self.verdicts)

    @property
    def spread(self) -> float:
        """The ratio of the largest speedup to the smallest."""
        speedups = [row["speedup"] for row in self.measured.values()]
        return float(max(speedups) / min(speedups))

    @property
    def sentence(self) -> str:
        """What became of it, and the runs' own verdicts where they differ."""
        if self.standing == _ALONE:
            return f"only in {self._name(self.measured)}"
        several = len(self.labels) > 2 and self.standings
        changes = ", ".join(f"{each} in {self.labels[run]}" for run, each in self.standings.items())
        verdicts = ", ".join(f"{each} in {self._name(runs)}" for each, runs in self.verdicts.items())
        return f"{changes if several else self.standing}{f'; {verdicts}' if len(self.verdicts) > 1 else ''}"

    def _name(self, runs: Iterable[int]) -> str:
        return join_names([self.labels[run] for run in runs])


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """Several runs side by side, under unique ``labels``; facts have a value per run.

    ``changes`` say of each later run what changed since the first, and ``notes`` what the numbers in them mean.
    ``agreement`` says how far the runs' own verdicts agree.
    """

    labels: list[str]
    facts: list[tuple[str, list[str]]]
    machines: str
    differences: list[tuple[str, list[str]]]
    changes: list[str]
    agreement: list[str]
    notes: list[str]
    effects: list[EffectInRuns]
    figures: list[RenderedFigure]


def side_by_side(runs: Sequence[Findings], known: History | None = None) -> SideBySide:
    """Compare every later run with the first, in the order in which they stand on the page.

    ``known`` are runs that show how much unchanged runs differ.

    Raises:
        BadInput: the thresholds in ./pyproject.toml cannot be read.
    """
    results = [each.result for each in runs]
    labels, differences = unique_labels(results), _differences(results)
    compared = _compare(results, known)
    comparisons = {run: each for run, each in compared.items() if isinstance(each, RunComparison)}
    summaries = {run: summarize_comparison(each) for run, each in comparisons.items()}
    effects = _align_effects(runs, labels, {run: _standings(each) for run, each in comparisons.items()})
    titles = {run: f"{labels[run]} against {labels[0]}: {summaries.get(run, each)}" for run, each in compared.items()}
    figures = {run: draw_shifts(each, titles[run]) for run, each in comparisons.items()}
    return SideBySide(
        labels=labels,
        facts=[
            ("machine", [describe_machine(each.run.environment.identity) for each in results]),
            ("taken", [format_taken(each) for each in results]),
            ("measured", [units.plural(len(each.run.trials), "trial") for each in results]),
        ],
        machines=_machines(results, [name for name, _ in differences]),
        differences=differences,
        changes=[f"{title}." for title in titles.values()],
        notes=list(dict.fromkeys(note for each in comparisons.values() for note in explain_comparison(each))),
        agreement=list(_count_agreement(effects, describe_runs(results)["size"].tolist())),
        effects=effects,
        figures=[replace(each.render(), name=f"shifts-{run + 1}") for run, each in figures.items() if each],
    )


def _compare(results: Sequence[Result], known: History | None) -> dict[int, RunComparison | str]:
    """Return by position how each later run compares with the first, or why it does not."""
    history, (first, *later) = add_results(known or empty_history(), results)
    thresholds = read_thresholds()
    compared: dict[int, RunComparison | str] = {}
    for run, name in enumerate(later, start=1):
        try:
            compared[run] = compare_runs(history, [first], [name], thresholds)
        except BadInput as error:
            compared[run] = str(error)
    return compared


def _standings(comparison: RunComparison) -> Standings:
    found = comparison.techniques
    keys = zip(found["framework"], found["workload"], found["case"], found["against"], strict=True)
    return dict(zip(keys, found["standing"], strict=True)) if len(found) else {}


def _align_effects(
    runs: Sequence[Findings], labels: Sequence[str], standings: Mapping[int, Standings]
) -> list[EffectInRuns]:
    """Return every effect that at least one run has, those that changed most first."""
    rows: dict[tuple[str, ...], list[Row | None]] = {}
    for run, findings in enumerate(runs):
        for row in findings.rows:
            if not row["baseline"]:
                rows.setdefault(_key(row), [None] * len(runs))[run] = row
    effects = [
        EffectInRuns(
            rows=each, labels=labels, standings={run: found[key] for run, found in standings.items() if key in found}
        )
        for key, each in rows.items()
        if any(row and row["speedup"] is not None for row in each)
    ]
    return sorted(effects, key=lambda each: (_ORDER.index(each.standing), -len(each.verdicts), -each.spread))


def _key(row: Row) -> tuple[str, ...]:
    """Return by what observations of runs identify an effect."""
    return row["framework"], row["workload"], f"{row['trial']}|{row['level']}", row["against"]


def _count_agreement(effects: Sequence[EffectInRuns], sizes: Sequence[str]) -> Iterator[str]:
    """Yield how far verdicts agree on effects that several runs share: all of them measured it at one of the sizes."""
    shared = [each for each in effects if len(each.measured) > 1 and len({sizes[run] for run in each.measured}) == 1]
    if not shared:
        yield "No effect was measured in several runs of one size."
        return
    agreed = sum(len(each.verdicts) == 1 for each in shared)
    has = "has" if agreed == 1 else "have"
    yield f"Of {units.plural(len(shared), 'shared effect')}, {agreed} {has} the same verdict in every run."
    opposed = [f"{each.first['level']} on {each.first['workload']}" for each in shared if each.is_opposed]
    if opposed:
        yield f"Faster in one and slower in another: {len(opposed)} ({_list_some(opposed)})."


def _cell(row: Row | None, anchors: Anchors) -> EffectCell:
    if row is None:
        return EffectCell(text=_ABSENT)
    anchor = anchors.trial(row["trial"])
    if row["speedup"] is None:
        return EffectCell(text=str(row["reason"] or row["outcome"].replace("-", " ")), anchor=anchor)
    text = units.ratio(row["speedup"], row["low"], row["high"])
    return EffectCell(text=text, anchor=anchor, verdict=row["verdict"], speedup=row["speedup"])


def _machines(results: Sequence[Result], differing: Sequence[str]) -> str:
    identities = [result.run.environment.identity for result in results]
    others = sum(identity not in identities[:place] for place, identity in enumerate(identities))
    where = "on one machine" if others == 1 else f"on {others} machines"
    if not differing:
        return f"The runs were made {where}, alike in settings and versions."
    counted = f"{units.plural(len(differing), 'difference')} in settings and versions"
    return f"The runs were made {where}, with {counted}: {_list_some(differing)}."


def _list_some(names: Sequence[str]) -> str:
    return list_some(names, _MAX_NAMED, separator="; ")


def _differences(results: Sequence[Result]) -> list[tuple[str, list[str]]]:
    """Return the settings and versions in which the runs differ, by name. Runs may have used different frameworks."""
    facts = [facts_of_run(result.run.environment, result.run.settings) for result in results]
    differing = ((describe_field(key), values) for key, values in differing_facts(facts).items())
    return [
        (field.name, ["not recorded" if value is None else field.format(value) for value in values])
        for field, values in differing
        if field.group != "hardware"
    ]
