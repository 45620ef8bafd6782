"""The roofline: where the operators of a program lie below the machine's ceilings."""

import xml.etree.ElementTree as ET

import pytest

from accelbench.errors import Unavailable
from accelbench.explain.profile import OperatorTime, StepShare
from accelbench.report.figures.roofline import roofline_chart
from accelbench.schema.result import Ceiling

CEILINGS = [
    Ceiling(name="cpu memory", per_s=2e11, unit="byte", working_set_bytes=0),
    Ceiling(name="cpu memory", per_s=5e10, unit="byte", working_set_bytes=2**25),
    Ceiling(name="cpu matrix fp32", per_s=2e11, unit="operation", working_set_bytes=0),
    Ceiling(name="cpu matrix bf16, cores apart", per_s=4e11, unit="operation", working_set_bytes=0),
]


def operator(name, share, *, operations=None, moved_bytes=None):
    part = StepShare(share=share, low=share, high=share)
    return OperatorTime(name=name, calls=1, seconds=share, share=part, operations=operations, moved_bytes=moved_bytes)


OPERATORS = [
    operator("mm", 0.5, operations=8e10, moved_bytes=1e9),
    operator("add", 0.25, operations=1e9, moved_bytes=1.2e10),
    operator("bernoulli_", 0.1),
]


def test_the_title_says_for_how_much_of_the_time_each_roof_is_the_limit():
    chart = roofline_chart("train.py:build", "cpu", OPERATORS, CEILINGS)
    assert chart.title == "train.py:build: memory is the roof for 25\u00a0% of the time, arithmetic for 50\u00a0%"


def test_an_operator_of_which_nothing_is_counted_is_not_drawn():
    svg = roofline_chart("train.py:build", "cpu", OPERATORS, CEILINGS).svg
    texts = [element.text for element in ET.fromstring(svg).iter() if element.text]
    assert "mm: 50 %" in texts
    assert "mm, 50 % of the time: 80.0 operations per byte, 160 G per second" in texts
    assert {"fp32", "bf16", "memory", "cache"} <= {*texts}
    assert not any("bernoulli_" in text for text in texts)


@pytest.mark.parametrize(
    ("device", "operators", "why"),
    [
        ("cpu", OPERATORS[2:], "the profile counts no operations and bytes"),
        ("cuda:0", OPERATORS, "the ceilings of cuda:0 are unknown"),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence(device, operators, why):
    with pytest.raises(Unavailable, match=f"no roofline of train.py:build: {why}"):
        roofline_chart("train.py:build", device, operators, CEILINGS)


def test_the_title_counts_operators_that_are_not_drawn_too():
    many = [operator(f"add{place}", 1 / 12, operations=1e9, moved_bytes=1.2e10) for place in range(12)]
    assert "memory is the roof for 100\u00a0% of the time" in roofline_chart("a", "cpu", many, CEILINGS).title
