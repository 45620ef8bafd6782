"""The figures of a certificate draw what their tables contain, and their titles state what they show."""

import numpy as np
from golden import close
from matplotlib.collections import PathCollection

from accelbench.report.figures.certificate import error_figure, power_figure
from certificates import comparison


def marks(drawn):
    """Return the places of the markers, as two columns."""
    (axes,) = drawn.figure.figure.axes
    lines = [line.get_xydata() for line in axes.get_lines() if line.get_marker() not in ("None", None, "")]
    return np.concatenate(
        [*lines, *(points.get_offsets() for points in axes.collections if isinstance(points, PathCollection))]
    )


COMPARISONS = [
    *[comparison(busy_processes=busy) for busy in (0, 1) for _ in range(4)],
    *[comparison(verdict, 0.99, effect_size=0.01) for verdict in ("slower", "same", "undecided", "slower")],
    *[comparison("slower", found, effect_size=0.03, busy_processes=busy) for busy in (0, 1) for found in (0.97, 0.975)],
]


def test_the_shares_called_slower_are_those_of_the_table():
    drawn = power_figure(COMPARISONS)
    shown = marks(drawn)
    assert sorted(shown[:, 0]) == close(drawn.data["more work"])
    assert sorted(shown[:, 1]) == close(drawn.data["share called slower"])
    assert drawn.data["called slower"].tolist() == [0, 2, 2, 0, 2]


def test_the_title_states_from_how_much_more_work_all_comparisons_detected_it():
    assert power_figure(COMPARISONS).title == "With 3 % more work or above, all 4 comparisons called it slower"
    missed = [comparison("slower", 0.97, effect_size=0.03), comparison("same", 0.97, effect_size=0.03)]
    assert power_figure(missed).title == "3 % more work was called slower in 1 of 2 comparisons"


def test_each_comparison_is_drawn_with_its_error():
    drawn = error_figure(COMPARISONS)
    shown = marks(drawn)
    assert len(drawn.data) == 8
    assert sorted(shown[:, 0]) == close(drawn.data["more work"])
    assert sorted(shown[:, 1]) == close(drawn.data["error"])
