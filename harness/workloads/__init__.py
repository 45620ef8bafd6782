"""What is computed. Importing this package declares every workload, and imports no framework."""

from harness.workloads import arrays, copies, image_pipeline, operations, training

__all__ = ["arrays", "copies", "image_pipeline", "operations", "training"]
