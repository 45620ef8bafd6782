"""A limit on time ends what the main thread waits for, and is told from Ctrl-C."""

import signal
import threading
import time

import pytest

from accelbench.advise.time_limit import TimeLimit


def test_a_wait_ends_when_the_time_is_up():
    with pytest.raises(KeyboardInterrupt), TimeLimit(0.01) as limit:
        threading.Event().wait(60)
    assert limit.is_over


def test_a_command_in_the_background_that_ignores_ctrl_c_keeps_the_limit():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), TimeLimit(0.01):
            threading.Event().wait(1)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_block_that_ends_as_its_time_is_up_is_interrupted_there_and_not_later(monkeypatch):
    begun, send = threading.Event(), signal.pthread_kill

    def send_late(*signal_to_thread):
        begun.set()
        time.sleep(0.05)
        send(*signal_to_thread)

    monkeypatch.setattr(signal, "pthread_kill", send_late)
    with pytest.raises(KeyboardInterrupt), TimeLimit(0.0) as limit:
        begun.wait(60)
    assert limit.is_over


def test_what_ends_in_time_is_left_alone():
    with TimeLimit(60) as limit:
        time.sleep(0)
    assert not limit.is_over
