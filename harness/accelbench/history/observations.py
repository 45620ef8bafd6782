"""The tables that a history consists of: one row per measured arm and run, and one row per run.

Columns of the observations; texts are categoricals, and the runs stand in the order in which they were made:

    run             the run, such as ``machine/0042_nightly``
    case            the arm: the trial's id and the arm's level, the same in every run
    trial, module, framework, workload, problem, fixed
                    as in :func:`accelbench.results.tabulate_arms`; ``problem`` and ``fixed`` in words
    technique, level, against
                    what is switched, to which level and from which; ``technique`` is "" for a baseline
    baseline        whether the arm is its trial's baseline
    ablation        whether the arm only takes a part of the work away
    disturbed       whether its times say more about the machine at that moment: :func:`certainty.is_disturbed`
    unit            what an item is
    size            of the problems, as the settings say: ``small`` or ``full``; "" where the file does not say. Runs
                    with cold caches have sizes of their own, such as ``full, cold cache``: they share no series
    log_s           natural logarithm of the median seconds per item
    log_effect, log_low, log_high
                    of the speedup and its interval, which may be unbounded; missing for a baseline
    verdict, pairs, workers, paired
                    of the effect, the verdict on this interval; missing for a baseline

Columns of the runs:

    run, path, number, name, taken, machine
                    the run and its file; ``taken`` in UTC, missing where the file does not say
    identity        what the machine is, as JSON
    configuration   how the machine was set up, as JSON of names and values, keys sorted
    settings        the run's own settings, as JSON
    size            the size of all observations of the run
    interrupted     whether the run was stopped before its end

``unmeasured`` has one row per arm without a speed: ``run``, ``case``, the columns of an observation that describe the
arm, ``outcome`` and ``reason``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from accelbench.errors import UnreadableResult
from accelbench.results.arm_table import tabulate_arms
from accelbench.results.load import Result
from accelbench.schema.safe_json import printable
from accelbench.text import format_levels, tell_apart
from accelbench.units import plural

_COPIED = (
    "trial", "module", "framework", "workload", "level", "against", "baseline", "unit", "verdict", "pairs", "workers",
    "paired", "ablation", "disturbed",
)  # fmt: skip
TEXTS = (
    "run", "case", "trial", "module", "framework", "workload", "problem", "fixed", "technique", "level", "against",
    "unit", "size", "verdict",
)  # fmt: skip
RUN_COLUMNS = (
    "run", "path", "number", "name", "taken", "machine", "identity", "configuration", "settings", "size", "interrupted",
    "commit", "commit_time",
)  # fmt: skip
UNMEASURED_COLUMNS = (
    "run", "case", "framework", "workload", "problem", "fixed", "technique", "level", "against", "outcome", "reason",
)  # fmt: skip
LABEL = ("framework", "workload", "problem", "fixed", "level", "against")  # what reports call a case by
COLD_CACHE = ", cold cache"  # ends the size of a run with cold caches
_DEFAULT_ALPHA = 0.01  # of a run's intervals, where its settings do not say
KINDS = {
    "baseline": "bool",
    "ablation": "bool",
    "disturbed": "bool",
    "paired": "boolean",
    "pairs": "Int64",
    "workers": "Int64",
    **dict.fromkeys(("log_s", "log_effect", "log_low", "log_high"), "float64"),
}


@dataclass(frozen=True, kw_only=True)
class History:
    """Runs in the order in which they were made, and what was observed in them.

    ``remarks`` are sentences on the files of the runs. ``unreadable`` says why other files are left out, by their
    addresses, and ``newer_unreadable`` why a run that is newer than the last one, by its number, cannot be read.
    """

    runs: pd.DataFrame
    observations: pd.DataFrame
    unmeasured: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=[*UNMEASURED_COLUMNS]))
    remarks: tuple[str, ...] = ()
    unreadable: Mapping[str, UnreadableResult] = field(default_factory=dict)
    newer_unreadable: UnreadableResult | None = None

    @property
    def irregularities(self) -> list[str]:
        """The remarks, after a sentence on the files that are unreadable."""
        errors = [*map(str, self.unreadable.values())]
        if len(errors) > 1:
            errors = [f"{plural(len(errors), 'file')} cannot be read, such as {errors[0]}"]
        return [*map(printable, errors), *self.remarks]


def _run_name(result: Result) -> str:
    """Return the name of a run in a history, such as ``machine/0042_nightly``."""
    number = f"{result.number:04}_" if result.number else ""
    return f"{result.run.machine}/{number}{result.name}"


def describe_runs(results: Sequence[Result]) -> pd.DataFrame:
    """Return one row per run, in the order given."""
    runs = pd.DataFrame([_describe_run(result) for result in results], columns=[*RUN_COLUMNS])
    taken = pd.Series([result.taken for result in results], dtype="datetime64[us, UTC]")  # also where none is known
    return runs.assign(taken=taken).astype({"number": int, "interrupted": bool})


def observe(results: Sequence[Result]) -> pd.DataFrame:
    """Return one row per measured arm of every run, in the order given."""
    return observe_arms(results)[0]


def observe_arms(results: Sequence[Result], names: Sequence[str] | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the observations of runs, under ``names`` or their own, and a row for every arm without a speed."""
    arms = tabulate_arms(results, brief=True)
    if arms.empty:
        return join_observations([]), pd.DataFrame(columns=[*UNMEASURED_COLUMNS])
    counts = [sum(len(trial.arms) for trial in result.run.trials) for result in results]
    of_run = {"run": names or [_run_name(result) for result in results], "size": [_size(result) for result in results]}
    arms = arms.assign(
        **{name: np.repeat(np.array(values, object), counts) for name, values in of_run.items()},
        case=arms["trial"] + "|" + arms["level"],
        technique=arms["switched"].where(~arms["baseline"], ""),
        problem=[format_levels(problem) for problem in arms["problem"]],
        fixed=[format_levels(fixed) for fixed in arms["fixed"]],
    )
    timed = arms[arms["s_per_item"].gt(0)]
    # Of each run alone: a speedup that is the mean of several runs would show a change in the later ones by halves.
    logs = np.array(timed["of_this_run"].tolist(), float).reshape(-1, 3)
    timed = timed[["run", "size", "case", "technique", "problem", "fixed", *_COPIED]].assign(
        log_s=np.log(timed["s_per_item"]), log_effect=logs[:, 0], log_low=logs[:, 1], log_high=logs[:, 2]
    )
    unmeasured = arms.loc[arms["outcome"] != "measured", [*UNMEASURED_COLUMNS]].reset_index(drop=True)
    reasons = ["" if each is None else str(each) for each in unmeasured["reason"]]
    return _set_types(timed), unmeasured.assign(reason=reasons)


def describe_disturbed(observed: pd.DataFrame, runs: Collection[str]) -> list[str]:
    """Return of how many trials of each of these runs the times are not compared, and why, in a sentence each."""
    own = observed[observed["run"].isin(list(runs)) & observed["disturbed"]]
    trials = own.groupby("run", observed=True)["trial"].nunique()
    return [
        f"{plural(number, 'trial')} of {printable(str(run))}: the times are not compared, since other work ran beside, "
        "or every visit found the machine in an unusual state"
        for run, number in trials.items()
    ]


def _set_types(observations: pd.DataFrame) -> pd.DataFrame:
    """Return observations whose texts are categoricals: names of a hundred characters occur in hundreds of runs."""
    texts = {
        name: pd.Categorical(observations[name], categories=observations[name].dropna().unique()) for name in TEXTS
    }
    return observations.astype(KINDS).assign(**texts).reset_index(drop=True)


def join_observations(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return the observations of several tables, with categories that occur in none of their rows left out."""
    filled = [table for table in tables if len(table)]
    if not filled:
        return _set_types(pd.DataFrame(columns=[*TEXTS, *KINDS]))
    numbers = pd.concat([table[[*KINDS]] for table in filled], ignore_index=True)
    texts = {name: _without_unused(union_categoricals([_of_texts(table[name]) for table in filled])) for name in TEXTS}
    return numbers.assign(**texts)[filled[0].columns]


def _of_texts(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a categorical whose categories are texts also where there are none, as those of its other tables are."""
    return column if len(column.cat.categories) else column.cat.set_categories(pd.Index([], dtype=str))


def _without_unused(texts: pd.Categorical) -> pd.Categorical:
    is_used = np.bincount(texts.codes + 1, minlength=len(texts.categories) + 1)[1:] > 0  # pandas sorts all codes for it
    return texts if is_used.all() else texts.remove_unused_categories()


def tests_by_case(arms: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the name of the test by case, where reports would call another test's case the same: see `tell_apart`."""
    alike: dict[tuple[Any, ...], dict[str, str]] = {}
    for arm in arms:
        alike.setdefault(tuple(arm[name] for name in LABEL), {})[arm["trial"]] = arm["case"]
    return {
        cases[trial]: test for cases in alike.values() for trial, test in tell_apart(dict.fromkeys(cases, "")).items()
    }


def pivot(observed: pd.DataFrame, value: str, keys: Sequence[str], runs: Sequence[str]) -> pd.DataFrame:
    """Return a value with a row per arm, indexed by ``keys``, and a column per run; NaN where a run lacks the arm."""
    here = observed[observed["run"].isin(list(runs)) & observed[value].notna()]
    index = here[[*keys, "run"]].astype(dict.fromkeys({*keys, "run"} - {"baseline"}, str))
    table = here[[value]].groupby([index[name] for name in index]).mean()[value].unstack("run")
    return table.reindex(columns=list(runs)).astype(float)


def standard_errors(observed: pd.DataFrame, keys: Sequence[str], runs: pd.DataFrame) -> pd.DataFrame:
    """Return the standard errors of effects that the runs' own intervals suggest, laid out as `pivot` does."""
    low, high = (pivot(observed, name, keys, runs["run"].tolist()) for name in ("log_low", "log_high"))
    return (high - low) / 2 / [_interval_deviate(settings) for settings in runs["settings"]]


def _interval_deviate(settings: str) -> float:
    """Return how many standard errors half of a run's intervals spans, were they normal; settings are JSON."""
    given = json.loads(settings).get("alpha") if settings else None
    alpha = float(given) if isinstance(given, int | float) and 0 < given < 1 else _DEFAULT_ALPHA
    return -NormalDist().inv_cdf(alpha / 2)


def _describe_run(result: Result) -> dict[str, Any]:
    environment = result.run.environment
    return {
        "run": _run_name(result),
        "path": result.path,
        "number": result.number,
        "name": result.name,
        "taken": result.taken,
        "machine": result.run.machine,
        "identity": _as_json(asdict(environment.identity)),
        "configuration": _as_json(environment.configuration),
        "settings": _as_json(result.run.settings),
        "size": _size(result),
        "interrupted": result.run.interrupted,
        "commit": result.commit,
        "commit_time": result.commit_time,
    }


def _size(result: Result) -> str:
    settings = result.run.settings
    return f"{settings.get('size', '')}{COLD_CACHE if settings.get('cache') == 'cold' else ''}"


def _as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
