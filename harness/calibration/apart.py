"""A process that measures with one framework and can be ended at any moment."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from harness.calibration.measurements import prepare
from harness.errors import HarnessError


class Apart:
    """One process of its own, for one framework."""

    def __init__(self, framework: str) -> None:
        self._framework = framework
        spawning = get_context("spawn")
        self._orders, theirs = spawning.Pipe()
        self._process = spawning.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self.ask(prepare, framework)

    def ask(self, measure: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function measures over there.

        Raises:
            HarnessError: the process is gone.
            Exception: that is what the function raised.
        """
        try:
            self._orders.send((measure, arguments))
            reply = self._orders.recv()
        except (EOFError, OSError):
            raise HarnessError(f"the process that measured {self._framework} was lost; calibrate again") from None
        if isinstance(reply, Exception):
            raise reply
        return reply

    def close(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self._orders.close()


def _serve(orders: Connection) -> None:
    """Measure what is asked for until nobody asks any more."""
    while True:
        try:
            measure, arguments = orders.recv()
        except EOFError:
            return
        try:
            reply = measure(*arguments)
        except Exception as error:
            reply = error
        orders.send(reply)
