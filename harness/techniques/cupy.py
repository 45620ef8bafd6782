"""What can be switched between NumPy and CuPy."""

from __future__ import annotations

from harness.experiment import ROUNDING, Arm, Build, technique


@technique("cupy", levels=("numpy", "resident", "round-trip", "fused"), tolerance={"*": ROUNDING})
def array_library(build: Build, level: str) -> Arm:
    """NumPy on the host, or CuPy: data resident on the device, copied there and back in every step, or fused."""
    return build(array_library=level)
