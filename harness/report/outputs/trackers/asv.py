"""A history as airspeed velocity (asv) keeps one: a file per machine and commit, from which ``asv publish`` draws.

The files follow asv's format 2 of results, 2 of benchmarks and 1 of machines:
https://asv.readthedocs.io/en/stable/dev.html#benchmark-suite-layout-and-file-formats
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from harness.reading.history.commits import Commit, commit_of
from harness.reading.history.observations import History
from harness.reading.table import rows_of
from harness.report.outputs.trackers.names import exact, named
from harness.report.publishing import Published, publish

_ENVIRONMENT = "existing"  # asv's name for an environment that it did not make
_MOST_CHARACTERS = 150  # of a benchmark's name, which becomes that of a file
_COLUMNS = ["result", "params", "version"]
_TIME = {"type": "time", "unit": "seconds"}
_RELATIVE = {"type": "track", "unit": "of the baseline's time"}  # not the speedup: asv takes more for worse
_CONFIGURATION = {
    "version": 1,
    "project": "accelbench",
    "repo": "..",
    "branches": ["HEAD"],
    "environment_type": _ENVIRONMENT,
    "results_dir": "results",
    "html_dir": "html",
}


def write_asv(history: History, folder: Path | str) -> tuple[int, list[str], Published]:
    """Write every run that names its commit, below a folder or a URL.

    Returned is of how many commits, the names of runs that name none, and how many files were written. asv keeps one
    result per machine and commit: of several runs the last one. It has room for quartiles of times, which a history
    does not keep, and for no interval of an effect. ``asv.conf.json`` is written where there is none, for a ``folder``
    in the root of the repository.

    Raises:
        BadInput: the folder cannot be written.
    """
    without: list[str] = []
    benchmarks: dict[str, Any] = {}
    files: dict[str, bytes] = {}
    commits: set[str] = set()
    by_run = dict(list(history.observations.groupby("run", sort=False, observed=True)))
    for run in rows_of(history.runs):
        commit, found = commit_of(run["path"]), by_run.get(run["run"])
        if commit is None or found is None:
            without.append(str(run["run"]))
            continue
        commits.add(commit.id)
        results, machine = _results(found), _machine(run)
        benchmarks |= {name: _benchmark(name, kind) for name, (kind, _) in results.items()}
        place = f"results/{machine['machine']}"
        files[f"{place}/machine.json"] = _as_json(machine | {"version": 1})
        files[f"{place}/{commit.id[:8]}-{_ENVIRONMENT}.json"] = _as_json(_result(run, commit, machine, results))
    files["results/benchmarks.json"] = _as_json(benchmarks | {"version": 2})
    files["asv.conf.json"] = _as_json(_CONFIGURATION)
    return len(commits), without, publish(files, folder, once=["asv.conf.json"])


def _as_json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=1).encode()


def _machine(run: dict[str, Any]) -> dict[str, str]:
    identity, configuration = json.loads(run["identity"]), json.loads(run["configuration"])
    return {
        "machine": re.sub(r"[^\w-]+", "-", run["machine"])[:100].strip("-") or "unnamed",
        "cpu": str(identity.get("cpu_model", "")),
        "num_cpu": str(identity.get("cpu_cores", "")),
        "os": str(configuration.get("os", "")),
        "ram": f"{identity.get('memory_gib', '')} GiB",
    }


def _results(found: pd.DataFrame) -> dict[str, tuple[dict[str, str], list[Any]]]:
    """Return kind and columns of each case's time, and of each effect as the time relative to the baseline's."""
    results = {}
    for row in rows_of(found):
        name = named(row["case"], _MOST_CHARACTERS)
        results[f"{name} (time)"] = (_TIME, [[exact(row["log_s"])], [], "1"])
        if row["log_effect"] is not None:
            results[f"{name} (relative)"] = (_RELATIVE, [[exact(-row["log_effect"])], [], "1"])
    return results


def _benchmark(name: str, kind: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "code": "", "version": "1", "timeout": 60.0, "params": [], "param_names": []} | kind


def _result(
    run: dict[str, Any], commit: Commit, machine: dict[str, str], results: dict[str, tuple[Any, list[Any]]]
) -> dict[str, Any]:
    made = commit.made or run["taken"] or datetime.fromtimestamp(0, UTC)
    python = str(json.loads(run["configuration"]).get("python", "")).rpartition(" ")[2]
    return {
        "version": 2,
        "commit_hash": commit.id,
        "date": int(made.timestamp() * 1000),
        "env_name": _ENVIRONMENT,
        "params": machine | {"python": python},
        "python": python,
        "requirements": {},
        "env_vars": {},
        "durations": {},
        "result_columns": _COLUMNS,
        "results": {name: columns for name, (_, columns) in results.items()},
    }
