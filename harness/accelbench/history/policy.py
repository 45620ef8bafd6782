"""What a project says about changes: how large they must be to matter, and which of them are accepted.

The table ``[tool.accelbench.check]`` of its pyproject.toml sets the margin and the false-discovery rate. A change
matters where it is at least the margin: with 3 %, where one speed is at most 0.97 times the other, in either direction.

Waivers are changes that a person accepted, with the reason, in a small TOML file that is reviewed like code. An entry
names an effect (``case``, or ``technique`` with or without ``workload`` and ``framework``), the times of a workload
(``workload`` alone) or a ``machine``; the run ``since`` which it holds; and the ``ratio``, which is how many times as
fast it became, or none where it lost its speed. Runs before ``since`` are treated as if they had been that much faster,
so a further change is reported again. Of several subjects that an entry names, this holds for those that did change by
about the ratio.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from accelbench import units
from accelbench.errors import BadInput
from accelbench.files import write_atomically
from accelbench.schema.safe_json import BeyondLimit, printable, read_text
from accelbench.text import format_case

_TABLE = "[tool.accelbench.check]"
_WAY_OUT = 'write, for example, margin = 0.03 and techniques = { "batch-size" = 0.05 }'
_HEADER = "# Changes that accelbench check does not raise again, unless they change further."
_ENTRY = (
    "an entry holds since, reason and one of case, technique, workload or machine, "
    "and may hold ratio, framework, by and on"
)
_UNKNOWN = "nothing of that name was measured lately; correct or delete it"
_NEAREST_RUNS = 5  # on either side of an accepted change, which show what changed there
_TARGETS = ("case", "technique", "workload", "machine")
Share = Annotated[float, msgspec.Meta(gt=0, lt=1)]
Kind = Literal["machine", "workload", "technique"]
Content = TypeVar("Content")


class Thresholds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The smallest change that matters, as a share, and the share of reported changes that may be wrong.

    A technique or a workload may have a margin of its own, under the name that reports give it; where both have one,
    the larger counts.
    """

    margin: Share = 0.03
    false_discovery_rate: Share = 0.01
    techniques: dict[str, Share] = {}
    workloads: dict[str, Share] = {}

    def margin_of(self, technique: str = "", workload: str = "") -> float:
        """Return the smallest change that matters to a technique on a workload."""
        own = [self.techniques.get(technique), self.workloads.get(workload)]
        return max((margin for margin in own if margin is not None), default=self.margin)

    def remark_unknown(self, subjects: Sequence[Subject]) -> list[str]:
        """Return remarks on margins of techniques and workloads that no subject has."""
        techniques = self.techniques.keys() - {subject.technique for subject in subjects}
        workloads = self.workloads.keys() - {subject.workload for subject in subjects}
        return [f"margin of {printable(name)}: {_UNKNOWN}" for name in sorted(techniques | workloads)]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is checked: the machine, the times of a workload, or the effect of a technique.

    ``key`` identifies it in the file of waivers. ``test`` names the test where another one measures the same case.
    ``changed`` says what differs in the environments of the runs that are compared.
    """

    kind: Kind
    key: str
    framework: str = ""
    workload: str = ""
    technique: str = ""
    level: str = ""
    against: str = ""
    held: str = ""
    test: str = ""
    changed: str = ""

    @property
    def name(self) -> str:
        """What reports call it, such as ``amp bf16 against amp fp32 on resnet50-train (torch)``."""
        if self.kind == "machine":
            return f"machine {self.key}"
        case = format_case(problem=self.held, framework=self.framework, test=self.test)
        where = f"{self.workload} ({case})"
        if self.kind == "workload":
            return f"times of {where}"
        against = f" against {self.against}" if self.against else ""
        return f"{self.level}{against} on {where}"


class Waiver(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One accepted change."""

    since: Annotated[str, msgspec.Meta(min_length=1)]
    reason: Annotated[str, msgspec.Meta(min_length=1)]
    case: str = ""
    technique: str = ""
    workload: str = ""
    framework: str = ""
    machine: str = ""
    ratio: Annotated[float, msgspec.Meta(gt=0)] | None = None
    by: str = ""
    on: date | None = None

    @property
    def target(self) -> str:
        """What it names, in words."""
        named = [self.case, self.machine, self.technique, f"on {self.workload}" if self.technique else self.workload]
        return printable(" ".join(part for part in named if part not in ("", "on ")))

    def covers(self, subject: Subject) -> bool:
        """Return whether it is about a subject."""
        if self.case or self.machine:
            return (self.case, self.machine) == (
                subject.key if subject.kind == "technique" else "",
                subject.key if subject.kind == "machine" else "",
            )
        kind = "technique" if self.technique else "workload"
        given = ((name, getattr(self, name)) for name in ("technique", "workload", "framework"))
        return subject.kind == kind and all(value in ("", getattr(subject, name)) for name, value in given)


@dataclass(frozen=True, kw_only=True)
class Adjustment:
    """A logarithm to add to the speeds of the first runs of the subject at a position, and why it was accepted."""

    place: int
    runs: int
    logarithm: float
    reason: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    accepted: list[Waiver] = []


def log_margin(margin: float) -> float:
    """Return the smallest difference of logarithms that matters, the same in both directions."""
    return -math.log1p(-margin)


def read_thresholds(path: Path = Path("pyproject.toml")) -> Thresholds:
    """Return the thresholds that a pyproject.toml sets, or the defaults where it is missing or sets none.

    Raises:
        BadInput: the file cannot be read, is not TOML, or its table has an unknown name or a bad value.
    """
    table: Any = _read_toml(path)
    for name in ("tool", "accelbench", "check"):
        table = table.get(name, {}) if isinstance(table, dict) else table
    return _convert(table, Thresholds, f"{printable(str(path))}: {_TABLE}", _WAY_OUT)


def read_waivers(path: Path) -> list[Waiver]:
    """Return the waivers of a file; none where there is no file.

    Raises:
        BadInput: the file cannot be read, is not TOML, or an entry is not as described.
    """
    source = printable(str(path))
    entries = _convert(_read_toml(path), _File, source, _ENTRY).accepted
    for entry in entries:
        if not any(getattr(entry, name) for name in _TARGETS):
            raise BadInput(f"{source}: an entry names none of {', '.join(_TARGETS)} ({printable(entry.reason)[:80]})")
    return entries


def write_waiver(path: Path, subject: Subject, since: str, ratio: float | None, reason: str) -> None:
    """Append a waiver to a file, whose other lines stay as they are.

    Raises:
        BadInput: the reason is empty, or the file cannot be written.
    """
    if not reason.strip():
        raise BadInput("--reason is empty; say in a few words why the change is accepted")
    target = {"technique": "case", "workload": "workload", "machine": "machine"}[subject.kind]
    value = subject.workload if target == "workload" else subject.key
    texts = {target: value, **({"framework": subject.framework} if target == "workload" else {}), "since": since}
    lines = [f"{name} = {_quote(text)}" for name, text in texts.items()]
    lines += [f"ratio = {ratio:.4g}"] if ratio is not None and math.isfinite(ratio) else []
    entry = "\n".join(["[[accepted]]", *lines, f"reason = {_quote(reason)}", ""])
    try:
        before = read_text(path).rstrip() if path.exists() else ""
        write_atomically(path, f"{before or _HEADER}\n\n{entry}".encode())
    except (OSError, ValueError, BeyondLimit) as error:
        raise BadInput(f"{printable(str(path))}: cannot be written ({getattr(error, 'strerror', error)})") from None


def log_adjustments(
    subjects: Sequence[Subject],
    waivers: Sequence[Waiver],
    runs: Sequence[str],
    speeds: Sequence[Sequence[float]],
) -> tuple[list[Adjustment], list[str]]:
    """Return what to add to logarithms of speeds so that accepted changes look as if they had always been there.

    ``speeds`` are these logarithms by subject and run. Of several subjects that a waiver names, those that did not
    change by about its ratio stay as measured. The second result is remarks on waivers that match nothing.
    """
    adjustments: list[Adjustment] = []
    remarks = []
    for waiver in waivers:
        about = f"accepted change of {waiver.target}"
        covered = [place for place, subject in enumerate(subjects) if waiver.covers(subject)]
        if not covered:
            remarks.append(f"{about}: {_UNKNOWN}")
        elif waiver.since not in runs[1:]:
            remarks.append(f"{about}: {printable(waiver.since)} is no run that is compared any more; delete it")
        elif waiver.ratio:
            first, logarithm = runs.index(waiver.since), math.log(waiver.ratio)
            changed = [place for place in covered if len(covered) == 1 or _changed_by(logarithm, speeds[place], first)]
            adjustments += [
                Adjustment(place=place, runs=first, logarithm=logarithm, reason=waiver.reason) for place in changed
            ]
            if not changed:
                what = f"nothing that it names became about {units.speedup(waiver.ratio)} as fast"
                remarks.append(f"{about}: {what} in {printable(waiver.since)}; correct or delete it")
    return adjustments, remarks


def _changed_by(logarithm: float, speeds: Sequence[float], first: int) -> bool:
    """Return whether logarithms of speeds changed at the ``first`` run by about as much: by nearer to it than to 0."""
    before, after = ([speed for speed in each if math.isfinite(speed)] for each in (speeds[:first], speeds[first:]))
    if not before or not after:
        return False
    step = median(after[:_NEAREST_RUNS]) - median(before[-_NEAREST_RUNS:])
    return abs(step - logarithm) < abs(step)


def _read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file holds; nothing where there is no file."""
    try:
        return tomllib.loads(read_text(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadInput(f"{printable(str(path))}: cannot be read ({error.strerror}); make it readable") from None
    except BeyondLimit as error:
        raise BadInput(f"{printable(str(path))}: cannot be read ({error}); put a TOML file in its place") from None
    except RecursionError:
        raise BadInput(f"{printable(str(path))}: is nested too deeply; correct it") from None
    except ValueError as error:  # of TOML and of UTF-8
        raise BadInput(f"{printable(str(path))}: is not TOML ({printable(str(error))}); correct it") from None


def _convert(document: Any, kind: type[Content], source: str, way_out: str) -> Content:
    try:
        return msgspec.convert(document, kind, strict=True)
    except msgspec.ValidationError as error:
        raise BadInput(f"{source}: {printable(str(error))[:300]}; {way_out}") from None


def _quote(text: str) -> str:
    """Return a text as a TOML string on one line; a JSON string without control characters is one."""
    return json.dumps(printable(text), ensure_ascii=False)
