"""Prices of speed: Pareto fronts, and the work that repays a first call."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from accelbench.price import SAME_MEMORY_BYTES, is_same_memory
from accelbench.results.arm_table import by_technique
from accelbench.units import ROUNDING_ERROR

_USED = [
    "framework", "switched", "trial", "ablation", "level", "workload", "problem", "fixed", "test_name", "speedup",
    "low", "high", "verdict", "pairs", "error", "memory_bytes", "baseline_memory_bytes", "memory_kind",
]  # fmt: skip
PRICES = {"error": 0.0, "memory_ratio": 1.0}  # the columns of the prices, and what a baseline pays


def tradeoffs(effects: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield framework, technique and effects of each technique that has a price and gains something for it.

    A price is numeric error, or another amount of memory; a gain is speed, or less memory.

    Takes the effects of one run. ``memory_ratio`` is the memory over the baseline's, both at least 1 MiB;
    ``error_front`` and ``memory_ratio_front`` are true of the arms on the Pareto front of that price: no other arm of
    the trial, the baseline included, is as fast for a lower price or faster for the same.
    """
    needed = effects if effects.empty else effects[_USED]  # of sixty columns, each of which would be taken apart
    for framework, technique, found in by_technique(_with_prices(needed)):
        if (
            not found["ablation"].all()
            and any(has_price(found, price) for price in PRICES)
            and len(select_gaining(found))
        ):
            yield framework, technique, found


def has_price(effects: pd.DataFrame, price: str) -> bool:
    """Return whether any arm pays a price that is worth showing, or saves as much."""
    return bool(_paying(effects, price).any())


def is_paying(effects: pd.DataFrame) -> pd.Series[bool]:
    """Return for each arm whether it pays or saves any price that is worth showing."""
    return pd.concat([_paying(effects, price) for price in PRICES], axis=1).any(axis=1)


def on_front(effects: pd.DataFrame) -> pd.Series[bool]:
    """Return for each arm whether it is on the front of a price that one of these arms pays."""
    fronts = [effects[f"{price}_front"] for price in PRICES if has_price(effects, price)]
    return pd.concat(fronts, axis=1).any(axis=1)


def select_gaining(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the arms on a front that are sure to be faster, or take less memory and are not undecided."""
    lighter = (_price_or_baseline(effects, "memory_ratio") < 1) & effects["verdict"].isin(["same", "slower"])
    return effects[on_front(effects) & (lighter | (effects["verdict"] == "faster"))]


def _with_prices(effects: pd.DataFrame) -> pd.DataFrame:
    if effects.empty:
        return effects
    memory, before = (effects[f"{of}memory_bytes"].clip(lower=SAME_MEMORY_BYTES) for of in ("", "baseline_"))
    priced = effects.assign(memory_ratio=memory / before)
    speed = priced["speedup"].mask(priced["verdict"] == "same", 1.0)
    for price, free in PRICES.items():
        paid = _price_or_baseline(priced, price)
        trials = (places.to_numpy() for places in priced.groupby("trial").groups.values())
        fronts = [_on_front(speed[places], paid[places], free) for places in trials]
        priced[f"{price}_front"] = pd.concat(fronts)
    return priced


def _paying(effects: pd.DataFrame, price: str) -> pd.Series[bool]:
    return _price_or_baseline(effects, price).fillna(PRICES[price]) != PRICES[price]


def _price_or_baseline(effects: pd.DataFrame, price: str) -> pd.Series[Any]:
    """Return a price, and the baseline's where the difference is none worth showing."""
    paid, free = effects[price], PRICES[price]
    if price == "error":
        return paid.mask(paid < ROUNDING_ERROR, free)
    pairs = zip(effects["memory_bytes"], effects["baseline_memory_bytes"], strict=True)
    return paid.mask(np.array([is_same_memory(memory, before) for memory, before in pairs]), free)


def _on_front(speed: pd.Series[Any], paid: pd.Series[Any], free: float) -> pd.Series[Any]:
    """Return for each arm of a trial whether it is on the front; an arm whose price is not known is on none."""
    speeds, costs = np.append(speed.to_numpy(float), 1.0), np.append(paid.to_numpy(float), free)
    as_good: np.ndarray = (speeds[:, None] >= speeds) & (costs[:, None] <= costs)  # row against column
    dominated = (as_good & ~as_good.T).any(axis=0)
    return paid.notna() & pd.Series(~dominated[:-1], index=paid.index)


_NEEDED = ("cold_s", "baseline_cold_s", "items", "baseline_items", "baseline_s_per_item", "speedup", "low", "high")


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
