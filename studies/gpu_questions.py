"""What must be known of a GPU before its first numbers are believed: `python -m studies.gpu_questions`.

The answers for one H200 stand in docs/how-to/gpu.md. Whether a profile slows down what follows is asked in two
processes, since ``TEARDOWN_CUPTI`` is read when a process starts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from statistics import median
from time import perf_counter

from joblib import cpu_count

import accelbench.techniques
import accelbench.workloads  # noqa: F401  both fill the catalogue
from accelbench.core import Setting, find_technique, find_workload
from accelbench.core.verification import relative_error
from accelbench.frameworks import load
from accelbench.measuring.checks.output import output_of
from accelbench.units import percent, seconds

BLOCKS, STEPS = 9, 200  # of the launch-bound loop
LAYERS, WIDTH, ROWS = 8, 64, 32  # small enough that the device waits for launches
COUNTER_S = 1.0
FLOAT16_STEPS = 100
FLOAT16 = ("resnet18-train", "resnet50-train", "bert-train")
# The workload of each ladder of training, its options, and the ladder.
LADDERS: tuple[tuple[str, dict[str, str], str], ...] = (
    ("ladder-training", {"model": "resnet18"}, "ladder"),
    ("ladder-training", {"model": "bert"}, "ladder"),
    ("ladder-training-resnet50", {}, "accelerator_ladder"),
)


def main() -> None:
    import torch

    if not torch.cuda.is_available():
        sys.exit("needs a CUDA device, and PyTorch sees none")
    if "profile" in sys.argv:
        print(profile_and_go_on())
        return
    for setting in ({}, {"TEARDOWN_CUPTI": "1"}):
        name = " ".join(f"{key}={value}" for key, value in setting.items()) or "as it comes"
        command = [sys.executable, "-m", "studies.gpu_questions", "profile"]
        found = subprocess.run(command, env=os.environ | setting, check=True, stdout=subprocess.PIPE, text=True).stdout
        print(f"A loop before and after a profile, {name}: {found.strip()}")
    print(f"NVML's energy counter, idle: {gaps_of_counter(lambda: None)}")
    square = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    print(f"NVML's energy counter, busy: {gaps_of_counter(lambda: square @ square)}")
    print(f"No work by the device's clock: {time_of_nothing()}")
    for workload in FLOAT16:
        print(f"Steps of {workload} in float16: {skipped_steps(workload)}")
    for workload, options, ladder in LADDERS:
        name = " ".join([workload, *options.values()])
        print(f"Two resets of {name}: {distance_of_resets(workload, options, ladder)}")


def profile_and_go_on() -> str:
    """Time a launch-bound training loop, count its kernels five times, and time it again."""
    import torch

    layers = [part for _ in range(LAYERS) for part in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    rows, targets = torch.randn(ROWS, WIDTH, device="cuda"), torch.randn(ROWS, WIDTH, device="cuda")

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.mse_loss(model(rows), targets).backward()
        optimizer.step()

    def block_s() -> float:
        torch.cuda.synchronize()
        start = perf_counter()
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
        return (perf_counter() - start) / STEPS

    block_s()
    before = [block_s() for _ in range(BLOCKS)]
    kernels = [load("torch").kernels(step) for _ in range(5)]
    block_s()
    after = [block_s() for _ in range(BLOCKS)]
    return f"{_spread(before)}, then {_spread(after)}; kernels {kernels}"


def gaps_of_counter(work: Callable[[], object]) -> str:
    """Return how far apart the steps of the first GPU's energy counter lie while ``work`` is launched."""
    import pynvml
    import torch

    pynvml.nvmlInit()
    gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    steps_s, latest, end = [], pynvml.nvmlDeviceGetTotalEnergyConsumption(gpu), perf_counter() + COUNTER_S
    while perf_counter() < end:
        work()
        torch.cuda.synchronize()
        if (now := pynvml.nvmlDeviceGetTotalEnergyConsumption(gpu)) != latest:
            steps_s.append(perf_counter())
            latest = now
    return _spread([later - earlier for earlier, later in pairwise(steps_s)])


def time_of_nothing() -> str:
    """Return what the device's clock shows for no work, in an empty stream and in a held one."""
    adapter = load("torch")
    shown = []
    for held_s in (0.0, 1e-3):
        spans = [adapter.time_on_device(lambda: None, device="cuda:0", held_s=held_s) for _ in range(BLOCKS)]
        shown.append(_spread([span.device_s for span in spans if span]))
    return f"{shown[0]} in an empty stream, {shown[1]} in a held one"


def skipped_steps(workload: str) -> str:
    """Return the loss scale with which training in float16 begins, and how many steps it skips from there on."""
    arm = find_workload(workload).build(Setting(size="full"), amp="fp16")
    arm.reset()
    with arm.enter():
        for _ in range(FLOAT16_STEPS):
            arm.step()
    assert arm.observe
    seen = arm.observe()
    arm.close()
    return f"{seen['skipped_steps']:g} of {FLOAT16_STEPS} skipped, from a loss scale of {seen['loss_scale']:,.0f}"


def distance_of_resets(workload: str, options: dict[str, str], ladder: str) -> str:
    """Return how far the outputs of a ladder's start lie apart after two resets."""
    climbed = find_technique("torch", ladder)
    build = partial(find_workload(workload).build, Setting(size="full", cores=cpu_count()), **options)
    with load("torch").disable_tf32():
        arm = climbed.apply(build, climbed.levels[0])
        apart = relative_error(*(output_of(arm, load("torch")) for _ in range(2)))
        arm.close()
    return f"{percent(apart)} apart" if apart else "bit for bit alike"


def _spread(times_s: Sequence[float]) -> str:
    return f"{seconds(median(times_s))} ({seconds(min(times_s))} to {seconds(max(times_s))})" if times_s else "never"


if __name__ == "__main__":
    main()
