"""Throughput and time to an accuracy over the batch size: what is drawn, and what is said of what was not reached."""

import pytest
from golden import close, marks
from runs import arm, effect, trial

from accelbench.report.figures.time_to_accuracy import time_to_accuracy_figure
from accelbench.results.time_to_accuracy import times_to_accuracy
from accelbench.schema.reasons import reason


def levels(size, rule):
    return {"batch_size": str(size), "learning_rate_scaling": rule}


@pytest.fixture
def figure(arms_of):
    start = arm(levels(32, "none"), 0.06, observed={"images_per_s": 9e4, "epochs": 4.0, "trainings": 4.0})
    never = arm(levels(512, "none"), reason=reason("target-missed", epochs=40, accuracy=0.92, target=0.95))
    soon = arm(
        levels(512, "linear"),
        0.02,
        effect=effect(3.0, 2.9, 3.1, "faster"),
        observed={"images_per_s": 7.2e5, "epochs": 12.0, "trainings": 4.0},
    )
    (found,) = times_to_accuracy(arms_of(trial(start, never, soon)))
    return time_to_accuracy_figure(found)


def test_rate_and_time_are_drawn_from_the_table(figure):
    reached = figure.data[figure.data["outcome"] == "measured"]
    assert sorted(marks(figure, 0)["y"]) == close(reached["images learnt from in a second"])
    times = reached["time of one training (s)"]
    assert sorted(marks(figure, 1)["y"])[: len(times)] == close(times)


def test_a_cross_above_all_times_marks_what_was_not_reached(figure):
    assert marks(figure, 1)["y"].max() > figure.data["time of one training (s)"].max()
    assert "A cross: the accuracy was not reached." in figure.note
    assert "batch size 512, learning-rate-scaling none: not reached" in figure.alt


def test_the_note_says_of_how_many_trainings_a_time_is(figure):
    assert "of 4 trainings each from its own seed" in figure.note
