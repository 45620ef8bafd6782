"""The catalogue's workloads with options that make their problems small, and what sets some of them apart."""

from typing import Any

ON_ARRAYS: dict[str, dict[str, Any]] = {
    "vector-add": {"elements": 1000},
    "elementwise-chain": {"elements": 1000},
    "polynomial": {"elements": 1000},
    "matrix-product": {"elements": 1000},
    "svd": {"elements": 1000},
    "fft": {"elements": 1000},
    "sort": {"elements": 1000},
    "reduction": {"elements": 1_000_000},  # enough that rounding swallows a single one
    "heat": {"elements": 1000},
    "shallow-water": {"elements": 1000},
    "n-body": {"elements": 64},
    "lennard-jones": {"elements": 256},
    "monte-carlo": {"elements": 1000},
    "gaussian-blur": {},
    "image-resize": {},
    "colour-conversion": {},
    "histogram": {},
    "distance-matrix": {},
    "row-normalisation": {},
}
IN_TORCH: dict[str, dict[str, Any]] = {
    "bert-train": {"device": "cpu"},
    "bottleneck-training": {"device": "cpu", "model": "cnn", "data_location": "host"},
    "chain-torch": {"device": "cpu"},
    "checkpoint-load": {"device": "cpu"},
    "checkpoint-save": {"device": "cpu"},
    "cnn-evaluation": {"device": "cpu"},
    "cnn-train": {"device": "cpu"},
    "device-to-host-copy": {"device": "cpu", "mebibytes": 1},
    "digits-training": {"device": "cpu"},
    "host-and-device-products": {"device": "cpu", "side": 32},
    "host-to-device-copy": {"device": "cpu", "mebibytes": 1},
    "house-prices-train": {"device": "cpu", "rows": 128},
    "image-loading": {"workers": 0},
    "image-training": {"device": "cpu", "workers": 0, "model": "cnn"},
    "inception-inference": {"device": "cpu"},
    "inception-train": {"device": "cpu"},
    "independent-products": {"side": 32},
    "loader-train": {"device": "cpu", "workers": 0},
    "logged-training": {"device": "cpu", "log_interval": 0},
    "matmul-torch": {"device": "cpu", "side": 64, "data_location": "round-trip"},
    "mlp-evaluation": {"device": "cpu"},
    "mlp-train": {"device": "cpu"},
    "narrow-mlp-train": {"device": "cpu"},
    "operation-chain": {"device": "cpu", "elements": 1000},
    "resnet18-evaluation": {"device": "cpu"},
    "resnet18-train": {"device": "cpu"},
    "ladder-training": {"device": "cpu", "model": "bert"},
    "ladder-training-resnet50": {"device": "cpu"},
}
IN_TENSORFLOW: dict[str, dict[str, Any]] = {
    "cnn-epoch-keras": {"steps": 3, "batch_size": 2},
    "cnn-train-keras": {},
    "dense-epoch-keras": {},
    "dense-train-keras": {"data_location": "round-trip"},
    "digits-training-keras": {},
    "inception-inference-keras": {},
    "inception-train-keras": {},
    "logged-training-keras": {"log_interval": 0},
    "matmul-tensorflow": {"side": 64},
    "mish-train-keras": {"batch_size": 64},
    "ladder-training-keras": {},
    "tf-image-loading": {},
    "tf-image-training": {},
}
# As smaller models are.
BUILT_ALIKE = {
    "bert-large-train",
    "long-bert-train",
    "regnet-train",
    "resnet50-evaluation",
    "resnet50-train",
    "resnet50-train-keras",
}
ELSEWHERE = {"chunked-products", "independent-chains-cupy", "ladder-chain"}  # in tests of their own
# From files, by seeds that lie within a step, or to an answer to which one item need not matter.
SHOWING_NO_INPUTS = {
    "checkpoint-load",
    "digits-training",
    "digits-training-keras",
    "image-loading",
    "image-training",
    "monte-carlo",
    "tf-image-loading",
    "tf-image-training",
}
UNCERTAIN = {"image-loading", "tf-image-loading"}  # what it takes to decode an image depends on the image
