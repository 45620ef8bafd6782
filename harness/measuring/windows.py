"""The windows of a trial: what disturbed a part of it, and which pairs were measured in peace.

Each window of about a tenth of a second ends with a reading of the machine, between two rounds. A window is disturbed
where a reading lies well above what is normal for the trial, that is in its quietest windows; a machine that is loaded
all the time disturbs all windows alike, and so none of them. Readings decide it, never the samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from harness.measuring.symptoms import REFERENCE_WORK, SYMPTOMS, Symptom, normal, readings
from harness.measuring.telemetry import CLOCK_TICK_S, Snapshot
from harness.units import percent

WINDOW_S = 0.1
READING_MULTIPLE = 50  # a window lasts at least so many times what reading the machine costs
WORTH_SAYING = 0.05  # of the timing


class Windows:
    """Cuts the timing of a trial into windows. The clock and the reading of the machine are handed in.

    ``quietest`` holds what reference work took in the trials before, and learns from this one.
    ``glances`` are the readings so far.
    """

    def __init__(
        self, clock: Callable[[], float], read: Callable[[], Snapshot], quietest: dict[str, float] | None = None
    ) -> None:
        self._clock = clock
        self._read = read
        self._quietest = {} if quietest is None else quietest
        self._due_s = math.inf
        self._before: Snapshot | None = None
        self._readings: list[dict[str, float]] = []
        self._spans_s: list[float] = []
        self._ticks: list[float] = []  # by how much the kernel's counts may be off, in cores
        self.glances: list[Snapshot] = []

    @classmethod
    def blind(cls) -> Windows:
        """Return windows in which nothing is seen: for what is timed without a look at the machine."""
        nothing = Snapshot(cores=1, own_cpu_s=0.0, busy_cpu_s=0.0)
        return cls(lambda: 0.0, lambda: nothing)

    @property
    def current(self) -> int:
        """The number of the window that is open."""
        return len(self._spans_s)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Keep windows open during a stretch of rounds."""
        self._take()
        try:
            yield
        finally:
            self._take()
            self._before, self._due_s = None, math.inf
            self._learn()

    def turn(self) -> None:
        """Between two rounds: close the window and open the next one where it is time."""
        if self._clock() >= self._due_s:
            self._take()

    def disturbed(self) -> np.ndarray:
        """Say of each window whether it was disturbed; nothing is known of the open one, which comes last."""
        flags = np.zeros(self.current + 1, dtype=bool)
        for symptom, values in self._told():
            flags[:-1] |= symptom.shown(values, np.array(self._ticks))
        return flags

    def figures(self) -> dict[str, float]:
        """Return the share of the time that was disturbed, and the worst of each reading."""
        worst = {symptom.worst: symptom.worst_of(values) for symptom, values in self._told()}
        return {"disturbed_share": self._disturbed_share(), **worst} if worst else {}

    def sentences(self) -> list[str]:
        """Say what was slower all the time than in the trials before, and what disturbed a part of the time."""
        said, causes = [], []
        for symptom, values in self._told():
            slower = normal(values) / self._quietest.get(symptom.reading, math.inf)
            if slower > symptom.times:
                said.append(f"{symptom.in_words(slower)} all the time than in a trial before")
            if symptom.shown(values, np.array(self._ticks)).any():
                causes.append(symptom.in_words(symptom.worst_of(values)))
        if (share := self._disturbed_share()) >= WORTH_SAYING:
            why = ", ".join(causes)
            said.append(f"{percent(share)} of the timing was disturbed ({why}); a verdict had to hold without it too")
        return said

    def _take(self) -> None:
        """Read the machine; close the window that was open, and open another one."""
        start_s = self._clock()
        after = self._read()
        self.glances.append(after)
        if self._before is not None:
            span_s = max(after.at_s - self._before.at_s, 1e-9)
            self._readings.append(dict(readings(self._before, after, counters_from_s=WINDOW_S / 2)))
            self._spans_s.append(span_s)
            self._ticks.append(2 * CLOCK_TICK_S * math.sqrt(after.cores) / span_s)  # one at each end of every core's
        self._before = after
        self._due_s = self._clock() + max(WINDOW_S, READING_MULTIPLE * (self._clock() - start_s))

    def _learn(self) -> None:
        for symptom, values in self._told():
            if symptom.reading in REFERENCE_WORK:
                known_s = self._quietest.get(symptom.reading, math.inf)
                self._quietest[symptom.reading] = min(known_s, normal(values))

    def _told(self) -> Iterator[tuple[Symptom, np.ndarray]]:
        """Yield every symptom that this machine can show, with the readings of the windows."""
        for symptom in SYMPTOMS:
            values = np.array([known.get(symptom.reading, np.nan) for known in self._readings])
            if np.isfinite(values).any():
                yield symptom, values

    def _disturbed_share(self) -> float:
        return float(np.average(self.disturbed()[:-1], weights=self._spans_s)) if self._spans_s else 0.0
