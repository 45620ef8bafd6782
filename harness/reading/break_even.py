"""From how much work on a technique pays that costs more to start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NEEDED = ("cold_s", "baseline_cold_s", "items", "baseline_items", "baseline_s_per_item", "low", "high")


@dataclass(frozen=True, kw_only=True)
class BreakEven:
    """How much work it takes until a candidate has needed no more time than its baseline, first calls included.

    ``at`` counts ``unit``: iterations, or items where an iteration processes more of them in one arm than in the other.
    0 is from the first call on, infinity never. ``low`` and ``high`` hold at the ends of the speedup's interval.
    """

    at: float
    low: float
    high: float
    unit: str


def break_even(row: Mapping[str, Any]) -> BreakEven | None:
    """Return where a candidate breaks even, from its row of `effects`; None where that is undecided or not known.

    The first call costs ``cold_s`` and does one iteration; from then on every item costs what it costs warm. Building
    does not count, since every arm is built.
    """
    alike = row["items"] == row["baseline_items"]
    unit = "iteration" if alike else row["unit"]
    if row["verdict"] in ("slower", "same"):
        return BreakEven(at=math.inf, low=math.inf, high=math.inf, unit=unit)
    if row["verdict"] != "faster" or any(row[name] is None for name in _NEEDED):
        return None
    counted = row["items"] if alike else 1.0
    at, low, high = (_items(row, row[name]) / counted for name in ("speedup", "high", "low"))
    return BreakEven(at=at, low=low, high=high, unit=unit)


def _items(row: Mapping[str, Any], speedup: float) -> float:
    """Return after how many items the candidate has caught up at a speedup.

    When its first call ends, the baseline has needed its own first call and the warm time of what it is then short of.
    """
    each_s = row["baseline_s_per_item"]
    behind_s = row["cold_s"] - row["baseline_cold_s"] - (row["items"] - row["baseline_items"]) * each_s
    if behind_s <= 0:
        return 0.0
    gained_s = each_s * (1 - 1 / speedup) if speedup > 1 else 0.0
    return float(row["items"] + behind_s / gained_s) if gained_s > 0 else math.inf
