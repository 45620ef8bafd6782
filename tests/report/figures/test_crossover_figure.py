"""Time over size: what is drawn, and what the title says of it."""

import pytest
from golden import close, marks
from runs import by_size

from accelbench.report.figures.crossover import crossover_figure
from accelbench.results import effects
from accelbench.results.sweeps import size_sweeps

SLOWER, FASTER, UNSURE = (0.5, 0.45, 0.55, "slower"), (2.0, 1.9, 2.1, "faster"), (0.98, 0.9, 1.1, "undecided")


@pytest.fixture
def drawn(arms_of):
    return lambda found: crossover_figure(size_sweeps(effects(arms_of(*by_size(found)))))


def test_times_of_both_arms_are_drawn_from_the_table(drawn):
    figure = drawn({100: SLOWER, 10_000: FASTER})
    points = marks(figure)
    assert sorted(points["x"]) == close(figure.data["size: elements"])
    assert sorted(points["y"]) == close(figure.data["time of one iteration (s)"])
    assert figure.data["arm"].tolist() == ["threads 1", "threads 1", "threads 2", "threads 2"]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({100: SLOWER, 10_000: FASTER}, "threads 2 pays above elements 1 k (780 to 1.3 k)"),
        ({100: UNSURE, 10_000: FASTER}, "threads 2 pays above elements 110 (at most 190)"),
        ({100: FASTER, 10_000: FASTER}, "threads 2 is faster at 2 of 2 sizes"),
        ({100: UNSURE, 10_000: UNSURE}, "threads 2 is known to be faster or slower at none of 2 sizes"),
        ({1: FASTER, 10: SLOWER, 100: FASTER}, "threads 2 is faster at 2 and slower at 1 of 3 sizes"),
    ],
)
def test_the_title_says_from_which_size_on_it_pays(drawn, found, said):
    assert drawn(found).title == f"add: {said}"
