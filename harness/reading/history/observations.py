"""What a history rests on: one row per measured arm and run, and one row per run.

Columns of the observations; the texts are categoricals, with the runs in the order in which they were made:

    run             which run, such as ``machine/0042_nightly``
    case            which arm: the trial's id and the arm's level, the same in every run
    trial, module, framework, workload, problem, fixed
                    as in :func:`harness.reading.load`; ``problem`` and ``fixed`` in words
    technique, level, against
                    what is switched, to which level and from which; ``technique`` is "" for a baseline
    baseline        whether the arm is its trial's baseline
    unit            what an item is
    size            of the problems, as the run was told: ``small`` or ``full``; "" where the file does not say. Runs
                    with cold caches are of sizes of their own, such as ``full, cold cache``: they share no series
    log_s           natural logarithm of the median seconds per item
    log_effect, log_low, log_high
                    of the speedup and its interval, which may be unbounded; missing for a baseline
    verdict, pairs, workers, paired
                    of the effect; missing for a baseline

Columns of the runs:

    run, path, number, name, taken, machine
                    the run and its file; ``taken`` in UTC, missing where the file does not say
    identity        the machine as one text: a change of it opens a new era
    configuration   how it was set up, as JSON of names and values, keys sorted: a change opens a new sub-era
    settings        the run's own settings, as JSON
    size            the same, of all observations of the run
    interrupted     whether the run was stopped before its end
    schema, foreign
                    the schema version of its file, and whether that is one of pytest-benchmark alone; only where files
                    were read
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from harness.errors import UnreadableResult
from harness.reading.files import Result
from harness.reading.table import in_words, load

_COPIED = (
    "trial", "module", "framework", "workload", "level", "against", "baseline", "unit", "verdict", "pairs", "workers",
    "paired",
)  # fmt: skip
TEXTS = (
    "run", "case", "trial", "module", "framework", "workload", "problem", "fixed", "technique", "level", "against",
    "unit", "size", "verdict",
)  # fmt: skip
RUN_COLUMNS = (
    "run", "path", "number", "name", "taken", "machine", "identity", "configuration", "settings", "size", "interrupted",
)  # fmt: skip
KINDS = {
    "baseline": "bool",
    "paired": "boolean",
    "pairs": "Int64",
    "workers": "Int64",
    **dict.fromkeys(("log_s", "log_effect", "log_low", "log_high"), "float64"),
}


@dataclass(frozen=True, kw_only=True)
class History:
    """Runs in the order in which they were made, and what was observed in them.

    ``remarks`` say what is odd, also of what is ``unreadable`` and left out; ``formats``, which files are older ones or
    not of accelbench.
    """

    runs: pd.DataFrame
    observations: pd.DataFrame
    remarks: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    unreadable: tuple[UnreadableResult, ...] = ()


def name_of(result: Result) -> str:
    """Return the name of a run in a history."""
    number = f"{result.number:04}_" if result.number else ""
    return f"{result.run.machine}/{number}{result.name}"


def describe(results: Sequence[Result]) -> pd.DataFrame:
    """Return one row per run, in the order given."""
    runs = pd.DataFrame([_run(result) for result in results], columns=[*RUN_COLUMNS])
    return runs.astype({"taken": "datetime64[us, UTC]", "number": int, "interrupted": bool})


def observe(results: Sequence[Result], names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return one row per measured arm of every run, the runs in the order given, under ``names`` or their own."""
    arms = load(results)
    if arms.empty:
        return _typed(pd.DataFrame(columns=[*TEXTS, *KINDS]))
    counts = [sum(len(trial.arms) for trial in result.run.trials) for result in results]
    whose = {"run": names or [name_of(result) for result in results], "size": [_size(result) for result in results]}
    timed = arms.assign(**{name: np.repeat(np.array(values, object), counts) for name, values in whose.items()})
    timed = timed[timed["s_per_item"].gt(0)]
    with np.errstate(divide="ignore"):
        logs = {f"log_{name}": np.log(timed[name]) for name in ("low", "high")}
    return _typed(
        timed[["run", "size", *_COPIED]].assign(
            case=timed["trial"] + "|" + timed["level"],
            technique=timed["switched"].where(~timed["baseline"], ""),
            problem=[in_words(problem) for problem in timed["problem"]],
            fixed=[in_words(fixed) for fixed in timed["fixed"]],
            log_s=np.log(timed["s_per_item"]),
            log_effect=np.log(timed["speedup"]),
            **logs,
        )
    )


def _run(result: Result) -> dict[str, Any]:
    environment = result.run.environment
    return {
        "run": name_of(result),
        "path": result.path,
        "number": result.number,
        "name": result.name,
        "taken": pd.Timestamp(result.taken) if result.taken else pd.NaT,
        "machine": result.run.machine,
        "identity": _as_json(asdict(environment.identity)),
        "configuration": _as_json(environment.configuration),
        "settings": _as_json(result.run.settings),
        "size": _size(result),
        "interrupted": result.run.interrupted,
    }


def _size(result: Result) -> str:
    settings = result.run.settings
    return f"{settings.get('size', '')}{', cold cache' if settings.get('cache') == 'cold' else ''}"


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts are categoricals: names of a hundred characters stand in hundreds of runs."""
    texts = {name: pd.Categorical(frame[name], categories=frame[name].dropna().unique()) for name in TEXTS}
    return frame.astype(KINDS).assign(**texts).reset_index(drop=True)


def _as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
