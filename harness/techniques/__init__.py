"""What can be switched. Importing this package declares every technique, and imports no framework."""

from harness.techniques import (
    cupy,
    numpy,
    tensorflow,
    tf_data,
    torch,
    torch_arrays,
    torch_execution,
    torch_models,
    torch_relief,
    vectorise,
)

__all__ = [
    "cupy",
    "numpy",
    "tensorflow",
    "tf_data",
    "torch",
    "torch_arrays",
    "torch_execution",
    "torch_models",
    "torch_relief",
    "vectorise",
]
