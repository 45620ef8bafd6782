"""Independent chains of elementwise operations on CuPy, launched on one stream or on several."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.experiment import Arm, Setting, Work, workload
from harness.workloads.arrays.libraries import INPUT_SETS, check_elements, find_library
from harness.workloads.data.rotation import Rotation

CHAINS = 8
SMALL_ELEMENTS = 10_000_000  # of a chain, the most at size small


@workload("cupy", unit="element")
def independent_chains_cupy(setting: Setting, *, elements: int = 100_000, streams: int = 1) -> Arm:
    """Eight independent chains of four elementwise operations on float32 vectors, each launched on one of the streams.

    ``elements`` are those of each chain; throughput counts all of them.
    """
    from harness.frameworks.cupy import namespace

    cupy = namespace()
    library = find_library("resident")
    check_elements(setting, elements, small=SMALL_ELEMENTS)
    rng = np.random.default_rng(setting.seed)
    shape = (CHAINS, 2, elements)
    rotation = Rotation([library.send(2 * rng.random(shape, dtype=np.float32) - 1) for _ in range(INPUT_SETS)])
    lanes = [cupy.cuda.Stream(non_blocking=True) for _ in range(streams)]

    def step() -> Any:
        caller = cupy.cuda.get_current_stream()
        begun = caller.record()
        for lane in lanes:
            lane.wait_event(begun)  # nothing overtakes what was launched before this step
        results = []
        for number, (a, b) in enumerate(rotation.take()):
            with lanes[number % streams]:
                results.append(cupy.square(cupy.tanh(a * b + a)))
        for lane in lanes:
            caller.wait_event(lane.record())
        return results

    items = CHAINS * elements
    vector_bytes = 4 * items
    return Arm(
        step=step,
        items=items,
        reset=rotation.restart,
        checked_steps=INPUT_SETS,
        device=library.device,
        inputs=rotation.shown,
        work=Work(operations=4 * items, memory_bytes=3 * vector_bytes, precision="fp32"),
    )
