"""Labels and lists in text."""

import pytest
from runs import arm, trial

from accelbench.text import (
    cross,
    format_case,
    format_levels,
    format_table,
    format_table_html,
    format_test_id,
    hyphenate,
    join_names,
    list_some,
    name_tests,
    name_type,
    tell_apart,
)
from accelbench.units import short


def test_names_are_read_with_hyphens():
    assert hyphenate("memory_format") == "memory-format"
    assert cross(["amp", "memory_format"]) == "amp × memory-format"


def test_levels_keep_their_text_and_numbers_are_formatted():
    assert format_levels({"pin_memory": "on", "elements": 1000, "shuffle": True}) == (
        "pin-memory on, elements 1,000, shuffle True"
    )
    assert format_levels({"elements": 1_000_000}, short) == "elements 1 M"
    assert format_levels({}) == ""


@pytest.mark.parametrize(("value", "name"), [(3, "an int"), ({}, "a dict"), (None, "None")])
def test_a_type_is_named_with_its_article(value, name):
    assert name_type(value) == name


def test_a_case_is_labelled_in_one_order():
    case = {"framework": "torch", "fixed": {"threads": "1"}, "problem": {"batch_size": 32}, "workload": "cnn-train"}
    assert format_case(**case) == "cnn-train, batch-size 32, threads 1, torch"
    assert format_case("amp bf16", workload="cnn-train", problem="elements 1,000") == (
        "amp bf16, cnn-train, elements 1,000"
    )
    assert format_case(problem={}, fixed={}) == ""


def test_trials_of_one_case_are_told_apart_by_the_shortest_names_that_do_so():
    cases = {"a.py::test_rows[half]": "rows", "a.py::Test::test_rows[half]": "rows", "a.py::test_net[half]": "net"}
    assert tell_apart(cases) == {"a.py::test_rows[half]": "test_rows", "a.py::Test::test_rows[half]": "Test::test_rows"}
    assert tell_apart({"a.py::test_rows": "rows", "b.py::test_rows": "rows"}) == {
        "a.py::test_rows": "a.py::test_rows",
        "b.py::test_rows": "b.py::test_rows",
    }
    assert tell_apart({"a.py::test_rows[2]": "rows", "a.py::test_rows[3]": "rows", "a.py::test_net": "net"}) == {
        "a.py::test_rows[2]": "test_rows[2]",
        "a.py::test_rows[3]": "test_rows[3]",
    }


@pytest.mark.parametrize(
    ("names", "joined"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_names_are_joined_as_in_a_sentence(names, joined):
    assert join_names(names) == joined


@pytest.mark.parametrize(
    ("count", "most", "listed"),
    [(0, 2, ""), (2, 2, "item 0, item 1"), (3, 2, "item 0, item 1 and 1 more"), (1002, 1, "item 0 and 1,001 more")],
)
def test_the_first_of_many_are_listed_with_the_number_of_the_others(count, most, listed):
    assert list_some((f"item {number}" for number in range(count)), most) == listed


def test_items_with_commas_are_separated_by_semicolons():
    assert list_some(["a, b", "c", "d"], 2, separator="; ") == "a, b; c; and 1 more"


def test_a_table_has_aligned_columns_below_a_rule():
    assert format_table([("loop", "1.00×"), ("a formula", "")], ("arm", "speedup")) == (
        "arm        speedup\n---------  -------\nloop       1.00×\na formula"
    )


def test_a_line_break_in_a_cell_breaks_no_table():
    assert format_table([("a\nloop", "1.00×")], ("arm", "speedup")).splitlines()[2:] == ["a\\nloop  1.00×"]


def test_a_table_for_notebooks_escapes_what_users_wrote():
    assert format_table_html([("<b>",)], ("arm",)) == (
        "<table><thead><tr><th>arm</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>"
    )
    assert "thead" not in format_table_html([("a",)])


def test_a_test_id_is_one_word_that_pytest_selects_by() -> None:
    levels = {"device": "cuda:0", "memory_format": "channels-last", "ladder": "+amp bf16"}
    assert format_test_id(levels) == "device-cuda0-memory-format-channels-last-ladder-+amp-bf16"


def test_tests_are_named_only_where_two_trials_measure_the_same():
    one, other = ({"id": f"test_amp.py::test_{name}[net]"} for name in ("one", "other"))
    baseline = arm({"amp": "fp32"}, 1.0)
    assert name_tests([trial(baseline, **one), trial(baseline, **other)]) == {
        "test_amp.py::test_one[net]": "test_one",
        "test_amp.py::test_other[net]": "test_other",
    }
    for fields in (
        {"framework": "jax"},
        {"workload": "net-2"},
        {"problem": {"width": 2}},
        {"fixed": {"threads": "1"}},
        {"techniques": ["amp", "threads"]},
    ):
        assert name_tests([trial(baseline, **one), trial(baseline, **other, **fields)]) == {}
