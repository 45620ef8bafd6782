"""Results of pytest-benchmark alone, as other projects keep them: times without effects, on a machine hardly described.

The fields are those that pytest-benchmark writes, https://pytest-benchmark.readthedocs.io/en/stable/usage.html.
Every test is a trial with one arm, which is its own baseline; what its file says about the machine is its processor.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec

from harness.identity import cpu_signature
from harness.record import ArmRecord, Environment, Identity, Run, Timing, TrialRecord
from harness.untrusted import parse

_SCHEMA_VERSION = 1  # as which such a file is read: it has nothing that came later
_TOLD = {"python": "python_version", "kernel": "release", "os": "system"}  # ours, theirs
_LONGEST_NAME = 60
_Time = Annotated[float, msgspec.Meta(gt=0, le=1e12)]


class _Stats(msgspec.Struct):
    median: _Time
    rounds: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0


class _Benchmark(msgspec.Struct):
    fullname: str
    name: str
    stats: _Stats


class _Document(msgspec.Struct):
    """What is read of a file; the samples in it, which may be millions, never become objects."""

    benchmarks: list[_Benchmark]
    machine_info: msgspec.Raw


def foreign_run(data: bytes) -> Run | None:
    """Return what pytest-benchmark's file holds as a run, None where it is no such file.

    Raises:
        BeyondLimit: it breaks a limit.
        ValueError: it is no JSON.
    """
    try:
        held = msgspec.json.decode(data, type=_Document)
    except msgspec.ValidationError:
        return None
    about = parse(held.machine_info)
    entries = parse(msgspec.json.encode(held.benchmarks))
    if not isinstance(about, dict) or not entries:
        return None
    identity = _identity(about)
    return Run(
        schema_version=_SCHEMA_VERSION,
        machine=_slug(f"{identity.cpu_model}-{identity.cpu_cores}c"),
        environment=Environment(identity=identity, configuration=_configuration(about)),
        settings={},
        trials=[_trial(entry) for entry in entries],
    )


def _identity(about: dict[str, Any]) -> Identity:
    processor = about.get("cpu")
    processor = processor if isinstance(processor, dict) else {}
    named = processor.get("brand_raw") or processor.get("brand") or about.get("processor") or about.get("machine")
    cores = processor.get("count")
    return Identity(
        cpu_model=str(named or "unknown CPU"),
        cpu_signature=cpu_signature(processor),
        cpu_cores=cores if isinstance(cores, int) and not isinstance(cores, bool) else 0,
        memory_gib=0,
    )


def _configuration(about: dict[str, Any]) -> dict[str, str]:
    return {ours: str(about[theirs]) for ours, theirs in _TOLD.items() if isinstance(about.get(theirs), str)}


def _trial(entry: dict[str, Any]) -> TrialRecord:
    stats = entry["stats"]
    timing = Timing(
        median_s=stats["median"],
        quantiles_s=(),
        blocks=stats["rounds"],
        iterations_per_block=1,
        cold_s=0.0,
        build_s=0.0,
        warmup_blocks=0,
        warmup_settled=True,
    )
    return TrialRecord(
        id=entry["fullname"],
        module=re.sub(r".*/|\.py$", "", entry["fullname"].partition("::")[0]),
        framework="",
        workload=entry["name"],
        summary="",
        unit="call",
        techniques=[],
        problem={},
        fixed={},
        arms=[ArmRecord(levels={}, outcome="measured", items=1.0, timing=timing)],
    )


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_LONGEST_NAME] or "unknown"
