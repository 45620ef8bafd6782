"""Runs as measuring writes them, for the tests of the code that reads them."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from accelbench.schema.reasons import Reason, reason
from accelbench.schema.result import (
    SCHEMA_VERSION,
    ArmRecord,
    Effect,
    Environment,
    Gpu,
    Identity,
    Price,
    Run,
    Timing,
    TrialRecord,
)
from accelbench.schema.result_json import from_bytes, to_json
from accelbench.schema.safe_json import read_bytes, unreadable_in_one_line

STORED = Path(__file__).parent / "data" / "run_v1.json"
EVERY_FIELD = STORED.with_name("run_every_field.json")  # trials in which every field of the schema is used
WHOLE_SUITE = STORED.with_name("run_whole_suite.json")  # a few trials of every benchmark, as a full run measured them
KINDS = {"ablation": "ablation", "device": "device"} | dict.fromkeys(("batch_size", "workers"), "sweep")


def arm(
    levels: dict[str, str], median_s: float | None = None, effect: Effect | None = None, **fields: Any
) -> ArmRecord:
    """Return an arm: measured where it has a time, else unavailable unless told otherwise.

    ``effect`` is that against the baseline. Reasons may be given as texts.
    """
    fields = ({"effects": [effect]} if effect else {}) | fields
    if median_s is None:
        fields = {"outcome": "unavailable", "reason": "not on this machine"} | fields
    if "reason" in fields:
        fields["reason"] = as_reason(fields["reason"])
    if "flags" in fields:
        fields["flags"] = list(map(as_reason, fields["flags"]))
    if median_s is None:
        return ArmRecord(levels=levels, **fields)
    timing = Timing(
        median_s=median_s,
        quantiles_s=(median_s,) * 21,
        blocks=50,
        iterations_per_block=2,
        cold_s=10 * median_s,
        build_s=0.02,
        warmup_blocks=40,
        warmup_settled=True,
    )
    return ArmRecord(levels=levels, timing=timing, **{"outcome": "measured", "items": 1.0} | fields)


def as_reason(given: str | Reason) -> Reason:
    """Return a reason, or the one that an error with this message gives."""
    return reason("message", message=given) if isinstance(given, str) else given


def effect(
    speedup: float, low: float, high: float | None, verdict: str, pairs: int = 50, against: dict[str, str] | None = None
) -> Effect:
    """Return an effect, against the baseline unless other levels are given."""
    return Effect(
        speedup=speedup,
        low=low,
        high=high,
        verdict=verdict,
        pairs=pairs,
        against=against or {},  # type: ignore[arg-type]
    )


def memory(resident: int, allocator: int | None = None) -> Price:
    """Return a price in memory."""
    return Price(peak_rss_bytes=resident, allocator_peak_bytes=allocator)


def trial(*arms: ArmRecord, **fields: Any) -> TrialRecord:
    """Return a trial of these arms, the first one the baseline."""
    given = {
        "id": "benchmarks/test_amp.py::test_amp[net]",
        "module": "test_amp",
        "framework": "torch",
        "workload": "net",
        "summary": "A step of a net.",
        "unit": "image",
        "techniques": list(arms[0].levels),
        "kinds": {name: KINDS.get(name, "switch") for name in arms[0].levels},
        "problem": {},
        "fixed": {},
    }
    fields["remarks"] = list(map(as_reason, fields.get("remarks", ())))
    return TrialRecord(arms=[_against(arms[0].levels, each) for each in arms], **given | fields)


def _against(baseline: dict[str, str], measured: ArmRecord) -> ArmRecord:
    """Return the arm with its first effect against this baseline."""
    effects = [replace(each, against=each.against or baseline) for each in measured.effects]
    return replace(measured, effects=effects)


def bundle(levels: dict[str, tuple[str, str]], speedups: Sequence[float | None]) -> list[ArmRecord]:
    """Return every combination of techniques off and on, the last one's level changing first, at these speedups.

    All of them were timed in the same 200 rounds; those without a speedup were not measured.
    """
    weather, arms = Random(1), []
    for ways, speedup in zip(product(*levels.values()), speedups, strict=True):
        held = dict(zip(levels, ways, strict=True))
        in_order = tuple(math.log(speedup) + weather.gauss(0, 0.01) for _ in range(40)) if speedup else ()
        known = Effect(
            speedup=speedup or 1.0, low=0.98 * (speedup or 1.0), high=1.02 * (speedup or 1.0), verdict="undecided",
            pairs=200, log_ratios_in_order=in_order, against={},
        )  # fmt: skip
        arms.append(arm(held, 1 / speedup if speedup else None, effect=known if speedup and arms else None))
    return arms


def by_size(speedups: dict[int, tuple[float, float, float, str]]) -> list[TrialRecord]:
    """Return one trial per number of elements: two threads against one, at these speedups and intervals."""
    return [
        trial(
            arm({"threads": "1"}, 1e-8 * size),
            arm({"threads": "2"}, 1e-8 * size / found[0], effect=effect(*found)),
            id=f"benchmarks/test_threads.py::test_threads[{size}-add]",
            workload="add",
            framework="numpy",
            unit="element",
            problem={"elements": size},
        )
        for size, found in speedups.items()
    ]


def run(*trials: TrialRecord, **fields: Any) -> Run:
    """Return a run on a machine with two cores and a GPU."""
    gpu = Gpu(name="Example GPU", memory_gib=16)
    identity = Identity(cpu_model="Example CPU", cpu_cores=2, memory_gib=8, gpus=[gpu])
    given = {
        "schema_version": SCHEMA_VERSION,
        "machine": "example-2c-8g",
        "environment": Environment(identity=identity, configuration={"torch.version": "2.9.0"}),
        "settings": {"noise": 0.01},
    }
    return Run(trials=list(trials), **given | fields)


def save(measured: Run, path: Path, taken: str | None = "2026-01-01T00:00:00+00:00") -> Path:
    """Write a run as pytest-benchmark stores it, and return the file."""
    around = {"machine_info": {}, "commit_info": {}, "benchmarks": [], "version": "5.3.1"}
    document = around | {"accelbench": to_json(measured)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document | ({"datetime": taken} if taken else {})))
    return path


def read_run(path: Path) -> Run:
    """Read one result file."""
    with unreadable_in_one_line(str(path)):
        data = read_bytes(path)
    return from_bytes(data, source=str(path))
