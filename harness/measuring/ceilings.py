"""The ceilings of this machine: on file, or measured by a worker where they are not."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from harness import environment
from harness.ceilings import kept
from harness.ceilings.envelope import envelope, highest
from harness.frameworks.protocol import FRAMEWORKS
from harness.identity import machine_key
from harness.measuring.handle import Heard
from harness.record import Ceiling

HOST = "numpy"  # whose probes are those of the host and its disk

Measure = Callable[[str, Heard], list[Ceiling]]
Describe = Callable[[str], dict[str, str]]


class Ceilings:
    """What each framework has seen this machine do at its fastest; the highest of all counts.

    ``measure`` has a fresh worker measure a framework's probes; ``describe`` says how that framework is set up.
    """

    def __init__(self, measure: Measure, describe: Describe) -> None:
        self._measure = measure
        self._describe = describe
        self._known: dict[str, list[Ceiling]] = {}  # what this session has read or measured, by framework
        self._fresh: set[str] = set()

    def holding_for(self, framework: str, heard: Heard) -> list[Ceiling]:
        """Return the ceilings that a framework's arms are held against, measured where none are on file."""
        for name in dict.fromkeys((HOST, framework)):
            if name not in self._known and not self._recalled(name):
                self._refresh(name, heard)
        return self.on_file()

    def looked_at_again(self, framework: str, heard: Heard) -> list[Ceiling]:
        """Return them after another look, once a session, and a first one by every framework that had none.

        A neighbour may have slowed the first look, and an arm may compute with another framework than its worker's.
        """
        self.holding_for(framework, heard)
        for name in FRAMEWORKS:
            stale = name in (HOST, framework) and name not in self._fresh
            if stale or (name not in self._known and kept.read(self._machine, name) is None):
                self._refresh(name, heard)
        return self.on_file()

    def on_file(self) -> list[Ceiling]:
        """Return the highest that any framework has seen on this machine, at whatever time."""
        others = (kept.read(self._machine, name) for name in FRAMEWORKS if name not in self._known)
        return highest(*self._known.values(), *(each.ceilings for each in others if each is not None))

    def _recalled(self, framework: str) -> bool:
        """Take what is on file, unless the configuration has changed since."""
        found = kept.read(self._machine, framework)
        if found is None or found.configuration != self._configuration(framework):
            return False
        self._known[framework] = found.ceilings
        return True

    def _refresh(self, framework: str, heard: Heard) -> None:
        seen = envelope(self._measure(framework, heard))
        self._known[framework] = highest(self._known.get(framework, []), seen)
        self._fresh.add(framework)
        if seen:
            kept.write(self._machine, framework, self._configuration(framework), self._known[framework])

    def _configuration(self, framework: str) -> dict[str, str]:
        return environment.configuration() | self._describe(framework)

    @cached_property
    def _machine(self) -> str:
        return machine_key(environment.identify())
