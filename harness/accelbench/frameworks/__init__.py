"""One adapter per framework, behind one protocol; nothing else in the package asks which framework it has."""

from accelbench.frameworks.protocol import Device, Framework, load

__all__ = ["Device", "Framework", "load"]
