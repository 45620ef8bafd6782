"""Ladders: from the naive program, one technique after the other.

What the program of a beginner lacks comes first, what needs another chip or a compiler last.
"""

from __future__ import annotations

from accelbench.core import ladder
from accelbench.techniques import cupy, numpy, shared, tensorflow, torch  # noqa: F401  what ladders are made of

ladder(
    "torch",
    "ladder",
    start={
        "batch_size": "1",
        "log_interval": "every-step",
        "workers": "0",
        "pin_memory": "off",
        "non_blocking": "off",
        "amp": "fp32",
        "memory_format": "contiguous",
        "compile": "eager",
    },
    steps=[
        ("batch_size", "4"),
        ("batch_size", "64"),
        ("log_interval", "never"),
        ("workers", "2"),
        ("pin_memory", "on"),
        ("non_blocking", "on"),
        ("amp", "bf16"),
        ("memory_format", "channels-last"),
        ("compile", "default"),
    ],
)

# What a program lacks that feeds an accelerator from the host's memory, in batches of a usual size.
ladder(
    "torch",
    "accelerator_ladder",
    start={
        "tf32": "highest",
        "log_interval": "every-step",
        "pin_memory": "off",
        "non_blocking": "off",
        "amp": "fp32",
        "memory_format": "contiguous",
        "batch_size": "32",
        "compile": "eager",
    },
    steps=[
        ("tf32", "high"),
        ("log_interval", "never"),
        ("pin_memory", "on"),
        ("non_blocking", "on"),
        ("amp", "bf16"),
        ("memory_format", "channels-last"),
        ("batch_size", "64"),
        ("batch_size", "256"),
        ("compile", "default"),
    ],
)

ladder(
    "tensorflow",
    "ladder",
    start={"batch_size": "1", "loop": "eager", "log_interval": "every-step", "mixed_precision": "float32"},
    steps=[
        ("batch_size", "4"),
        ("batch_size", "64"),
        ("loop", "function"),
        ("log_interval", "never"),
        ("mixed_precision", "mixed_bfloat16"),
        ("loop", "xla"),
    ],
)

ladder(
    "numpy",
    "ladder",
    start={"vectorise": "loop", "in_place": "off", "blocking": "off", "thread_pool": "1"},
    steps=[("vectorise", "array"), ("in_place", "on"), ("blocking", "on"), ("thread_pool", "all")],
)

ladder(
    "cupy",
    "ladder",
    start={"array_library": "numpy"},
    steps=[("array_library", "round-trip"), ("array_library", "resident"), ("array_library", "fused")],
)
