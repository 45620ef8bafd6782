"""What the measuring of one trial leaves: the arms' records, and the raw samples that pytest-benchmark replays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from harness.experiment import Trial, Work
from harness.record import ArmRecord, Outcome


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What an arm must at least do in an iteration, and on which device; None where that is not known.

    ``loose`` says that a technique lets it compute in another precision than its work states.
    """

    work: Work
    device: str | None = None
    loose: bool = False


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One measured trial.

    ``samples_s`` stands beside ``arms``: seconds per iteration of each of an arm's blocks, empty where the arm
    was not measured. ``log_ratios`` holds each candidate's paired log speedups, judged so many ``together``, ``gains``
    those of a ladder's rungs over the rungs below, ``quiet`` which of these pairs nothing disturbed. ``outputs`` are
    the first arm's checked arrays and ``dtypes`` their types, where the plan asks for them. ``claims`` say what each
    arm does, None where it does not tell.
    ``spent_s`` says by kind where the worker's time went.
    """

    arms: list[ArmRecord]
    samples_s: list[tuple[float, ...]]
    log_ratios: list[tuple[float, ...]] = field(default_factory=list)
    gains: list[tuple[float, ...]] = field(default_factory=list)
    quiet: list[tuple[bool, ...]] = field(default_factory=list)
    together: int = 1
    outputs: list[np.ndarray] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    claims: list[Claim | None] = field(default_factory=list)
    span_s: float = 0.0
    disturbance: dict[str, float] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    spent_s: dict[str, float] = field(default_factory=dict)

    @classmethod
    def nothing(cls, trial: Trial, outcome: Outcome, reason: str) -> Measured:
        """Return a trial none of whose arms was measured, for one reason."""
        arms = [ArmRecord(levels=levels, outcome=outcome, reason=reason) for levels in trial.arms]
        return cls(arms=arms, samples_s=[()] * len(arms), log_ratios=[()] * len(arms))


def no_baseline(reason: str) -> str:
    """Return why a candidate has no speed where its baseline has none."""
    return f"there is no baseline to compare with: {reason}"
