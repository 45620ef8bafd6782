"""A run as JSON, and back. A file may come from anybody; whatever is wrong with it is reported in one line."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from accelbench.errors import UnreadableResult
from accelbench.schema.result import KEY, SCHEMA_VERSION, Run
from accelbench.schema.safe_json import LONGEST_TEXT, as_schema, members_in, parse, printable, unreadable_in_one_line


class NoResult(UnreadableResult):
    """The file is JSON of somebody else, such as pytest-benchmark without accelbench."""


def to_json(stored: object) -> dict[str, Any]:
    """Return a run, or a part of one, as plain JSON values; a number that is not finite is left out."""
    return _readable(msgspec.to_builtins(stored, enc_hook=_plain))  # type: ignore[no-any-return]  # it becomes a dict


def from_bytes(data: bytes, *, source: str) -> Run:
    """Return the run held by a result file's content.

    Raises:
        NoResult: it is JSON, but not a result of accelbench.
        UnreadableResult: it is truncated, has a newer schema, or does not follow its schema.
    """
    return as_schema(_run_in(data, source), Run, SCHEMA_VERSION, source=source, again="run")


def machine_in(data: bytes, *, source: str) -> str:
    """Return the machine of the run held by a result file's content; "" where the run does not follow its schema.

    Raises:
        NoResult: it is JSON, but not a result of accelbench.
        UnreadableResult: it is truncated.
    """
    with unreadable_in_one_line(source):
        machine = parse(members_in(_run_in(data, source), "machine").get("machine", b'""'))
    return machine if isinstance(machine, str) else ""


def _run_in(data: bytes, source: str) -> bytes:
    with unreadable_in_one_line(source):
        stored = members_in(data, KEY).get(KEY, b"")
    if not stored.startswith(b"{"):
        raise NoResult(
            f"{printable(source)}: not a result of accelbench (no {KEY!r} key); "
            "make one with pytest benchmarks/ --benchmark-save=NAME"
        )
    return stored


def _readable(value: Any) -> Any:
    if isinstance(value, dict):
        return {printable(str(name))[:LONGEST_TEXT]: _readable(item) for name, item in value.items() if _is_known(item)}
    if isinstance(value, list | tuple):
        return [_readable(item) for item in value if _is_known(item)]
    return printable(value)[:LONGEST_TEXT] if isinstance(value, str) else value


def _is_known(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _plain(value: Any) -> Any:
    """Return the plain value of a scalar from a framework, such as a NumPy number or a subclass of ``str``."""
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "item"):
        return value.item()
    raise NotImplementedError(f"a {type(value).__name__} cannot be kept in a result file")
