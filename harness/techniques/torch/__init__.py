"""What can be switched in PyTorch."""

from harness.techniques.torch import arrays, computing, execution, loading, relief, workflow

__all__ = ["arrays", "computing", "execution", "loading", "relief", "workflow"]
