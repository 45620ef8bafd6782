"""Requests to stop: how often Ctrl-C and SIGTERM interrupt, and what is no request of the user's."""

import signal
from threading import Thread

import pytest

from accelbench.sigint import is_ctrl_c, leave_ctrl_c_to_the_parent, stop_once


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


def test_a_second_signal_at_once_does_not_break_into_what_the_first_began():
    with stop_once(clock=iter([10.0, 10.2, 10.9]).__next__):
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()
        ctrl_c()
        ctrl_c()


def test_who_presses_again_later_is_heard_again():
    with stop_once(clock=iter([10.0, 11.1]).__next__):
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                ctrl_c()


def test_sigterm_interrupts_like_ctrl_c_and_is_one_request_with_it():
    with stop_once(clock=iter([10.0, 10.2, 10.9, 12.0]).__next__):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        ctrl_c()
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_afterwards_everything_is_as_before(number):
    before = signal.getsignal(number)
    with stop_once():
        assert signal.getsignal(number) is not before
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_ignores_it_goes_on_ignoring_it(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with stop_once():
            signal.raise_signal(number)
    finally:
        signal.signal(number, before)


def test_who_ignores_ctrl_c_in_the_background_is_stopped_by_sigterm():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stop_once(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_sigterm_that_the_program_handles_stays_its_own():
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append("it"))
    try:
        with stop_once():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == ["it"]


def test_where_ctrl_c_is_left_to_the_parent_a_keyboard_interrupt_is_an_error_like_any_other():
    before = signal.getsignal(signal.SIGINT)
    assert is_ctrl_c(KeyboardInterrupt())
    assert not is_ctrl_c(SystemExit())
    try:
        leave_ctrl_c_to_the_parent()
        ctrl_c()
        assert not is_ctrl_c(KeyboardInterrupt())
    finally:
        signal.signal(signal.SIGINT, before)


def test_outside_the_main_thread_which_hears_no_signals_nothing_changes():
    seen = []

    def run():
        before = signal.getsignal(signal.SIGINT)
        with stop_once():
            seen.append(signal.getsignal(signal.SIGINT) is before)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [True]
