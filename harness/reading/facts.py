"""The findings of one run as plain values, for other programs."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import pandas as pd

from harness.reading.bottleneck import bottlenecks
from harness.reading.crossover import size_sweeps
from harness.reading.files import Result
from harness.reading.levels import level_sweeps
from harness.reading.table import effects, load, rows_of

_ARM = ("trial", "framework", "workload", "problem", "fixed", "levels")
_EFFECT = (
    *_ARM, "baseline_levels", "verdict", "speedup", "low", "high", "pairs", "paired", "workers", "error",
    "placement", "share", "ceiling", "flags", "baseline_flags",
)  # fmt: skip
_MISSING = (*_ARM, "outcome", "reason")
_LEVELS = ("technique", "trial", "framework", "workload", "unit", "knee", "best", "limit", "stopped_by")
_SIZES = ("test", "framework", "workload", "level", "against", "axis", "direction", "crossover", "low", "high")


def facts(result: Result) -> dict[str, Any]:
    """Return effects, knees, crossovers, bottlenecks and what was not measured, as JSON can hold them."""
    arms = load([result])
    found = effects(arms)
    missing = arms if arms.empty else arms[arms["outcome"] != "measured"]
    knees = [sweep for technique in ("batch_size", "workers") for sweep in level_sweeps(arms, technique)]
    return {
        "run": result.name,
        "taken": result.taken.isoformat() if result.taken else None,
        "machine": result.run.machine,
        "effects": _records(found, _EFFECT),
        "knees": [{name: getattr(sweep, name) for name in _LEVELS} for sweep in knees],
        "crossovers": [{name: getattr(sweep, name) for name in _SIZES} for sweep in size_sweeps(found)],
        "bottlenecks": [asdict(found) for found in bottlenecks(result.run)],
        "not_measured": _records(missing, _MISSING),
    }


def _records(frame: pd.DataFrame, names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{name: _plain(row[name]) for name in names} for row in rows_of(frame)]


def _plain(value: Any) -> Any:
    """Return None for what is missing or has no bound: JSON knows neither."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
