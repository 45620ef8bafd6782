"""Progress: what is shown of a task, when, and how the time left is estimated."""

import re
from io import StringIO

import pytest

from accelbench.progress import ConsoleScreen, Expected, Progress, SearchProgress


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
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def shown(terminal: Terminal) -> list[str]:
    """Return what stood in the line that moves, each text once, and check that nothing else was written."""
    *texts, rest = re.split(r"\x1b\[2K", terminal.getvalue())
    lines = [re.sub(r"\x1b\[[\d;?]*[A-Za-z]|\r", "", text).strip("\n") for text in texts]
    assert not re.sub(r"\x1b\[[\d;?]*[A-Za-z]|\r", "", rest).strip()
    return list(dict.fromkeys(filter(None, lines)))


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_the_time_left_rests_on_tasks_of_the_same_group_and_else_on_how_good_guesses_were(clock: Clock) -> None:
    stream = StringIO()
    progress = Progress(ConsoleScreen(stream), clock=clock)
    parts = {"x::a": 2, "x::b": 3, "y::c": 1}
    progress.expect({task: Expected(group=task[0], guess_s=12.0, parts=count) for task, count in parts.items()})
    for task, took_s in (("x::a", 120.0), ("x::b", 60.0), ("y::c", 1.0)):
        with progress.measuring(task, task[-1]):
            clock.now_s += took_s
    assert stream.getvalue().splitlines() == [
        "[1/3] about 1 min 12 s left · a",
        "[2/3] about 3 min 33 s left · b",
        "[3/3] about 28 s left · c",
    ]


def test_tasks_that_are_left_out_or_added_change_the_count(clock: Clock) -> None:
    stream = StringIO()
    progress = Progress(ConsoleScreen(stream), clock=clock)
    progress.expect({task: Expected(group="x", guess_s=1.0) for task in "abc"})
    progress.leave_out("b")
    progress.leave_out("b")
    progress.add("d", Expected(group="x", guess_s=1.0))
    progress.add("e", Expected(group="x", guess_s=1.0))
    for task in "acde":
        with progress.measuring(task, task):
            clock.now_s += 1
    assert [line.split(" ")[0] for line in stream.getvalue().splitlines()] == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]


def test_what_is_left_out_once_its_time_is_over_counts_no_longer_than_that(clock: Clock) -> None:
    stream = StringIO()
    progress = Progress(ConsoleScreen(stream), clock=clock)
    progress.expect({task: Expected(group="x", guess_s=10.0, is_optional=task in "cd") for task in "abcd"})
    progress.end_optional(25.0)
    for task in "abc":
        with progress.measuring(task, task):
            clock.now_s += 10
    assert [line.split(" left")[0] for line in stream.getvalue().splitlines()] == [
        "[1/4] about 25 s",
        "[2/4] about 15 s",
        "[3/4] about 10 s",
    ]


def show_tasks(progress: Progress, clock: Clock, *texts: str) -> None:
    progress.expect({number: Expected(group="code", guess_s=1.0) for number in range(len(texts))})
    for number, text in enumerate(texts):
        with progress.measuring(number, text):
            clock.now_s += 1


def test_without_a_terminal_lines_of_one_text_come_now_and_then(clock: Clock) -> None:
    stream = StringIO()
    show_tasks(Progress(ConsoleScreen(stream), between_lines_s=20, clock=clock), clock, *30 * ["identical code"])
    assert stream.getvalue().splitlines() == [
        "[ 1/30] about 30 s left · identical code",
        "[21/30] about 10 s left · identical code",
    ]


def test_another_text_is_shown_at_once(clock: Clock) -> None:
    stream = StringIO()
    show_tasks(Progress(ConsoleScreen(stream), between_lines_s=20, clock=clock), clock, "identical code", "more work")
    assert [line.split(" · ")[1] for line in stream.getvalue().splitlines()] == ["identical code", "more work"]


def test_on_a_terminal_one_line_is_rewritten_and_removed(clock: Clock, terminal: Terminal) -> None:
    progress = Progress(ConsoleScreen(terminal), clock=clock)
    progress.expect({1: Expected(group="code", guess_s=3.0)})
    with progress.measuring(1, "walk") as show_phase:
        show_phase("warming up")  # too soon after the line itself
        clock.now_s += 1
        show_phase("timing")
        clock.now_s += 1
        show_phase("checking")
    assert shown(terminal) == [
        "[1/1] about 3 s left · walk",
        "[1/1] about 2 s left · walk · timing",
        "[1/1] about 1 s left · walk · checking",
    ]


def test_a_line_that_is_wider_than_the_terminal_ends_in_dots(
    clock: Clock, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    show_tasks(Progress(ConsoleScreen(terminal), clock=clock), clock, "a workload with a long name")
    assert shown(terminal) == ["[1/1] about 1 s left · a work…"]


def test_a_search_moves_one_line_on_a_terminal_with_the_time_that_is_left(clock: Clock, terminal: Terminal) -> None:
    progress = SearchProgress(terminal, 60.0, clock=clock)
    progress.report("amp bf16 over your program")
    clock.now_s = 10.0
    progress.show_phase("9 pairs")
    with progress:
        clock.now_s = 70.0
        progress.report("2 configurations in the race")
    assert shown(terminal) == [
        "about 50 s left · amp bf16 over your program · 9 pairs",
        "nearly done · 2 configurations in the race",
    ]


def test_the_time_left_begins_when_the_machine_is_free(clock: Clock) -> None:
    stream = StringIO()
    progress = SearchProgress(stream, 60.0, clock=clock)
    clock.now_s = 100.0
    progress.restart()
    progress.report("building your program")
    assert stream.getvalue() == "about 1 min 00 s left · building your program\n"


def test_a_search_prints_few_lines_where_they_stay(clock: Clock) -> None:
    stream = StringIO()
    progress = SearchProgress(stream, 60.0, clock=clock)
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


def test_a_search_that_has_not_said_what_it_tries_shows_its_phase(clock: Clock) -> None:
    stream = StringIO()
    SearchProgress(stream, 60.0, clock=clock).show_phase("build")
    assert stream.getvalue() == "about 1 min 00 s left · build\n"
