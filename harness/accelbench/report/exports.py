"""The effects of one run or several as CSV and Parquet, both of one table."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from io import BytesIO
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from accelbench.results import Findings
from accelbench.results.arm_table import Row
from accelbench.schema.result import SCHEMA_VERSION
from accelbench.text import format_levels
from accelbench.units import finite_or_none

# What a spreadsheet takes for the start of a formula, also in full width (OWASP, "CSV Injection").
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def format_csv(table: pd.DataFrame) -> str:
    """Return a table as CSV. Text that a spreadsheet would take for a formula begins with an apostrophe."""
    return table.rename(columns=_inert).map(_inert).to_csv(index=False, lineterminator="\n")


def _inert(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


_COLUMNS = (
    "run", "number", "taken", "machine", "framework", "module", "trial", "workload", "problem", "fixed", "technique",
    "level", "against", "verdict", "speedup", "low", "high", "step", "step_low", "step_high", "step_verdict", "pairs",
    "workers", "builds", "error", "tolerance", "s_per_item", "baseline_s_per_item", "items_per_s", "unit",
    "memory_bytes", "baseline_memory_bytes", "energy_j_per_item", "baseline_energy_j_per_item", "energy_of",
    "baseline_energy_of", "cold_s", "share", "ceiling", "flags",
)  # fmt: skip
_FLOATS = (
    "speedup", "low", "high", "step", "step_low", "step_high", "error", "tolerance", "s_per_item",
    "baseline_s_per_item", "items_per_s", "memory_bytes", "baseline_memory_bytes", "energy_j_per_item",
    "baseline_energy_j_per_item", "cold_s", "share",
)  # fmt: skip
_KINDS: Any = {  # pandas types each name apart
    **dict.fromkeys(_COLUMNS, "str"),
    **dict.fromkeys(_FLOATS, "float64"),
    **dict.fromkeys(("number", "pairs", "workers", "builds"), "Int64"),
    "taken": "datetime64[us, UTC]",
}


def export_effects(runs: Sequence[Findings]) -> pd.DataFrame:
    """Return one row per effect, the runs in the order given, with plain values only.

    An interval without an upper bound has no ``high``. ``technique`` is what was switched, ``flags`` what is doubtful
    about either arm; the other columns mean what they do in :func:`accelbench.results.tabulate_arms`.
    """
    rows = [_plain(row) for findings in runs for row in findings.effect_rows]
    return pd.DataFrame(rows, columns=[*_COLUMNS]).astype(_KINDS)


def _plain(row: Row) -> Row:
    """Return an effect with text for what is structured, and without bounds that are infinite."""
    return {
        **row,
        **{name: finite_or_none(row[name]) for name in ("high", "step_high")},
        "technique": row["switched"],
        "problem": format_levels(row["problem"], str),
        "fixed": format_levels(row["fixed"], str),
        "flags": "; ".join(dict.fromkeys(map(str, [*row["baseline_flags"], *row["flags"]]))),
    }


def as_parquet(table: pd.DataFrame) -> bytes:
    """Return the table as Parquet, with the version of accelbench in its metadata."""
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    written_by = {"accelbench_version": version("accelbench"), "accelbench_schema_version": str(SCHEMA_VERSION)}
    with BytesIO() as written:
        parquet.write_table(arrow.replace_schema_metadata({**arrow.schema.metadata, **written_by}), written)
        return written.getvalue()
