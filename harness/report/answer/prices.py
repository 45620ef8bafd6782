"""What a technique costs besides time, in words."""

from __future__ import annotations

from typing import Any

from harness import units
from harness.reading.pareto import LEAST_CHANGE, LEAST_CHANGE_BYTES
from harness.report.trials.pays import pays

_COLD_WORTH_SAYING_S = 0.1
_COLD_WORTH_SAYING = 3  # times a warm iteration
_ENERGY_WORTH_SAYING = 0.05  # what is counted of one short stretch is uncertain by a few per cent


def price_in_words(row: dict[str, Any]) -> list[str]:
    """Return what a candidate costs besides time, or saves, where it is worth a word."""
    parts = []
    if row["error"] and row["error"] >= units.ROUNDING_ERROR:
        parts.append(f"numeric error {units.error(row['error'])}")
    memory, before = row["memory_bytes"], row["baseline_memory_bytes"]
    if memory is not None and before is not None:
        change = memory - before
        if abs(change) >= max(LEAST_CHANGE_BYTES, LEAST_CHANGE * before):
            parts.append(f"{units.size(abs(change))} {'more' if change > 0 else 'less'} memory")
    if energy := _energy(row):
        parts.append(energy)
    cold_s, warm_s = row["cold_s"], row["s_per_iteration"]
    if cold_s is not None and cold_s >= max(_COLD_WORTH_SAYING_S, _COLD_WORTH_SAYING * warm_s):
        said = pays(row)
        parts.append(f"first call {units.seconds(cold_s)}" + (f" paid back {said}" if said.startswith("after") else ""))
    return parts


def _energy(row: dict[str, Any]) -> str:
    """Return how much more or less energy an item takes, where both arms ran on the same kind of device."""
    taken_j, before_j = row["energy_j_per_item"], row["baseline_energy_j_per_item"]
    if not taken_j or not before_j or row["energy_of"] != row["baseline_energy_of"]:
        return ""
    change = taken_j / before_j - 1
    if abs(change) < _ENERGY_WORTH_SAYING:
        return ""
    return f"{units.percent(abs(change))} {'more' if change > 0 else 'less'} energy per {row['unit']}"
