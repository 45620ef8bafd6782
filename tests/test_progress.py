"""Progress: what is shown of a task, when, and how the time left is estimated."""

from io import StringIO

import pytest

from accelbench.progress import Expected, Progress, SearchProgress, StreamScreen


class Terminal(StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that is set by hand."""

    now_s = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_the_time_left_rests_on_tasks_of_the_same_group_and_else_on_a_guess(clock: Clock) -> None:
    stream = StringIO()
    progress = Progress(StreamScreen(stream), clock=clock)
    parts = {"x::a": 2, "x::b": 3, "y::c": 1}
    progress.expect({task: Expected(group=task[0], guess_s=2.0, parts=count) for task, count in parts.items()})
    for task, took_s in (("x::a", 20.0), ("x::b", 5.0), ("y::c", 1.0)):
        with progress.measuring(task, task[-1]):
            clock.now_s += took_s
    assert stream.getvalue().splitlines() == [
        "[1/3] a · about 12 s left",
        "[2/3] b · about 32 s left",
        "[3/3] c · about 2 s left",
    ]


def test_tasks_that_are_left_out_or_added_change_the_count(clock: Clock) -> None:
    stream = StringIO()
    progress = Progress(StreamScreen(stream), clock=clock)
    progress.expect({task: Expected(group="x", guess_s=1.0) for task in "abc"})
    progress.leave_out("b")
    progress.leave_out("b")
    progress.add("d", Expected(group="x", guess_s=1.0))
    progress.add("e", Expected(group="x", guess_s=1.0))
    for task in "acde":
        with progress.measuring(task, task):
            clock.now_s += 1
    assert [line.split(" ")[0] for line in stream.getvalue().splitlines()] == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]


def show_tasks(progress: Progress, clock: Clock, *texts: str) -> None:
    progress.expect({number: Expected(group="code", guess_s=1.0) for number in range(len(texts))})
    for number, text in enumerate(texts):
        with progress.measuring(number, text):
            clock.now_s += 1


def test_without_a_terminal_lines_of_one_text_come_now_and_then(clock: Clock) -> None:
    stream = StringIO()
    show_tasks(Progress(StreamScreen(stream), between_lines_s=20, clock=clock), clock, *30 * ["identical code"])
    assert stream.getvalue().splitlines() == [
        "[ 1/30] identical code · about 30 s left",
        "[21/30] identical code · about 10 s left",
    ]


def test_another_text_is_shown_at_once(clock: Clock) -> None:
    stream = StringIO()
    show_tasks(Progress(StreamScreen(stream), between_lines_s=20, clock=clock), clock, "identical code", "more work")
    assert [line[6:15] for line in stream.getvalue().splitlines()] == ["identical", "more work"]


def test_on_a_terminal_one_line_is_rewritten_and_removed(clock: Clock) -> None:
    stream = Terminal()
    progress = Progress(StreamScreen(stream), clock=clock)
    progress.expect({1: Expected(group="code", guess_s=1.0)})
    with progress.measuring(1, "walk") as show_phase:
        show_phase("warming up")  # too soon after the line itself
        clock.now_s += 1
        show_phase("timing")
    shown = [line.strip() for line in stream.getvalue().split("\r")]
    assert shown == ["", "[1/1] walk · about 1 s left", "[1/1] walk · about 1 s left · timing", "", ""]
    assert "\n" not in stream.getvalue()


def test_a_search_moves_one_line_on_a_terminal_with_the_time_that_is_left(clock: Clock) -> None:
    terminal = Terminal()
    progress = SearchProgress(StreamScreen(terminal), 60.0, clock=clock)
    progress.report("amp bf16 over your program")
    clock.now_s = 10.0
    progress.show_phase("9 pairs")
    clock.now_s = 70.0
    progress.report("2 configurations in the race")
    lines = [line.strip() for line in terminal.getvalue().split("\r") if line.strip()]
    assert lines == [
        "about 1 min 00 s left · amp bf16 over your program",
        "about 50 s left · amp bf16 over your program · 9 pairs",
        "nearly done · 2 configurations in the race",
    ]


def test_a_search_prints_few_lines_where_they_stay(clock: Clock) -> None:
    stream = StringIO()
    progress = SearchProgress(StreamScreen(stream), 60.0, clock=clock)
    for second in range(10):
        clock.now_s = float(second)
        progress.report(f"trial {second}")
        progress.show_phase("build")
    assert stream.getvalue().splitlines() == [
        "about 1 min 00 s left · trial 0",
        "about 57 s left · trial 3",
        "about 54 s left · trial 6",
        "about 51 s left · trial 9",
    ]
