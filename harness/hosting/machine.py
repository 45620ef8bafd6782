"""The machine under the session, and what pytest-benchmark tells of it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from harness.record import Identity


@cache
def this_machine() -> Identity:
    """Return the machine's identity, read once."""
    from harness.environment import identify

    return identify()


def without_readings(machine_info: dict[str, Any]) -> None:
    """Take out the host's name, which is nobody's business, and clock readings, which differ every time."""
    machine_info.pop("node", None)
    cpu = machine_info.get("cpu") or {}
    for reading in [key for key in cpu if key.startswith("hz_")]:
        del cpu[reading]


def differing(machine_info: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return the names of the facts in which two machines differ, one of which may have been through a file."""
    names = sorted(machine_info.keys() | other.keys())
    return [name for name in names if _stored(machine_info.get(name)) != _stored(other.get(name))]


def _stored(fact: Any) -> str:
    return json.dumps(fact, sort_keys=True, default=str)
