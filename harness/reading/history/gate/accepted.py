"""Changes that a person accepted, with the reason: a small file that is reviewed like code.

An entry names an effect (``case``, or ``technique`` with or without ``workload`` and ``framework``), a workload's times
(``workload`` alone) or a ``machine``; the run ``since`` which it holds; and the ``ratio``, which is how many times as
fast it became, or none where it lost its speed. Runs before ``since`` are held to have been that much faster, so that
what changes further is raised again.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated

import msgspec

from harness.durable import write_whole
from harness.errors import BadInput
from harness.reading.history.gate.series import Series, Subject
from harness.untrusted import shown

_HEADER = "# Changes that accelbench check does not raise again, unless they change further."
_ENTRY = (
    "an entry holds since, reason and one of case, technique, workload or machine, "
    "and may hold ratio, framework, by and on"
)
_TARGETS = ("case", "technique", "workload", "machine")


class Accepted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
        return shown(" ".join(part for part in named if part not in ("", "on ")))

    def names(self, subject: Subject) -> bool:
        """Say whether it is about a subject."""
        if self.case or self.machine:
            return (self.case, self.machine) == (
                subject.key if subject.kind == "technique" else "",
                subject.key if subject.kind == "machine" else "",
            )
        kind = "technique" if self.technique else "workload"
        given = ((name, getattr(self, name)) for name in ("technique", "workload", "framework"))
        return subject.kind == kind and all(value in ("", getattr(subject, name)) for name, value in given)


class _File(msgspec.Struct, forbid_unknown_fields=True):
    accepted: list[Accepted] = []


def read_accepted(path: Path) -> list[Accepted]:
    """Return the accepted changes of a file; none where there is no file.

    Raises:
        BadInput: it cannot be read, is no TOML, or an entry is not as described.
    """
    source = shown(str(path))
    try:
        entries = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File, strict=True).accepted
    except FileNotFoundError:
        return []
    except OSError as error:
        raise BadInput(f"{source}: cannot be read ({error.strerror}); make it readable") from None
    except msgspec.ValidationError as error:
        raise BadInput(f"{source}: {shown(str(error))[:300]}; {_ENTRY}") from None
    except ValueError as error:  # of TOML and of UTF-8
        raise BadInput(f"{source}: is no TOML ({error}); mend it") from None
    for entry in entries:
        if not any(getattr(entry, name) for name in _TARGETS):
            raise BadInput(f"{source}: an entry names none of {', '.join(_TARGETS)} ({shown(entry.reason)[:80]})")
    return entries


def accept(path: Path, subject: Subject, since: str, ratio: float | None, reason: str) -> None:
    """Add an accepted change to a file, whose other lines stay as they are.

    Raises:
        BadInput: the file cannot be written.
    """
    named = {"technique": "case", "workload": "workload", "machine": "machine"}[subject.kind]
    value = subject.workload if named == "workload" else subject.key
    texts = {named: value, **({"framework": subject.framework} if named == "workload" else {}), "since": since}
    lines = [f"{name} = {_quoted(text)}" for name, text in texts.items()]
    lines += [f"ratio = {ratio:.4g}"] if ratio is not None and math.isfinite(ratio) else []
    entry = "\n".join(["[[accepted]]", *lines, f"reason = {_quoted(reason)}", ""])
    try:
        before = path.read_text(encoding="utf-8").rstrip() if path.exists() else ""
        write_whole(path, f"{before or _HEADER}\n\n{entry}".encode())
    except (OSError, ValueError) as error:
        raise BadInput(f"{shown(str(path))}: cannot be written ({getattr(error, 'strerror', error)})") from None


def adjusted(
    series: Sequence[Series], accepted: Sequence[Accepted], runs: Sequence[str]
) -> tuple[list[Series], list[str]]:
    """Return the series as if accepted changes had been there from the start, and what is odd about the entries."""
    remarks = []
    values = [each.values.copy() for each in series]
    for entry in accepted:
        about = f"accepted change of {entry.target}"
        named = [[entry.names(subject) for subject in each.subjects] for each in series]
        if not any(map(any, named)):
            remarks.append(f"{about}: nothing of that name was measured lately; mend or delete it")
        elif entry.since not in runs[1:]:
            remarks.append(f"{about}: {shown(entry.since)} is no run that is compared any more; delete it")
        elif entry.ratio:
            for table, columns in zip(values, named, strict=True):
                table[: runs.index(entry.since), columns] += math.log(entry.ratio)
    return [replace(each, values=table) for each, table in zip(series, values, strict=True)], remarks


def _quoted(text: str) -> str:
    """Return a text as TOML writes it on one line; a JSON string is one where nothing in it is a control character."""
    return json.dumps(shown(text), ensure_ascii=False)
