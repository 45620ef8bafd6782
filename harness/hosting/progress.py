"""What is being measured now, and how long the rest will take."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from harness.experiment import Levels
from harness.units import minutes

BETWEEN_WRITES_S = 0.5  # writing more often would take the processor from what is being measured


class Progress:
    """One line per trial; on a terminal it also shows the current phase, and goes away when the trial is done."""

    def __init__(self, config: pytest.Config, *, clock: Callable[[], float] = time.monotonic) -> None:
        plugins = config.pluginmanager
        self._reporter: Any = plugins.get_plugin("terminalreporter")
        self._capture: Any = plugins.get_plugin("capturemanager")
        self._quiet = self._reporter is None or config.get_verbosity() < 0
        self._clock = clock
        self._left: dict[str, int] = {}  # arms by trial
        self._total = 0
        self._usual_s = 0.0  # of an arm, where nothing of its kind has been measured yet
        self._seen: dict[str, tuple[int, float]] = {}  # arms and seconds so far, by the file of the test
        self._written = 0.0

    def expect(self, arms: Mapping[str, int], *, arm_s: float) -> None:
        """Take the number of arms of every trial that is to be measured, by its id, and a guess of an arm's time."""
        self._left = dict(arms)
        self._usual_s = arm_s
        self._total = len(arms)

    @contextmanager
    def measuring(self, trial: str, question: str, arms: Sequence[Levels]) -> Iterator[Callable[[str], None]]:
        """Show that a trial is being measured; the value takes the phases of which it hears."""
        start = self._clock()
        line = self._line(question, arms)
        self._begin(line)
        try:
            yield lambda phase: self._phase(f"{line} · {phase}")
        finally:
            self._end()
        self._left.pop(trial, None)
        done, spent_s = self._seen.get(_file(trial), (0, 0.0))
        self._seen[_file(trial)] = (done + len(arms), spent_s + self._clock() - start)

    def expected_s(self, trial: str) -> float:
        """Estimate how long a trial is going to take."""
        return self._left.get(trial, 0) * self._arm_s(_file(trial))

    def _line(self, question: str, arms: Sequence[Levels]) -> str:
        number = self._total - len(self._left) + 1
        techniques = " × ".join(arms[0])
        levels = " ".join("/".join(arm.values()) for arm in arms)
        parts = [f"[{number:>{len(str(self._total))}}/{self._total}] {question}", f"{techniques} {levels}"]
        return " · ".join([*parts, f"about {minutes(self._left_s())} left"])

    def _left_s(self) -> float:
        """Estimate the time left: trials of one file take alike, those of another file need not."""
        return sum(self.expected_s(trial) for trial in self._left)

    def _arm_s(self, file: str) -> float:
        done, spent_s = self._seen.get(file, (0, 0.0))
        return spent_s / done if done else self._usual_s

    def _begin(self, line: str) -> None:
        if self._quiet:
            return
        with self._uncaptured():
            self._reporter.ensure_newline()
            if self._reporter.isatty:
                self._rewrite(line)
            else:
                self._reporter.write_line(line)

    def _phase(self, line: str) -> None:
        if self._quiet or not self._reporter.isatty or self._clock() - self._written < BETWEEN_WRITES_S:
            return
        with self._uncaptured():
            self._rewrite(line)

    def _end(self) -> None:
        if self._quiet or not self._reporter.isatty:
            return
        with self._uncaptured():
            self._rewrite("")
            self._reporter.write("\r", flush=True)

    def _rewrite(self, line: str) -> None:
        self._written = self._clock()
        self._reporter.rewrite(line[: shutil.get_terminal_size().columns - 1], erase=True)
        self._reporter.flush()

    def _uncaptured(self) -> Any:
        return self._capture.global_and_fixture_disabled() if self._capture else nullcontext()


def _file(trial: str) -> str:
    return trial.partition("::")[0]
