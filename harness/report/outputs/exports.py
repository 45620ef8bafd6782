"""The effects of one run or several as files for other programs: CSV, Parquet and LaTeX, all of one table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib.metadata import version
from io import BytesIO
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from harness import units
from harness.reading import Result, effects, load
from harness.reading.table import in_words, rows_of
from harness.record import SCHEMA_VERSION

_KINDS: Any = {  # in this order; pandas types each name apart
    "run": "str",
    "number": "Int64",
    "taken": "datetime64[us, UTC]",
    "machine": "str",
    "framework": "str",
    "module": "str",
    "trial": "str",
    "workload": "str",
    "problem": "str",
    "fixed": "str",
    "technique": "str",
    "level": "str",
    "against": "str",
    "verdict": "str",
    "speedup": "float64",
    "low": "float64",
    "high": "float64",
    "gain": "float64",
    "gain_low": "float64",
    "gain_high": "float64",
    "gain_verdict": "str",
    "pairs": "Int64",
    "workers": "Int64",
    "builds": "Int64",
    "error": "float64",
    "tolerance": "float64",
    "s_per_item": "float64",
    "baseline_s_per_item": "float64",
    "items_per_s": "float64",
    "unit": "str",
    "memory_bytes": "float64",
    "baseline_memory_bytes": "float64",
    "energy_j_per_item": "float64",
    "baseline_energy_j_per_item": "float64",
    "energy_of": "str",
    "baseline_energy_of": "str",
    "cold_s": "float64",
    "share": "float64",
    "ceiling": "str",
    "flags": "str",
}
_NEEDED = "% Needs \\usepackage[T1]{fontenc} and \\usepackage{array,booktabs,longtable}.\n"
_BEFORE = f"{_NEEDED}\\begingroup\\footnotesize\\setlength{{\\tabcolsep}}{{2pt}}\n"
_AFTER = "\\endgroup\n"
_RAGGED = ">{{\\raggedright\\arraybackslash}}p{{{}\\linewidth}}"
_LAYOUT = "l" + "".join(map(_RAGGED.format, (0.16, 0.09, 0.17))) + "rrr"


def table_of_effects(results: Sequence[Result]) -> pd.DataFrame:
    """Return one row per effect, the runs in the order given, with plain values only.

    An interval without an upper bound has no ``high``. ``technique`` is what was switched, ``flags`` what is doubtful
    about either arm; the other columns mean what they do in :func:`harness.reading.load`.
    """
    found = effects(load(results))
    if found.empty:
        return pd.DataFrame(columns=list(_KINDS)).astype(_KINDS)
    table = found.assign(
        technique=found["switched"],
        problem=[in_words(problem, str) for problem in found["problem"]],
        fixed=[in_words(fixed, str) for fixed in found["fixed"]],
        high=found["high"].where(found["high"] < math.inf),
        gain_high=found["gain_high"].where(found["gain_high"] < math.inf),
        flags=["; ".join(dict.fromkeys([*row["baseline_flags"], *row["flags"]])) for row in rows_of(found)],
    )
    return table[list(_KINDS)].astype(_KINDS)


def as_parquet(table: pd.DataFrame) -> bytes:
    """Return the table as Parquet, which says by which accelbench it was written."""
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    written_by = {"accelbench_version": version("accelbench"), "accelbench_schema_version": str(SCHEMA_VERSION)}
    with BytesIO() as written:
        parquet.write_table(arrow.replace_schema_metadata({**arrow.schema.metadata, **written_by}), written)
        return written.getvalue()


def as_latex(table: pd.DataFrame) -> str:
    """Return the table for a paper: the columns that one reads, over as many pages as it takes."""
    several = len(table[["run", "number", "machine"]].drop_duplicates()) > 1
    columns = _PAPER | ({"run": _run} if several else {})
    rows = rows_of(table)
    paper = pd.DataFrame({heading: [_typeset(written(row)) for row in rows] for heading, written in columns.items()})
    styled = paper.style.hide(axis="index").format(escape="latex")
    layout = _LAYOUT + ("l" if several else "")
    return _BEFORE + styled.to_latex(environment="longtable", hrules=True, column_format=layout) + _AFTER


def _typeset(text: str) -> str:
    r"""Return text of which LaTeX has every character; others read as escapes, such as ``\u2192``."""
    return "".join(
        each if each in "–…" else each.encode("latin-1", "backslashreplace").decode("latin-1") for each in text
    )


def _run(row: dict[str, Any]) -> str:
    return f"{row['run']} {row['number']} ({row['machine']})"


def _where(row: dict[str, Any]) -> str:
    return f"{row['workload']} ({', '.join(filter(None, (row['framework'], row['problem'], row['fixed'])))})"


def _interval(row: dict[str, Any]) -> str:
    return units.interval(row["low"], row["high"]) if row["high"] is not None else ""


def _error(row: dict[str, Any]) -> str:
    return units.error(row["error"]) if row["error"] is not None else ""


_PAPER: dict[str, Callable[[dict[str, Any]], str]] = {  # verdicts are fixed words: no row begins with what LaTeX reads
    "verdict": lambda row: row["verdict"],
    "technique": lambda row: row["level"],
    "against": lambda row: row["against"].removeprefix(f"{row['technique']} "),
    "workload": _where,
    "speedup": lambda row: units.speedup(row["speedup"]),
    "interval": _interval,
    "error": _error,
}
