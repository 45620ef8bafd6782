"""What of a program's values fits into a result file, and the sentence for what does not."""

from decimal import Decimal
from enum import IntEnum
from typing import Any

import numpy as np
import pytest
from runs import arm

from accelbench.schema.reasons import Reason
from accelbench.schema.storable import (
    MOST_NUMBERS,
    UnstorableValue,
    describe_value,
    find_misfit,
    plain_name,
    plain_number,
    plain_numbers,
    require_storable,
)


class Level(IntEnum):
    """A number with a name."""

    THREE = 3


class Hostile:
    """An object that raises whenever somebody looks at it."""

    def item(self) -> float:
        """Raise."""
        raise RuntimeError("go away")

    def __repr__(self) -> str:
        raise RuntimeError("go away")

    __str__ = __float__ = __repr__


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3.0),
        (True, 1.0),
        (Level.THREE, 3.0),
        (np.float64(0.5), 0.5),
        (np.int32(3), 3.0),
        (np.bool_(True), 1.0),
        (np.array([[2.0]]), 2.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_number_or_the_only_element_of_an_array_becomes_a_float(value: object, number: float) -> None:
    plain = plain_number(value, "loss")
    assert (plain, type(plain)) == (number, float)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), "nan"),
        (np.float32("inf"), "inf"),
        (10**400, "an integer of 1,329 bits"),
        ("3", "'3'"),
        (b"3", "of type bytes"),
        (None, "None"),
        (np.array([1.0, 2.0]), "of type ndarray"),
        ([1.0], "of type list"),
        (1j, "of type complex"),
        (Decimal("sNaN"), "of type Decimal"),
        (Hostile(), "of type Hostile"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_is_named_in_the_refusal(value: object, shown: str) -> None:
    with pytest.raises(UnstorableValue) as refused:
        plain_number(value, "loss")
    assert str(refused.value) == f"loss is {shown}; expected a finite number"


@pytest.mark.parametrize("values", [None, 3, [("loss", 1.0)], {1: 2.0}, {"loss": {"deep": 1.0}}, {b"loss": 1.0}])
def test_only_a_mapping_from_texts_to_numbers_is_taken(values: object) -> None:
    with pytest.raises(UnstorableValue, match="expected"):
        plain_numbers(values, "what observe returned")


def test_a_series_of_values_under_ever_new_names_is_refused() -> None:
    with pytest.raises(UnstorableValue, match=f"a mapping of 1,000 entries; expected at most {MOST_NUMBERS}"):
        plain_numbers({f"step {step}": 1.0 for step in range(1000)}, "what observe returned")


def test_a_name_becomes_one_line_that_is_safe_to_print() -> None:
    assert plain_name("a\nb\ud800", "name") == r"a\nb\ud800"


@pytest.mark.parametrize("value", [0, True, -(2**63) + 1, 0.5, "rows", "\ud800"])
def test_an_option_that_fits_is_accepted(value: Any) -> None:
    require_storable(value, "option rows")


@pytest.mark.parametrize("value", [2**63, -(10**1000), float("nan"), float("inf"), "x" * 5000])
def test_an_option_that_does_not_fit_is_refused(value: Any) -> None:
    with pytest.raises(UnstorableValue, match="option rows is "):
        require_storable(value, "option rows")


def test_a_record_of_plain_values_fits() -> None:
    assert find_misfit(arm({"pace": "quick"}, 1.0, observed={"loss": 0.5})) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"observed": {"loss": [1.0]}},
        {"observed": {"loss": 10**30}},
        {"observed": {"loss": Hostile()}},
        {"items": -1.0},
        {"levels": {"pace": 3}},
        {"flags": [Reason(code="message", values={"message": {"deep": 1}})]},  # type: ignore[dict-item]
    ],
    ids=["nested", "huge", "hostile", "negative", "level", "reason"],
)
def test_a_record_that_no_file_could_hold_is_found_whatever_it_holds(fields: dict[str, Any]) -> None:
    misfit = find_misfit(arm(**{"levels": {"pace": "quick"}, "median_s": 1.0, **fields}))
    assert misfit is not None
    assert str(misfit).startswith("what the arm reported does not fit into a result file: ")


def test_a_long_text_is_cut_where_it_is_shown() -> None:
    assert describe_value("x" * 1000) == repr("x" * 40 + "…")
