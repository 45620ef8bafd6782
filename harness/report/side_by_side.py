"""Several runs side by side: what they are, which effects they agree on, and which not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from harness import units
from harness.reading import Result
from harness.reading.matching import DIFFER, Match, Row, Standing, matched
from harness.reading.table import in_words
from harness.report.anchors import Anchors
from harness.report.figures.drawing import Drawn
from harness.report.figures.side_by_side import most_different
from harness.report.labels import taken_in_words, told_apart
from harness.report.machine import machine_in_words, setup_in_words

_NAMED = 3  # of what a sentence counts; all of it stands in a table
_ABSENT = "not in this run"
_COUNTED: dict[Standing, str] = {  # those that differ come first
    "flips": "Faster in one and slower in another",
    "differs": "A difference in one and none in another",
    "apart": "Intervals that share no value",
    "undecided": "Undecided in at least one",
    "not comparable": "Not comparable, since the baselines differ",
    "alone": "In one run only",
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run's finding on an effect: its speedup and interval, or why there is none."""

    text: str
    anchor: str = ""
    verdict: str = ""
    speedup: float | None = None


@dataclass(frozen=True, kw_only=True)
class Line:
    """One effect in every run, and how the findings stand to each other."""

    technique: str
    level: str
    against: str
    workload: str
    framework: str
    held: str
    cells: list[Cell]
    standing: Standing
    said: str


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Several runs side by side. ``labels`` tell them apart; facts have a value per run."""

    labels: list[str]
    facts: list[tuple[str, list[str]]]
    machines: str
    differences: list[tuple[str, list[str]]]
    counted: list[str]
    lines: list[Line]
    figure: Drawn | None


def side_by_side(results: Sequence[Result]) -> Beside:
    """Compare two runs or more, in the order in which they stand on the page."""
    labels, matches = told_apart(results), matched(results)
    differences = _differences(results)
    return Beside(
        labels=labels,
        facts=_facts(results),
        machines=_machines(results, [name for name, _ in differences]),
        differences=differences,
        counted=list(_counted(matches, len(results))),
        lines=[_line(match, labels) for match in matches],
        figure=most_different(matches, labels),
    )


def _facts(results: Sequence[Result]) -> list[tuple[str, list[str]]]:
    ways: dict[str, Callable[[Result], str]] = {
        "machine": lambda result: machine_in_words(result.run.environment.identity),
        "taken": taken_in_words,
        "measured": lambda result: units.plural(len(result.run.trials), "trial"),
    }
    return [(name, [written(result) for result in results]) for name, written in ways.items()]


def _machines(results: Sequence[Result], differing: Sequence[str]) -> str:
    identities = [result.run.environment.identity for result in results]
    others = sum(identity not in identities[:place] for place, identity in enumerate(identities))
    where = "on one machine" if others == 1 else f"on {others} machines"
    if not differing:
        return f"The runs were made {where}, alike in settings and versions."
    counted = f"{units.plural(len(differing), 'difference')} in settings and versions"
    return f"The runs were made {where}, with {counted}: {_some(differing)}."


def _differences(results: Sequence[Result]) -> list[tuple[str, list[str]]]:
    """Return what is set up or asked for differently, by name. Runs may have used different frameworks."""
    told = [_configured(result) for result in results]
    names = dict.fromkeys(name for facts in told for name in facts)
    differing = [name for name in names if len({facts[name] for facts in told if name in facts}) > 1]
    return [(name, [facts.get(name, "not told") for facts in told]) for name in differing]


def _configured(result: Result) -> dict[str, str]:
    settings = {
        f"the run’s {units.without_unit(name)}": _value(name, value) for name, value in result.run.settings.items()
    }
    for heading, facts in setup_in_words(result.run.environment):
        settings |= {f"{heading} {name}": value for name, value in facts}
    return settings


def _value(name: str, value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return units.named(name, value)
    return "none" if value is None else str(value)


def _counted(matches: Sequence[Match], runs: int) -> Iterator[str]:
    counts = Counter(match.standing for match in matches)
    shared = len(matches) - counts["alone"]
    who = "Both runs" if runs == 2 else "Two runs or more"
    agreed = f"on {counts['agrees']} they agree: one verdict, and intervals that overlap"
    yield f"{who} measured {units.plural(shared, 'effect')}; {agreed}." if shared else "The runs share no effect."
    for standing, said in _COUNTED.items():
        if counts[standing]:
            named = f" ({_named(matches, standing)})" if standing in DIFFER else ""
            yield f"{said}: {counts[standing]}{named}."


def _named(matches: Sequence[Match], standing: Standing) -> str:
    rows = [match.first for match in matches if match.standing == standing]
    return _some([f"{row['level']} on {row['workload']} with {row['framework']}" for row in rows])


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    said = "; ".join(names[:_NAMED])
    return f"{said}; and {more} more" if more > 0 else said


def _line(match: Match, labels: Sequence[str]) -> Line:
    row = match.first
    return Line(
        technique=row["switched"],
        level=row["level"],
        against=row["against"],
        workload=row["workload"],
        framework=row["framework"],
        held=", ".join(filter(None, (row["framework"], in_words(row["problem"]), in_words(row["fixed"])))),
        cells=[_cell(each, Anchors.of(place)) for place, each in enumerate(match.rows)],
        standing=match.standing,
        said=standing_in_words(match, labels),
    )


def _cell(row: Row | None, anchors: Anchors) -> Cell:
    if row is None:
        return Cell(text=_ABSENT)
    anchor = anchors.trial(row["trial"])
    if row["speedup"] is None:
        return Cell(text=row["reason"] or row["outcome"].replace("-", " "), anchor=anchor)
    text = units.ratio(row["speedup"], row["low"], row["high"])
    return Cell(text=text, anchor=anchor, verdict=row["verdict"], speedup=row["speedup"])


def standing_in_words(match: Match, labels: Sequence[str]) -> str:
    """Say how the findings on an effect stand to each other."""

    def runs(verdict: str) -> str:
        return " and ".join(labels[run] for run in match.runs_with(verdict))

    if match.standing == "flips":
        return f"flips: faster in {runs('faster')}, slower in {runs('slower')}"
    if match.standing == "differs":
        return f"pays only in {runs('faster')}" if runs("faster") else f"slows down only in {runs('slower')}"
    if match.standing == "apart":
        largest = max(match.measured, key=lambda run: float(match.measured[run]["speedup"]))
        return f"intervals apart, larger in {labels[largest]}"
    if match.standing == "undecided":
        return f"undecided in {runs('undecided')}"
    if match.standing == "alone":
        return f"only in {labels[next(iter(match.measured))]}"
    return "same verdict" if match.standing == "agrees" else "not comparable: the baselines differ"
