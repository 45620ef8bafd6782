"""How often Ctrl-C interrupts."""

import signal
from threading import Thread

import pytest

from harness.interruption import one_ctrl_c


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


def test_a_second_signal_at_once_does_not_break_into_what_the_first_began():
    with one_ctrl_c(clock=iter([10.0, 10.2, 10.9]).__next__):
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()
        ctrl_c()
        ctrl_c()


def test_who_presses_again_later_is_heard_again():
    with one_ctrl_c(clock=iter([10.0, 11.1]).__next__):
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                ctrl_c()


def test_afterwards_everything_is_as_before():
    before = signal.getsignal(signal.SIGINT)
    with one_ctrl_c():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_who_ignores_it_goes_on_ignoring_it():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with one_ctrl_c():
            ctrl_c()
    finally:
        signal.signal(signal.SIGINT, before)


def test_outside_the_main_thread_which_hears_no_signals_nothing_changes():
    seen = []

    def run():
        before = signal.getsignal(signal.SIGINT)
        with one_ctrl_c():
            seen.append(signal.getsignal(signal.SIGINT) is before)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [True]
