"""The findings in short, as Markdown for a pull request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from harness import units
from harness.reading import KeptCertificates, Result, bottlenecks, choosable, effects, load
from harness.reading.attributions import attributions
from harness.reading.ladders import Ladder, ladders
from harness.reading.table import in_words, rows_of
from harness.record import Run
from harness.report.answer.places import Row
from harness.report.answer.prices import price_in_words
from harness.report.answer.statements import surest_of_each
from harness.report.answer.undecided import Circumstances, circumstances
from harness.report.certificate.words import NO_CERTIFICATE, changes_in_words, in_brief
from harness.report.history.section import OverTime
from harness.report.labels import caches_in_words, taken_in_words, told_apart
from harness.report.machine import machine_in_words
from harness.report.rendering import rendered
from harness.report.side_by_side import Beside
from harness.report.verdicts import GLYPHS, counted

# Rows that one reads in a pull request, and ladders and their rungs.
_MOST_PAYING, _MOST_SLOWING, _MOST_BOTTLENECKS, _MOST_BUNDLES = 12, 6, 4, 4
_MOST_LADDERS, _MOST_RUNGS = 4, 12


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One row: a technique where its effect is strongest. ``doubtful`` says that the page has a doubt about it."""

    what: str
    against: str
    where: str
    speedup: str
    price: str
    doubtful: bool


@dataclass(frozen=True, kw_only=True)
class Climb:
    """A ladder: what all is held against, the cells of its table, and what is told below it, in sentences."""

    where: str
    start: str
    rungs: list[list[str]]
    told: list[str]


@dataclass(frozen=True, kw_only=True)
class RunInShort:
    """What a summary says of one run."""

    name: str
    taken: str
    machine: str
    interrupted: bool
    counted: str
    unmeasured: str
    paying: list[Finding]
    slowing: list[Finding]
    bottlenecks: list[str]
    climbs: list[Climb]
    bundles: list[str]
    certified: str


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a summary says.

    ``beside`` is how several runs stand to each other, in sentences, and ``over_time`` what the runs before them show.
    """

    title: str
    beside: list[str]
    runs: list[RunInShort]
    over_time: OverTime | None

    @property
    def doubtful(self) -> bool:
        """Whether a mark for doubt must be explained."""
        return any(each.doubtful for run in self.runs for each in (*run.paying, *run.slowing))


def as_markdown(
    results: Sequence[Result],
    certificates: Mapping[str, KeptCertificates],
    title: str,
    beside: Beside | None = None,
    over_time: OverTime | None = None,
) -> str:
    """Return the strongest findings of each run, and what changed last; ``certificates`` are by machine."""
    runs = [
        _in_short(result, label, certificates.get(result.run.machine, KeptCertificates()))
        for result, label in zip(results, told_apart(results), strict=True)
    ]
    told = beside.counted if beside else []
    return rendered("summary.md.j2", Summary(title=title, beside=told, runs=runs, over_time=over_time))


def _in_short(result: Result, label: str, kept: KeptCertificates) -> RunInShort:
    run, arms = result.run, load([result])
    found, held_back = effects(arms), bottlenecks(run)
    chosen, around = rows_of(choosable(found, held_back)), circumstances(run)
    return RunInShort(
        name=label,
        taken=taken_in_words(result),
        machine=machine_in_words(run.environment.identity),
        interrupted=run.interrupted,
        counted=_counted(run, found),
        unmeasured=_unmeasured(arms),
        paying=_surest(chosen, "faster", around)[:_MOST_PAYING],
        slowing=_surest(chosen, "slower", around)[:_MOST_SLOWING],
        bottlenecks=[each.sentence for each in held_back[:_MOST_BOTTLENECKS]],
        climbs=[_climb(each) for each in ladders(arms)[:_MOST_LADDERS]],
        bundles=[each.sentence for each in attributions(arms, around.noise)[:_MOST_BUNDLES]],
        certified=_certified(result, kept),
    )


def _counted(run: Run, found: pd.DataFrame) -> str:
    said = f"{units.plural(len(found), 'comparison')} in {units.plural(len(run.trials), 'trial')}{caches_in_words(run)}"
    return f"{said}: {counted(found['verdict'])}" if len(found) else said


def _unmeasured(arms: pd.DataFrame) -> str:
    missing = [outcome for outcome in (arms["outcome"] if len(arms) else ()) if outcome != "measured"]
    each = ", ".join(f"{count} {outcome.replace('-', ' ')}" for outcome, count in Counter(missing).most_common())
    return f"{len(missing)} of {units.plural(len(arms), 'arm')} have no speed: {each}." if missing else ""


def _surest(rows: Sequence[Row], verdict: str, around: Circumstances) -> list[Finding]:
    """Return one finding per technique and framework, the surest gain or loss first, what is doubtful last."""
    return [_finding(row) for row in surest_of_each([row for row in rows if row["verdict"] == verdict], around)]


def _finding(row: Row) -> Finding:
    place = ", ".join(filter(None, (row["framework"], in_words(row["fixed"]), in_words(row["problem"]))))
    return Finding(
        what=row["level"],
        against=", ".join(row["baseline_levels"].values()),
        where=f"{row['workload']} ({place})",
        speedup=_ratio(row, "speedup"),
        price=", ".join(price_in_words(row)),
        doubtful=bool(row["flags"] or row["baseline_flags"]),
    )


def _ratio(row: Row, of: str, bounds: str = "") -> str:
    return units.ratio(row[of], row[f"{bounds}low"], row[f"{bounds}high"])


def _climb(ladder: Ladder) -> Climb:
    return Climb(
        where=f"{ladder.workload} ({', '.join(filter(None, (ladder.framework, ladder.held)))})",
        start=ladder.start,
        rungs=[
            [
                rung["rung"],
                _ratio(rung, "speedup"),
                f"{GLYPHS.get(rung['gain_verdict'], '')} {_ratio(rung, 'gain', 'gain_')}".lstrip(),
            ]
            for rung in rows_of(ladder.rungs.iloc[1 : _MOST_RUNGS + 1])
        ],
        told=[sentence for sentence in (ladder.reached, ladder.left_out) if sentence],
    )


def _certified(result: Result, kept: KeptCertificates) -> str:
    """Say how often identical code was called different, and whether that still holds."""
    if kept.newest is None:
        return NO_CERTIFICATE
    return " ".join([*in_brief(kept.newest)[:1], *changes_in_words(kept.newest, result.run.environment)])
