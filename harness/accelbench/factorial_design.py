"""Full factorial designs: every combination of some techniques, each switched on or off."""

from __future__ import annotations

from itertools import product

from accelbench.errors import BadInput

MAX_TECHNIQUES = 4  # 16 arms

Row = tuple[bool, ...]  # for each technique, whether it is switched on


def design(techniques: int) -> tuple[Row, ...]:
    """Return every combination of that many techniques, all of them off first, all of them on last.

    Raises:
        BadInput: there are fewer than two techniques, or more than four.
    """
    if not 2 <= techniques <= MAX_TECHNIQUES:
        raise BadInput(f"a bundle of {techniques} technique(s) cannot be taken apart; give 2 to {MAX_TECHNIQUES}")
    return tuple(product((False, True), repeat=techniques))


def is_full(rows: tuple[Row, ...]) -> bool:
    """Return whether arms are every combination of two or more techniques, each of them once."""
    return bool(rows) and len(rows[0]) >= 2 and len(set(rows)) == len(rows) == 1 << len(rows[0])


def batches_for(arms: int) -> int:
    """Return the number of batches into which the rounds of a design with ``arms`` arms are divided."""
    return 10 if arms <= 8 else 20
