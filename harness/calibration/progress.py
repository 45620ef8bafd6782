"""How far a calibration is, and how long the rest will take."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import TextIO

from harness.units import minutes

BETWEEN_LINES_S = 20.0  # where there is no terminal
BETWEEN_WRITES_S = 0.5  # writing more often would take the processor from what is being measured


class Progress:
    """One line that is written again and again; where there is no terminal, a plain line now and then."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._terminal = stream.isatty()
        self._between_s = BETWEEN_WRITES_S if self._terminal else BETWEEN_LINES_S
        self._start = clock()
        self._written = -self._between_s
        self._part = ""

    def show(self, part: str, done: int, total: int, share: float, guess_s: float) -> None:
        """Say what is being measured, how much of it is done, and what is left when so much of a guess has passed."""
        now = self._clock()
        if part == self._part and now - self._written < self._between_s:
            return
        self._part, self._written = part, now
        left_s = (now - self._start) * (1 - share) / share if share > 0.02 else guess_s * (1 - share)
        self._write(f"{part}: {done} of {total} · about {minutes(left_s)} left")

    def say(self, line: str) -> None:
        """Write a line that stays."""
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def finish(self) -> None:
        """Take the line away again."""
        if self._terminal:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def _write(self, line: str) -> None:
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r{line[:width]:<{width}}")
            self._stream.flush()
        else:
            self.say(line)
