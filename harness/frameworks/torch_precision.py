"""How precisely PyTorch computes float32 on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.backends import cuda, cudnn, mkldnn

_PARTS = (cuda.matmul, mkldnn.matmul, cudnn.conv, cudnn.rnn)


@contextmanager
def float32_precision(level: str) -> Iterator[None]:
    """Compute products and convolutions of float32 in float32 (``"highest"``) or TF32 (``"high"``), then as before.

    Set by PyTorch's older names, which it reads itself when it compiles, and by its newer ones, so that no setting of a
    whole library shows through. By the newer names alone, reading the older ones is an error.
    """
    products, convolutions = torch.get_float32_matmul_precision(), cudnn.allow_tf32
    before = [part.fp32_precision for part in _PARTS]
    torch.set_float32_matmul_precision(level)
    cudnn.allow_tf32 = level == "high"
    cudnn.conv.fp32_precision = cudnn.rnn.fp32_precision = "tf32" if level == "high" else "ieee"
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(products)
        cudnn.allow_tf32 = convolutions
        for part, precision in zip(_PARTS, before, strict=True):
            part.fp32_precision = precision
