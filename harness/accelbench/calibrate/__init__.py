"""Comparisons whose result is known, and the certificate of what accelbench measured in them on this machine."""

from accelbench.calibrate.session import calibrate

__all__ = ["calibrate"]
