"""Many runs made from a real one, as accelbench keeps them and as asv does, for `report_scale.py`."""

from __future__ import annotations

import json
import math
import random
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from runs import REAL

ARMS = 300
_SPREAD = 0.03  # standard deviation of the logarithm by which times are off
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
_TIMES = ("min", "max", "mean", "stddev", "median", "iqr", "q1", "q3", "ld15iqr", "hd15iqr", "total")
_MACHINE = {"machine": "machine", "arch": "x86_64", "cpu": "CPU", "num_cpu": "2", "os": "Linux", "ram": "24 GiB"}
_ASV = {
    "version": 1,
    "project": "scale",
    "repo": ".",
    "branches": ["main"],
    "environment_type": "existing",
    "results_dir": "results",
    "html_dir": "html",
}


def write_runs(folder: Path, number: int) -> None:
    """Write so many runs to ``results/`` in a folder, and the medians of their arms for asv to ``asv/``."""
    commits = _repository(folder / "asv", number)
    whole = _shaped(json.loads(REAL.read_text()))
    text, names = json.dumps(whole), [f"suite.time_{place:03}" for place in range(ARMS)]
    kept, asv = folder / "results" / "machine", folder / "asv" / "results" / "machine"
    for place in (kept, asv):
        place.mkdir(parents=True)
    for run, commit in enumerate(commits, start=1):
        document = _another_day(msgspec.json.decode(text), run, commit)
        medians = [each["stats"]["median"] for each in document["benchmarks"]]
        _write(kept / f"{run:04}_run.json", document)
        _write(asv / f"{commit[:8]}-existing.json", _asv_result(commit, run, dict(zip(names, medians, strict=True))))
    _write(asv / "machine.json", _MACHINE | {"version": 1})
    _write(asv.parent / "benchmarks.json", {name: _asv_benchmark(name) for name in names} | {"version": 2})


def add_run(folder: Path, run: int) -> None:
    """Write one more run to ``results/`` in a folder."""
    document = _another_day(_shaped(json.loads(REAL.read_text())), run, f"{run:040x}")
    _write(folder / "results" / "machine" / f"{run:04}_run.json", document)


def _write(path: Path, document: dict[str, Any]) -> None:
    path.write_bytes(msgspec.json.encode(document))


def _repository(folder: Path, number: int) -> list[str]:
    """Make a repository of so many commits, configured for asv, and return their names, the oldest first."""
    folder.mkdir()
    _write(folder / "asv.conf.json", _ASV)
    times = (int(_taken(run).timestamp()) for run in range(1, number + 1))
    stream = "".join(f"commit refs/heads/main\ncommitter a <a> {time_s} +0000\ndata 1\nx\n" for time_s in times)
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], cwd=folder, check=True)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, check=True, input=stream.encode())
    listed = ["git", "rev-list", "--reverse", "main"]
    return subprocess.run(listed, cwd=folder, check=True, capture_output=True, text=True).stdout.split()


def _taken(run: int) -> datetime:
    return _FIRST + timedelta(hours=run)


def _shaped(document: dict[str, Any]) -> dict[str, Any]:
    """Return a run of exactly so many measured arms, its trials repeated under other names where there are too few."""
    entries = {(each["group"], json.dumps(each["extra_info"]["levels"])): each for each in document["benchmarks"]}
    trials = document["accelbench"]["trials"]
    whole = [trial for trial in trials if all(arm["outcome"] == "measured" for arm in trial["arms"])]
    kept: list[dict[str, Any]] = []
    benchmarks: list[dict[str, Any]] = []
    while len(benchmarks) < ARMS:
        trial, again = whole[len(kept) % len(whole)], len(kept) // len(whole)
        name = f"{trial['id']}[again-{again}]" if again else trial["id"]
        arms = trial["arms"][: ARMS - len(benchmarks)]
        kept.append(trial | {"id": name, "arms": arms})
        for arm in arms:
            entry = entries[trial["id"], json.dumps(arm["levels"])]
            benchmarks.append(entry | {"group": name, "fullname": f"{name}-{entry['name']}"})
    return document | {"benchmarks": benchmarks, "accelbench": document["accelbench"] | {"trials": kept}}


def _another_day(document: dict[str, Any], run: int, commit: str) -> dict[str, Any]:
    """Return a run as it might have come out another day: every arm is off by a factor of its own."""
    chance, entries = random.Random(run), iter(document["benchmarks"])
    for trial in document["accelbench"]["trials"]:
        factors = [math.exp(chance.gauss(0, _SPREAD)) for _ in trial["arms"]]
        for arm, factor in zip(trial["arms"], factors, strict=True):
            _slow_down(arm, factor, factors[0])
            stats = next(entries)["stats"]
            stats |= {name: stats[name] * factor for name in _TIMES} | {"ops": stats["ops"] / factor}
    about = document["commit_info"] | {"id": commit}
    return document | {"datetime": _taken(run).isoformat(), "commit_info": about}


def _slow_down(arm: dict[str, Any], factor: float, base: float) -> None:
    """Let an arm take so many times as long, and its baseline ``base`` times as long."""
    timing, effect = arm["timing"], arm["effect"]
    timing |= {name: timing[name] * factor for name in ("median_s", "cold_s", "build_s")}
    timing |= {name: [each * factor for each in timing.get(name, ())] for name in ("quantiles_s", "warmup_s")}
    if effect:
        effect |= {name: effect[name] * base / factor for name in ("speedup", "low", "high") if effect[name]}


def _asv_benchmark(name: str) -> dict[str, Any]:
    return {"name": name, "type": "time", "unit": "seconds", "code": name, "version": "1", "timeout": 60.0} | {
        "params": [], "param_names": [], "number": 0, "repeat": 0, "rounds": 2, "sample_time": 0.01,
    }  # fmt: skip


def _asv_result(commit: str, run: int, medians: dict[str, float]) -> dict[str, Any]:
    """Return a run in asv's format 2, https://asv.readthedocs.io/en/stable/dev.html#benchmark-suite-layout-and-file-formats."""
    return {
        "version": 2,
        "commit_hash": commit,
        "date": int(_taken(run).timestamp() * 1000),
        "env_name": "existing",
        "params": _MACHINE | {"python": "3.11"},
        "python": "3.11",
        "requirements": {},
        "env_vars": {},
        "durations": {},
        "result_columns": ["result", "params", "version"],
        "results": {name: [[median_s], [], "1"] for name, median_s in medians.items()},
    }
