"""JSON is checked value by value only where it may hold something that must not stay as it is."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accelbench.errors import UnreadableResult
from accelbench.schema import safe_json
from accelbench.schema.safe_json import LONGEST_TEXT, BeyondLimit, as_schema, parse

TEXTS = st.text(st.sampled_from('a0".,:e-\\/×√\x07\x1b\x7f\u2028\u200b\ud7ff\U0001f600\n\t '), max_size=8)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([2**63, -(2**63), 1e-40])
DOCUMENTS = st.recursive(
    st.none() | NUMBERS | TEXTS,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(TEXTS, values, max_size=3),
    max_leaves=8,
)


def checked(read: Any) -> Any:
    try:
        return read()
    except BeyondLimit as error:
        return str(error)


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 1]))
@example([0.1 * 10.0**-exponent for exponent in range(28, 32)], False, None)
@example({"a": '\\"' * (LONGEST_TEXT // 4), "b": "\\" * LONGEST_TEXT}, False, None)
@example(['"' * (LONGEST_TEXT + 1)], False, None)
@example(["/" * (LONGEST_TEXT + 1)], False, None)
@example([10**18, 2**63 - 1], False, None)
@example([2**63], False, None)
def test_what_is_read_is_what_checking_every_value_leaves(document: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode()
    every = checked(lambda: safe_json._plain(msgspec.json.decode(text)))  # noqa: SLF001
    assert checked(lambda: parse(text)) == every


@pytest.mark.parametrize("text", ["0.000000000001e-19", "0." + 30 * "0" + "1", "1e-31", "1E-31"])
def test_however_a_tiny_number_is_written_it_is_read_as_0(text: str) -> None:
    assert parse(f"[{text}]".encode()) == [0.0]


@pytest.mark.parametrize(
    "text", ["1e-16", "7.5363930000094115", "0.0075363930000094115", r'"√(a²)·\"b\" \\ \/ \u00d7"', '"3e45"', '"e-99 "']
)
def test_what_results_hold_is_not_checked_value_by_value(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_json, "_plain", pytest.fail)
    assert parse(f"[{text}]".encode()) == json.loads(f"[{text}]")


def test_an_object_without_a_schema_version_is_refused_as_such() -> None:
    with pytest.raises(UnreadableResult) as refused:
        as_schema(b'{"schema_version": null, "b": 1}', list[int], 1, source="a.json", again="run")
    assert str(refused.value).startswith("a.json: does not follow the schema, and names no version of it: Expected")
