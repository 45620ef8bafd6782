"""The ceilings of this machine on file: one file per machine and framework below the cache folder."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from harness.cache import cache_folder
from harness.durable import write_whole
from harness.record import Ceiling

SCHEMA_VERSION = 1
MOST_BYTES = 2**20  # a file has some kilobytes


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Ceilings, and the configuration under which they were measured; another one has them measured again."""

    schema_version: int
    configuration: dict[str, str]
    ceilings: list[Ceiling]


def read(machine: str, framework: str) -> Kept | None:
    """Return what is on file; None where there is nothing, or nothing that can be relied on."""
    try:
        path = _file(machine, framework)
        kept = msgspec.json.decode(path.read_bytes()[:MOST_BYTES], type=Kept)
    except (OSError, ValueError, RecursionError):  # ValueError: no JSON, no UTF-8 or of another schema
        return None
    sound = all(math.isfinite(each.per_s) and each.per_s > 0 for each in kept.ceilings)
    return kept if kept.schema_version == SCHEMA_VERSION and kept.ceilings and sound else None


def write(machine: str, framework: str, configuration: dict[str, str], ceilings: list[Ceiling]) -> None:
    """Put ceilings on file; where that fails they are measured again another time."""
    kept = Kept(schema_version=SCHEMA_VERSION, configuration=configuration, ceilings=ceilings)
    path = _file(machine, framework)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, msgspec.json.encode(kept))


def _file(machine: str, framework: str) -> Path:
    return cache_folder() / "ceilings" / machine / f"{framework}.json"
