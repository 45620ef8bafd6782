"""The effects as files for other programs: the same table in each."""

import math
from io import BytesIO, StringIO

import pandas as pd
import pytest
from pyarrow import parquet
from runs import STORED, arm, effect, memory, run, save, trial

from harness.reading import effects, find_results, load
from harness.record import SCHEMA_VERSION
from harness.report.outputs.csv_text import csv_text
from harness.report.outputs.exports import as_latex, as_parquet, table_of_effects


@pytest.fixture(scope="module")
def stored():
    return find_results(STORED).results


@pytest.fixture
def table_of(tmp_path):
    def of(*trials, name="0001_a.json", **fields):
        return table_of_effects(find_results(save(run(*trials, **fields), tmp_path / name)).results)

    return of


def test_the_table_has_every_effect_with_its_numbers(stored):
    table, found = table_of_effects(stored), effects(load(stored))
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
    table = table_of_effects(stored)
    back = pd.read_csv(StringIO(csv_text(table)), keep_default_na=False, na_values={"high": "", "error": ""})
    assert list(back) == list(table)
    for name in ("speedup", "low", "high", "s_per_item", "error"):
        assert back[name].equals(table[name])
    for name in ("trial", "level", "workload", "verdict"):
        assert list(back[name]) == list(table[name])
    assert "inf" not in csv_text(table)


def test_csv_cells_are_no_formulas(table_of):
    candidate = arm({"amp": "x"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster"))
    table = table_of(trial(arm({"amp": "y"}, 1.0), candidate, workload="=1+1", framework="@SUM(A1)"))
    (row,) = pd.read_csv(StringIO(csv_text(table))).to_dict("records")
    assert (row["workload"], row["framework"]) == ("'=1+1", "'@SUM(A1)")


def test_parquet_holds_the_table_with_its_types_and_who_wrote_it(stored):
    table = table_of_effects(stored)
    written = as_parquet(table)
    pd.testing.assert_frame_equal(pd.read_parquet(BytesIO(written)), table)
    schema = parquet.read_schema(BytesIO(written))
    assert (str(schema.field("taken").type), str(schema.field("speedup").type)) == ("timestamp[us, tz=UTC]", "double")
    assert schema.metadata[b"accelbench_schema_version"] == str(SCHEMA_VERSION).encode()
    assert schema.metadata[b"accelbench_version"]


def test_files_are_the_same_whenever_they_are_written(stored):
    first, again = (table_of_effects(stored) for _ in range(2))
    assert (as_parquet(first), as_latex(first)) == (as_parquet(again), as_latex(again))


def test_a_run_without_effects_or_time_has_the_same_columns(stored, tmp_path):
    path = save(run(trial(arm({"amp": "fp32"}, 1.0))), tmp_path / "0001_a.json", taken=None)
    none = table_of_effects(find_results(path).results)
    assert len(none) == 0
    assert none.dtypes.equals(table_of_effects(stored).dtypes)
    assert len(pd.read_parquet(BytesIO(as_parquet(none)))) == 0
    assert csv_text(none).count("\n") == 1
    assert "\\begin{longtable}" in as_latex(none)


def test_latex_has_a_row_per_effect_and_no_markup_from_a_file(table_of):
    hostile = "50% of $x_1$ & \\input{/etc/passwd} {a}~#1^2 日本"
    candidate = arm({"amp": "bf16"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster"))
    text = as_latex(table_of(trial(arm({"amp": "fp32"}, 1.0), candidate, workload=hostile)))
    (row,) = [line for line in text.splitlines() if line.startswith("faster & ")]
    inert = r"50\% of \$x\_1\$ \& \textbackslash input\{/etc/passwd\} \{a\}\textasciitilde \#1\textasciicircum 2"
    assert row.startswith(rf"faster & amp bf16 & fp32 & {inert} \textbackslash u65e5\textbackslash u672c (torch) & ")
    assert row.endswith("2.00× & 1.90–2.10 &  \\\\")


def test_two_runs_in_one_latex_table_are_told_apart(table_of):
    candidate = arm({"amp": "bf16"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster"))
    tables = [
        table_of(trial(arm({"amp": "fp32"}, 1.0), candidate), name=f"000{number}_quick.json") for number in (6, 7)
    ]
    text = as_latex(pd.concat(tables))
    assert "quick 6 (example-2c-8g) \\\\" in text
    assert "quick 7 (example-2c-8g) \\\\" in text
