"""What reading the loss costs: what is drawn, and what the title says of it."""

import pytest
from golden import close, marks
from runs import arm, effect, trial

from accelbench.report.figures.log_interval import log_interval_figure
from accelbench.results import effects
from accelbench.results.sweeps import log_intervals


@pytest.fixture
def drawn(arms_of):
    def of(**found):
        arms = [
            arm({"log_interval": level.replace("_", "-")}, 1.0, effect=effect(*each)) for level, each in found.items()
        ]
        (loop,) = log_intervals(effects(arms_of(trial(arm({"log_interval": "never"}, 1.0), *arms))))
        return log_interval_figure(loop, 0.01)

    return of


def test_the_time_of_a_step_is_drawn_from_the_table(drawn):
    figure = drawn(every_10=(0.9, 0.8, 1.0, "slower"), every_step=(0.5, 0.4, 0.625, "slower"))
    points = marks(figure)
    assert sorted(points["x"]) == close(figure.data["steps from one reading to the next"])
    assert sorted(points["y"]) == close(figure.data["time of a step over that without readings (×)"])


@pytest.mark.parametrize(
    ("every_step", "said"),
    [
        ((0.5, 0.4, 0.625, "slower"), "with the loss read in every step, a step takes 2.00× as long (1.60–2.50)"),
        ((1.0, 0.995, 1.005, "same"), "reading the loss in every step costs nothing that counts: "),
        ((0.9, 0.0, None, "undecided"), "it is undecided whether reading the loss in every step costs anything: "),
    ],
)
def test_the_title_says_what_reading_in_every_step_costs(drawn, every_step, said):
    assert drawn(every_step=every_step).title.startswith(f"net: {said}")


def test_the_title_names_the_interval_that_costs_nothing(drawn):
    figure = drawn(every_10=(1.0, 0.995, 1.005, "same"), every_step=(0.5, 0.4, 0.625, "slower"))
    assert figure.title.endswith("; every 10 steps costs nothing that counts")
