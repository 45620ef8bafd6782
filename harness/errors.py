"""The exceptions raised on purpose, each one clear line: what came, what was expected, the way out."""

from __future__ import annotations


class HarnessError(Exception):
    """Anything that accelbench raises on purpose."""


class BadInput(HarnessError):
    """The user gave something that cannot be used; the message names it and the way out."""


class Unavailable(HarnessError):
    """This arm cannot run on this machine; the message says why. Recorded as a skip, never an error."""


class LazyOutput(BadInput):
    """A step returned the promise of a result instead of the result, so that its time is not the work's."""


class UnreadableResult(BadInput):
    """A result file is truncated, of a newer schema or not ours."""
