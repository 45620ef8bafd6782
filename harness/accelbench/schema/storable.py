"""What a result file can hold of the values that a program reports: made plain here, or refused with a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec

from accelbench.errors import AccelbenchError
from accelbench.schema.reasons import Reason, message_or_type, reason
from accelbench.schema.result_json import to_json
from accelbench.schema.safe_json import LARGEST, LONGEST_TEXT, parse, printable
from accelbench.units import count

MOST_NUMBERS = 256  # of one mapping: a result file has room for thousands of arms, not for a series of values in each
_SHOWN_CHARACTERS = 40


class UnstorableValue(AccelbenchError):
    """A program reported a value that no result file can hold. The message names it."""


def plain_number(
    value: object,
    what: str,
    *,
    expected: str = "a finite number",
    accepts: Callable[[float], bool] = math.isfinite,
) -> float:
    """Return a number, or a framework's scalar, as a float; ``what`` names it in the message.

    Raises:
        UnstorableValue: it is not finite, is not a number, or is not what was ``expected``.
    """
    try:
        number = float(_scalar(value))
    except Exception:  # whatever an object of a stranger's class raises
        raise _unstorable(what, value, expected) from None
    if not (math.isfinite(number) and accepts(number)):
        raise _unstorable(what, value if isinstance(value, int) else number, expected)
    return number


def plain_numbers(values: object, what: str) -> dict[str, float]:
    """Return numbers by name as floats.

    Raises:
        UnstorableValue: it is not a mapping, has too many entries, or holds something else than finite numbers.
    """
    if not isinstance(values, Mapping):
        raise _unstorable(what, values, "a mapping from names to numbers")
    if len(values) > MOST_NUMBERS:
        raise UnstorableValue(
            reason(
                "unstorable",
                what=what,
                given=f"a mapping of {count(len(values))} entries",
                expected=f"at most {MOST_NUMBERS}",
            )
        )
    return {
        plain_name(name, f"a name in {what}"): plain_number(value, f"{describe_value(name)} in {what}")
        for name, value in values.items()
    }


def plain_name(value: object, what: str) -> str:
    """Return a text as one line that is safe to print.

    Raises:
        UnstorableValue: it is not a text, or too long.
    """
    if isinstance(value, str) and len(value) <= LONGEST_TEXT:
        return printable(str(value))
    raise _unstorable(what, value, f"a text of at most {count(LONGEST_TEXT)} characters")


def require_storable(value: float | str, what: str) -> None:
    """Check an option of a workload, which is a text, a number or a Boolean.

    Raises:
        UnstorableValue: it is a number that is not finite or has more than 64 bits, or a text that is too long.
    """
    if isinstance(value, str):
        plain_name(value, what)
    elif isinstance(value, float):
        plain_number(value, what)
    elif abs(value) > LARGEST:
        raise _unstorable(what, value, "an integer of at most 64 bits")


def find_misfit(stored: object) -> Reason | None:
    """Return a reason if an object of the schema, once written to a file, could not be read back."""
    try:
        msgspec.convert(parse(msgspec.json.encode(to_json(stored))), type(stored), strict=True)
    except Exception as error:  # as above
        return reason("unstorable-report", message=message_or_type(error))
    return None


def describe_value(value: object) -> str:
    """Return in a few words what a value is."""
    if isinstance(value, str):
        return repr(value if len(value) <= _SHOWN_CHARACTERS else f"{value[:_SHOWN_CHARACTERS]}…")
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int) and value.bit_length() > LARGEST.bit_length():
        return f"an integer of {count(value.bit_length())} bits"
    if isinstance(value, int | float):
        return repr(float(value)) if isinstance(value, float) else repr(int(value))
    return f"of type {printable(type(value).__name__)}"


def _scalar(value: object) -> float:
    """Return the Python number that a value is, or that it holds as its only element.

    Raises:
        TypeError: it is no number; a text is none, whatever it says.
    """
    if not isinstance(value, int | float) and callable(unwrap := getattr(value, "item", None)):
        value = unwrap()
    if isinstance(value, int | float):
        return value
    raise TypeError


def _unstorable(what: str, value: object, expected: str) -> UnstorableValue:
    return UnstorableValue(reason("unstorable", what=what, given=describe_value(value), expected=expected))
