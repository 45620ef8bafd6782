"""How far a calibration is, with and without a terminal."""

from io import StringIO

import pytest

from harness.calibration.progress import Progress
from harness.frameworks.fake import FakeClock


class Terminal(StringIO):
    """A stream that says it is one."""

    def isatty(self):
        return True


@pytest.fixture
def clock():
    return FakeClock()


def test_without_a_terminal_there_is_a_plain_line_now_and_then(clock):
    stream = StringIO()
    progress = Progress(stream, clock=clock)
    for done in range(30):
        progress.show("identical code", done, 30, done / 30, 30.0)
        clock.advance(1)
    progress.finish()
    assert stream.getvalue().splitlines() == [
        "identical code: 0 of 30 · about 30 s left",
        "identical code: 20 of 30 · about 10 s left",
    ]


def test_a_new_part_is_told_at_once(clock):
    stream = StringIO()
    progress = Progress(stream, clock=clock)
    progress.show("identical code", 29, 30, 0.5, 30.0)
    progress.show("more work", 0, 10, 0.5, 30.0)
    assert stream.getvalue().splitlines()[-1].startswith("more work: 0 of 10")


def test_on_a_terminal_one_line_is_written_again_and_taken_away(clock):
    stream = Terminal()
    progress = Progress(stream, clock=clock)
    progress.show("identical code", 1, 30, 0.1, 30.0)
    progress.finish()
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().split("\r")[-2].strip() == ""
