"""Whole histories of a suite on one machine whose truth is known: hundreds of cases, and what is planted in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from generators import Noise, autocorrelated, gaussian

from harness.reading.history.observations import KINDS, TEXTS, History

TRIALS, LEVELS = 100, ("off", "on", "max")  # 300 cases, of which 200 have an effect
CASES = TRIALS * len(LEVELS)
COMMON = 0.04  # standard deviation of the logarithm of the machine's own speed between runs
OF_WORKLOAD = 0.005  # and of what the arms of one workload share beyond that
WITHIN = 0.003  # standard error that a run gives an effect
_QUANTILE = 2.576  # of the normal distribution, for an interval at 99 %
_FIRST = pd.Timestamp("2026-01-01", tz="UTC")


@dataclass(frozen=True, kw_only=True)
class Planted:
    """What happens in a history: at run ``at`` the machine and some candidates get slower by shares.

    ``losers`` is how many of the candidates do, ``spread`` the standard deviation of the logarithm of an effect
    between runs, and ``noise`` its kind.
    """

    machine: float = 0.0
    technique: float = 0.0
    losers: int = 0
    runs: int = 30
    at: int = 29
    spread: float = 0.01
    noise: Noise = field(default=gaussian)


def whole_history(rng: np.random.Generator, planted: Planted) -> tuple[History, frozenset[str]]:
    """Return a history, and the cases of which the effect changed."""
    after = np.arange(planted.runs) >= planted.at
    common = COMMON * autocorrelated(rng, planted.runs, memory=0.8) + after * np.log1p(planted.machine)
    effects = np.full((planted.runs, TRIALS, len(LEVELS)), np.nan)
    losing = np.zeros(effects[0, :, 1:].size, dtype=bool)
    losing[rng.permutation(losing.size)[: planted.losers]] = True
    losing = losing.reshape(TRIALS, -1)
    noise = np.array([planted.noise(rng, planted.runs) for _ in range(losing.size)]).T.reshape(effects[:, :, 1:].shape)
    lost = after[:, None, None] * np.log1p(planted.technique) * losing
    effects[:, :, 1:] = rng.normal(0.3, 0.4, losing.shape) - lost + planted.spread * noise
    own = np.log(rng.uniform(1e-4, 1.0, TRIALS)) + OF_WORKLOAD * rng.standard_normal((planted.runs, TRIALS))
    times = (common[:, None] + own)[:, :, None] - np.nan_to_num(effects)
    made = History(runs=_runs(planted.runs), observations=_observed(times.reshape(-1), effects.reshape(-1)))
    return made, frozenset(_case(trial, LEVELS[1:][level]) for trial, level in np.argwhere(losing))


def until(whole: History, runs: int) -> History:
    """Return a history as it was after so many runs."""
    seen = whole.observations.iloc[: runs * CASES]
    seen = seen.assign(run=seen["run"].cat.remove_unused_categories())
    return History(runs=whole.runs.iloc[:runs], observations=seen)


def _observed(times: np.ndarray, effects: np.ndarray) -> pd.DataFrame:
    """Return the observations of arms, run after run, from their logarithms; a baseline has no effect."""
    runs = len(times) // CASES
    arms = pd.DataFrame([_arm(trial, level) for trial in range(TRIALS) for level in LEVELS])
    seen = arms.iloc[np.tile(np.arange(CASES), runs)].reset_index(drop=True)
    reach = _QUANTILE * WITHIN
    told = np.select([np.isnan(effects), effects > reach, effects < -reach], [None, "faster", "slower"], "same")
    seen = seen.assign(run=np.repeat(_names(runs), CASES), log_s=times, log_effect=effects, verdict=told)
    kinds = dict.fromkeys(TEXTS, "category") | KINDS
    return seen.assign(log_low=effects - reach, log_high=effects + reach)[list(kinds)].astype(kinds)


def _arm(trial: int, level: str) -> dict[str, object]:
    """Return what is the same of an arm in every run."""
    name = _case(trial, level)
    constant = {
        "module": "test_pace",
        "framework": "numpy",
        "problem": "",
        "fixed": "",
        "unit": "step",
        "size": "small",
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
