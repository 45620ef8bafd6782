"""Probes that measure peak rates: one module per framework, NumPy's with those of the host and its disk."""

from accelbench.roofline.probes.probe import PeakProbe, find_probes, memory_ceiling

__all__ = ["PeakProbe", "find_probes", "memory_ceiling"]
