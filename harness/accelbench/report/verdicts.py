"""How the four verdicts look. The glyph and the marker tell them apart without colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from accelbench.schema.verdict import GLYPHS as GLYPHS
from accelbench.schema.verdict import NEGLIGIBLE
from accelbench.units import percent

MARKERS = {"faster": "^", "slower": "v", "same": "s", "undecided": "o"}
# Blue and vermilion stay apart in every common colour blindness; all four reach 3:1 on white and on near-black.
COLOURS = {"faster": "#2a85c7", "slower": "#d55e00", "same": "#7d858e", "undecided": "#a8790b"}
LEGEND = {
    "faster": "faster than the baseline beyond the noise zone",
    "slower": "slower than the baseline beyond the noise zone",
    "same": f"the same as the baseline within {percent(NEGLIGIBLE)}",
    "undecided": "the measurement could not tell",
}


def count_comparisons(sizes: str, verdicts: Iterable[str]) -> str:
    """Return how much was compared and how many there are of each verdict, such as ``2 comparisons: ▲ 2 faster``."""
    return ": ".join(filter(None, (sizes, format_verdict_counts(verdicts))))


def format_verdict_counts(verdicts: Iterable[str]) -> str:
    """Return how many there are of each verdict, such as ``▲ 80 faster, ▼ 13 slower``."""
    counts = Counter(verdicts)
    return ", ".join(f"{glyph} {counts[verdict]} {verdict}" for verdict, glyph in GLYPHS.items() if counts[verdict])
