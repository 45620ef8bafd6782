"""What this machine can do at its fastest: probes that find it out, and the file that remembers it.

A framework's probes stand in the module of its name; NumPy's are those of the host and its disk as well.
"""

from harness.ceilings.probe import Probe, probes_of

__all__ = ["Probe", "probes_of"]
