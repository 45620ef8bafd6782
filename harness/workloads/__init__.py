"""What is computed. Importing this package declares every workload, and imports no framework."""

from harness.workloads import arrays, training

__all__ = ["arrays", "training"]
