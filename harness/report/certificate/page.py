"""The page of a certificate: what was shown on this machine, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from harness import units
from harness.certificate import Certificate, Duel
from harness.reading.certificates import (
    Share,
    by,
    called,
    found_dose,
    holding,
    identical,
    spread,
    time_to_decide_s,
)
from harness.report.certificate.figures import coverage_figure, dose_figure, error_figure
from harness.report.certificate.words import (
    at_least,
    at_most,
    between,
    dose_in_words,
    in_brief,
    taken_in_words,
    where_in_words,
)
from harness.report.figures.drawing import Drawn
from harness.report.machine import Facts, machine_in_words, readings_in_words, setup_in_words
from harness.report.rendering import rendered

_NOISES = {
    "independent": "every step varies by 2 %",
    "spiky": "one step in a hundred takes ten times as long",
    "drifting": "the machine slows down by half within a second, and swings",
    "autocorrelated": "what a step loses stays with the next ones",
}
_TIMES = ("answer after, median", "95 % after")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part of the page: its heading, what its numbers mean, a table and perhaps figures."""

    heading: str
    said: str
    headings: Sequence[str]
    rows: list[list[str]]
    figures: list[Drawn] = field(default_factory=list)

    @property
    def filled(self) -> list[int]:
        """The places of the columns in which some row says something."""
        return [place for place in range(len(self.headings)) if any(row[place] for row in self.rows)]


@dataclass(frozen=True, kw_only=True)
class CertificateContent:
    """Everything that the template shows."""

    machine: str
    taken: str
    took: str
    quick: bool
    brief: list[str]
    parts: list[Part]
    remarks: list[str]
    configuration: list[tuple[str, Facts]]


def certificate_page(certificate: Certificate) -> str:
    """Return a certificate as a page that stands alone."""
    parts = [write(certificate) for write in (_identical, _more_work, _length, _slow_calls, _workers, _coverage)]
    content = CertificateContent(
        machine=machine_in_words(certificate.environment.identity),
        taken=taken_in_words(certificate),
        took=units.minutes(certificate.spent_s),
        quick=bool(certificate.settings.get("quick")),
        brief=in_brief(certificate),
        parts=[part for part in parts if part.rows],
        remarks=certificate.remarks,
        configuration=[
            *setup_in_words(certificate.environment),
            ("Readings at the start", readings_in_words(certificate.environment)),
        ],
    )
    return rendered("certificate.html.j2", content)


def _identical(certificate: Certificate) -> Part:
    def row(duels: Sequence[Duel]) -> list[str]:
        first = duels[0]
        wrong, same = called(duels, "faster", "slower"), called(duels, "same")
        usual_s, long_s = time_to_decide_s(duels)
        times = [units.seconds(usual_s), units.seconds(long_s)]
        return [first.work, first.through, where_in_words(first), at_most(wrong), at_least(same), *times]

    groups = by(identical(certificate), "neighbours", "through", "framework", "work")
    return Part(
        heading="Identical code",
        said="Two arms of the same code, built apart. “faster” and “slower” are wrong; what is not called the same was "
        "left undecided. The suite compares them in a worker of their own.",
        headings=("work", "by", "measured", "called different", "called the same", *_TIMES),
        rows=[row(duels) for duels in groups.values()],
    )


def _more_work(certificate: Certificate) -> Part:
    def row(duels: Sequence[Duel]) -> list[str]:
        first = duels[0]
        usual_s, long_s = time_to_decide_s(duels)
        return [
            dose_in_words(first.dose),
            first.work,
            where_in_words(first),
            at_least(called(duels, "slower")),
            units.percent(median(map(found_dose, duels))),
            at_least(holding(duels)),
            units.seconds(usual_s),
            units.seconds(long_s),
        ]

    duels = sorted((duel for duel in certificate.duels if duel.dose), key=lambda duel: (duel.neighbours, duel.dose))
    zone = float(certificate.settings.get("noise") or 0)
    edge = f" At {dose_in_words(zone)}, the edge of the noise zone, “undecided” is the right answer." if zone else ""
    return Part(
        heading="More work",
        said=f"One arm does a known amount more of the other’s work.{edge}",
        headings=("more", "work", "measured", "called slower", "found", "within interval", *_TIMES),
        rows=[row(group) for group in by(duels, "neighbours", "dose", "work").values()],
        figures=[dose_figure(certificate.duels), error_figure(duels)] if duels else [],
    )


def _length(certificate: Certificate) -> Part:
    multiples = [
        [
            f"{units.count(each.times)} × {each.work}",
            f"{units.count(each.times)}×",
            f"{units.significant(each.measured, 4)}× ({_ratios(each.low, each.high, 4)})",
            _off(each.measured / each.times - 1),
        ]
        for each in certificate.multiples
    ]
    waits = [
        [
            "busy wait",
            units.seconds(each.asked_s),
            units.seconds(each.measured_s),
            _off(each.measured_s / each.asked_s - 1),
        ]
        for each in certificate.waits
    ]
    timer = certificate.timer
    said = (
        "Twice and four times the same work, against once; and waits, which end with the first reading of the clock "
        "that is late enough, so that they last a little longer."
    )
    if timer is not None:
        cost, step = units.seconds(timer.cost_s), units.seconds(timer.resolution_s)
        said += f" Reading the clock costs {cost}; its least step is {step}."
    return Part(
        heading="Work of known length",
        said=said,
        headings=("work", "known", "measured", "off by"),
        rows=multiples + waits,
    )


def _slow_calls(certificate: Certificate) -> Part:
    return Part(
        heading="One slow call",
        said="Two arms of the same loop, one call of which took longer in one of them. Neither the first call nor a "
        "later one may move the figure.",
        headings=("slow call", "took longer by", "speedup", "verdict"),
        rows=[
            [
                units.count(each.call),
                units.seconds(each.slow_s),
                f"{units.significant(each.speedup, 4)}× ({_ratios(each.low, each.high, 4)})",
                each.verdict,
            ]
            for each in certificate.slow_calls
        ],
    )


def _workers(certificate: Certificate) -> Part:
    groups = by((duel for duel in certificate.duels if duel.through == "suite"), "neighbours", "framework", "work")
    rows = [
        [group[0].work, where_in_words(group[0]), units.count(len(group)), units.percent(width)]
        for group in groups.values()
        if (width := spread(group)) is not None
    ]
    return Part(
        heading="Between processes",
        said="The same two arms, built afresh in so many workers: the standard deviation of the speedup between them. "
        "A run with several workers per trial puts this into its intervals; one with a single worker cannot.",
        headings=("work", "measured", "workers", "standard deviation"),
        rows=rows,
    )


def _coverage(certificate: Certificate) -> Part:
    found = certificate.coverage
    shares = [Share(count=each.covered, of=each.series) for each in found]
    return Part(
        heading="Intervals under simulated noise",
        said="The same referee on a simulated clock, whose noise and whose true speedup are known. The interval stays "
        "valid although measuring stops when it looks good; that makes it wider than one for a fixed number of pairs, "
        "so that it holds the truth more often than it claims.",
        headings=("noise", "what it is", "claimed", "held the truth", "95 % bounds", "median pairs"),
        rows=[
            [
                each.noise,
                _NOISES.get(each.noise, ""),
                units.percent(each.nominal),
                f"{each.covered} of {each.series}",
                between(share),
                units.count(each.pairs),
            ]
            for each, share in zip(found, shares, strict=True)
        ],
        figures=[coverage_figure(found)] if found else [],
    )


def _ratios(low: float, high: float | None, digits: int) -> str:
    return f"{units.significant(low, digits)}–{'∞' if high is None else units.significant(high, digits)}"


def _off(fraction: float) -> str:
    return f"{100 * fraction:+.2f} %"
