"""The price of a speedup in words, the same in the terminal, on the page and in the summary.

A price is what a candidate costs besides time, compared with its baseline: numeric error, memory, energy and a slow
first call. Only what is worth a word is mentioned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from accelbench import units
from accelbench.schema.result import ArmRecord, Price

MemoryKind = Literal["allocator", "resident"]

# A smaller change of memory is not worth a word. Between two runs of one machine, the same arm's peak differed by less
# in all of 1,121 pairs of committed runs where an allocator counted it, and in two thirds of 15,761 pairs of resident
# memory (in half of them by less than 0.4 MiB), so a change of resident memory just above this may still be chance.
SAME_MEMORY_BYTES, SAME_MEMORY = 2**20, 0.02
_SAME_ENERGY = 0.05  # a judgement: no committed run has counted energy
_SLOW_FIRST_CALL_S, _SLOW_FIRST_CALL = 0.1, 3  # seconds, and times a warm iteration


def memory_kind(price: Price, baseline: Price) -> MemoryKind:
    """Return the kind of memory in which two arms can be compared: the allocator's peak if both have one."""
    both = price.allocator_peak_bytes is not None and baseline.allocator_peak_bytes is not None
    return "allocator" if both else "resident"


def memory_bytes(price: Price, kind: MemoryKind) -> int | None:
    """Return an arm's memory of a kind, None if it was not measured."""
    return price.allocator_peak_bytes if kind == "allocator" else price.peak_rss_bytes


def is_same_memory(memory: float, baseline: float) -> bool:
    """Return whether two amounts of memory, in bytes, differ by too little to be worth a word."""
    return abs(memory - baseline) < max(SAME_MEMORY_BYTES, SAME_MEMORY * baseline)


def describe_error(error: float | None) -> str:
    """Return a relative numeric error in words; empty if it is mere rounding or unknown."""
    return f"numeric error {units.error(error)}" if error is not None and error >= units.ROUNDING_ERROR else ""


def describe_memory(memory: float | None, baseline: float | None) -> str:
    """Return a change of memory in words, such as ``1.2 GiB more memory``; both amounts are in bytes."""
    if memory is None or baseline is None or is_same_memory(memory, baseline):
        return ""
    return f"{units.size(abs(memory - baseline))} {'more' if memory > baseline else 'less'} memory"


def describe_energy(energy_j: float | None, baseline_j: float | None, unit: str) -> str:
    """Return a change of the energy per item in words; both must be of the same kind of device."""
    if not energy_j or not baseline_j or abs(change := energy_j / baseline_j - 1) < _SAME_ENERGY:
        return ""
    return f"{units.percent(abs(change))} {'more' if change > 0 else 'less'} energy per {unit}"


def describe_first_call(cold_s: float | None, warm_s: float | None, repaid: str = "") -> str:
    """Return a slow first call in words, with the work that repays it if that is known."""
    if cold_s is None or cold_s < max(_SLOW_FIRST_CALL_S, _SLOW_FIRST_CALL * (warm_s or 0.0)):
        return ""
    return f"first call {units.seconds(cold_s)}" + (f" paid back {repaid}" if repaid else "")


def describe_price(row: Mapping[str, Any], repaid: str = "") -> str:
    """Return what a candidate costs compared with its baseline; empty if nothing is worth a word.

    Args:
        row: its row of the table of effects.
        repaid: the work after which a slow first call is paid back, if that is known.
    """
    energies = row["energy_j_per_item"], row["baseline_energy_j_per_item"]
    parts = (
        describe_error(row["error"]),
        describe_memory(row["memory_bytes"], row["baseline_memory_bytes"]),
        describe_energy(*energies, row["unit"]) if row["energy_of"] == row["baseline_energy_of"] else "",
        describe_first_call(row["cold_s"], row["s_per_iteration"], repaid),
    )
    return ", ".join(filter(None, parts))


def describe_price_of(candidate: ArmRecord, baseline: ArmRecord, unit: str) -> str:
    """Return what a candidate costs compared with its baseline, from their records."""
    price, other = candidate.price or Price(), baseline.price or Price()
    kind, timing = memory_kind(price, other), candidate.timing
    return describe_price(
        {
            "error": price.error,
            "memory_bytes": memory_bytes(price, kind),
            "baseline_memory_bytes": memory_bytes(other, kind),
            "energy_j_per_item": price.energy_j_per_item,
            "baseline_energy_j_per_item": other.energy_j_per_item,
            "energy_of": price.energy_of,
            "baseline_energy_of": other.energy_of,
            "unit": unit,
            "cold_s": timing and timing.cold_s,
            "s_per_iteration": timing and timing.median_s,
        }
    )
