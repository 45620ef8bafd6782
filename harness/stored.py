"""Result files: a run as JSON, and read back as facts, data from whoever wrote them: whatever is wrong is one line."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import msgspec

from harness.errors import UnreadableResult
from harness.identity import cpu_signature, machine_key
from harness.record import KEY, SCHEMA_VERSION, Run, TrialRecord
from harness.untrusted import LONGEST_TEXT, as_schema, shown

_SIGNED = 6  # the first schema version that tells a processor's signature
PARTS = (KEY, "machine_info")  # of a result file that `from_json` looks at


def to_json(run: Run | TrialRecord) -> dict[str, Any]:
    """Return a run, or one of its trials, as plain JSON values; a number that is not finite is left out."""
    return _readable(msgspec.to_builtins(run, enc_hook=_plain))  # type: ignore[no-any-return]  # it becomes a dict


def from_json(document: Any, *, source: str) -> Run:
    """Return the run held by a result file's JSON.

    Raises:
        UnreadableResult: the JSON is of a newer schema, not ours, or does not follow the schema.
    """
    source = shown(source)
    stored = document.get(KEY) if isinstance(document, dict) else None
    if not isinstance(stored, dict):
        raise UnreadableResult(
            f"{source}: not a result of accelbench (no {KEY!r} key); "
            "make one with pytest benchmarks/ --benchmark-save=NAME"
        )
    run = as_schema(stored, Run, SCHEMA_VERSION, source=source, again="run")
    return run if run.schema_version >= _SIGNED else _signed(run, document.get("machine_info"))


def _signed(run: Run, machine_info: Any) -> Run:
    """Return a run of a machine with its processor's signature, which older files have in pytest-benchmark's words."""
    cpu = machine_info.get("cpu") if isinstance(machine_info, dict) else None
    signature = cpu_signature(cpu) if isinstance(cpu, dict) else ""
    if not signature:
        return run
    identity = replace(run.environment.identity, cpu_signature=signature)
    return replace(run, machine=machine_key(identity), environment=replace(run.environment, identity=identity))


def _readable(value: Any) -> Any:
    if isinstance(value, dict):
        return {shown(name): _readable(item) for name, item in value.items() if _is_known(item)}
    if isinstance(value, list | tuple):
        return [_readable(item) for item in value if _is_known(item)]
    return shown(value)[:LONGEST_TEXT] if isinstance(value, str) else value


def _is_known(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _plain(value: Any) -> Any:
    """Return the plain value of a scalar that a framework gave: a subclass of a string, a number of NumPy's."""
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "item"):
        return value.item()
    raise NotImplementedError(f"a {type(value).__name__} cannot be kept in a result file")
