"""Outputs that honest arms return in float16 and bfloat16, beside the same in float64."""

from collections.abc import Callable

import numpy as np

Round = Callable[[np.ndarray], np.ndarray]
Outputs = tuple[np.ndarray, np.ndarray]


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """Round to the nearest bfloat16, ties to even, in float64."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    bits = bits + 0x7FFF + ((bits >> np.uint32(16)) & np.uint32(1))
    return (bits & np.uint32(0xFFFF0000)).view(np.float32).astype(float)


def to_float16(values: np.ndarray) -> np.ndarray:
    """Round to the nearest float16, in float64."""
    return np.asarray(values, np.float16).astype(float)


def to_float32(values: np.ndarray) -> np.ndarray:
    """Round to the nearest float32, in float64."""
    return np.asarray(values, np.float32).astype(float)


def product(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    left, right = rng.normal(size=(64, 128)), rng.normal(size=(128, 48))
    return rounded(rounded(left) @ rounded(right))


def product_of_uneven_columns(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    scales = 10.0 ** rng.uniform(-3, 3, 48)
    left, right = rng.normal(size=(64, 128)), rng.normal(size=(128, 48)) * scales
    return rounded(rounded(left) @ rounded(right))


def product_of_uneven_rows(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    left, right = rng.normal(size=(64, 128)) * rng.lognormal(0, 2, (64, 1)), rng.normal(size=(128, 8))
    return rounded(rounded(left) @ rounded(right))


def layer_norm(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    values = rounded(rng.normal(size=(100, 64)) + rng.normal(size=(100, 1)))
    centred = rounded(values - rounded(values.mean(1, keepdims=True)))
    return rounded(centred / rounded(centred.std(1, keepdims=True)))


def softmax(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    logits = rounded(rng.normal(size=(200, 50)) * 4)
    powers = rounded(np.exp(rounded(logits - logits.max(1, keepdims=True))))
    return rounded(powers / powers.sum(1, keepdims=True))


def convolution(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    images, kernels = rounded(rng.random((4, 3, 18, 18))), rounded(rng.normal(size=(8, 3, 3, 3)))
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(2, 3))
    return rounded(np.einsum("nchwij,ocij->nohw", windows, kernels))


def convolution_and_relu(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    return np.maximum(convolution(rng, rounded) - 1.5, 0.0)


def attention(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    query, key, value = (rounded(rng.normal(size=(2, 4, 32, 16))) for _ in range(3))
    logits = rounded(query @ key.swapaxes(-1, -2) / 4)
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    weights = rounded(powers / powers.sum(-1, keepdims=True))
    return rounded(weights @ value)


def deep(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    values = rounded(rng.normal(size=(32, 64)))
    for _ in range(8):
        values = rounded(np.tanh(rounded(values @ rounded(rng.normal(size=(64, 64)) / 8))) + values)
    return rounded(values @ rounded(rng.normal(size=(64, 10))))


def residuals(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    """Return a stream in which some features are a thousand times as large as others."""
    values = rounded(rng.normal(size=(64, 96)))
    values[:, :2] *= 1000
    return rounded(values + rounded(rounded(np.tanh(values / 10)) @ rounded(rng.normal(size=(96, 96)))))


def running_sums(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    return rounded(np.cumsum(rounded(rng.normal(size=5000))))


def differences(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    """Return what is left of numbers that nearly cancel in some rows."""
    first = rounded(rng.normal(size=(60, 40)))
    return rounded(first - rounded(first * rng.choice([0.0, 0.5, 0.97], (60, 1))))


def probabilities(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    return rounded(1 / (1 + rounded(np.exp(rounded(rng.normal(size=3000) * 3)))))


def spectrum(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    """Return the spectrum of a smooth signal, whose rounding is spread evenly over all frequencies."""
    signal = np.cumsum(np.cumsum(rng.normal(size=(4, 1024)), axis=1), axis=1)
    return np.abs(np.fft.rfft(rounded(signal), axis=1))


def gradients(rng: np.random.Generator, rounded: Round) -> np.ndarray:
    """Return the gradients of a layer most of whose units are dead."""
    inputs, errors = rounded(rng.normal(size=(64, 80))), rounded(rng.normal(size=(64, 60)))
    errors *= rng.random(60) < 0.3
    errors *= rng.random((64, 60)) < 0.2
    return rounded(inputs.T @ errors)


COMPUTED: dict[str, Callable[[np.random.Generator, Round], np.ndarray]] = {
    each.__name__: each
    for each in (
        product,
        product_of_uneven_columns,
        product_of_uneven_rows,
        layer_norm,
        softmax,
        convolution,
        convolution_and_relu,
        attention,
        deep,
        residuals,
        running_sums,
        differences,
        probabilities,
        spectrum,
        gradients,
    )
}


def computed(name: str, seed: int, rounded: Round) -> Outputs:
    """Return the output of a computation with rounding after every operation, and the same without."""
    compute = COMPUTED[name]
    return compute(np.random.default_rng(seed), rounded), compute(np.random.default_rng(seed), lambda exact: exact)
