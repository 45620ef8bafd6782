"""The findings of one run, computed once: page, figures, summary, tables and JSON read them from here."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from accelbench.attribution import FactorialEffect
from accelbench.certainty import noise_of, remarks_on_certainty
from accelbench.results.arm_table import Row, effects, rows_of, tabulate_arms
from accelbench.results.bottleneck import Bottleneck, bottlenecks
from accelbench.results.combinations import (
    AttributedBundle,
    Interaction,
    LadderResult,
    find_attributions,
    find_interactions,
    find_ladders,
)
from accelbench.results.load import Result
from accelbench.results.sweeps import (
    LevelSweep,
    SizeSweep,
    ceiling_shares,
    level_sweeps,
    size_sweeps,
)
from accelbench.results.time_to_accuracy import TimeToAccuracy, times_to_accuracy
from accelbench.schema.reasons import Reason
from accelbench.schema.result import Run
from accelbench.units import finite_or_none

_ARM = ("trial", "framework", "workload", "problem", "fixed", "levels")
_EFFECT = (
    *_ARM, "baseline_levels", "verdict", "speedup", "low", "high", "pairs", "paired", "workers", "builds", "error",
    "placement", "share", "ceiling", "flags", "baseline_flags",
)  # fmt: skip
_MISSING = (*_ARM, "outcome", "reason")
_LEVELS = ("technique", "trial", "framework", "workload", "unit", "knee", "best", "limit", "stopped_by")
_LADDER = ("technique", "trial", "framework", "workload", "held", "start")
_RUNG = ("rung", "speedup", "low", "high", "step", "step_low", "step_high", "step_verdict")
_INTERACTION = ("techniques", "trial", "framework", "workload", "held", "promised", "ratio", "low", "high")
_WAY = ("levels", "speedup", "low", "high")
_BUNDLE = ("trial", "framework", "workload", "held", "against", "missing", "sentence")
_TO_ACCURACY = ("technique", "trial", "framework", "workload", "held", "sentence")
_TRAINED = (
    "at", "rule", "missed", "images_per_s", "s_per_item", "speedup", "low", "high", "verdict", "observed_epochs",
)  # fmt: skip
_SIZES = ("test", "framework", "workload", "level", "against", "axis", "direction", "crossover", "low", "high")


@dataclass(frozen=True, eq=False)
class Findings:
    """What one run shows. Every part is computed when it is first read, and only once."""

    result: Result

    @property
    def run(self) -> Run:
        """The run itself."""
        return self.result.run

    @cached_property
    def noise(self) -> float:
        """The half-width of the noise zone around 1, as a fraction."""
        return noise_of(self.run)

    @cached_property
    def on_certainty(self) -> list[str]:
        """What made the intervals of the run narrower or wider, in sentences."""
        return remarks_on_certainty(self.run.trials)

    @cached_property
    def arms(self) -> pd.DataFrame:
        """One row per arm, as `tabulate_arms` returns them."""
        return tabulate_arms([self.result])

    @cached_property
    def effects(self) -> pd.DataFrame:
        """One row per candidate that has a speedup."""
        return effects(self.arms)

    @cached_property
    def rows(self) -> list[Row]:
        """The arms as mappings, with None for what is missing."""
        return rows_of(self.arms)

    @cached_property
    def effect_rows(self) -> list[Row]:
        """The rows that have a speedup."""
        return [row for row in self.rows if row["speedup"] is not None]

    @cached_property
    def bottlenecks(self) -> list[Bottleneck]:
        """What holds training back, for each trial that takes burdens off."""
        return bottlenecks(self.run)

    @cached_property
    def choosable_rows(self) -> list[Row]:
        """The rows of techniques that a person could choose."""
        explaining = {each.trial for each in self.bottlenecks}
        return [row for row in self.effect_rows if row["trial"] not in explaining]

    @cached_property
    def times_to_accuracy(self) -> list[TimeToAccuracy]:
        """Trainings until an accuracy is reached, by batch size."""
        return times_to_accuracy(self.arms)

    @cached_property
    def level_sweeps(self) -> list[LevelSweep]:
        """Sweeps over numeric levels, technique by technique; trainings to an accuracy have no throughput to level."""
        trained = {each.trial for each in self.times_to_accuracy}
        return [sweep for sweep in level_sweeps(self.arms) if sweep.trial not in trained]

    @cached_property
    def size_sweeps(self) -> list[SizeSweep]:
        """Candidates measured over several sizes of a problem."""
        return size_sweeps(self.effects)

    @cached_property
    def ladders(self) -> list[LadderResult]:
        """Techniques stacked on each other."""
        return find_ladders(self.arms)

    @cached_property
    def interactions(self) -> list[Interaction]:
        """Pairs of techniques, alone and together."""
        return find_interactions(self.arms)

    @cached_property
    def attributions(self) -> list[AttributedBundle]:
        """Bundles of techniques as factorial designs, with the share of each."""
        return find_attributions(self.arms, self.noise)

    @cached_property
    def ceiling_shares(self) -> list[pd.DataFrame]:
        """For each framework, the share of a ceiling that each workload reaches."""
        return ceiling_shares(self.arms)

    def as_json(self) -> dict[str, Any]:
        """Return effects, what several of them show together, bottlenecks and what was not measured, for JSON.

        A ladder's ``missing`` pairs each rung with the reason why it was not measured. An interaction's ``ratio`` is
        the speedup of both techniques over the speedup ``promised`` by each alone.
        """
        result = self.result
        return {
            "run": result.name,
            "taken": result.taken.isoformat() if result.taken else None,
            "machine": result.run.machine,
            "interrupted": result.run.interrupted,
            "effects": _records(self.effect_rows, _EFFECT),
            "knees": [_select(sweep, _LEVELS) for sweep in self.level_sweeps],
            "crossovers": [_select(sweep, _SIZES) for sweep in self.size_sweeps],
            "ladders": [
                {**_select(ladder, _LADDER), "rungs": _records(rows_of(ladder.rungs), _RUNG), "missing": ladder.missing}
                for ladder in self.ladders
            ],
            "interactions": [
                {**_select(both, _INTERACTION), "ways": _records(rows_of(both.arms), _WAY)}
                for both in self.interactions
            ],
            "attributions": [_attribution(bundle) for bundle in self.attributions],
            "times_to_accuracy": [
                {**_select(each, _TO_ACCURACY), "arms": _records(rows_of(each.arms), _TRAINED)}
                for each in self.times_to_accuracy
            ],
            "bottlenecks": [asdict(each) for each in self.bottlenecks],
            "not_measured": _records([row for row in self.rows if row["outcome"] != "measured"], _MISSING),
        }


def _select(found: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: _plain(getattr(found, name)) for name in names}


def _attribution(found: AttributedBundle) -> dict[str, Any]:
    """Return a bundle's shares, and whether its effects multiply: by ``p_value``, with interactions ``within``."""
    shares = found.effects
    kinds = {"alone": shares.alone, "average": shares.average, "on_top": shares.on_top}
    return {
        **_select(found, _BUNDLE),
        "techniques": shares.labels,
        "rounds": shares.rounds,
        "bundle": _share(shares.bundle),
        **{kind: {name: _share(share) for name, share in among.items()} for kind, among in kinds.items()},
        "interactions": [{"of": names, **_share(share)} for names, share in shares.interactions.items()],
        "additive": shares.additive.verdict,
        "p_value": shares.additive.p_value,
        "within": _plain(shares.additive.within),
    }


def _share(share: FactorialEffect) -> dict[str, Any]:
    return _select(share, ("ratio", "low", "high", "verdict"))


def _records(rows: list[Row], names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{name: _plain(row[name]) for name in names} for row in rows]


def _plain(value: Any) -> Any:
    """Return None for what is missing or has no bound, since JSON knows neither, and the wording of a reason."""
    if isinstance(value, Reason):
        return str(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return finite_or_none(value)
