"""From how much work on a candidate pays, in words."""

from __future__ import annotations

import math
from typing import Any

from harness import units
from harness.reading.break_even import break_even

_NOT_FASTER = {"slower": "never", "same": "no difference", "undecided": "undecided"}


def pays(row: dict[str, Any]) -> str:
    """Return from where on a candidate pays, for a table, such as ``after 61 iterations (58–70)``."""
    if row["verdict"] != "faster":
        return _NOT_FASTER.get(row["verdict"], "")
    found = break_even(row)
    if found is None:
        return ""
    if found.high == 0:
        return "from the first call"
    low, high = _whole(found.low), _whole(found.high)
    within = f" ({low}–{high})" if low != high else ""
    return f"after {_whole(found.at)} {found.unit}s{within}"


def pays_in_words(row: dict[str, Any]) -> str:
    """Return a sentence on a candidate that must catch up before it pays; empty for every other arm."""
    said = pays(row)
    if not said.startswith("after"):
        return ""
    own, baselines = units.seconds(row["cold_s"]), units.seconds(row["baseline_cold_s"])
    then = f"from then on it is {units.speedup(row['speedup'])} as fast"
    return f"{row['level']} pays {said}: its first call takes {own}, the baseline’s {baselines}; {then}."


def _whole(number: float) -> str:
    return "∞" if math.isinf(number) else units.short(math.ceil(number))
