"""One adapter per framework, behind one protocol; nothing else in the package asks which framework it has."""

from harness.frameworks.protocol import Framework, load

__all__ = ["Framework", "load"]
