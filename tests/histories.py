"""Synthetic histories: the rows that runs would have left behind, with every change in them known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from accelbench.history.observations import History

_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
IDENTITY: dict[str, Any] = {"cpu_model": "Example CPU", "cpu_cores": 2, "memory_gib": 24, "gpus": []}
CONFIGURATION = {
    "kernel": "6.1",
    "numpy.version": "2.4.6",
    "driver.nvidia": "570.124",
    "torch.version": "2.11.0",
    "torch.threads": "2",
}
SETTINGS = {"size": "small", "noise": 0.01, "alpha": 0.01}


def history(
    *,
    cases: int = 10,
    runs: int = 30,
    spread: float = 0.01,
    seed: int = 0,
    step: Mapping[int, float] | None = None,
    workload_step: Mapping[int, float] | None = None,
    machine_step: float = 1.0,
    at: int = -1,
    machine_spread: float = 0.0,
    configurations: Mapping[int, Mapping[str, str]] | None = None,
    machine: str = "example",
) -> History:
    """Return a history of ``cases`` effects, each on a workload of its own, whose run-to-run ``spread`` is known.

    Run ``at`` is the first after the change (negative: counted from the end). From there on the factors in ``step``
    multiply the speedups of their cases, those in ``workload_step`` the throughput of their workloads, and
    ``machine_step`` the throughput of everything. ``configurations`` maps a run to the facts that change with it.
    """
    chance = np.random.default_rng(seed)
    after = np.arange(runs) >= (at if at >= 0 else runs + at)
    common = machine_spread * chance.standard_normal(runs) - np.where(after, np.log(machine_step), 0)
    effects = np.log(1.5) + spread * chance.standard_normal((runs, cases))
    times = np.log(0.01) + common[:, None] + spread * chance.standard_normal((runs, cases))
    for case, factor in (step or {}).items():
        effects[after, case] += np.log(factor)
    for case, factor in (workload_step or {}).items():
        times[after, case] -= np.log(factor)
    names = [f"{machine}/{run + 1:04}_run" for run in range(runs)]
    facts = _configurations(runs, configurations or {})
    table = [_run(run, name, machine, facts[run]) for run, name in enumerate(names)]
    return History(runs=pd.DataFrame(table), observations=_arms(names, times, effects, spread))


def _arms(names: list[str], times: np.ndarray, effects: np.ndarray, spread: float) -> pd.DataFrame:  # type: ignore[type-arg]
    """Return the arms of all runs from values of shape ``(runs, cases)``."""
    runs, number = times.shape
    workloads = [f"net-{case}" for case in range(number)] * runs
    times, effects = times.ravel(), effects.ravel()
    trials = [f"benchmarks/test_amp.py::test_amp[{name}]" for name in workloads]
    shared = {
        "run": np.repeat(names, number), "trial": trials, "module": "test_amp", "framework": "torch",
        "workload": workloads, "problem": "", "fixed": "", "unit": "image", "size": "small",
        "ablation": False, "disturbed": False,
    }  # fmt: skip
    baseline = pd.DataFrame(
        shared
        | {"case": [f"{trial}|amp fp32" for trial in trials], "technique": "", "level": "amp fp32", "against": "",
           "baseline": True, "log_s": times, "log_effect": np.nan, "log_low": np.nan, "log_high": np.nan,
           "verdict": None, "pairs": pd.NA, "workers": pd.NA, "paired": pd.NA}
    )  # fmt: skip
    reach = 2.58 * spread / 2
    candidate = pd.DataFrame(
        shared
        | {"case": [f"{trial}|amp bf16" for trial in trials], "technique": "amp", "level": "amp bf16",
           "against": "amp fp32", "baseline": False, "log_s": times - effects, "log_effect": effects,
           "log_low": effects - reach, "log_high": effects + reach, "verdict": "faster", "pairs": 50, "workers": 1,
           "paired": True}
    )  # fmt: skip
    kinds: dict[str, Any] = {"pairs": "Int64", "workers": "Int64", "paired": "boolean", "verdict": "str"}
    arms = pd.concat([baseline.astype(kinds), candidate.astype(kinds)])
    return arms.sort_values("run", kind="stable", ignore_index=True)


def _configurations(runs: int, changes: Mapping[int, Mapping[str, str]]) -> list[dict[str, str]]:
    facts: dict[str, str] = {"torch.version": "2.11.0", "gpu.driver": "570.124"}
    facts_by_run = []
    for run in range(runs):
        facts = facts | changes.get(run, {})
        facts_by_run.append(facts)
    return facts_by_run


def _run(number: int, name: str, machine: str, configuration: Mapping[str, str]) -> dict[str, Any]:
    return {
        "run": name, "path": f"results/{name}.json", "number": number + 1, "name": "run",
        "taken": pd.Timestamp(_FIRST + timedelta(days=number)), "machine": machine, "identity": json.dumps(IDENTITY),
        "configuration": json.dumps(configuration, sort_keys=True), "settings": json.dumps(SETTINGS), "size": "small",
        "interrupted": False,
    }  # fmt: skip


def run_row(
    number: int = 1, *, machine: str = "box", settings: Mapping[str, Any] | None = None, **configuration: str | None
) -> dict[str, Any]:
    """Return a run under ``CONFIGURATION``, as a row of a history.

    ``torch_version`` overrides ``torch.version``; None removes the fact.
    """
    changed = {name.replace("_", ".", 1): value for name, value in configuration.items()}
    facts = {name: value for name, value in (CONFIGURATION | changed).items() if value is not None}
    return {
        "run": f"{machine}/{number:04}_nightly",
        "number": number,
        "name": "nightly",
        "machine": machine,
        "identity": json.dumps(IDENTITY),
        "configuration": json.dumps(facts),
        "settings": json.dumps({"size": "small", "budget_s": 1.0} | (settings or {})),
    }


def on_hardware(row: dict[str, Any], **identity: Any) -> dict[str, Any]:
    """Return the run on other hardware."""
    return row | {"identity": json.dumps(IDENTITY | identity)}
