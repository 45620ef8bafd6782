"""A limit on time ends what the main thread waits for, and is told from Ctrl-C."""

import threading
import time

import pytest

from accelbench.advise.time_limit import TimeLimit


def test_a_wait_ends_when_the_time_is_up():
    with pytest.raises(KeyboardInterrupt), TimeLimit(0.01) as limit:
        threading.Event().wait(60)
    assert limit.is_over


def test_what_ends_in_time_is_left_alone():
    with TimeLimit(60) as limit:
        time.sleep(0)
    assert not limit.is_over
