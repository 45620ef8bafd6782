"""Words that titles and notes of figures share."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harness import units
from harness.report.figures.drawing import clipped

BAND = "The light band holds the middle half of the blocks."


def subject(workload: str, held: str) -> str:
    """Return what a title is about."""
    return clipped(f"{workload} ({held})" if held else workload)


def sampled(counts: pd.Series[Any], noun: str) -> str:
    """Return how much each of several points rests on, such as ``9 to 14 blocks``."""
    known = counts.dropna()
    if known.empty:
        return f"an unknown number of {noun}s"
    least, most = int(known.min()), int(known.max())
    return units.plural(most, noun) if least == most else f"{units.count(least)} to {units.plural(most, noun)}"
