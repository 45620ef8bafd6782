"""Sentences that differ in their numbers only, said once."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?")  # none that belongs to a name, such as fp32


def pattern(sentence: str) -> str:
    """Return what sentences that differ in their numbers only have in common."""
    return _NUMBER.sub("\0", sentence)


def together(alike: Sequence[str]) -> str:
    """Return sentences of one pattern as one, with the least and the greatest of each number."""
    columns = zip(*map(_NUMBER.findall, alike), strict=True)
    ranges = (sorted(set(column), key=lambda number: float(number.replace(",", ""))) for column in columns)
    written = iter([numbers[0] if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}" for numbers in ranges])
    return _NUMBER.sub(lambda _: next(written), alike[0])
