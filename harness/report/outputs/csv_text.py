"""Tables as CSV that a spreadsheet opens as data, never as formulas."""

from __future__ import annotations

from typing import Any

import pandas as pd

# What a spreadsheet takes for the start of a formula, also in full width (OWASP, "CSV Injection").
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_text(table: pd.DataFrame) -> str:
    """Return a table as CSV. Text that a spreadsheet would take for a formula begins with an apostrophe."""
    return table.rename(columns=_inert).map(_inert).to_csv(index=False, lineterminator="\n")


def _inert(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
