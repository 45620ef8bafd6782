"""Time commands in folders of many runs, beside other tools: `python -m studies.report_scale` (some ten minutes).

The study times building and loading the index, `accelbench check`, also after one more run, and `accelbench report`,
each in a process of its own. Only "the same report again" finds what a report computed before. `pytest-benchmark
compare` reads the same files, and `asv publish` the same medians in asv's format. The tools answer different questions.
The table is printed; with --write it is put into studies/README.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from accelbench.disk_cache import computed_folder
from accelbench.files import CACHE_VARIABLE
from studies.marked_tables import show_tables

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
    """Write ``number`` runs to ``results/`` in a folder, and the medians of their arms for asv to ``asv/``."""
    commits = _repository(folder / "asv", number)
    whole = _reshape(json.loads(REAL.read_text()))
    text, names = json.dumps(whole), [f"suite.time_{place:03}" for place in range(ARMS)]
    kept, asv = folder / "results" / "machine", folder / "asv" / "results" / "machine"
    for place in (kept, asv):
        place.mkdir(parents=True)
    for run, commit in enumerate(commits, start=1):
        document = _simulate_run(msgspec.json.decode(text), run, commit)
        medians = [each["stats"]["median"] for each in document["benchmarks"]]
        _write(kept / f"{run:04}_run.json", document)
        _write(asv / f"{commit[:8]}-existing.json", _asv_result(commit, run, dict(zip(names, medians, strict=True))))
    _write(asv / "machine.json", _MACHINE | {"version": 1})
    _write(asv.parent / "benchmarks.json", {name: _asv_benchmark(name) for name in names} | {"version": 2})


def add_run(folder: Path, run: int) -> None:
    """Write one more run to ``results/`` in a folder."""
    document = _simulate_run(_reshape(json.loads(REAL.read_text())), run, f"{run:040x}")
    _write(folder / "results" / "machine" / f"{run:04}_run.json", document)


def _write(path: Path, document: dict[str, Any]) -> None:
    path.write_bytes(msgspec.json.encode(document))


def _repository(folder: Path, number: int) -> list[str]:
    """Make a repository of ``number`` commits, configured for asv, and return their names, the oldest first."""
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


def _reshape(document: dict[str, Any]) -> dict[str, Any]:
    """Return a run of exactly `ARMS` measured arms; where it has fewer, its trials repeat under other names."""
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


def _simulate_run(document: dict[str, Any], run: int, commit: str) -> dict[str, Any]:
    """Return a run as of another day: every arm's times change by a random factor of their own."""
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
    """Make an arm take ``factor`` times as long, and its baseline ``base`` times as long."""
    timing, effects = arm["timing"], arm["effects"]
    timing |= {name: timing[name] * factor for name in ("median_s", "cold_s", "build_s")}
    timing |= {name: [each * factor for each in timing.get(name, ())] for name in ("quantiles_s", "warmup_s")}
    for effect in effects:
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


PAGE = Path(__file__).with_name("README.md")
REAL = PAGE.parents[1] / "results" / "amd-epyc-2c-24g-a1550a" / "0010_quick.json"
TIMEOUT_S = 600  # for one command
READ = "from accelbench.history.index import load_history; load_history('results')"
# Started by a small process of its own: a process counts its parent's memory until it becomes another program.
MEASURE = """
import json, os, sys, time
begun = time.perf_counter()
child = os.fork()
if not child:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(child, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), time.perf_counter() - begun, used.ru_maxrss * 1024]))
"""


@dataclass(frozen=True)
class Cost:
    """What a command and its child processes cost: seconds, and the memory of the largest process."""

    status: int
    wall_s: float
    peak_bytes: int

    def __str__(self) -> str:
        """Return the table's cell."""
        if self.status == 124:
            return f"more than {TIMEOUT_S} s"
        return f"{self.wall_s:.1f} s, {self.peak_bytes / 2**20:,.0f} MiB" if self.status == 0 else "failed"


def measure(*command: str | Path, folder: Path) -> Cost:
    """Run a command in a folder."""
    limited = ["timeout", "--kill-after=5", str(TIMEOUT_S), *map(str, command)]
    output = subprocess.run(
        [sys.executable, "-I", "-S", "-c", MEASURE, *limited], cwd=folder, check=True, stdout=subprocess.PIPE
    )
    return Cost(*json.loads(output.stdout))


def install_asv(folder: Path) -> Path:
    """Install asv into an environment of its own, and return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--quiet", "asv"], check=True)
    return python


def measure_folder(number: int, asv: Path, folder: Path) -> Iterator[tuple[str, Cost]]:
    """Yield each command on a folder of ``number`` runs, and what it cost."""
    with ProcessPoolExecutor(1) as child:  # making them takes memory, which must not be this process's
        child.submit(write_runs, folder, number).result()
    accelbench = [sys.executable, "-m", "accelbench"]
    for text in ("build the index", "load the index"):
        yield text, measure(sys.executable, "-c", READ, folder=folder)
    for command in ("check", "report"):
        yield f"`accelbench {command}`", measure(*accelbench, command, folder=folder)
    yield "the same report again", measure(*accelbench, "report", folder=folder)
    for option in ("--no-history", "--format markdown"):
        shutil.rmtree(computed_folder(), ignore_errors=True)
        yield f"`accelbench report {option}`", measure(*accelbench, "report", *option.split(), folder=folder)
    storage = ["--storage", (folder / "results").as_uri()]
    compare = Path(sys.executable).with_name("pytest-benchmark")
    compared = measure(compare, *storage, "compare", "--columns=median", folder=folder)
    yield f"`pytest-benchmark compare` {version('pytest-benchmark')}", compared
    yield f"`asv publish` {asv_version(asv)}", measure(asv, "-m", "asv", "publish", folder=folder / "asv")
    made = (folder / "reports" / "run" / "index.html", folder / "asv" / "html" / "index.json")
    assert [path for path in made if not path.is_file()] == []
    with ProcessPoolExecutor(1) as child:
        child.submit(add_run, folder, number + 1).result()
    yield "`accelbench check` after one more run", measure(*accelbench, "check", folder=folder)


def asv_version(asv: Path) -> str:
    """Return the version of asv in an environment, given its Python."""
    command = [asv, "-c", "from importlib.metadata import version; print(version('asv'))"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def table(numbers: list[int]) -> list[str]:
    """Measure, print each cost, and return the table's lines."""
    rows: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(prefix="scale-") as place:
        os.environ[CACHE_VARIABLE] = str(Path(place, "cache"))  # the first command finds no index, and leaves none
        asv = install_asv(Path(place, "venv"))
        for number in numbers:
            folder = Path(place, str(number))
            folder.mkdir()
            for command, cost in measure_folder(number, asv, folder):
                print(f"{number:,}: {command}: {cost}", file=sys.stderr, flush=True)
                rows.setdefault(command, []).append(str(cost))
            shutil.rmtree(folder)
    around = (
        f"Wall time with starting Python, and the memory of the largest process; {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, files in the page cache, one command after the other."
    )
    return [
        f"| runs of {ARMS} arms | {' | '.join(f'{number:,}' for number in numbers)} |",
        f"|---|{'---:|' * len(numbers)}",
        *(f"| {command} | {' | '.join(cells)} |" for command, cells in rows.items()),
        "",
        around,
    ]


def main() -> None:
    """Time the commands in folders of each size and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 100, 1000], help="numbers of runs (1 100 1000)")
    parser.add_argument("--write", action="store_true", help="put the table into studies/README.md")
    options = parser.parse_args()
    show_tables(PAGE, "scale", table(options.runs), write=options.write)


if __name__ == "__main__":
    main()
