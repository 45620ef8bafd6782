"""What can be switched in the same words in every array library: how a formula is put."""

from __future__ import annotations

from harness.experiment import ROUNDING, Arm, Build, technique

# |a|² + |b|² − 2 a·b loses what it subtracts: it was off by up to 6e-5 over sixteen seeds, and a fivefold margin covers
# others. Everything else differs by rounding.
TOLERANCE = {"array": ROUNDING, "matmul": 3e-4}


def vectorise(build: Build, level: str) -> Arm:
    """A Python loop, array expressions, or batched matrix products."""
    return build(form=level)


for _framework in ("numpy", "torch", "cupy"):
    technique(
        _framework,
        levels=("loop", "array", "matmul"),
        tolerance=TOLERANCE,
        unadvised={"*": "it is a way to write a program, not a setting: write array expressions instead of loops"},
    )(vectorise)
