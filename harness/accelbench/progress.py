"""One line on a terminal: what is being measured, and about how long the rest will take."""

from __future__ import annotations

import math
import shutil
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

from accelbench.units import minutes

TICK_S = 1.0  # the least that a line on the time left needs
BETWEEN_LINES_S = 3.0  # where lines stay
LONGEST_SILENCE_S = 20.0
BETWEEN_PHASES_S = 0.5  # writing more often would take the processor from what is being measured


class Screen(Protocol):
    """Where progress is shown. Only a terminal can rewrite its last line."""

    @property
    def is_terminal(self) -> bool:
        """Whether lines can be rewritten."""

    def rewrite(self, line: str) -> None:
        """Replace the last line; an empty text removes it."""

    def print_line(self, line: str) -> None:
        """Print a line that stays."""


class StreamScreen:
    """A stream such as standard error."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_terminal = stream.isatty()

    def rewrite(self, line: str) -> None:
        """Replace the last line; an empty text removes it."""
        width = shutil.get_terminal_size().columns - 1
        self._stream.write(f"\r{line[:width]:<{width}}" + ("" if line else "\r"))
        self._stream.flush()

    def print_line(self, line: str) -> None:
        """Print a line that stays."""
        self._stream.write(f"{line}\n")
        self._stream.flush()


@dataclass(frozen=True, kw_only=True)
class Expected:
    """A task that is still to be done.

    ``group`` names the tasks whose parts take about equally long. ``parts`` is the number of parts of this one.
    ``guess_s`` is the time of a part until a task of the group has been measured.
    """

    group: str
    guess_s: float
    parts: int = 1


class Progress:
    """Shows one line per task, with the time left; on a terminal also its phase, and removes the line at its end.

    Args:
        screen: where it is shown.
        between_lines_s: without a terminal, the least time between two lines of the same text.
        clock: returns seconds.
    """

    def __init__(
        self, screen: Screen, *, between_lines_s: float = 0.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.screen = screen
        self._between_lines_s = between_lines_s
        self._clock = clock
        self._left: dict[Hashable, Expected] = {}
        self._total = 0
        self._spent: dict[str, tuple[int, float]] = {}  # parts and seconds so far, by group
        self._text, self._shown_s = "", 0.0

    def expect(self, tasks: Mapping[Any, Expected]) -> None:
        """Set the tasks that are to be done."""
        self._left, self._total = dict(tasks), len(tasks)

    def leave_out(self, task: Hashable) -> None:
        """Expect a task no longer."""
        if self._left.pop(task, None):
            self._total -= 1

    def add(self, task: Hashable, expected: Expected) -> None:
        """Expect another task."""
        self._left[task] = expected
        self._total += 1

    def expected_s(self, task: Hashable) -> float:
        """Return an estimate of how long a task will take: 0 for one that was not expected."""
        if (expected := self._left.get(task)) is None:
            return 0.0
        parts, spent_s = self._spent.get(expected.group, (0, 0.0))
        return expected.parts * (spent_s / parts if parts else expected.guess_s)

    @contextmanager
    def measuring(self, task: Hashable, text: str) -> Iterator[Callable[[str], None]]:
        """Show that a task is being measured; the function that the context gives shows a phase of it."""
        start_s = self._clock()
        number = f"{self._total - len(self._left) + 1:>{len(str(self._total))}}/{self._total}"
        line = f"[{number}] {text} · about {minutes(sum(map(self.expected_s, self._left)))} left"
        self._show_task(line, text)
        try:
            yield lambda phase: self._show_phase(f"{line} · {phase}")
        finally:
            if self.screen.is_terminal:
                self.screen.rewrite("")
        if expected := self._left.pop(task, None):
            parts, spent_s = self._spent.get(expected.group, (0, 0.0))
            self._spent[expected.group] = parts + expected.parts, spent_s + self._clock() - start_s

    def _show_task(self, line: str, text: str) -> None:
        is_repeated = text == self._text and self._clock() - self._shown_s < self._between_lines_s
        if not self.screen.is_terminal and is_repeated:
            return
        self._text, self._shown_s = text, self._clock()
        (self.screen.rewrite if self.screen.is_terminal else self.screen.print_line)(line)

    def _show_phase(self, line: str) -> None:
        if self.screen.is_terminal and self._clock() - self._shown_s >= BETWEEN_PHASES_S:
            self._shown_s = self._clock()
            self.screen.rewrite(line)


class SearchProgress:
    """Shows what a search is trying, and the time that is left of its budget.

    On a terminal one line moves. Elsewhere a line is printed for what is tried next, a few seconds apart at least.

    Args:
        screen: where it is shown.
        budget_s: seconds of the search.
        clock: returns seconds.
    """

    def __init__(self, screen: Screen, budget_s: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.screen = screen
        self._ends_s = clock() + budget_s
        self._clock = clock
        self._text, self._phase = "", ""
        self._shown_s = -math.inf
        self._lock = threading.Lock()  # of the screen, which the ticking thread writes to as well
        self._ended = threading.Event()
        self._ticking = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> SearchProgress:
        self._ticking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._ticking.join()
        if self.screen.is_terminal:
            self.screen.rewrite("")

    def report(self, text: str) -> None:
        """Show what is tried now."""
        with self._lock:
            self._text, self._phase = text, ""
            self._show(BETWEEN_PHASES_S if self.screen.is_terminal else BETWEEN_LINES_S)

    def show_phase(self, phase: str) -> None:
        """Show what is done of it; only a terminal has room for that."""
        with self._lock:
            self._phase = phase
            if self.screen.is_terminal:
                self._show(BETWEEN_PHASES_S)

    def _tick(self) -> None:
        while not self._ended.wait(TICK_S):
            with self._lock:
                self._show(TICK_S if self.screen.is_terminal else LONGEST_SILENCE_S)

    def _show(self, least_s: float) -> None:
        """Show the line unless the last one is too recent."""
        now_s = self._clock()
        if now_s - self._shown_s < least_s:
            return
        self._shown_s = now_s
        left_s = self._ends_s - now_s
        left = f"about {minutes(left_s)} left" if left_s > 0 else "nearly done"
        if self.screen.is_terminal:
            self.screen.rewrite(" · ".join(filter(None, (left, self._text, self._phase))))
        else:
            self.screen.print_line(f"{left} · {self._text}")
