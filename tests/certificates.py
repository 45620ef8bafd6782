"""Certificates like those of a calibration, for the tests of their readers."""

import json
from pathlib import Path
from typing import Any

from accelbench.schema.certificate import (
    SCHEMA_VERSION,
    Certificate,
    KnownComparison,
    Multiple,
    SlowCall,
    Timer,
    Wait,
    to_json,
)
from accelbench.schema.result import Environment, Identity

STORED = Path(__file__).parent / "data" / "certificate_v1.json"


def comparison(verdict: str = "same", speedup: float = 1.0, **fields: Any) -> KnownComparison:
    """Return a comparison of two Python loops through ``compare``, with an interval of 1 % to either side."""
    given = {
        "through": "compare",
        "framework": "numpy",
        "work": "Python loop",
        "effect_size": 0.0,
        "busy_processes": 0,
        "spent_s": 0.3,
        "low": 0.99 * speedup,
        "high": 1.01 * speedup,
    }
    return KnownComparison(verdict=verdict, speedup=speedup, **given | fields)  # type: ignore[arg-type]


def certificate(*comparisons: KnownComparison, **fields: Any) -> Certificate:
    """Return a certificate of a machine with two cores, with these comparisons, and other ``fields`` if given."""
    identity = Identity(cpu_model="Example CPU", cpu_cores=2, memory_gib=8)
    given = {
        "schema_version": SCHEMA_VERSION,
        "machine": "example-2c-8g",
        "environment": Environment(identity=identity, configuration={"torch.version": "2.9.0", "kernel": "6.1"}),
        "created": "2026-01-02T03:04:05+00:00",
        "settings": {"quick": False, "noise": 0.01},
        "spent_s": 61.0,
    }
    return Certificate(comparisons=list(comparisons), **given | fields)


def whole() -> Certificate:
    """Return a certificate with something in every part."""
    effect = {"verdict": "same", "speedup": 1.0, "low": 0.99, "high": 1.01}
    return certificate(
        *[comparison() for _ in range(399)],
        comparison("faster", 1.03),
        *[comparison(busy_processes=1) for _ in range(300)],
        *[comparison("slower", 1 / 1.03, effect_size=0.03, busy_processes=busy) for busy in (0, 1) for _ in range(100)],
        comparison("undecided", 1 / 1.01, effect_size=0.01),
        *[
            comparison(
                speedup=ratio,
                through="suite",
                work="heat of numpy on the CPU",
                core_latency_s=4e-7 if ratio > 1 else 2e-7,
                cores_are_far=ratio > 1,
            )
            for ratio in (0.99, 1.0, 1.01)
        ],
        multiples=[Multiple(work="Python loop", times=2, measured=2.002, low=1.99, high=2.01)],
        waits=[Wait(requested_s=1e-4, measured_s=1.005e-4)],
        slow_calls=[SlowCall(call=1, slow_s=0.2, **effect)],  # type: ignore[arg-type]
        timer=Timer(cost_s=5e-8, resolution_s=1e-9),
        not_measured=["heat of cupy on an accelerator: there is no accelerator"],
    )


def store(made: Certificate, path: Path) -> Path:
    """Write a certificate where a calibration would, and return the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(to_json(made)))
    return path
