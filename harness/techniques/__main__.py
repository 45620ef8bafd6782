"""Print the catalogue of techniques, from which docs/techniques.md is made: ``python -m harness.techniques``."""

from harness.techniques.catalogue import catalogue

print(catalogue(), end="")  # noqa: T201  what was asked for
