"""A run in parts, for machines on which no command may take long: what still fits into this one, and what is left."""

from __future__ import annotations

import time

from harness.errors import Unavailable
from harness.units import plural

UNFINISHED_STATUS = 75  # of sysexits.h: come again later; pytest and accelbench give it for nothing else


class Part:
    """The time that a session may take, from its start; None where it may take as long as it needs.

    ``ended`` says that it ended in order, with trials left, and not because somebody stopped it.
    """

    def __init__(self, limit_s: float | None) -> None:
        self._ends = None if limit_s is None else time.monotonic() + limit_s
        self.ended = False
        self._begun = False
        self._left: set[str] = set()

    def begin(self, trial: str, *, expected_s: float) -> None:
        """Note that a trial is going to be measured. The first one always may, so that every part gets further.

        Raises:
            Unavailable: what it is expected to take does not fit any more.
        """
        if self._begun and self._ends is not None and time.monotonic() + expected_s > self._ends:
            self._left.add(trial)
            raise Unavailable("left for the next part of the run, since the time of this one is up")
        self._begun = True

    @property
    def left(self) -> str:
        """What is left for the next part, in words; empty where nothing is."""
        return f"{plural(len(self._left), 'trial')} left; the same command goes on" if self._left else ""
