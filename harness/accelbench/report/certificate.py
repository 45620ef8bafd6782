"""Describe a machine's calibration certificate in sentences and as a page of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from accelbench import units
from accelbench.errors import BadInput
from accelbench.files import write_atomically
from accelbench.report.figures.certificate import error_figure, format_effect_size, format_load, power_figure
from accelbench.report.figures.drawing import RenderedFigure
from accelbench.report.machine import describe_machine, describe_readings, describe_setup
from accelbench.report.render import Content, render_template
from accelbench.report.tables import Table, plain_table
from accelbench.results.certificates import (
    MachineCertificates,
    Share,
    count_covered,
    count_verdicts,
    group_by,
    spread,
    time_to_decide_s,
)
from accelbench.schema.certificate import Certificate, KnownComparison
from accelbench.schema.environment_difference import (
    compare_environments,
    possible_causes,
    summarize,
)
from accelbench.schema.result import Environment

REQUIRED_EFFECT_SIZE = 0.03  # that a comparison must detect
NO_CERTIFICATE = "No calibration certificate of this machine was found; accelbench calibrate makes one."


@dataclass(frozen=True, kw_only=True)
class CertificateSummary:
    """The sentences about its machine's newest certificate in the report of a run, and the path to its page."""

    sentences: list[str]
    page: str = ""


def summarize_certificate(
    found: MachineCertificates, environment: Environment, folder: Path | None
) -> CertificateSummary:
    """Summarize the newest certificate for a report in ``folder``; None means that the report lies elsewhere."""
    if found.newest is None or found.path is None:
        return CertificateSummary(sentences=[NO_CERTIFICATE])
    page = found.path.with_suffix(".html")
    return CertificateSummary(
        sentences=[
            f"The newest calibration certificate of this machine was made on {_format_time(found.newest)}.",
            *describe_certificate(found.newest),
            *describe_changes(found.newest, environment),
        ],
        page=Path(os.path.relpath(page, folder)).as_posix() if folder and page.is_file() else "",
    )


def describe_certificate(certificate: Certificate) -> list[str]:
    """Describe what a certificate shows, the most important first."""
    parts = (_describe_identical, _describe_different, _describe_workers, _describe_cores)
    sentences = [sentence for part in parts for sentence in part(certificate.comparisons)]
    if certificate.interrupted:
        sentences.append("The calibration was interrupted; this is what it had measured until then.")
    return sentences


def describe_changes(certificate: Certificate, environment: Environment) -> Iterator[str]:
    """Describe how the configuration has changed since a certificate was made."""
    differences = compare_environments([certificate.environment.configuration], [environment.configuration])
    if possible_causes(differences):
        yield f"It was made under another configuration: {summarize(differences)}."


def _describe_identical(comparisons: Sequence[KnownComparison]) -> Iterator[str]:
    for group in group_by((each for each in comparisons if not each.effect_size), "busy_processes"):
        wrong = count_verdicts(group, "faster", "slower")
        yield (
            f"{_format_count(group)} of identical code, {wrong.count} called it different "
            f"(at most {units.percent(wrong.upper_bound)} with 95 % confidence)."
        )


def _describe_different(comparisons: Sequence[KnownComparison]) -> Iterator[str]:
    different = (each for each in comparisons if each.effect_size == REQUIRED_EFFECT_SIZE)
    for group in group_by(different, "busy_processes"):
        slower = count_verdicts(group, "slower")
        yield (
            f"{_format_count(group)} with {format_effect_size(REQUIRED_EFFECT_SIZE)} more work, {slower.count} called "
            f"it slower (at least {units.percent(slower.lower_bound)} with 95 % confidence)."
        )


def _describe_workers(comparisons: Sequence[KnownComparison]) -> Iterator[str]:
    in_suite = (each for each in comparisons if each.through == "suite")
    groups = group_by(in_suite, "framework", "work", "busy_processes")
    deviations = sorted(deviation for group in groups if (deviation := spread(group)) is not None)
    if deviations:
        least, most = units.percent(deviations[0]), units.percent(deviations[-1])
        yield f"The speedup of identical arms varied by {least} to {most} (standard deviation) between fresh workers."


def _describe_cores(comparisons: Sequence[KnownComparison]) -> Iterator[str]:
    if known := _with_known_cores(comparisons):
        far = sum(bool(each.cores_are_far) for each in known)
        yield f"The cores lay far apart during {far} of {units.plural(len(known), 'comparison')}."


def _with_known_cores(comparisons: Sequence[KnownComparison]) -> list[KnownComparison]:
    return [each for each in comparisons if each.cores_are_far is not None]


def _format_count(comparisons: Sequence[KnownComparison]) -> str:
    counted = units.plural(len(comparisons), "comparison")
    load = format_load(comparisons[0]) if comparisons[0].busy_processes else ""
    return f"{load.capitalize()}, of {counted}" if load else f"Of {counted}"


def _format_time(certificate: Certificate) -> str:
    return certificate.created.replace("T", " ").replace("+00:00", " UTC")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part of the page: a heading, what its numbers mean, a table, and any figures."""

    heading: str
    text: str
    table: Table
    figures: list[RenderedFigure] = field(default_factory=list)


def write_certificate_page(certificate: Certificate, path: Path) -> Path:
    """Write the page of a certificate beside its file, and return the page's path.

    Raises:
        BadInput: it cannot be written.
    """
    page = path.with_suffix(".html")
    try:
        write_atomically(page, render_certificate(certificate).encode())
    except OSError as error:
        raise BadInput(f"{page}: the certificate's page cannot be written ({error.strerror or error})") from None
    return page


def render_certificate(certificate: Certificate) -> str:
    """Return a certificate as a page that stands alone."""
    parts = (_identical_code, _more_work, _near_and_far, _known_length, _slow_calls, _between_processes)
    content = Content(
        title=f"Calibration certificate of {_format_time(certificate)}",
        machine=describe_machine(certificate.environment.identity),
        created=_format_time(certificate),
        duration=units.minutes(certificate.spent_s),
        quick=bool(certificate.settings.get("quick")),
        sentences=describe_certificate(certificate),
        parts=[part for part in (write(certificate) for write in parts) if part.table.rows],
        not_measured=certificate.not_measured,
        configuration=[
            *describe_setup(certificate.environment),
            ("Readings at the start", describe_readings(certificate.environment)),
        ],
    )
    return render_template("certificate.html.j2", content)


def _identical_code(certificate: Certificate) -> Part:
    identical = [each for each in certificate.comparisons if not each.effect_size]
    return Part(
        heading="Identical code",
        text="Both arms are the same code, built twice. “Faster” and “slower” are wrong; what is not called the same "
        "was left undecided. The suite compares them in a worker of their own.",
        table=plain_table(
            ("work", "by", "measured", "called different", "called the same", "median time", "95 % within"),
            [
                [
                    group[0].work,
                    group[0].through,
                    format_load(group[0]),
                    _at_most(count_verdicts(group, "faster", "slower")),
                    _at_least(count_verdicts(group, "same")),
                    *map(units.seconds, time_to_decide_s(group)),
                ]
                for group in group_by(identical, "busy_processes", "through", "framework", "work")
            ],
        ),
    )


def _more_work(certificate: Certificate) -> Part:
    different = [each for each in certificate.comparisons if each.effect_size]
    different.sort(key=lambda each: (each.busy_processes, each.effect_size))
    zone = float(certificate.settings.get("noise") or 0)
    edge = f" At {format_effect_size(zone)}, the edge of the noise zone, “undecided” is the right answer."
    return Part(
        heading="More work",
        text=f"One arm does a known amount of work more than the other.{edge if zone else ''}",
        table=plain_table(
            ("more", "work", "measured", "called slower", "found", "within interval", "median time", "95 % within"),
            [
                [
                    format_effect_size(group[0].effect_size),
                    group[0].work,
                    format_load(group[0]),
                    _at_least(count_verdicts(group, "slower")),
                    units.percent(median(each.measured_effect_size for each in group)),
                    _at_least(count_covered(group)),
                    *map(units.seconds, time_to_decide_s(group)),
                ]
                for group in group_by(different, "busy_processes", "effect_size", "work")
            ],
        ),
        figures=[power_figure(certificate.comparisons).render(), error_figure(different).render()] if different else [],
    )


def _near_and_far(certificate: Certificate) -> Part:
    known, rows = _with_known_cores(certificate.comparisons), []
    for group in group_by(sorted(known, key=lambda each: bool(each.cores_are_far)), "cores_are_far", "through"):
        identical = [each for each in group if not each.effect_size]
        different = [each for each in group if each.effect_size == REQUIRED_EFFECT_SIZE]
        rows.append(
            [
                "far" if group[0].cores_are_far else "near",
                group[0].through,
                units.seconds(median(each.core_latency_s or 0.0 for each in group)),
                _at_most(count_verdicts(identical, "faster", "slower")),
                _at_least(count_verdicts(identical, "same")),
                _at_least(count_verdicts(different, "slower")) if different else "",
                _at_least(count_covered(group)),
            ]
        )
    more = format_effect_size(REQUIRED_EFFECT_SIZE)
    return Part(
        heading="Near and far cores",
        text="A host moves virtual cores between its own, and keeps them near each other or far apart for minutes. The "
        "time from one core to another was read before and after each comparison; the longer one counts. Comparisons "
        "through the suite use all cores.",
        table=plain_table(
            (
                "cores", "by", "from core to core", "identical called different", "identical called the same",
                f"{more} more work called slower", "within interval",
            ),
            rows,
        ),
    )  # fmt: skip


def _known_length(certificate: Certificate) -> Part:
    multiples = [
        [
            f"{units.count(each.times)} × {each.work}",
            f"{units.count(each.times)}×",
            _format_ratio(each.measured, each.low, each.high),
            _format_error(each.measured / each.times),
        ]
        for each in certificate.multiples
    ]
    waits = [
        [
            "busy wait",
            units.seconds(each.requested_s),
            units.seconds(each.measured_s),
            _format_error(each.measured_s / each.requested_s),
        ]
        for each in certificate.waits
    ]
    text = (
        "Twice and four times the same work, compared with once; and waits, which end at the first reading of the "
        "clock after their length, so that they last a little longer."
    )
    if timer := certificate.timer:
        cost, resolution = units.seconds(timer.cost_s), units.seconds(timer.resolution_s)
        text += f" Reading the clock costs {cost}; its resolution is {resolution}."
    return Part(
        heading="Work of known length",
        text=text,
        table=plain_table(("work", "known", "measured", "error"), multiples + waits),
    )


def _slow_calls(certificate: Certificate) -> Part:
    return Part(
        heading="One slow call",
        text="Both arms are the same loop, but one call of the candidate takes longer. Neither the first call nor a "
        "later one may change the result.",
        table=plain_table(
            ("slow call", "longer by", "speedup", "verdict"),
            [
                [
                    units.count(each.call),
                    units.seconds(each.slow_s),
                    _format_ratio(each.speedup, each.low, each.high),
                    each.verdict,
                ]
                for each in certificate.slow_calls
            ],
        ),
    )


def _between_processes(certificate: Certificate) -> Part:
    in_suite = (each for each in certificate.comparisons if each.through == "suite")
    groups = group_by(in_suite, "busy_processes", "framework", "work")
    return Part(
        heading="Between processes",
        text="The same two arms, built in several fresh workers: the standard deviation of the speedup between them. A "
        "run with several workers per trial includes this in its intervals; a run with a single worker cannot.",
        table=plain_table(
            ("work", "measured", "workers", "standard deviation"),
            [
                [group[0].work, format_load(group[0]), units.count(len(group)), units.percent(deviation)]
                for group in groups
                if (deviation := spread(group)) is not None
            ],
        ),
    )


def _at_most(share: Share) -> str:
    return f"{share.count} of {share.total} (at most {units.percent(share.upper_bound)})"


def _at_least(share: Share) -> str:
    return f"{share.count} of {share.total} (at least {units.percent(share.lower_bound)})"


def _format_ratio(value: float, low: float, high: float | None) -> str:
    upper = "∞" if high is None else units.significant(high, 4)
    return f"{units.significant(value, 4)}× ({units.significant(low, 4)}–{upper})"


def _format_error(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.2f} %"
