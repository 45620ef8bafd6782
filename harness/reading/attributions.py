"""Attributions: of what a bundle of techniques brings, what each brings alone and what only several bring together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.attribution.contrasts import contrasts
from harness.attribution.fit import FEWEST, fit
from harness.attribution.shares import Attribution
from harness.reading.table import held_in_words, in_words

_FURTHEST = 50.0  # of a log ratio; beyond it is no measurement


@dataclass(frozen=True, kw_only=True)
class Attributed:
    """One workload's bundle, taken apart.

    ``against`` are the levels of the arm with everything off, ``missing`` what could not be switched on here.
    """

    trial: str
    workload: str
    framework: str
    held: str
    switched: str
    against: str
    missing: tuple[str, ...]
    shares: Attribution

    @property
    def sentence(self) -> str:
        """What the bundle consists of, and on what."""
        where = f"{self.workload} ({self.held})" if self.held else self.workload
        return f"{where}: {self.shares.sentence}"


def attributions(arms: pd.DataFrame, noise: float = 0.01) -> list[Attributed]:
    """Return every bundle whose arms are a factorial design, each of them timed in every round.

    Takes the arms of one run. A technique that could not be switched on in any arm is left out.
    """
    if arms.empty:
        return []
    return [found for _, trial in arms.groupby("trial", sort=False) for found in _of_trial(trial, noise)]


def _of_trial(arms: pd.DataFrame, noise: float) -> Iterator[Attributed]:
    off = arms.iloc[0]["levels"]
    measured = arms[arms["outcome"] == "measured"]
    on = {name: _other(measured, name, level) for name, level in off.items()}
    missing = [name for name, level in on.items() if level is None]
    kept = arms[[all(levels.get(name) == off[name] for name in missing) for levels in arms["levels"]]]
    names = [name for name in off if name not in missing]
    if len(names) < 2 or kept["outcome"].ne("measured").any() or not _whole(kept):
        return
    rows = tuple(tuple(levels.get(name) != off[name] for name in names) for levels in kept["levels"])
    log_speedups = np.array([[0.0] * len(kept["log_ratios"].iloc[1]), *kept["log_ratios"].iloc[1:]]).T
    if any(rows[0]) or not contrasts(names, rows) or not (np.abs(log_speedups) < _FURTHEST).all():
        return
    together = kept[[all(row) for row in rows]].iloc[0]
    yield Attributed(
        trial=together["trial"],
        workload=together["workload"],
        framework=together["framework"],
        held=held_in_words(together["problem"], together["fixed"]),
        switched=together["switched"],
        against=in_words({name: off[name] for name in names}),
        missing=tuple(name.replace("_", "-") for name in missing),
        shares=fit(
            {name: in_words({name: on[name]}) for name in names},
            rows,
            log_speedups,
            rounds=int(kept["pairs"].iloc[1]),
            noise=noise,
        ),
    )


def _other(arms: pd.DataFrame, name: str, off: str) -> str | None:
    """Return the one level of a technique besides the first; None where there is none, or more than one."""
    levels = {levels.get(name, off) for levels in arms["levels"]} - {off}
    return levels.pop() if len(levels) == 1 else None


def _whole(arms: pd.DataFrame) -> bool:
    """Say whether all candidates were timed in the same rounds, and enough of them."""
    candidates = arms.iloc[1:]
    stretches = candidates["log_ratios"].map(len)
    alike = len(candidates) > 0 and candidates["pairs"].nunique() == 1 and stretches.nunique() == 1
    return bool(alike and candidates["paired"].all() and stretches.iloc[0] >= FEWEST)
