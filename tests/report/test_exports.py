"""The effects as files for other programs: the same table in each."""

import math
from io import BytesIO, StringIO

import pandas as pd
import pytest
from pyarrow import parquet
from runs import STORED, arm, effect, memory, run, save, trial

from accelbench.report.exports import as_parquet, export_effects, format_csv
from accelbench.results import Findings, effects, find_results, tabulate_arms
from accelbench.schema.result import SCHEMA_VERSION


@pytest.fixture(scope="module")
def stored():
    return find_results(STORED).results


@pytest.fixture
def table_of(tmp_path):
    def of(*trials, name="0001_a.json", **fields):
        return export_effects([*map(Findings, find_results(save(run(*trials, **fields), tmp_path / name)).results)])

    return of


def test_the_table_has_every_effect_with_its_numbers(stored):
    table, found = export_effects([*map(Findings, stored)]), effects(tabulate_arms(stored))
    assert len(table) == len(found) > 20
    for name in ("speedup", "low", "s_per_item", "baseline_s_per_item", "memory_bytes", "error", "cold_s"):
        pd.testing.assert_series_equal(table[name], found[name])
    assert table["high"].isna().sum() == (found["high"] == math.inf).sum()


def test_a_row_reads_as_one_would_say_it(table_of):
    baseline = arm({"pin_memory": "off", "workers": "0"}, 1.0, price=memory(100), flags=["slow baseline"])
    candidate = arm(
        {"pin_memory": "on", "workers": "0"}, 0.5, effect=effect(2.0, 0.0, None, "undecided"), flags=["too many cores"]
    )
    table = table_of(trial(baseline, candidate, problem={"elements": 1000000}, fixed={"device": "cpu"}))
    (row,) = table.to_dict("records")
    said = {
        "run": "a",
        "machine": "example-2c-8g",
        "technique": "pin-memory",
        "level": "pin-memory on",
        "against": "pin-memory off",
        "problem": "elements 1000000",
        "fixed": "device cpu",
        "flags": "slow baseline; too many cores",
    }
    assert {name: row[name] for name in said} == said
    assert math.isnan(row["high"])
    assert (row["pairs"], row["items_per_s"], row["baseline_memory_bytes"]) == (50, 2.0, 100.0)


def test_csv_holds_the_numbers_in_full(stored):
    table = export_effects([*map(Findings, stored)])
    back = pd.read_csv(StringIO(format_csv(table)), keep_default_na=False, na_values={"high": "", "error": ""})
    assert list(back) == list(table)
    for name in ("speedup", "low", "high", "s_per_item", "error"):
        assert back[name].equals(table[name])
    for name in ("trial", "level", "workload", "verdict"):
        assert list(back[name]) == list(table[name])
    assert "inf" not in format_csv(table)


def test_csv_cells_are_no_formulas(table_of):
    candidate = arm({"amp": "x"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster"))
    table = table_of(trial(arm({"amp": "y"}, 1.0), candidate, workload="=1+1", framework="@SUM(A1)"))
    (row,) = pd.read_csv(StringIO(format_csv(table))).to_dict("records")
    assert (row["workload"], row["framework"]) == ("'=1+1", "'@SUM(A1)")


def test_parquet_holds_the_table_with_its_types_and_who_wrote_it(stored):
    table = export_effects([*map(Findings, stored)])
    written = as_parquet(table)
    pd.testing.assert_frame_equal(pd.read_parquet(BytesIO(written)), table)
    schema = parquet.read_schema(BytesIO(written))
    assert (str(schema.field("taken").type), str(schema.field("speedup").type)) == ("timestamp[us, tz=UTC]", "double")
    assert schema.metadata[b"accelbench_schema_version"] == str(SCHEMA_VERSION).encode()
    assert schema.metadata[b"accelbench_version"]


def test_files_are_the_same_whenever_they_are_written(stored):
    first, again = (export_effects([*map(Findings, stored)]) for _ in range(2))
    assert as_parquet(first) == as_parquet(again)


def test_a_run_without_effects_or_time_has_the_same_columns(stored, tmp_path):
    path = save(run(trial(arm({"amp": "fp32"}, 1.0))), tmp_path / "0001_a.json", taken=None)
    none = export_effects([*map(Findings, find_results(path).results)])
    assert len(none) == 0
    assert none.dtypes.equals(export_effects([*map(Findings, stored)]).dtypes)
    assert len(pd.read_parquet(BytesIO(as_parquet(none)))) == 0
    assert format_csv(none).count("\n") == 1
