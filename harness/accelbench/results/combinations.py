"""Techniques measured in combination: ladders, interactions of two, and bundles as factorial designs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from accelbench import units
from accelbench.attribution import MIN_STRETCHES, Attribution, FactorialEffect, combine, fit, is_full
from accelbench.results.arm_table import label_case, without
from accelbench.schema.result import ADDS
from accelbench.schema.verdict import FURTHEST
from accelbench.text import cross, format_levels, format_place, hyphenate

_MOST_SHARES = 3  # of ceilings: memory, matrix rate and link


@dataclass(frozen=True, kw_only=True)
class Combination:
    """Techniques that one trial measured in combination, and the case on which it did.

    ``held`` names the problem and what all arms have in common, and the test where another one measures the same.
    """

    trial: str
    workload: str
    framework: str
    held: str


@dataclass(frozen=True, kw_only=True)
class LadderResult(Combination):
    """One workload on every rung of a ladder: techniques stacked in a fixed order, from a naive start.

    ``rungs`` has one row per measured level in the order of stacking, the start first, with the level in a column
    ``rung`` and its speedup over the start. ``step`` is the speedup over the rung below, with its interval from
    ``step_low`` to ``step_high`` and its ``step_verdict``. Where the two were not paired with each other, the step is
    the ratio of both speedups over the start, its bounds follow from their intervals, and it has no verdict.
    ``missing`` are the rungs that were not measured, each with its reason.
    """

    technique: str
    rungs: pd.DataFrame
    missing: tuple[tuple[str, str], ...] = ()

    @property
    def start(self) -> str:
        """The lowest level."""
        return str(self.rungs["rung"].iloc[0])

    @property
    def top(self) -> pd.Series[Any]:
        """All rungs together."""
        return self.rungs.iloc[-1]

    @property
    def largest(self) -> pd.Series[Any]:
        """The rung with the largest speedup over the one below."""
        return self.rungs.iloc[int(self.rungs["step"].argmax())]

    @property
    def is_paired(self) -> bool:
        """Whether every rung was paired with the one below."""
        return bool(self.rungs["step_verdict"].iloc[1:].notna().all())

    @property
    def throughput(self) -> str:
        """The throughput of start and top, and how near it is to the ceilings; "" where no items were counted."""
        start, top = self.rungs.iloc[0], self.top
        if not start["items_per_s"] > 0 or not top["items_per_s"] > 0:
            return ""
        return f"From {_throughput(start)} at the start to {_throughput(top)} at the top."

    @property
    def left_out(self) -> str:
        """The rungs that were not measured, with the reasons; "" where all were."""
        reasons = "; ".join(f"{rung} ({reason})" for rung, reason in self.missing)
        return f"Not measured: {reasons}." if reasons else ""


@dataclass(frozen=True, kw_only=True)
class Interaction(Combination):
    """One workload under two techniques, each at its baseline level or switched.

    ``arms`` has one row for each of the four combinations, the baseline first and both together last, with the levels
    of the two techniques in columns ``first`` and ``second``. Without an interaction the speedups of the two alone
    multiply; ``ratio`` is the speedup of both over that product. The three speedups share their baseline and were not
    compared with each other, so ``low`` and ``high`` combine the worst ends of their intervals: they are conservative.
    """

    techniques: tuple[str, str]
    arms: pd.DataFrame
    ratio: float
    low: float
    high: float

    @property
    def together(self) -> pd.Series[Any]:
        """The arm with both techniques switched."""
        return self.arms.iloc[3]

    @property
    def alone(self) -> tuple[pd.Series[Any], pd.Series[Any]]:
        """The arms with the first and with the second technique switched."""
        return self.arms.iloc[1], self.arms.iloc[2]

    @property
    def promised(self) -> float:
        """The speedup of both if neither changed what the other does."""
        first, second = self.alone
        return float(first["speedup"] * second["speedup"])


@dataclass(frozen=True, kw_only=True)
class AttributedBundle(Combination):
    """A bundle that a full factorial design takes apart.

    ``against`` words the levels with everything off, ``missing`` are the techniques that could not be switched here.
    """

    switched: str
    against: str
    missing: tuple[str, ...]
    effects: Attribution

    @property
    def sentence(self) -> str:
        """What the bundle consists of, and on which workload."""
        return f"{format_place(self.workload, self.held)}: {self.effects.clause}"


def find_ladders(arms: pd.DataFrame) -> list[LadderResult]:
    """Return every ladder of which the start and at least two rungs were measured.

    A technique is a ladder if the name of every level after the first begins with ``+``, as in ``naive``,
    ``+prefetch``, ``+cache``.

    Args:
        arms: the arms of one run.
    """
    return [ladder for trial in _trials(arms, _has_rungs) for ladder in _ladders_of(trial)]


def find_interactions(arms: pd.DataFrame) -> list[Interaction]:
    """Return the interaction of every trial that measured all four combinations of two techniques' two levels.

    Args:
        arms: the arms of one run.
    """
    return [found for trial in _trials(arms, _has_several) for found in _interactions_of(trial)]


def find_attributions(arms: pd.DataFrame, noise: float = 0.01) -> list[AttributedBundle]:
    """Return every bundle whose arms are a full factorial design and were timed in the same rounds.

    A technique that could not be switched on in any arm is left out. If a trial had several visits, what its
    techniques bring is combined from the effects of its arms, which carry the spread between visits.

    Args:
        arms: the arms of one run.
        noise: ratios within this fraction of 1 count as the same.
    """
    return [found for trial in _trials(arms, _has_several) for found in _attributions_of(trial, noise)]


Levels = Mapping[str, str]
Rows = tuple[tuple[bool, ...], ...]  # for each arm, whether each technique is switched on


def _trials(arms: pd.DataFrame, is_wanted: Callable[[Sequence[Levels]], bool]) -> Iterator[pd.DataFrame]:
    """Yield the arms of each trial of which the levels are as wanted. A table is made only of these."""
    if arms.empty:
        return
    places: dict[str, list[int]] = {}
    for place, trial in enumerate(arms["trial"].tolist()):
        places.setdefault(trial, []).append(place)
    levels = arms["levels"].tolist()
    for found in places.values():
        if is_wanted([levels[place] for place in found]):
            yield arms.iloc[found]


def _has_several(levels: Sequence[Levels]) -> bool:
    """Return whether arms switch several techniques."""
    return len(levels[0]) > 1


def _has_rungs(levels: Sequence[Levels]) -> bool:
    """Return whether arms have the rungs of a ladder."""
    return any(level.startswith(ADDS) for each in levels[1:] for level in each.values())


def _case(row: pd.Series[Any], other: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the fields that every combination has."""
    return {
        "trial": row["trial"],
        "workload": row["workload"],
        "framework": row["framework"],
        "held": label_case(row, fixed={**row["fixed"], **(other or {})}),
    }


def _ladders_of(arms: pd.DataFrame) -> Iterator[LadderResult]:
    start = arms.iloc[0]
    for technique in start["levels"]:
        others = without(start["levels"], technique)
        rungs = arms[[without(levels, technique) == others for levels in arms["levels"]]]
        rungs = rungs.assign(rung=[levels.get(technique, "") for levels in rungs["levels"]])
        is_ladder = all(rung.startswith(ADDS) for rung in rungs["rung"].iloc[1:])
        if is_ladder and start["outcome"] == "measured" and rungs["speedup"].notna().sum() >= 2:
            measured = rungs["baseline"] | rungs["speedup"].notna()
            missing = rungs[~measured]
            yield LadderResult(
                **_case(start, others),
                technique=hyphenate(technique),
                rungs=_with_steps(rungs[measured].reset_index(drop=True)),
                missing=tuple(zip(missing["rung"], map(str, missing["reason"]), strict=True)),
            )


def _with_steps(rungs: pd.DataFrame) -> pd.DataFrame:
    speedup, low, high = (rungs[name].fillna(1.0) for name in ("speedup", "low", "high"))  # of the start: 1
    return rungs.assign(
        speedup=speedup,
        low=low,
        high=high,
        step=rungs["step"].fillna(speedup / speedup.shift()),
        step_low=rungs["step_low"].fillna(low / high.shift()),
        step_high=rungs["step_high"].fillna(high / low.shift()),
    )


def _throughput(rung: pd.Series[Any]) -> str:
    """Return a rung's throughput, and its shares of what the machine can do, the largest first."""
    nearest = sorted(rung["shares"].items(), key=lambda each: each[1], reverse=True)[:_MOST_SHARES]
    shares = ", ".join(f"{units.percent(share)} of {ceiling}" for ceiling, share in nearest)
    rate = units.rate(rung["items_per_s"], rung["unit"])
    return f"{rate} ({shares})" if shares else rate


def _interactions_of(arms: pd.DataFrame) -> Iterator[Interaction]:
    baseline = arms.iloc[0]["levels"]
    if len(baseline) != 2 or len(arms) != 4 or arms["outcome"].ne("measured").any():
        return
    first, second = baseline
    ways = arms.assign(
        first=[levels.get(first, "") for levels in arms["levels"]],
        second=[levels.get(second, "") for levels in arms["levels"]],
    )
    switched = zip(ways["first"] != baseline[first], ways["second"] != baseline[second], strict=True)
    ordered = ways.assign(order=[a + 2 * b for a, b in switched]).sort_values("order").reset_index(drop=True)
    has_two_levels = ordered["first"].nunique() == 2 and ordered["second"].nunique() == 2
    if has_two_levels and ordered["order"].is_unique and ordered["speedup"].iloc[1:].notna().all():
        yield _interaction(ordered.fillna({"speedup": 1.0, "low": 1.0, "high": 1.0}))  # the baseline's are 1


def _interaction(arms: pd.DataFrame) -> Interaction:
    first, second, together = (arms.iloc[place] for place in (1, 2, 3))
    return Interaction(
        **_case(together),
        techniques=(first["switched"], second["switched"]),
        arms=arms,
        ratio=_over_product(together["speedup"], first["speedup"], second["speedup"]),
        low=_over_product(together["low"], first["high"], second["high"]),
        high=_over_product(together["high"], first["low"], second["low"]),
    )


def _over_product(together: float, first: float, second: float) -> float:
    """Return a speedup over the product of two others, infinity where the product is 0."""
    promised = float(first) * float(second)
    return float(together) / promised if promised else math.inf


def _attributions_of(arms: pd.DataFrame, noise: float) -> Iterator[AttributedBundle]:
    off = arms.iloc[0]["levels"]
    measured = arms[arms["outcome"] == "measured"]
    on = {name: _level_on(measured, name, level) for name, level in off.items()}
    missing = [name for name, level in on.items() if level is None]
    kept = arms[[all(levels.get(name) == off[name] for name in missing) for levels in arms["levels"]]]
    names = [name for name in off if name not in missing]
    if len(names) < 2 or kept["outcome"].ne("measured").any():
        return
    rows = tuple(tuple(levels.get(name) != off[name] for name in names) for levels in kept["levels"])
    if any(rows[0]) or not is_full(rows):
        return
    effects = _attribute({name: format_levels({name: on[name]}) for name in names}, rows, kept, noise)
    if effects is not None:
        yield AttributedBundle(
            **_case(kept[[all(row) for row in rows]].iloc[0]),
            switched=cross(names),
            against=format_levels({name: off[name] for name in names}),
            missing=tuple(map(hyphenate, missing)),
            effects=effects,
        )


def _attribute(labels: Mapping[str, str], rows: Rows, arms: pd.DataFrame, noise: float) -> Attribution | None:
    """Return the effects of a bundle with these arms, None where they were not timed in the same rounds, or in few."""
    candidates = arms.iloc[1:]
    is_measured = np.abs(np.log(candidates["speedup"].to_numpy(float))) < FURTHEST
    if not (candidates["paired"].all() and is_measured.all()):
        return None
    if candidates["visits"].min() > 1:
        named = candidates[["speedup", "low", "high", "verdict"]].itertuples(index=False)
        own = (FactorialEffect(ratio=ratio, low=low, high=high, verdict=found) for ratio, low, high, found in named)
        return combine(
            labels, dict(zip(rows[1:], own, strict=True)), rounds=int(candidates["pairs"].min()), noise=noise
        )
    stretches = candidates["log_ratios"].map(len)
    if candidates["pairs"].nunique() > 1 or stretches.nunique() > 1 or stretches.iloc[0] < MIN_STRETCHES:
        return None
    log_speedups = np.array([[0.0] * stretches.iloc[0], *candidates["log_ratios"]]).T
    if not (np.abs(log_speedups) < FURTHEST).all():
        return None
    rounds, builds = int(candidates["pairs"].iloc[0]), int(candidates["builds"].iloc[0])
    return fit(labels, rows, log_speedups, rounds=rounds, batches=builds if builds > 1 else None, noise=noise)


def _level_on(arms: pd.DataFrame, name: str, off: str) -> str | None:
    """Return the one level of a technique besides the first; None where there is none, or more than one."""
    levels = {levels.get(name, off) for levels in arms["levels"]} - {off}
    return levels.pop() if len(levels) == 1 else None
