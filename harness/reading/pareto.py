"""Speed against its price: within a trial, the arms that no other one beats in both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from harness.reading.bottleneck import TECHNIQUE as RELIEF
from harness.reading.table import by_technique
from harness.units import ROUNDING_ERROR

LEAST_CHANGE_BYTES, LEAST_CHANGE = 2**20, 0.02  # of memory: less is an allocator's page here or there
PRICES = {"error": 0.0, "memory_ratio": 1.0}  # the columns of the prices, and what a baseline pays


def tradeoffs(effects: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield framework, technique and effects of each technique that has a price and gains something for it.

    A price is numeric error, or another amount of memory; a gain is speed, or less memory.

    Takes the effects of one run. ``memory_ratio`` is the memory over the baseline's, both at least 1 MiB;
    ``error_front`` and ``memory_ratio_front`` say of each arm whether no other one of its trial, the baseline included,
    is as fast for a lower such price or faster for the same: whether it is on the Pareto front.
    """
    for framework, technique, found in by_technique(_priced(effects)):
        if technique != RELIEF and any(has_price(found, price) for price in PRICES) and len(gaining(found)):
            yield framework, technique, found


def has_price(effects: pd.DataFrame, price: str) -> bool:
    """Say whether an arm pays a price that is worth showing, or saves as much."""
    return bool(_paying(effects, price).any())


def paying(effects: pd.DataFrame) -> pd.Series[bool]:
    """Say of each arm whether it pays or saves what is worth showing, of any price."""
    return pd.concat([_paying(effects, price) for price in PRICES], axis=1).any(axis=1)


def on_front(effects: pd.DataFrame) -> pd.Series[bool]:
    """Say of each arm whether it is on the front of a price that one of these arms pays."""
    fronts = [effects[f"{price}_front"] for price in PRICES if has_price(effects, price)]
    return pd.concat(fronts, axis=1).any(axis=1)


def gaining(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the arms on a front that are sure to be faster, or take less memory and are not undecided."""
    lighter = (_counted(effects, "memory_ratio") < 1) & effects["verdict"].isin(["same", "slower"])
    return effects[on_front(effects) & (lighter | (effects["verdict"] == "faster"))]


def _priced(effects: pd.DataFrame) -> pd.DataFrame:
    if effects.empty:
        return effects
    memory, before = (effects[f"{of}memory_bytes"].clip(lower=LEAST_CHANGE_BYTES) for of in ("", "baseline_"))
    priced = effects.assign(memory_ratio=memory / before)
    speed = priced["speedup"].mask(priced["verdict"] == "same", 1.0)
    for price, free in PRICES.items():
        paid = _counted(priced, price)
        trials = (places.to_numpy() for places in priced.groupby("trial").groups.values())
        fronts = [_on_front(speed[places], paid[places], free) for places in trials]
        priced[f"{price}_front"] = pd.concat(fronts)
    return priced


def _paying(effects: pd.DataFrame, price: str) -> pd.Series[bool]:
    return _counted(effects, price).fillna(PRICES[price]) != PRICES[price]


def _counted(effects: pd.DataFrame, price: str) -> pd.Series[Any]:
    """Return a price, and the baseline's where the difference is none worth showing."""
    paid, free = effects[price], PRICES[price]
    if price == "error":
        return paid.mask(paid < ROUNDING_ERROR, free)
    change = (effects["memory_bytes"] - effects["baseline_memory_bytes"]).abs()
    return paid.mask((change < LEAST_CHANGE_BYTES) | ((paid - free).abs() < LEAST_CHANGE), free)


def _on_front(speed: pd.Series[Any], paid: pd.Series[Any], free: float) -> pd.Series[Any]:
    """Say of each arm of a trial whether no other one dominates it; an arm whose price is not known is on no front."""
    speeds, costs = np.append(speed.to_numpy(float), 1.0), np.append(paid.to_numpy(float), free)
    as_good: np.ndarray = (speeds[:, None] >= speeds) & (costs[:, None] <= costs)  # row against column
    dominated = (as_good & ~as_good.T).any(axis=0)
    return paid.notna() & pd.Series(~dominated[:-1], index=paid.index)
