"""The figure of predictions: every effect over what its profile allows."""

import re

from explanations import explained_run, explanation

from accelbench.report.figures.predictions import draw_predictions
from accelbench.schema.run_explanation import list_predictions


def drawn(**fields):
    return draw_predictions(list_predictions(explanation(**fields), explained_run()), "predictions")


def test_the_title_counts_what_surpasses_its_bound():
    assert drawn().title == "1 of 3 bounded effects surely surpasses what the profile of the baseline allows"


def test_every_bounded_effect_is_a_mark_that_says_what_it_is():
    svg = drawn().figure.svg
    assert svg.count('data-part="mark"') == 3
    assert "amp fp16 on mlp-train (torch): 0.107× (0.101–0.112), slower; the profile allows 2.08×" in svg
    assert "Of 1 more, the profile allows anything; the table has them." in drawn().note


def test_an_effect_above_the_diagonal_surpasses_its_bound():
    marks = re.findall(r'translate\(([\d.]+) ([\d.]+)\)"[^>]*><title>([^<]*)', drawn().figure.svg)
    (above,) = [(float(x), float(y)) for x, y, title in marks if "memory-format" in title]
    (below,) = [(float(x), float(y)) for x, y, title in marks if "amp bf16" in title]
    assert above[1] < below[1]
    assert above[0] < below[0]


def test_its_data_are_what_is_drawn():
    data = drawn().data
    assert list(data["speedup (×)"]) == [1.12, 0.107, 4.0]
    assert list(data["verdict"]) == ["faster", "slower", "faster"]


def test_without_a_bound_there_is_nothing_to_draw():
    known = [each for each in explanation().predictions if each.high == 1]
    assert drawn(predictions=known) is None
