"""Certificates as a calibration leaves them, for the tests of what reads them."""

import json
from pathlib import Path
from typing import Any

from harness.certificate import (
    SCHEMA_VERSION,
    Certificate,
    Coverage,
    Duel,
    Multiple,
    SlowCall,
    Timer,
    Wait,
    to_json,
)
from harness.record import Environment, Identity

STORED = Path(__file__).parent / "data" / "certificate_v1.json"


def duel(verdict: str = "same", speedup: float = 1.0, **fields: Any) -> Duel:
    """Return a duel of two Python loops through ``compare``, with an interval of 1 % to either side."""
    given = {
        "through": "compare",
        "framework": "numpy",
        "work": "Python loop",
        "dose": 0.0,
        "neighbours": 0,
        "spent_s": 0.3,
        "low": 0.99 * speedup,
        "high": 1.01 * speedup,
    }
    return Duel(verdict=verdict, speedup=speedup, **given | fields)  # type: ignore[arg-type]


def certificate(*duels: Duel, **fields: Any) -> Certificate:
    """Return a certificate of a machine with two cores, with these duels and nothing else unless told."""
    identity = Identity(cpu_model="Example CPU", cpu_cores=2, memory_gib=8)
    given = {
        "schema_version": SCHEMA_VERSION,
        "machine": "example-2c-8g",
        "environment": Environment(identity=identity, configuration={"torch.version": "2.9.0", "kernel": "6.1"}),
        "taken": "2026-01-02T03:04:05+00:00",
        "settings": {"quick": False, "noise": 0.01},
        "spent_s": 61.0,
    }
    return Certificate(duels=list(duels), **given | fields)


def whole() -> Certificate:
    """Return a certificate with something in every part."""
    judged = {"verdict": "same", "speedup": 1.0, "low": 0.99, "high": 1.01}
    return certificate(
        *[duel() for _ in range(399)],
        duel("faster", 1.03),
        *[duel(neighbours=1) for _ in range(300)],
        *[duel("slower", 1 / 1.03, dose=0.03, neighbours=busy) for busy in (0, 1) for _ in range(100)],
        duel("undecided", 1 / 1.01, dose=0.01),
        *[duel(speedup=ratio, through="suite", work="heat of numpy on the CPU") for ratio in (0.99, 1.0, 1.01)],
        multiples=[Multiple(work="Python loop", times=2, measured=2.002, low=1.99, high=2.01)],
        waits=[Wait(asked_s=1e-4, measured_s=1.005e-4)],
        slow_calls=[SlowCall(call=1, slow_s=0.2, **judged)],  # type: ignore[arg-type]
        coverage=[Coverage(noise="spiky", nominal=0.95, series=1000, covered=991, pairs=128)],
        timer=Timer(cost_s=5e-8, resolution_s=1e-9),
        remarks=["heat of cupy on an accelerator: there is no accelerator"],
    )


def store(made: Certificate, path: Path) -> Path:
    """Write a certificate where a calibration would, and return the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(to_json(made)))
    return path
