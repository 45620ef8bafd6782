"""Reading files that anybody may have written, most of them JSON: within limits, and only as data."""

from __future__ import annotations

import math
import re
import unicodedata
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from accelbench.errors import AccelbenchError, UnreadableResult
from accelbench.units import count, size

MOST_BYTES = 256 * 2**20  # of a file; one from --benchmark-json holds every sample
MOST_PARSED_BYTES = 16 * 2**20  # of JSON: some 6,000 arms; the objects take up to 60 times as much
MOST_WRITTEN_BYTES = 2**20  # of a file that people write
LONGEST_TEXT = 4096  # characters; below the 4,300 digits that Python converts to a number
LARGEST = 2**63 - 1  # an integer of 64 bits
SMALLEST = 1e-30  # a smaller float is read as 0, so that every inverse is finite
_LONGEST_VERSION, _LONGEST_CLAUSE = 20, 300  # characters quoted from a file
# Only a document with one of these is checked value by value: an escape but that of a character, a number below 1 with
# an exponent or with many zeros, a large exponent, an integer with many digits. One search for each is faster than one
# for all.
_LARGE_EXPONENT = rb"(?<=\d.)(?:\+?0*[1-9]\d|-0*(?:[2-9]\d|[1-9]\d\d))\d*(?:[,\]}\s]|$)"
_UNUSUAL = [
    re.compile(each)
    for each in (
        rb"\\[^u]",
        rb"0\.\d+[eE]",
        rb"\.0{19}",
        b"e" + _LARGE_EXPONENT,
        b"E" + _LARGE_EXPONENT,
    )
]
_LONG_INTEGER = b"," + b"0" * 19  # once every digit is a 0, and what may precede a number a comma
_TO_SHAPE = bytes.maketrans(b"123456789:[- \t\r\n", b"000000000,,,,,,,")
_ESCAPED_MARK = re.compile(rb'\\["\\/]')  # of which nothing but the mark is left
_ESCAPED = re.compile(rb"\\u([0-9a-fA-F]{4})")

Stored = TypeVar("Stored")


class BeyondLimit(AccelbenchError):
    """A file exceeds a limit. The message is a clause for the caller's own sentence."""


@contextmanager
def unreadable_in_one_line(source: str) -> Iterator[None]:
    """Turn whatever is wrong with a file into one line that names the file.

    Raises:
        UnreadableResult: the file cannot be read, is not JSON, or exceeds a limit.
    """
    source = printable(source)
    try:
        yield
    except OSError as error:
        raise UnreadableResult(f"{source}: cannot be read ({error.strerror}); give a readable result file") from None
    except BeyondLimit as error:
        raise UnreadableResult(f"{source}: cannot be read ({error}); give a readable result file") from None
    except (ValueError, msgspec.MsgspecError) as error:
        raise UnreadableResult(
            f"{source}: not complete JSON ({error}); "
            "give a file that accelbench wrote, or run again if this one was cut off"
        ) from None


def members_in(data: bytes, *names: str) -> dict[str, bytes]:
    """Return the JSON of these members of an object; none where they are missing, or it is not an object.

    The data may begin with a byte order mark, as some editors write it.

    Raises:
        BeyondLimit: the JSON exceeds a limit.
        ValueError, msgspec.MsgspecError: the data are not JSON.
    """
    try:
        parts = msgspec.structs.asdict(msgspec.json.decode(data.removeprefix(BOM_UTF8), type=_parts(names)))
    except msgspec.ValidationError:  # JSON, but not an object
        return {}
    except RecursionError:
        raise BeyondLimit("it is nested too deeply") from None
    return {name: bytes(part) for name, part in parts.items() if bytes(part)}


def read_bytes(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: the file cannot be read.
        BeyondLimit: the file is too large, or is a pipe or a device.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise BeyondLimit("it is not a regular file")
    if (size_bytes := path.stat().st_size) > most_bytes:
        raise BeyondLimit(f"it takes {size(size_bytes)}, at most {size(most_bytes)} are read")
    return path.read_bytes()


def read_text(path: Path) -> str:
    """Return the content of a text file that people write, such as a TOML file.

    Raises:
        OSError: the file cannot be read.
        BeyondLimit: the file is too large, or is a pipe or a device.
        ValueError: the file is not UTF-8.
    """
    return read_bytes(path, MOST_WRITTEN_BYTES).decode()


def parse(text: bytes, kind: Any = Any) -> Any:
    """Return JSON as plain values or as a ``kind`` of object.

    Every number is finite and in range, every text as `printable` makes it.

    Raises:
        BeyondLimit: the JSON exceeds a limit.
        msgspec.ValidationError: the JSON is not of this kind.
        ValueError, msgspec.MsgspecError: the text is not JSON.
    """
    if len(text) > MOST_PARSED_BYTES:
        raise BeyondLimit(f"it takes {size(len(text))}, at most {size(MOST_PARSED_BYTES)} are parsed")
    try:
        if not _is_usual(text):
            return msgspec.convert(_plain(msgspec.json.decode(text)), kind)
        return msgspec.json.decode(text, type=kind)
    except RecursionError:
        raise BeyondLimit("it is nested too deeply") from None


def as_schema(text: bytes, kind: type[Stored], newest: int, *, source: str, again: str, otherwise: str = "") -> Stored:
    """Return JSON as an object of the schema.

    Args:
        text: the JSON.
        kind: the type of the object.
        newest: the newest version of the schema that is known.
        source: the file, as messages name it.
        again: the verb that makes such a file.
        otherwise: what to say of JSON without a version. By default, it does not follow the schema.

    Raises:
        UnreadableResult: the JSON exceeds a limit, has a newer schema version, or does not follow its own.
    """
    source = printable(source)
    with unreadable_in_one_line(source):
        versions = [parse(each) for each in members_in(text, "schema_version").values()]
        version = versions[0] if versions else None
        if isinstance(version, int) and version > newest:
            raise UnreadableResult(
                f"{source}: schema version {version}, this accelbench reads up to {newest}; upgrade accelbench"
            )
        if otherwise and not isinstance(version, int):
            raise UnreadableResult(f"{source}: {otherwise}")
        try:
            return parse(text, kind)  # type: ignore[no-any-return]
        except msgspec.ValidationError as error:
            why = str(error)[:_LONGEST_CLAUSE]
            named = f"schema version {str(version)[:_LONGEST_VERSION]}"
            follows = "the schema, and names no version of it" if version is None else named
            raise UnreadableResult(f"{source}: does not follow {follows}: {why}; delete it or {again} again") from None


def printable(text: str) -> str:
    r"""Return a text as one line that is safe to print: control and invisible characters are escaped, as ``\x1b``."""
    return text if text.isprintable() else "".join(map(_visible, text))


@cache
def _parts(names: tuple[str, ...]) -> type[msgspec.Struct]:
    """Return a type that keeps only these members of an object, unparsed, and empty if they are missing."""
    return msgspec.defstruct("Parts", [(name, msgspec.Raw, msgspec.Raw()) for name in names])


def _is_usual(text: bytes) -> bool:
    """Return whether nothing in the text, if it is JSON, can be what `_plain` changes or refuses."""
    text = b"," + _ESCAPED_MARK.sub(b"..", text)  # a number follows a mark
    escaped = "".join(chr(int(code, 16)) for code in {*_ESCAPED.findall(text)})
    written = "" if text.isascii() and b"\x7f" not in text else "".join({*text.decode()} - {*"\t\r\n"})
    return (
        f"{escaped}{written}".isprintable()
        and not _holds_long_text(text)
        and not any(each.search(text) for each in _UNUSUAL)
        and _LONG_INTEGER not in text.translate(_TO_SHAPE)
    )


def _holds_long_text(text: bytes) -> bool:
    """Return whether more than ``LONGEST_TEXT`` bytes stand between two quotation marks, or beside the outer ones."""
    mark = -1
    while len(text) - mark - 1 > LONGEST_TEXT:
        mark = text.rfind(b'"', mark + 1, mark + 2 + LONGEST_TEXT)
        if mark < 0:
            return True
    return False


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {_plain(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise BeyondLimit(
                f"it holds a text of {count(len(value))} characters, at most {count(LONGEST_TEXT)} are read"
            )
        return printable(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BeyondLimit("it holds a number that is not finite")
        return value if abs(value) >= SMALLEST else 0.0
    if isinstance(value, int) and abs(value) > LARGEST:
        raise BeyondLimit("it holds an integer of more than 64 bits")
    return value


def _visible(character: str) -> str:
    kind = unicodedata.category(character)
    escaped = kind.startswith("C") or kind in ("Zl", "Zp")  # separators of lines and paragraphs
    return character.encode("unicode_escape").decode() if escaped else character
