"""Rows of a history as result files leave them, for the tests of what reads them."""

import json
from typing import Any

import numpy as np
import pandas as pd

IDENTITY: dict[str, Any] = {"cpu_model": "Example CPU", "cpu_cores": 2, "memory_gib": 24, "gpus": []}
CONFIGURATION = {
    "kernel": "6.1",
    "numpy.version": "2.4.6",
    "driver.nvidia": "570.124",
    "torch.version": "2.11.0",
    "torch.threads": "2",
}


def run_row(number: int = 1, *, machine: str = "box", settings: Any = None, **configuration: str | None) -> dict:
    """Return a run under the configuration above; ``torch_version`` stands for ``torch.version``, None takes it out."""
    changed = {name.replace("_", ".", 1): value for name, value in configuration.items()}
    told = {name: value for name, value in (CONFIGURATION | changed).items() if value is not None}
    return {
        "run": f"{machine}/{number:04}_nightly",
        "number": number,
        "name": "nightly",
        "machine": machine,
        "identity": json.dumps(IDENTITY),
        "configuration": json.dumps(told),
        "settings": json.dumps({"size": "small", "budget_s": 1.0} | (settings or {})),
    }


def on_hardware(row: dict, **identity: Any) -> dict:
    """Return a run on other hardware."""
    return row | {"identity": json.dumps(IDENTITY | identity)}


def observations(
    run: str,
    *,
    shift: float = 0.0,
    workloads: int = 12,
    spread: float = 0.0,
    seed: int = 0,
    framework: str = "torch",
) -> pd.DataFrame:
    """Return a run's observations: of each workload a baseline and two candidates, all times shifted alike."""
    random = np.random.default_rng(seed)
    rows = [
        {
            "run": run,
            "framework": framework,
            "workload": f"workload-{workload}",
            "case": f"{framework} {workload}|{level}",
            "log_s": workload + shift - effect + random.normal(0, spread),
            "log_effect": effect + random.normal(0, spread) if level else np.nan,
        }
        for workload in range(workloads)
        for level, effect in enumerate((0.0, 0.5, -0.2))
    ]
    return pd.DataFrame(rows)
