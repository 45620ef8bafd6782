"""Which runs can stand in one line, and which lines the figure of a technique has."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from harness.reading.bottleneck import TECHNIQUE as RELIEF
from harness.reading.history.observations import History
from harness.reading.table import rows_of
from harness.report.history.happened import Happening

FEWEST = 3  # runs that make a line
_MOST_RUNS, _MOST_LINES = 40, 6  # that one can tell apart, and that keep a page below 3 MB


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Runs of one machine that can be compared with each other, the latest last.

    ``labels`` are what the runs are called on an axis, ``alike`` all that can be compared where only the latest are
    shown. ``effects`` are rows of the observations with ``at``, the run's place.
    """

    machine: str
    runs: list[str]
    labels: list[str]
    alike: Collection[str]
    effects: pd.DataFrame

    @property
    def total(self) -> int:
        """How many runs can be compared."""
        return len(self.alike)

    def shows(self, each: Happening) -> bool:
        """Say whether something happened in these runs; a drift did in all that can be compared."""
        return (each.until or each.run) in (self.alike if each.shape == "drift" else self.runs)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One effect over the runs; ``points`` has ``at``, ``speedup``, ``low``, ``high``, a row per run that has it.

    ``name`` is the workload, with the level where a figure has several, and ``label`` all that tells the case.
    """

    case: str
    name: str
    label: str
    points: pd.DataFrame

    @property
    def apart(self) -> float:
        """How far apart the intervals of two runs lie at most, as a logarithm; below 0 where all of them overlap."""
        low, high = float(self.points["low"].max()), float(self.points["high"].min())
        return math.log(low / high) if low > 0 and 0 < high < math.inf else -math.inf


def stretches(history: History) -> list[Stretch]:
    """Return the runs that can be compared, machine by machine, the machine of the latest run first.

    Series are not continued over another identity or another ``size``: those of the machine's latest run count.
    """
    machines = history.runs["machine"].iloc[::-1].drop_duplicates()
    return [stretch for machine in machines if (stretch := _stretch(history, machine))]


def techniques(stretch: Stretch) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield framework, technique and effects of each technique."""
    for (framework, technique), found in stretch.effects.groupby(["framework", "technique"], sort=False, observed=True):
        yield str(framework), str(technique), found


def lines(effects: pd.DataFrame, told: Collection[str] = ()) -> list[Line]:
    """Return a technique's lines: of each workload the case where it is strongest, at most six workloads.

    A case of which something is ``told``, a change, goes before a stronger one.
    """
    counted = effects.groupby("case", observed=True)["at"].transform("nunique")
    strength = effects["log_effect"].abs().groupby(effects["case"], observed=True).transform("median")
    ranked = effects.assign(strength=strength, told=effects["case"].isin(list(told)))[counted >= FEWEST]
    cases = ranked.sort_values(["told", "strength"], ascending=False, kind="stable").drop_duplicates("case")
    chosen = cases.drop_duplicates("workload")[:_MOST_LINES]
    several = chosen["level"].nunique() > 1
    return [_line(row, effects, several=several) for row in rows_of(chosen)]


def trimmed(stretch: Stretch, found: Sequence[Line]) -> tuple[Stretch, list[Line]]:
    """Return a stretch from the first run to the last that any of the lines has."""
    first = int(min(line.points["at"].min() for line in found))
    last = int(max(line.points["at"].max() for line in found))
    shown = replace(stretch, runs=stretch.runs[first : last + 1], labels=stretch.labels[first : last + 1])
    return shown, [replace(line, points=line.points.assign(at=line.points["at"] - first)) for line in found]


def _stretch(history: History, machine: str) -> Stretch | None:
    runs = history.runs[history.runs["machine"] == machine]
    newest = runs.iloc[-1]
    alike = runs[(runs["identity"] == newest["identity"]) & (runs["size"] == newest["size"])]
    alike = alike.drop_duplicates("run", keep="last")
    latest = alike[-_MOST_RUNS:]
    names = [str(name) for name in latest["run"]]
    found = history.observations
    kept = found["run"].isin(names) & ~found["baseline"].astype(bool) & np.isfinite(found["log_effect"].astype(float))
    effects = found[kept & (found["technique"] != RELIEF) & (found["technique"] != "")]
    if len(alike) < FEWEST or effects.empty:  # files of pytest-benchmark alone have no effects
        return None
    at = {name: place for place, name in enumerate(names)}
    effects = effects.assign(at=[at[str(name)] for name in effects["run"]])
    return Stretch(machine=machine, runs=names, labels=_labels(latest), alike={*alike["run"]}, effects=effects)


def _labels(runs: pd.DataFrame) -> list[str]:
    return [f"{number:04}" if number else str(name) for number, name in zip(runs["number"], runs["name"], strict=True)]


def _line(row: dict[str, Any], effects: pd.DataFrame, *, several: bool) -> Line:
    own = effects[effects["case"] == row["case"]].drop_duplicates("at", keep="last").sort_values("at")
    points = pd.DataFrame({"at": own["at"].to_numpy()})
    for name, column in (("speedup", "log_effect"), ("low", "log_low"), ("high", "log_high")):
        points[name] = np.exp(own[column].to_numpy(float))
    level = row["level"].removeprefix(f"{row['technique']} ")
    return Line(
        case=row["case"],
        name=f"{row['workload']} ({level})" if several else row["workload"],
        label=", ".join(filter(None, (row["workload"], level, row["problem"], row["fixed"]))),
        points=points,
    )
