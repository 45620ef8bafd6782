"""Arms that pretend: each leaves out, hides or misplaces work in a way that makes it look fast."""

import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.experiment import Arm
from harness.frameworks.fake import FakeDevice

ROWS = 24
Made = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Mutant:
    """How to spoil an honest arm, what must become of it, and what its sentence must name."""

    spoil: Callable[[Arm, Made, FakeDevice], Arm]
    outcome: str
    names: str


def data() -> Made:
    """Return a batch of rows and the weights that they are multiplied with, in float64."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(ROWS, 6)), rng.normal(size=(6, 4))


def honest(made: Made, device: FakeDevice) -> Arm:
    """Return an arm that multiplies a batch by weights."""
    batch, weights = made

    def step() -> np.ndarray:
        device.launch(1e-3)
        return batch @ weights

    return Arm(step=step, items=ROWS, inputs=lambda: batch, parameters=lambda: weights)


def returning(output: Callable[[Made], Any]) -> Callable[[Arm, Made, FakeDevice], Arm]:
    """Return a spoiler whose step works as long as an honest one but returns what it likes."""

    def spoil(arm: Arm, made: Made, device: FakeDevice) -> Arm:
        def step() -> Any:
            device.launch(0.5e-3)
            return output(made)

        return replace(arm, step=step)

    return spoil


def on_the_host(made: Made, device: FakeDevice) -> Callable[[], np.ndarray]:
    """Return an honest step that keeps the host busy and launches nothing."""

    def step() -> np.ndarray:
        device.clock.advance(0.5e-3)
        return made[0] @ made[1]

    return step


def cached(arm: Arm, _: Made, __: FakeDevice) -> Arm:
    kept: list[np.ndarray] = []

    def step() -> np.ndarray:
        if not kept:
            kept.append(arm.step())
        return kept[0]

    return replace(arm, step=step)


def computed_in_the_set_up(arm: Arm, made: Made, _: FakeDevice) -> Arm:
    output = made[0] @ made[1]
    return replace(arm, step=lambda: output.copy())


def skipping_the_last_row(arm: Arm, made: Made, device: FakeDevice) -> Arm:
    batch, weights = made
    last = batch[-1:] @ weights

    def step() -> np.ndarray:
        device.launch(0.9e-3)
        return np.concatenate([batch[:-1] @ weights, last])

    return replace(arm, step=step)


def bfloat16(values: np.ndarray) -> np.ndarray:
    """Return the values cut to bfloat16's eight bits, in their own type."""
    bits = values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(values.dtype)


def mutating(arm: Arm, made: Made, _: FakeDevice) -> Arm:
    def step() -> Any:
        output = arm.step()
        made[0].fill(0.25)
        return output

    return replace(arm, step=step)


def with_zeros(arm: Arm, made: Made, _: FakeDevice) -> Arm:
    made[0].fill(0)
    return replace(arm, step=lambda: arm.step() + 1)


def on_the_device(arm: Arm, made: Made, device: FakeDevice) -> Arm:
    """Return the arm with arrays that do lie on the device."""
    batch, weights = map(device.array, made)

    def step() -> Any:
        device.launch(1e-3)
        return batch @ weights

    return replace(arm, step=step, device="fake:0", inputs=lambda: batch, parameters=lambda: weights)


def never_reaching_the_device(arm: Arm, made: Made, device: FakeDevice) -> Arm:
    return replace(arm, step=on_the_host(made, device), device="fake:0", parameters=lambda: ())


def without_kernels(arm: Arm, made: Made, device: FakeDevice) -> Arm:
    return replace(on_the_device(arm, made, device), step=on_the_host(made, device), inputs=lambda: ())


def model_elsewhere(arm: Arm, made: Made, device: FakeDevice) -> Arm:
    return replace(on_the_device(arm, made, device), parameters=lambda: made[1])


def secretly_on_the_device(arm: Arm, _: Made, __: FakeDevice) -> Arm:
    return replace(arm, device="cpu")


def beside_the_stream(arm: Arm, made: Made, device: FakeDevice) -> Arm:
    def step() -> Any:
        device.launch_unseen(1e-3)
        return made[0] @ made[1]

    return replace(arm, step=step)


def smaller_than_its_model(arm: Arm, made: Made, device: FakeDevice) -> Arm:
    device.peak_bytes = made[1].nbytes - 1
    return on_the_device(arm, made, device)


def on_a_side_thread(arm: Arm, _: Made, __: FakeDevice) -> Arm:
    stop = threading.Event()
    rng = np.random.default_rng(1)

    def work() -> None:
        while not stop.is_set():
            rng.normal(size=1000).sum()

    thread = threading.Thread(target=work, name="prefetcher", daemon=True)
    thread.start()
    return replace(arm, close=lambda: (stop.set(), thread.join()))


def filling_its_output_later(arm: Arm, made: Made, device: FakeDevice) -> Arm:
    batch, weights = made

    def step() -> np.ndarray:
        device.launch(0.5e-3)
        output = np.ones((ROWS, weights.shape[1]))
        threading.Timer(0.05, lambda: np.matmul(batch, weights, out=output)).start()
        return output

    return replace(arm, step=step)


def on_a_side_stream(arm: Arm, made: Made, device: FakeDevice) -> Arm:
    """Return an arm that works on a stream of its own, for which the current one does not wait."""
    batch, weights = map(device.array, made)

    def step() -> Any:
        device.launch_beside(1e-3)
        return batch @ weights

    return replace(arm, step=step, device="fake:0", inputs=lambda: batch, parameters=lambda: weights)


def compiling_late(arm: Arm, _: Made, device: FakeDevice) -> Arm:
    calls = iter(range(50))

    def step() -> Any:
        if next(calls, None) == 49:
            device.compile(1.0)
        return arm.step()

    return replace(arm, step=step)


def with_loaders_that_go_on(arm: Arm, _: Made, __: FakeDevice) -> Arm:
    loader = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    return replace(arm, close=lambda: (loader.kill(), loader.wait()))


# What is flagged or honest, and gets its number.
DISGUISES = {"compiling late": compiling_late, "on the device": on_the_device, "on a side stream": on_a_side_stream}
MUTANTS: dict[str, Mutant] = {
    "no-op": Mutant(returning(lambda _: None), "wrong-output", "returned no output"),
    "cached output": Mutant(cached, "wrong-work", "it was cached"),
    "output computed in the set-up": Mutant(computed_in_the_set_up, "wrong-work", "or computed beforehand"),
    "wrong dtype": Mutant(
        returning(lambda made: (made[0] @ made[1]).astype(np.float32)), "wrong-work", "is float32, the baseline's is"
    ),
    "bfloat16 in secret": Mutant(
        returning(lambda made: bfloat16(made[0]) @ bfloat16(made[1])), "wrong-output", "bfloat16 rounds by about"
    ),
    "float16 in secret": Mutant(
        returning(lambda made: (made[0] @ made[1]).astype(np.float16).astype(float)),
        "wrong-output",
        "float16 or TF32 rounds by about",
    ),
    "wrong device": Mutant(never_reaching_the_device, "misplaced", "its arrays lie on cpu"),
    "device without kernels": Mutant(without_kernels, "misplaced", "no kernel was started"),
    "model elsewhere": Mutant(model_elsewhere, "misplaced", "parameters lie on cpu"),
    "device in secret": Mutant(secretly_on_the_device, "misplaced", "kernels were started on an accelerator"),
    "mutated input": Mutant(mutating, "wrong-work", "changes its inputs"),
    "skipped part of the batch": Mutant(skipping_the_last_row, "wrong-work", "it is skipped"),
    "generator": Mutant(returning(lambda made: (row @ made[1] for row in made[0])), "wrong-work", "only when it is"),
    "function": Mutant(returning(lambda made: lambda: made[0] @ made[1]), "wrong-work", "only when it is read"),
    "NaN": Mutant(returning(lambda made: made[0] @ made[1] * np.nan), "wrong-output", "NaN"),
    "all-zero data": Mutant(with_zeros, "wrong-work", "inputs are zero everywhere"),
    "side stream": Mutant(beside_the_stream, "wrong-work", "was not there when the block ended"),
    "side thread": Mutant(on_a_side_thread, "wrong-work", "the thread 'prefetcher' went on working"),
    "late output": Mutant(filling_its_output_later, "wrong-output", "off the baseline's"),
    "loader that goes on": Mutant(with_loaders_that_go_on, "wrong-work", "a process that it started went on"),
    "smaller than its model": Mutant(smaller_than_its_model, "impossible", "the parameters alone take"),
}
