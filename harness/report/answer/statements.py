"""The answer that the page opens with: what each technique does here, where it does not, and what could not be told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from harness import units
from harness.reading.table import by_technique, rows_of
from harness.report.answer.places import Places, Row, level_in_words, listed
from harness.report.answer.prices import price_in_words
from harness.report.answer.undecided import Circumstances, left_open, times_to_decide, to_decide

_HEADINGS = {  # a technique is told by the first of these verdicts that it has
    "faster": "What pays",
    "slower": "What slows down",
    "same": "What makes no difference",
    "undecided": "What is undecided, and what would decide it",
}
_FIRST = 6  # statements of one verdict, before one asks for more
_LONGEST_DOUBT = 80  # characters; the whole sentence stands among the doubts and in the trial
_REACH = {"faster": "pays on", "slower": "slower on", "same": "no difference on", "undecided": "undecided on"}
_ELSEWHERE = {"slower": "Slower on", "same": "No difference on", "undecided": "Undecided on"}
_OTHER_LEVELS = {  # and where the level spoken of does so too
    "faster": ("Pays", "Also pays"),
    "same": ("No difference", "Also no difference"),
    "undecided": ("Undecided", "Also undecided"),
}


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What one technique does in one framework, in plain text.

    ``what`` is the technique at the level where its effect is surest, ``against`` the baseline's level and ``finding``
    what it does there. ``more`` are sentences on where it does something else, or on what would decide it, and
    ``slows`` names what it slows down most, where it pays elsewhere.
    """

    verdict: str
    framework: str
    technique: str
    what: str
    against: str
    finding: str
    price: str
    more: tuple[str, ...]
    doubt: str
    slows: str


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The statements of one verdict; ``mixed`` are those of techniques that pay but slow something down as well."""

    verdict: str
    heading: str
    statements: list[Statement]
    mixed: list[Statement]

    @property
    def first(self) -> list[Statement]:
        """Those that a reader takes home."""
        return self.statements[:_FIRST]

    @property
    def others(self) -> list[Statement]:
        """Those that are there for who asks."""
        return self.statements[_FIRST:]


def findings(effects: pd.DataFrame, around: Circumstances) -> list[Findings]:
    """Return one statement per technique and framework, by verdict, the surest gain or loss first.

    What is doubtful comes after what is not; what little would decide comes before what much would.
    """
    told = [_told(rows_of(found), around) for *_, found in by_technique(effects)]
    told.sort(key=lambda each: _rank(each[0], around))
    return [
        Findings(
            verdict=verdict,
            heading=heading,
            statements=[each for _, each in told if each.verdict == verdict],
            mixed=[each for _, each in told if each.slows and verdict == "slower"],
        )
        for verdict, heading in _HEADINGS.items()
    ]


def surest_of_each(rows: Sequence[Row], around: Circumstances) -> list[Row]:
    """Return of effects of one verdict each technique's surest in each framework, in the order of `_surest_first`."""
    chosen: dict[tuple[str, str], Row] = {}
    for row in _surest_first(rows, around):
        chosen.setdefault((row["framework"], row["switched"]), row)
    return list(chosen.values())


def _surest_first(rows: Sequence[Row], around: Circumstances) -> list[Row]:
    """Return effects of one verdict in the order in which statements about them come."""
    return sorted(rows, key=lambda row: _rank(row, around))


def _rank(row: Row, around: Circumstances) -> tuple[bool, float]:
    """Return what puts effects of one verdict in order."""
    doubtful = bool(_doubts(row))
    if row["verdict"] == "undecided":
        return doubtful, times_to_decide(row, around)
    return doubtful, row["high"] if row["verdict"] == "slower" else -row["low"]


def _told(rows: Sequence[Row], around: Circumstances) -> tuple[Row, Statement]:
    """Return a technique's surest effect, and what is to be said of the technique."""
    verdict = next(verdict for verdict in _HEADINGS if any(row["verdict"] == verdict for row in rows))
    chosen = _surest_first([row for row in rows if row["verdict"] == verdict], around)[0]
    places = Places.of(rows)
    place = places.name(chosen)
    found = left_open(chosen, place, around.noise) if verdict == "undecided" else _found(chosen, place)
    return chosen, Statement(
        verdict=verdict,
        framework=chosen["framework"],
        technique=chosen["switched"],
        what=chosen["level"],
        against=", ".join(chosen["baseline_levels"].values()),
        finding="; ".join(filter(None, (found, _reach(chosen, rows)))),
        price="" if verdict == "undecided" else ", ".join(price_in_words(chosen)),
        more=(
            *(to_decide(chosen, around) if verdict == "undecided" else ()),
            *_elsewhere(chosen, rows, places),
            *_other_levels(chosen, rows, places),
        ),
        doubt="; ".join(_doubts(chosen)),
        slows=_slows(rows, places) if verdict == "faster" else "",
    )


def _slows(rows: Sequence[Row], places: Places) -> str:
    slower = [row for row in rows if row["verdict"] == "slower"]
    if not slower:
        return ""
    worst = min(slower, key=lambda row: row["high"])
    return f"{worst['level']} on {places.name(worst, units.speedup(worst['speedup']))}"


def _doubts(row: Row) -> list[str]:
    """Return what is doubtful about either arm, in a few words each."""
    flags = dict.fromkeys([*row["baseline_flags"], *row["flags"]])
    return [flag.partition(":")[0][:_LONGEST_DOUBT] for flag in flags]


def _found(row: Row, place: str) -> str:
    speedup, within = units.speedup(row["speedup"]), units.interval(row["low"], row["high"])
    if row["verdict"] == "faster":
        return f"makes {place} {speedup} as fast ({within})"
    if row["verdict"] == "slower":
        return f"slows {place} down to {speedup} ({within})"
    return f"makes no difference on {place}: {speedup} ({within})"


def _reach(chosen: Row, rows: Sequence[Row]) -> str:
    """Say in how many cases this level does what it does in the chosen one."""
    cases = [row for row in rows if row["level"] == chosen["level"]]
    if len(cases) == 1:
        return ""
    alike = sum(row["verdict"] == chosen["verdict"] for row in cases)
    share = f"{alike} of {len(cases)}" if alike < len(cases) else "both" if alike == 2 else f"all {alike}"
    apart = len({row["workload"] for row in cases}) == len(cases)
    return f"{_REACH[chosen['verdict']]} {share} {'workloads' if apart else 'cases'}"


def _elsewhere(chosen: Row, rows: Sequence[Row], places: Places) -> Iterator[str]:
    """Yield where the same level came to another verdict."""
    others = [row for row in rows if row["level"] == chosen["level"]]
    for verdict, words in _ELSEWHERE.items():
        found = _named([row for row in others if row["verdict"] == verdict], places)
        if found and verdict != chosen["verdict"]:
            yield f"{words} {listed(found, most=1 if verdict in ('slower', 'same') else 2)}"


def _other_levels(chosen: Row, rows: Sequence[Row], places: Places) -> Iterator[str]:
    """Yield what the other levels do: those that slow something down by name, the others in brief."""
    levels: dict[str, list[Row]] = {}
    for row in rows:
        if row["level"] != chosen["level"]:
            levels.setdefault(level_in_words(row), []).append(row)
    brief: dict[str, list[str]] = {}
    for level, found in levels.items():
        if slower := [row for row in found if row["verdict"] == "slower"]:
            yield f"{level} is slower on {listed(_named(slower, places), most=1)}"
        kept = [verdict for verdict in _OTHER_LEVELS if any(row["verdict"] == verdict for row in found)]
        if kept and (not slower or kept[0] == "faster"):
            brief.setdefault(kept[0], []).append(level)
    for verdict in _OTHER_LEVELS:
        if verdict in brief:
            does, also = _OTHER_LEVELS[verdict]
            yield f"{also if verdict == chosen['verdict'] else does}: {listed(brief[verdict], most=5)}"


def _named(found: Sequence[Row], places: Places) -> list[str]:
    """Name the places of effects, the slowest first, with their speedups where these are decided."""
    ordered = sorted(found, key=lambda row: row["speedup"])
    return [places.name(row, "" if row["verdict"] == "undecided" else _measured(row)) for row in ordered]


def _measured(row: Row) -> str:
    return f"{units.speedup(row['speedup'])}, {units.interval(row['low'], row['high'])}"
