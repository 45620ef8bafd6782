"""Where a calibration is measured: a process for each framework, fresh workers, and what was found so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from harness.calibration import measurements, simulation, suite
from harness.calibration.apart import Apart
from harness.certificate import Coverage, Duel, Multiple, SlowCall, Timer, Wait
from harness.experiment import Plan


@dataclass(kw_only=True)
class Laboratory:
    """What was measured so far. Its methods measure one thing each and add it."""

    duels: list[Duel] = field(default_factory=list)
    multiples: list[Multiple] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    slow_calls: list[SlowCall] = field(default_factory=list)
    coverage: list[Coverage] = field(default_factory=list)
    timer: Timer | None = None
    remarks: list[str] = field(default_factory=list)
    configuration: dict[str, str] = field(default_factory=dict)
    processes: dict[str, Apart] = field(default_factory=dict)

    def meet(self, work: str, framework: str, dose: float, neighbours: int, budget_s: float) -> None:
        """Let some known work meet ``dose`` more of it, through ``compare``."""
        self.duels.append(self._apart(framework, measurements.duel, work, dose, neighbours, budget_s))

    def meet_in_suite(self, kind: suite.Kind, neighbours: int, plan: Plan) -> None:
        """Let two identical arms meet through the suite, in a fresh worker."""
        found = suite.in_a_fresh_worker(kind, neighbours, plan)
        self.configuration |= found.configuration
        if found.duel is not None:
            self.duels.append(found.duel)
        elif found.reason not in self.remarks:
            self.remarks.append(found.reason)

    def multiply(self, work: str, budget_s: float) -> None:
        """Measure multiples of the same work."""
        self.multiples += self._apart("numpy", measurements.multiples, work, budget_s)

    def wait(self, budget_s: float) -> None:
        """Measure waits of known length."""
        self.waits += self._apart("numpy", measurements.waits, budget_s)

    def slow_down(self, call: int, budget_s: float) -> None:
        """Measure what one slow call does."""
        self.slow_calls.append(self._apart("numpy", measurements.slow_call, call, budget_s))

    def read_timer(self) -> None:
        """Measure the clock."""
        self.timer = self._apart("numpy", measurements.timer)

    def simulate(self, noise: str, series: int) -> None:
        """Count the intervals that hold the truth under one kind of noise."""
        self.coverage.append(self._apart("numpy", simulation.coverage, noise, series))

    def _apart(self, framework: str, measure: Callable[..., Any], *arguments: Any) -> Any:
        if framework not in self.processes:
            self.processes[framework] = Apart(framework)
        return self.processes[framework].ask(measure, *arguments)


@contextmanager
def laboratory() -> Iterator[Laboratory]:
    """Provide a laboratory, and end its processes."""
    opened = Laboratory()
    try:
        yield opened
    finally:
        for process in opened.processes.values():
            process.close()
