"""Made-up histories: runs of one machine or two, with noise, a step in one effect and a change of the set-up."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
from runs import arm, effect, run, trial

from accelbench.history.observations import History, describe_runs, observe
from accelbench.results import Result
from accelbench.schema.result import Environment, Gpu, Identity

GPU = Identity(cpu_model="Example CPU", cpu_cores=8, memory_gib=64, gpus=[Gpu(name="Example GPU", memory_gib=80)])
SPEEDUPS = {"bert-train": 1.4, "resnet50-train": 1.8, "vit-train": 1.6, "mlp-train": 0.9}
WIDTH = 0.03  # of an interval on either side, as a logarithm


def results(count: int, *, machine: str = "gpu-box", step: float = 0.9, seed: int = 0) -> list[Result]:
    """Return runs, one a day; in the middle the driver changes, and AMP's speedup on ResNet-50 ``step`` times."""
    chance = random.Random(seed)
    return [_result(number, machine, step if number > count // 2 else 1.0, chance) for number in range(1, count + 1)]


def _result(number: int, machine: str, step: float, chance: random.Random) -> Result:
    speedups = SPEEDUPS | {"resnet50-train": SPEEDUPS["resnet50-train"] * step}
    configuration = {"driver.nvidia": "570.124" if step == 1 else "580.65", "torch.version": "2.9.0"}
    return Result(
        path=f"results/{machine}/{number:04}_nightly.json",
        name="nightly",
        number=number,
        taken=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number),
        run=run(
            *[_trial(workload, speedup, chance) for workload, speedup in speedups.items()],
            machine=machine,
            environment=Environment(identity=GPU, configuration=configuration),
            settings={"size": "full", "noise": 0.01},
        ),
    )


def history(runs: list[Result]) -> History:
    """Return these runs as a history."""
    return History(runs=describe_runs(runs), observations=observe(runs))


def repeated(result: Result, count: int) -> History:
    """Return a history in which this run was made so often, every time and every effect off by a few per cent."""
    chance, runs, seen = np.random.default_rng(0), describe_runs([result]), observe([result])
    names = [f"{result.run.machine}/{number:04}_again" for number in range(1, count)] + [runs["run"][0]]
    observations = pd.concat([seen] * count, ignore_index=True)
    off = chance.normal(0, 0.03, len(observations))
    moved = {name: observations[name] + off for name in ("log_s", "log_effect", "log_low", "log_high")}
    run = pd.Categorical.from_codes(np.repeat(np.arange(count), len(seen)), names)
    return History(
        runs=pd.concat([runs] * count, ignore_index=True).assign(run=names, number=range(1, count + 1)),
        observations=observations.assign(run=run, **moved),
    )


def _trial(workload: str, speedup: float, chance: random.Random):
    found = speedup * math.exp(chance.gauss(0, 0.01))
    low, high = found * math.exp(-WIDTH), found * math.exp(WIDTH)
    verdict = "faster" if low > 1 else "slower" if high < 1 else "undecided"
    return trial(
        arm({"amp": "fp32"}, 0.1),
        arm({"amp": "bf16"}, 0.1 / found, effect=effect(found, low, high, verdict)),
        id=f"benchmarks/test_mixed_precision.py::test_mixed_precision[{workload}]",
        workload=workload,
    )
