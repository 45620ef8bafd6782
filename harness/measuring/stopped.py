"""An arm that raises while it runs: which one it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class StoppedError(Exception):
    """An arm raised while it ran; ``arm`` is its place in the trial and ``error`` what it raised."""

    def __init__(self, arm: int, error: Exception) -> None:
        super().__init__(f"arm {arm} stopped: {error}")
        self.arm = arm
        self.error = error

    @classmethod
    @contextmanager
    def naming(cls, arm: int) -> Iterator[None]:
        """Say which arm it was that raised."""
        try:
            yield
        except Exception as error:
            raise cls(arm, error) from error
