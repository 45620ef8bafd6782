"""The figures of a certificate: what is drawn is what stands in their tables, and their titles say what they show."""

from calibrated import duel, whole
from golden import close, lines, marks

from harness.certificate import Coverage
from harness.report.certificate.figures import coverage_figure, dose_figure, error_figure

DUELS = [
    *[duel(neighbours=busy) for busy in (0, 1) for _ in range(4)],
    *[duel(verdict, 0.99, dose=0.01) for verdict in ("slower", "same", "undecided", "slower")],
    *[duel("slower", found, dose=0.03, neighbours=busy) for busy in (0, 1) for found in (0.97, 0.975)],
]


def test_the_shares_called_slower_are_those_of_the_table():
    drawn = dose_figure(DUELS)
    shown = marks(drawn)
    assert sorted(shown["x"]) == close(drawn.data["more work"])
    assert sorted(shown["y"]) == close(drawn.data["share called slower"])
    assert drawn.data["called slower"].tolist() == [0, 2, 2, 0, 2]


def test_the_title_tells_from_how_much_more_work_on_it_was_seen():
    assert dose_figure(DUELS).title == "From 3 % more work on, every one of 4 comparisons called it slower"
    missed = [duel("slower", 0.97, dose=0.03), duel("same", 0.97, dose=0.03)]
    assert dose_figure(missed).title == "3 % more work was called slower in 1 of 2 comparisons"


def test_each_comparison_is_drawn_with_its_error():
    drawn = error_figure(DUELS)
    shown = marks(drawn)
    assert len(drawn.data) == 8
    assert sorted(shown["x"]) == close(drawn.data["more work"])
    assert sorted(shown["y"]) == close(drawn.data["found less known"])


def test_coverage_is_drawn_with_its_bounds():
    found = [*whole().coverage, Coverage(noise="drifting", nominal=0.95, series=100, covered=97, pairs=64)]
    drawn = coverage_figure(found)
    assert drawn.title == "Intervals that claim 95 % held the truth in 97.0 % of series or more"
    assert sorted(marks(drawn)["x"]) == close([0.991, 0.97])
    bounds = [line[:, 0] for line in lines(drawn) if line[0, 1] == line[1, 1]]
    assert sorted(low for low, _ in bounds) == close(drawn.data["from"])
    assert sorted(high for _, high in bounds) == close(drawn.data["to"])
