"""One run as JSON for trackers that keep the history themselves: github-action-benchmark and bencher.

Each arm's time is exported, and each effect: to github-action-benchmark as the time relative to the baseline's, since
there all entries of a file are either better when smaller or better when larger.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from harness import units
from harness.reading.table import rows_of
from harness.report.outputs.trackers.names import exact, named

_NS = 1e9  # per second
_MOST_CHARACTERS = 1000  # of a name; bencher allows 1024


def as_github_action_benchmark(observations: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a run's observations as entries of the tool ``customSmallerIsBetter``.

    https://github.com/benchmark-action/github-action-benchmark#custom-benchmarks
    """
    return [entry for row in rows_of(observations) for entry in _entries(row)]


def as_bmf(observations: pd.DataFrame) -> dict[str, dict[str, dict[str, float]]]:
    """Return a run's observations in Bencher Metric Format, https://bencher.dev/docs/reference/bencher-metric-format/.

    ``latency`` is nanoseconds per item, as bencher's own measure of that name; ``speedup`` has its interval.
    """
    return {named(row["case"], _MOST_CHARACTERS): dict(_measures(row)) for row in rows_of(observations)}


def _entries(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    name = named(row["case"], _MOST_CHARACTERS)
    yield {"name": f"{name}: time", "unit": f"ns/{row['unit']}", "value": exact(row["log_s"], _NS)}
    if row["log_effect"] is None:
        return
    low, high = _bounds(row)
    relative = {"name": f"{name}: relative time", "unit": "× the baseline's", "value": exact(-row["log_effect"])}
    if low and high:
        relative["range"] = f"± {units.significant((1 / low - 1 / high) / 2)}"
    said = units.ratio(math.exp(row["log_effect"]), low or 0.0, high or math.inf)
    yield relative | {"extra": f"speedup {said} against {row['against']}: {row['verdict']}, {row['pairs']} pairs"}


def _measures(row: dict[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    yield "latency", {"value": exact(row["log_s"], _NS)}
    if row["log_effect"] is not None:
        low, high = _bounds(row)
        ends = {"lower_value": low, "upper_value": high}
        known = {name: value for name, value in ends.items() if value is not None}
        yield "speedup", {"value": exact(row["log_effect"]), **known}


def _bounds(row: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the ends of an effect's interval, None where it has none there."""
    low, high = (row[f"log_{end}"] for end in ("low", "high"))
    return (
        exact(low) if low is not None and math.isfinite(low) else None,
        exact(high) if high is not None and math.isfinite(high) else None,
    )
