"""What a configuration must keep to."""

import pytest

from harness.advice.limits import Limits, read_bytes, read_fraction, read_seconds
from harness.errors import BadInput


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (read_seconds, "60s", 60),
        (read_seconds, "1.5 min", 90),
        (read_seconds, "20", 20),
        (read_bytes, "8GiB", 8 * 2**30),
        (read_bytes, "500MB", 5e8),
        (read_fraction, "1%", 0.01),
        (read_fraction, "0.002", 0.002),
    ],
)
def test_amounts_are_read_as_people_write_them(read, text, value):
    assert read(text, "--option") == pytest.approx(value)


@pytest.mark.parametrize("read", [read_seconds, read_bytes, read_fraction])
@pytest.mark.parametrize("text", ["", "much", "-1s", "0", "8 parsecs", "nan"])
def test_what_is_no_amount_is_refused_with_an_example(read, text):
    with pytest.raises(BadInput, match=r"^--option: .* is not .* such as "):
        read(text, "--option")


def test_memory_that_could_not_be_measured_keeps_no_limit():
    assert Limits(memory_bytes=1).objection(None, None) == "its memory could not be measured"
    assert Limits(error=0.01).objection(None, None) == ""
