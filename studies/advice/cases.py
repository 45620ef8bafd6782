"""The workloads on which the searches compete, with spaces small enough to measure every configuration."""

from __future__ import annotations

from accelbench.advise.session import Request

CASES = (
    Request(workload="cnn-train", only=("amp", "memory_format", "threads", "batch_size"), max_batch=4),
    Request(workload="mlp-train", only=("amp", "optimizer", "batch_size"), held={"threads": "1"}, max_batch=8),
    Request(workload="narrow-mlp-train", only=("amp", "optimizer", "threads", "batch_size"), max_batch=2),
    Request(workload="house-prices-train", only=("amp", "threads", "batch_size"), held={"rows": "64"}, max_batch=32),
    Request(workload="cnn-evaluation", only=("inference", "threads", "batch_size"), max_batch=32),
    Request(workload="ladder-chain"),
)
