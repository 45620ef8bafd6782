"""What counts as a false alarm and as a change found."""

import numpy as np
import pytest

from studies.history.rules import Alarm
from studies.history.scoring import Rate, detection_rate, false_alarm_rate, flag_rate
from studies.history.simulated_series import Series


def changed_at(run: int | None) -> Series:
    return Series(values=np.zeros(100), rounds=np.zeros((100, 1)), changed=run)


def test_false_alarms_are_counted_per_run_and_once_for_a_run() -> None:
    rate = false_alarm_rate([changed_at(None)] * 2, [[Alarm(3), Alarm(3, slower=False), Alarm(9)], []])
    assert rate == Rate(2, 200)
    assert rate.per_hundred() == "1.0 (0.12–3.6)"


@pytest.mark.parametrize(
    ("alarms", "hits"),
    [
        ([Alarm(50)], 1),
        ([Alarm(48)], 1),
        ([Alarm(54)], 1),
        ([Alarm(47)], 0),
        ([Alarm(55)], 0),
        ([Alarm(50, slower=False)], 0),
        ([Alarm(49), Alarm(51)], 1),
        ([], 0),
    ],
)
def test_a_change_is_found_where_it_is_reported_the_right_way_and_about_when_it_was(
    alarms: list[Alarm], hits: int
) -> None:
    assert detection_rate([changed_at(50)], [alarms]) == Rate(hits, 1)


def test_series_in_which_nothing_changed_cannot_be_found() -> None:
    assert detection_rate([changed_at(None), changed_at(20)], [[Alarm(20)], [Alarm(20)]]) == Rate(1, 1)
    assert flag_rate([[Alarm(20)], []]) == Rate(1, 2)


def test_no_hit_at_all_still_leaves_a_rate_possible() -> None:
    assert Rate(0, 300).interval() == (0.0, pytest.approx(1 - 0.025 ** (1 / 300)))
    assert (Rate(95, 100) + Rate(95, 100)).per_hundred() == "95 (91–98)"
