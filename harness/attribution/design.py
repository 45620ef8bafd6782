"""Which combinations of techniques are measured: all of them, or a fraction that tells the single effects apart."""

from __future__ import annotations

from itertools import product

from harness.errors import BadInput

Row = tuple[bool, ...]  # of each technique, whether it is switched on

FULL_UP_TO = 4  # techniques, 16 arms
# Of the 16-run fractions those of the highest resolution: V for five techniques, IV for more. Box, Hunter and Hunter
# 2005, *Statistics for Experimenters*, table 6.22; the words for pyDOE3.
GENERATORS = {
    5: "a b c d abcd",
    6: "a b c d bcd acd",
    7: "a b c d bcd acd abd",
    8: "a b c d bcd acd abd abc",
}


def design(techniques: int) -> tuple[Row, ...]:
    """Return the arms of a design for that many techniques: none switched on first, all of them last.

    Every combination up to four techniques; above, a fraction of 16, and the two ends where it lacks them.

    Raises:
        BadInput: there are fewer than two techniques, or more than eight.
    """
    if not 2 <= techniques <= max(GENERATORS):
        raise BadInput(f"a bundle of {techniques} technique(s) cannot be taken apart; give 2 to {max(GENERATORS)}")
    if techniques <= FULL_UP_TO:
        return tuple(product((False, True), repeat=techniques))
    none, everything = (False,) * techniques, (True,) * techniques
    return (none, *(row for row in fraction(techniques) if row not in (none, everything)), everything)


def fraction(techniques: int) -> tuple[Row, ...]:
    """Return the 16 arms among which the effects of five to eight techniques are balanced."""
    from pyDOE3 import fracfact  # here, since it takes a second, and most designs are full

    signs: list[list[float]] = fracfact(GENERATORS[techniques]).tolist()
    return tuple(sorted(tuple(sign > 0 for sign in run) for run in signs))


def is_full(rows: tuple[Row, ...]) -> bool:
    """Say whether arms are every combination of their techniques, each of them once."""
    return len(set(rows)) == len(rows) == 1 << len(rows[0])
