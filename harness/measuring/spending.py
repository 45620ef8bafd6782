"""Where the time goes, by kind; what is named by nobody is the harness's own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

OWN = "harness"


class Spending:
    """Seconds by kind since it was made. Times are exclusive: what is spent within is not spent around it too.

    The kinds are ``framework import``, ``build``, ``cold calls``, ``warm-up``, ``timed blocks``, ``price passes``,
    ``checks``, ``ceilings``, ``lost workers``, ``waiting`` for another run to end, and ``harness`` for the rest:
    processes, messages, judging, pytest.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._start = self._since = clock()
        self._spent_s: dict[str, float] = {}
        self._within: list[str] = []

    @contextmanager
    def on(self, kind: str) -> Iterator[None]:
        """Count the time within as of this kind."""
        self._charge()
        self._within.append(kind)
        try:
            yield
        finally:
            self._charge()
            self._within.pop()

    def add(self, spent_s: Mapping[str, float]) -> None:
        """Count seconds that somebody else has told apart, and not as of the kind that goes on around them too."""
        for kind, seconds in spent_s.items():
            self._spent_s[kind] = self._spent_s.get(kind, 0.0) + seconds
        if self._within:
            self._spent_s[self._within[-1]] = self._spent_s.get(self._within[-1], 0.0) - sum(spent_s.values())

    def so_far(self) -> dict[str, float]:
        """Return the seconds by kind; together they are all the time that has passed."""
        self._charge()
        rest_s = self._clock() - self._start - sum(self._spent_s.values())
        return self._spent_s | {OWN: self._spent_s.get(OWN, 0.0) + max(0.0, rest_s)}

    def since(self, earlier: Mapping[str, float]) -> dict[str, float]:
        """Return what has been spent since ``so_far`` returned ``earlier``."""
        later = self.so_far()
        spent_s = {kind: seconds - earlier.get(kind, 0.0) for kind, seconds in later.items()}
        return {kind: seconds for kind, seconds in spent_s.items() if seconds > 0}

    def _charge(self) -> None:
        now = self._clock()
        if self._within:
            kind = self._within[-1]
            self._spent_s[kind] = self._spent_s.get(kind, 0.0) + now - self._since
        self._since = now
