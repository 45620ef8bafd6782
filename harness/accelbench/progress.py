"""One line on a terminal: what is being measured, and about how long the rest will take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from accelbench.units import minutes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

BETWEEN_LINES_S = 3.0  # where lines stay
LONGEST_SILENCE_S = 20.0
SETTLING_S = 30.0  # this much time counts as spent exactly as guessed, so that a few short tasks change little
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


class ConsoleScreen:
    """A stream such as standard error, by rich."""

    def __init__(self, stream: TextIO) -> None:
        from rich.live import Live  # here, since pytest has a screen of its own

        self._console = _console(stream)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self.is_terminal = self._console.is_terminal

    def rewrite(self, line: str) -> None:
        """Replace the last line; an empty text removes it."""
        self._live.update(_one_line(line))
        if line:
            self._live.start()
            self._live.refresh()
        else:
            self._live.stop()

    def print_line(self, line: str) -> None:
        """Print a line that stays."""
        self._console.print(line, soft_wrap=True)


@dataclass(frozen=True, kw_only=True)
class Expected:
    """A task that is still to be done.

    ``group`` names the tasks whose parts take about equally long. ``parts`` is the number of parts of this one.
    ``guess_s`` is the time of a part until a task of the group has been measured. An optional task is left out once
    the time for such tasks is over.
    """

    group: str
    guess_s: float
    parts: int = 1
    is_optional: bool = False


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
        self._guessed_s = 0.0  # of the tasks that are done
        self._optional_until_s = math.inf
        self._text, self._shown_s = "", 0.0

    def expect(self, tasks: Mapping[Any, Expected]) -> None:
        """Set the tasks that are to be done."""
        self._left, self._total = dict(tasks), len(tasks)

    def end_optional(self, until_s: float) -> None:
        """Expect no optional task to begin after this time of the clock."""
        self._optional_until_s = until_s

    def leave_out(self, task: Hashable) -> None:
        """Expect a task no longer."""
        if self._left.pop(task, None):
            self._total -= 1

    def add(self, task: Hashable, expected: Expected) -> None:
        """Expect another task."""
        self._left[task] = expected
        self._total += 1

    def expected_s(self, task: Hashable) -> float:
        """Return an estimate of how long a task will take: 0 for one that was not expected.

        It is as long as those of its group were. Where none of them is done, the guess counts, times the ratio of what
        all tasks took so far to what was guessed of them; the first tasks, which start processes, count little.
        """
        if (expected := self._left.get(task)) is None:
            return 0.0
        parts, spent_s = self._spent.get(expected.group, (0, 0.0))
        if parts:
            return expected.parts * spent_s / parts
        took_s = sum(seconds for _, seconds in self._spent.values())
        return expected.parts * expected.guess_s * (SETTLING_S + took_s) / (SETTLING_S + self._guessed_s)

    @contextmanager
    def measuring(self, task: Hashable, text: str) -> Iterator[Callable[[str], None]]:
        """Show that a task is being measured; the function that the context gives shows a phase of it."""
        start_s = self._clock()
        number = f"[{self._total - len(self._left) + 1:>{len(str(self._total))}}/{self._total}]"
        this_s = self.expected_s(task)
        others_s = {other: self.expected_s(other) for other in self._left if other != task}
        optional_s = sum(other_s for other, other_s in others_s.items() if self._left[other].is_optional)
        needed_s = sum(others_s.values()) - optional_s

        def line(*phase: str) -> str:
            now_s = self._clock()
            left_s = needed_s + max(this_s - (now_s - start_s), 0.0)
            left_s += min(optional_s, max(self._optional_until_s - now_s - left_s, 0.0))
            return " · ".join([f"{number} about {minutes(left_s)} left", text, *phase])

        self._show_task(line(), text)
        try:
            yield lambda phase: self._show_phase(lambda: line(phase))
        finally:
            if self.screen.is_terminal:
                self.screen.rewrite("")
        if expected := self._left.pop(task, None):
            parts, spent_s = self._spent.get(expected.group, (0, 0.0))
            self._spent[expected.group] = parts + expected.parts, spent_s + self._clock() - start_s
            self._guessed_s += expected.parts * expected.guess_s

    def _show_task(self, line: str, text: str) -> None:
        is_repeated = text == self._text and self._clock() - self._shown_s < self._between_lines_s
        if not self.screen.is_terminal and is_repeated:
            return
        self._text, self._shown_s = text, self._clock()
        (self.screen.rewrite if self.screen.is_terminal else self.screen.print_line)(line)

    def _show_phase(self, line: Callable[[], str]) -> None:
        if self.screen.is_terminal and self._clock() - self._shown_s >= BETWEEN_PHASES_S:
            self._shown_s = self._clock()
            self.screen.rewrite(line())


class SearchProgress:
    """Shows what a search is trying, and the time that is left of its budget.

    On a terminal one line moves. Elsewhere a line is printed for what is tried next, a few seconds apart at least.

    Args:
        stream: where it is shown.
        budget_s: seconds of the search.
        clock: returns seconds.
    """

    def __init__(self, stream: TextIO, budget_s: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.live import Live  # here, since pytest has a screen of its own

        self._budget_s, self._clock = budget_s, clock
        self.restart()
        self._text, self._phase = "", ""
        self._printed_s = -math.inf
        self._console = _console(stream)
        self._live = Live(get_renderable=self._line, console=self._console, refresh_per_second=1, transient=True)

    def __enter__(self) -> SearchProgress:
        if self._console.is_terminal:
            self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def restart(self) -> None:
        """Let the budget begin now, as it does when the machine is free."""
        self._ends_s = self._clock() + self._budget_s

    def report(self, text: str) -> None:
        """Show what is tried now."""
        self._text, self._phase = text, ""
        self._print(BETWEEN_LINES_S)

    def show_phase(self, phase: str) -> None:
        """Show what is done of it, on a terminal; elsewhere say now and then what is tried."""
        self._phase = phase
        self._print(LONGEST_SILENCE_S)

    def _line(self) -> Text:
        return _one_line(" · ".join(filter(None, (self._format_left(), self._text, self._phase))))

    def _print(self, least_s: float) -> None:
        """Print a line that stays unless the last one is too recent; on a terminal, the moving line shows it."""
        now_s, shown = self._clock(), self._text or self._phase
        if not self._console.is_terminal and now_s - self._printed_s >= least_s:
            self._printed_s = now_s
            self._console.print(" · ".join(filter(None, (self._format_left(), shown))), soft_wrap=True)

    def _format_left(self) -> str:
        left_s = self._ends_s - self._clock()
        return f"about {minutes(left_s)} left" if left_s > 0 else "nearly done"


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False)


def _one_line(text: str) -> Text:
    """Return a text that ends in dots where the terminal does."""
    from rich.text import Text

    return Text(text, no_wrap=True, overflow="ellipsis")
