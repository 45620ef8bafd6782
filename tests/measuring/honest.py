"""Honest trials drawn from a seed: shapes, types, noise and what is computed vary, and nothing is pretended."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from fake_device import FakeDevice

from accelbench.core import Arm

COMPUTED: dict[str, Callable[[np.ndarray], Any]] = {
    "sum": lambda array: array.sum(axis=0),
    "mean": lambda array: float(array.mean()),
    "square": lambda array: array * array,
    "sorted": lambda array: np.sort(array, axis=0),
    "spectrum": lambda array: np.fft.rfft(array, axis=0),
    "gram": lambda array: array.T @ array,
    "parts": lambda array: {"most": array.max(axis=-1), "rest": (array.min(axis=-1), array.std())},
    "accumulated": lambda array: np.cumsum(array, axis=0),
}
TYPES = ("float32", "float64", "int32", "uint8")


def arm(coin: Random, device: FakeDevice | None) -> Arm:
    """Return an arm over random data, on the fake device where there is one."""
    shape = (coin.randint(1, 40), coin.randint(2, 30))
    rng = np.random.default_rng(coin.getrandbits(32))
    drawn = (rng.normal(size=shape) * 10 + 50).astype(coin.choice(TYPES))
    compute = COMPUTED[coin.choice(list(COMPUTED))]
    kind = coin.choice(("pure", "stateful", "fed"))
    resident = device is not None and coin.random() < 0.5
    held = {"array": device.array(drawn) if device and resident else drawn}
    state = {"sum": 0.0}
    seconds = 10 ** coin.uniform(-5, -3)

    def step() -> Any:
        if device is not None:
            device.launch(seconds)
        output = compute(held["array"])
        if kind != "stateful":
            return output
        state["sum"] += float(held["array"].sum())
        return output, state["sum"]

    def reset() -> None:
        state["sum"] = 0.0

    def feed(shown: Any) -> None:
        held["array"] = shown[0].copy()

    return Arm(
        step=step,
        reset=reset,
        items=shape[0],
        checked_steps=coin.randint(1, 3),
        device=("fake:0" if resident else None) if device else "cpu",
        inputs=lambda: (drawn,) if kind == "fed" else [held["array"]],
        feed=feed if kind == "fed" else None,
    )
