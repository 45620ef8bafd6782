"""The findings of one run as plain values, for other programs."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import pandas as pd

from harness.attribution.shares import Share
from harness.reading.attributions import Attributed, attributions
from harness.reading.bottleneck import bottlenecks
from harness.reading.crossover import size_sweeps
from harness.reading.deciding import noise_of
from harness.reading.files import Result
from harness.reading.interactions import interactions
from harness.reading.ladders import ladders
from harness.reading.levels import level_sweeps
from harness.reading.log_intervals import log_intervals
from harness.reading.table import effects, load, rows_of

_ARM = ("trial", "framework", "workload", "problem", "fixed", "levels")
_EFFECT = (
    *_ARM, "baseline_levels", "verdict", "speedup", "low", "high", "pairs", "paired", "workers", "builds", "error",
    "placement", "share", "ceiling", "flags", "baseline_flags",
)  # fmt: skip
_MISSING = (*_ARM, "outcome", "reason")
_LEVELS = ("technique", "trial", "framework", "workload", "unit", "knee", "best", "limit", "stopped_by")
_LADDER = ("technique", "trial", "framework", "workload", "held", "start")
_RUNG = ("rung", "speedup", "low", "high", "gain", "gain_low", "gain_high", "gain_verdict")
_INTERACTION = ("techniques", "trial", "framework", "workload", "held", "promised", "ratio", "low", "high")
_WAY = ("levels", "speedup", "low", "high")
_BUNDLE = ("trial", "framework", "workload", "held", "against", "missing", "sentence")
_LOOP = ("trial", "framework", "workload", "held")
_READING = ("every", "time", "time_low", "time_high", "verdict")
_SIZES = ("test", "framework", "workload", "level", "against", "axis", "direction", "crossover", "low", "high")


def facts(result: Result) -> dict[str, Any]:
    """Return effects, what several of them show together, bottlenecks and what was not measured, as JSON can hold them.

    Of ladders, ``missing`` pairs a rung with why it was not measured. The ``ratio`` of an interaction is the speedup of
    both techniques over that ``promised`` by each alone. The times of log intervals are relative to never reading.
    """
    arms = load([result])
    found = effects(arms)
    missing = arms if arms.empty else arms[arms["outcome"] != "measured"]
    knees = [sweep for technique in ("batch_size", "workers") for sweep in level_sweeps(arms, technique)]
    return {
        "run": result.name,
        "taken": result.taken.isoformat() if result.taken else None,
        "machine": result.run.machine,
        "effects": _records(found, _EFFECT),
        "knees": [_named(sweep, _LEVELS) for sweep in knees],
        "crossovers": [_named(sweep, _SIZES) for sweep in size_sweeps(found)],
        "ladders": [
            {**_named(ladder, _LADDER), "rungs": _records(ladder.rungs, _RUNG), "missing": ladder.missing}
            for ladder in ladders(arms)
        ],
        "interactions": [
            {**_named(both, _INTERACTION), "ways": _records(both.arms, _WAY)} for both in interactions(arms)
        ],
        "attributions": [_attribution(bundle) for bundle in attributions(arms, noise_of(result.run))],
        "log_intervals": [
            {**_named(loop, _LOOP), "readings": _records(loop.arms, _READING)} for loop in log_intervals(found)
        ],
        "bottlenecks": [asdict(found) for found in bottlenecks(result.run)],
        "not_measured": _records(missing, _MISSING),
    }


def _named(found: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: _plain(getattr(found, name)) for name in names}


def _attribution(found: Attributed) -> dict[str, Any]:
    """Return a bundle's shares, and whether its effects multiply: by ``p_value``, with interactions ``within``."""
    shares = found.shares
    told = {"alone": shares.alone, "average": shares.average, "on_top": shares.on_top}
    return {
        **_named(found, _BUNDLE),
        "techniques": shares.labels,
        "rounds": shares.rounds,
        "bundle": _share(shares.bundle),
        **{kind: {name: _share(share) for name, share in among.items()} for kind, among in told.items()},
        "interactions": [
            {"of": names, "or_of": shares.aliases.get(names, ()), **_share(share)}
            for names, share in shares.interactions.items()
        ],
        "additive": shares.additive.verdict,
        "p_value": shares.additive.p_value,
        "within": _plain(shares.additive.within),
    }


def _share(share: Share) -> dict[str, Any]:
    return _named(share, ("ratio", "low", "high", "verdict"))


def _records(frame: pd.DataFrame, names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{name: _plain(row[name]) for name in names} for row in rows_of(frame)]


def _plain(value: Any) -> Any:
    """Return None for what is missing or has no bound: JSON knows neither."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
