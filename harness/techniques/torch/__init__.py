"""What can be switched in PyTorch."""

from harness.techniques.torch import (
    arrays,
    computing,
    determinism,
    execution,
    graphs,
    loading,
    relief,
    training,
    workflow,
)

__all__ = ["arrays", "computing", "determinism", "execution", "graphs", "loading", "relief", "training", "workflow"]
