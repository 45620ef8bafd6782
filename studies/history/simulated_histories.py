"""Simulated histories of a whole suite on one machine: hundreds of cases, with known changes in some of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from accelbench.history.observations import KINDS, TEXTS, History
from studies.history.simulated_series import Noise, autocorrelated, gaussian

TRIALS, LEVELS = 100, ("off", "on", "max")  # 300 cases, of which 200 have an effect
CASES = TRIALS * len(LEVELS)
COMMON = 0.04  # standard deviation of the logarithm of the machine's own speed between runs
OF_WORKLOAD = 0.005  # and of what the arms of one workload share beyond that
WITHIN = 0.003  # standard error that a run gives an effect
_QUANTILE = 2.576  # of the normal distribution, for an interval at 99 %
_FIRST = pd.Timestamp("2026-01-01", tz="UTC")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A history to simulate: at run ``at`` the machine and some candidates get slower by shares.

    ``losers`` is the number of these candidates, ``spread`` the standard deviation of the logarithm of an effect
    between runs, and ``noise`` its kind.
    """

    machine: float = 0.0
    technique: float = 0.0
    losers: int = 0
    runs: int = 30
    at: int = 29
    spread: float = 0.01
    noise: Noise = field(default=gaussian)


def simulate_history(rng: np.random.Generator, scenario: Scenario) -> tuple[History, frozenset[str]]:
    """Return a history, and the cases whose effect changed."""
    after = np.arange(scenario.runs) >= scenario.at
    common = COMMON * autocorrelated(rng, scenario.runs, memory=0.8) + after * np.log1p(scenario.machine)
    effects = np.full((scenario.runs, TRIALS, len(LEVELS)), np.nan)
    losing = np.zeros(effects[0, :, 1:].size, dtype=bool)
    losing[rng.permutation(losing.size)[: scenario.losers]] = True
    losing = losing.reshape(TRIALS, -1)
    noise = np.array([scenario.noise(rng, scenario.runs) for _ in range(losing.size)]).T.reshape(
        effects[:, :, 1:].shape
    )
    lost = after[:, None, None] * np.log1p(scenario.technique) * losing
    effects[:, :, 1:] = rng.normal(0.3, 0.4, losing.shape) - lost + scenario.spread * noise
    own = np.log(rng.uniform(1e-4, 1.0, TRIALS)) + OF_WORKLOAD * rng.standard_normal((scenario.runs, TRIALS))
    times = (common[:, None] + own)[:, :, None] - np.nan_to_num(effects)
    made = History(runs=_runs(scenario.runs), observations=_observed(times.reshape(-1), effects.reshape(-1)))
    return made, frozenset(_case(trial, LEVELS[1:][level]) for trial, level in np.argwhere(losing))


def truncate(history: History, runs: int) -> History:
    """Return a history as it was after that many runs."""
    arms_of_runs = history.observations.iloc[: runs * CASES]
    arms_of_runs = arms_of_runs.assign(run=arms_of_runs["run"].cat.remove_unused_categories())
    return History(runs=history.runs.iloc[:runs], observations=arms_of_runs)


def _observed(times: np.ndarray, effects: np.ndarray) -> pd.DataFrame:
    """Return the observations of arms, run after run, from their logarithms; a baseline has no effect."""
    runs = len(times) // CASES
    arms = pd.DataFrame([_arm(trial, level) for trial in range(TRIALS) for level in LEVELS])
    arms_of_runs = arms.iloc[np.tile(np.arange(CASES), runs)].reset_index(drop=True)
    reach = _QUANTILE * WITHIN
    verdicts = np.select([np.isnan(effects), effects > reach, effects < -reach], [None, "faster", "slower"], "same")
    arms_of_runs = arms_of_runs.assign(
        run=np.repeat(_names(runs), CASES), log_s=times, log_effect=effects, verdict=verdicts
    )
    kinds = dict.fromkeys(TEXTS, "category") | KINDS
    return arms_of_runs.assign(log_low=effects - reach, log_high=effects + reach)[list(kinds)].astype(kinds)


def _arm(trial: int, level: str) -> dict[str, object]:
    """Return the columns of an arm that are the same in every run."""
    name = _case(trial, level)
    constant = {
        "module": "test_pace",
        "framework": "numpy",
        "problem": "",
        "fixed": "",
        "unit": "step",
        "size": "small",
        "ablation": False,
        "disturbed": False,
    }
    baseline = level == LEVELS[0]
    of_effect = {"against": LEVELS[0], "pairs": 50, "workers": 1, "paired": True}
    return constant | {
        "case": name,
        "trial": name.rpartition("|")[0],
        "workload": f"walk-{trial:03}",
        "technique": "" if baseline else "pace",
        "level": level,
        "baseline": baseline,
        **(dict.fromkeys(of_effect) if baseline else of_effect),
    }


def _case(trial: int, level: str) -> str:
    return f"benchmarks/test_pace.py::test_pace[walk-{trial:03}]|{level}"


def _runs(number: int) -> pd.DataFrame:
    names = _names(number)
    return pd.DataFrame(
        {
            "run": names,
            "path": [f"results/{name}.json" for name in names],
            "number": np.arange(1, number + 1),
            "name": "run",
            "taken": [_FIRST + pd.Timedelta(hours=run) for run in range(number)],
            "machine": "machine",
            "identity": json.dumps({"cpu": "CPU", "cpu_count": 8}),
            "configuration": json.dumps({"torch": "2.13.0"}),
            "settings": json.dumps({"size": "small"}),
            "size": "small",
            "interrupted": False,
        }
    )


def _names(number: int) -> Sequence[str]:
    return [f"machine/{run:04}_run" for run in range(1, number + 1)]
