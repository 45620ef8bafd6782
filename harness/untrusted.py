"""JSON that anybody may have written, read within limits: it costs bounded time and memory, and stays data."""

from __future__ import annotations

import json
import math
import os
import re
import stat
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from harness.errors import HarnessError, UnreadableResult
from harness.units import count, size

MOST_BYTES = 256 * 2**20  # of a file; pytest-benchmark's --benchmark-json holds every sample
MOST_PARSED_BYTES = 16 * 2**20  # of what becomes objects, which take up to sixty times as much; some 6,000 arms
DEEPEST = 32  # levels of nesting; a run has eight
LONGEST_TEXT = 4096  # characters; fewer than the 4,300 digits that Python makes a number of
LARGEST = 2**63 - 1  # of an integer: what 64 bits hold
SMALLEST = 1e-30  # of a float that is not read as 0: its inverse stays finite


_LONGEST_VERSION, _LONGEST_CLAUSE = 20, 300  # characters; both quote the file

Stored = TypeVar("Stored")


class BeyondLimit(HarnessError):
    """A file breaks a limit; the message is a clause that the caller puts into its own sentence."""


_TOO_DEEP = f"it is nested more than {DEEPEST} levels deep"
_NAME = re.compile(rb'"\s*:')  # of a key its end; in a text, what looks like one
_SEPARATORS = ("Zl", "Zp")  # of lines and paragraphs


def read_document(path: Path, *names: str) -> Any:
    """Return a file's JSON as `document_in` does.

    Raises:
        UnreadableResult: the file cannot be read, is no JSON, or breaks a limit; in one line.
    """
    with refused_in_one_line(str(path)):
        return document_in(read_bytes(path), *names)


@contextmanager
def refused_in_one_line(source: str) -> Iterator[None]:
    """Let what is wrong with a file be one line that names it.

    Raises:
        UnreadableResult: the file cannot be read, is no JSON, or breaks a limit.
    """
    source = shown(source)
    try:
        yield
    except OSError as error:
        raise UnreadableResult(f"{source}: cannot be read ({error.strerror}); give a readable result file") from None
    except BeyondLimit as error:
        raise UnreadableResult(f"{source}: cannot be read ({error}); delete it or run again") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableResult(
            f"{source}: not complete JSON ({error}); the file is truncated or damaged, delete it or run again"
        ) from None


def document_in(data: bytes, *names: str) -> Any:
    """Return JSON as `parse` does; given names, only what stands under them, and nothing else is parsed.

    Raises:
        BeyondLimit: it breaks a limit.
        ValueError, RecursionError: it is no JSON.
    """
    if not names:
        return parse(data)
    try:
        parts = msgspec.structs.asdict(msgspec.json.decode(data, type=_holding(names)))
    except msgspec.ValidationError:  # JSON, but no object
        return None
    return {name: parse(part) for name, part in parts.items() if bytes(part)}


def read_bytes(path: Path) -> bytes:
    """Return what a regular file holds.

    Raises:
        OSError: it cannot be read.
        BeyondLimit: it is no regular file, too large, or was written to meanwhile.
    """
    with open(path, "rb", opener=_without_waiting) as file:  # Path.open takes no opener
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise BeyondLimit("it is no regular file")
        if found.st_size > MOST_BYTES:
            raise BeyondLimit(f"it takes {size(found.st_size)}, at most {size(MOST_BYTES)} are read")
        data = file.read(MOST_BYTES + 1)
    if len(data) != found.st_size:
        raise BeyondLimit("it changed while it was read")
    return data


def parse(text: bytes | msgspec.Raw) -> Any:
    """Return JSON as plain values: every number finite and in range, no key twice, every text as `shown`.

    Raises:
        BeyondLimit: it breaks a limit.
        ValueError: it is no JSON.
    """
    text = bytes(text)
    if len(text) > MOST_PARSED_BYTES:
        raise BeyondLimit(f"it takes {size(len(text))}, at most {size(MOST_PARSED_BYTES)} are parsed")
    with suppress(msgspec.MsgspecError, ValueError, RecursionError):  # what is wrong is found out below
        value = msgspec.json.decode(text)
        if _is_plain(value, names=len(_NAME.findall(text))):
            return value
    try:
        return _plain(json.loads(text.decode(), object_pairs_hook=_unique, parse_constant=_refused))
    except RecursionError:
        raise BeyondLimit(_TOO_DEEP) from None


def as_schema(stored: dict[str, Any], kind: type[Stored], newest: int, *, source: str, again: str) -> Stored:
    """Return parsed JSON as what it claims to be; ``again`` is the verb that makes it anew.

    Raises:
        UnreadableResult: it is of a newer schema version, or does not follow its own.
    """
    version = stored.get("schema_version")
    if isinstance(version, int) and version > newest:
        raise UnreadableResult(
            f"{source}: schema version {version}, this accelbench reads up to {newest}; upgrade accelbench"
        )
    try:
        return msgspec.convert(stored, kind, strict=True)
    except msgspec.ValidationError as error:
        why = str(error)[:_LONGEST_CLAUSE]
        raise UnreadableResult(
            f"{source}: does not follow schema version {str(version)[:_LONGEST_VERSION]}: {why}; "
            f"delete it or {again} again"
        ) from None


def shown(text: str) -> str:
    r"""Return a text as one line that is safe to print: what moves a cursor, turns writing or hides reads ``\x1b``."""
    return text if text.isprintable() else "".join(map(_visible, text))


@cache
def _holding(names: tuple[str, ...]) -> type[msgspec.Struct]:
    """Return the type of an object of which these names alone are kept, unparsed; empty where one is not there."""
    return msgspec.defstruct("Parts", [(name, msgspec.Raw, msgspec.Raw()) for name in names])


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a FIFO that nobody writes to does not make this wait, nor a terminal take the process over."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise BeyondLimit(f"it holds the key {shown(name)[:80]!r} twice in one object")
        made[name] = value
    return made


def _refused(constant: str) -> NoReturn:
    raise BeyondLimit(f"it holds {constant}, which is no number")


def _is_plain(value: Any, *, names: int) -> bool:
    """Say whether `_plain` would leave a value as it is, and no key stood twice in its JSON, which has so many names.

    Nearly every file is plain. Looking at all values of a level at once tells it in a fraction of the time.
    """
    texts: set[str] = set()
    level = [value]
    for _ in range(DEEPEST + 1):
        held = defaultdict(list)
        for each in level:
            held[type(each)].append(each)
        if not _are_plain(held[float], held[int]):
            return False
        texts.update(held[str], *held[dict])
        names -= sum(map(len, held[dict]))  # what is left over in the end stood twice, or only looked like a name
        level = [*chain(*held[list], *map(dict.values, held[dict]))]
        if not level:
            return names == 0 and all(len(text) <= LONGEST_TEXT and text.isprintable() for text in texts)
    return False


def _are_plain(floats: list[float], integers: list[int]) -> bool:
    smallest = min(map(abs, filter(None, floats)), default=SMALLEST)
    return all(map(math.isfinite, floats)) and smallest >= SMALLEST and max(map(abs, integers), default=0) <= LARGEST


def _plain(value: Any, depth: int = 0) -> Any:
    if depth > DEEPEST:
        raise BeyondLimit(_TOO_DEEP)
    if isinstance(value, dict):
        return {_text(name): _plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, int) and abs(value) > LARGEST:
        raise BeyondLimit("it holds an integer of more than 64 bits")
    return value


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise BeyondLimit("it holds a number that is not finite")
    return value if abs(value) >= SMALLEST else 0.0


def _text(text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise BeyondLimit(f"it holds a text of {count(len(text))} characters, at most {count(LONGEST_TEXT)} are read")
    return shown(text)


def _visible(character: str) -> str:
    kind = unicodedata.category(character)
    escaped = kind.startswith("C") or kind in _SEPARATORS
    return character.encode("unicode_escape").decode() if escaped else character
