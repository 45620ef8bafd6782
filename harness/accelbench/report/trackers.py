"""Export runs to trackers: github-action-benchmark, bencher and asv."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pandas as pd

from accelbench import units
from accelbench.errors import BadInput
from accelbench.history.observations import History
from accelbench.locations import Published, publish
from accelbench.results.arm_table import rows_of
from accelbench.results.load import as_time
from accelbench.schema.safe_json import printable
from accelbench.text import list_some

_DIGITS = 7  # more than any measurement has


def short_name(case: str, longest: int) -> str:
    """Return a case's name; one that is too long is cut and ends in a digest, so that it stays unique."""
    if len(case) <= longest:
        return case
    digest = blake2b(case.encode(), digest_size=6).hexdigest()
    return f"{case[: longest - len(digest) - 1]}~{digest}"


def exact(log: float, times: float = 1.0) -> float:
    """Return the exponential of a logarithm, scaled and rounded to meaningful digits."""
    return float(f"{math.exp(log) * times:.{_DIGITS}g}")


_NS = 1e9  # per second
_MOST_CHARACTERS = 1000  # of a name; bencher allows 1024


def as_github_action_benchmark(observations: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a run's observations as entries of the tool ``customSmallerIsBetter``.

    Speedup, interval and verdict are those of this run alone, since the tracker keeps the history.
    https://github.com/benchmark-action/github-action-benchmark#custom-benchmarks
    """
    return [entry for row in rows_of(observations) for entry in _entries(row)]


def as_bmf(observations: pd.DataFrame) -> dict[str, dict[str, dict[str, float]]]:
    """Return a run's observations in Bencher Metric Format, https://bencher.dev/docs/reference/bencher-metric-format/.

    ``latency`` is nanoseconds per item, as bencher's own measure of that name; ``speedup`` has its interval. Both are
    those of this run alone, since the tracker keeps the history.
    """
    return {short_name(row["case"], _MOST_CHARACTERS): dict(_measures(row)) for row in rows_of(observations)}


def _entries(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    name = short_name(row["case"], _MOST_CHARACTERS)
    yield {"name": f"{name}: time", "unit": f"ns/{row['unit']}", "value": exact(row["log_s"], _NS)}
    if row["log_effect"] is None:
        return
    low, high = _bounds(row)
    relative = {"name": f"{name}: relative time", "unit": "× the baseline's", "value": exact(-row["log_effect"])}
    if low and high:
        relative["range"] = f"± {units.significant((1 / low - 1 / high) / 2)}"
    said = units.ratio(math.exp(row["log_effect"]), low or 0.0, high or math.inf)
    yield relative | {"extra": f"speedup {said} against {row['against']}: {row['verdict']}, {row['pairs']} pairs"}


def _measures(row: dict[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    yield "latency", {"value": exact(row["log_s"], _NS)}
    if row["log_effect"] is not None:
        low, high = _bounds(row)
        ends = {"lower_value": low, "upper_value": high}
        known = {name: value for name, value in ends.items() if value is not None}
        yield "speedup", {"value": exact(row["log_effect"]), **known}


def _bounds(row: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the ends of an effect's interval, None where it has none there."""
    low, high = (row[f"log_{end}"] for end in ("low", "high"))
    return (
        exact(low) if low is not None and math.isfinite(low) else None,
        exact(high) if high is not None and math.isfinite(high) else None,
    )


_ENVIRONMENT = "existing"  # asv's name for an environment that it did not make
_MOST_CHARACTERS_ASV = 150  # of a benchmark's name, which becomes that of a file
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

    Returns the number of commits, the names of the runs that name none, and what was written. A run without a measured
    arm has nothing to write. asv keeps one result per machine and commit: the last of several runs. It has room for the
    quartiles of times, which a history does not keep, and none for the interval of an effect. ``asv.conf.json`` is
    written only where it is missing, for a ``folder`` in the root of the repository.

    Raises:
        BadInput: no run names its commit, none has a measured arm, or the folder cannot be written.
    """
    without: list[str] = []
    benchmarks: dict[str, Any] = {}
    files: dict[str, bytes] = {}
    commits: set[str] = set()
    by_run = dict(list(history.observations.groupby("run", sort=False, observed=True)))
    for run in rows_of(history.runs):
        commit, found = run["commit"], by_run.get(run["run"])
        if found is None:
            continue
        if not commit:
            without.append(str(run["run"]))
            continue
        commits.add(commit)
        results, machine = _results(found), _machine(run)
        benchmarks |= {name: _benchmark(name, kind) for name, (kind, _) in results.items()}
        place = f"results/{machine['machine']}"
        files[f"{place}/machine.json"] = _as_json(machine | {"version": 1})
        files[f"{place}/{commit[:8]}-{_ENVIRONMENT}.json"] = _as_json(_result(run, machine, results))
    if without and not commits:
        runs = list_some(map(printable, without), 1)
        raise BadInput(f"{runs}: no commit is named, and asv keeps results by commit; measure in a Git repository")
    if not commits:
        raise BadInput("nothing was measured in these runs, so there is nothing for asv; give others")
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
        name = short_name(row["case"], _MOST_CHARACTERS_ASV)
        results[f"{name} (time)"] = (_TIME, [[exact(row["log_s"])], [], "1"])
        if row["log_effect"] is not None:
            results[f"{name} (relative)"] = (_RELATIVE, [[exact(-row["log_effect"])], [], "1"])
    return results


def _benchmark(name: str, kind: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "code": "", "version": "1", "timeout": 60.0, "params": [], "param_names": []} | kind


def _result(run: dict[str, Any], machine: dict[str, str], results: dict[str, tuple[Any, list[Any]]]) -> dict[str, Any]:
    made = as_time(run["commit_time"]) or run["taken"] or datetime.fromtimestamp(0, UTC)
    python = str(json.loads(run["configuration"]).get("python", "")).rpartition(" ")[2]
    return {
        "version": 2,
        "commit_hash": run["commit"],
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
