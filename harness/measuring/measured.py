"""What the measuring of one trial leaves: the arms' records, and the raw samples that pytest-benchmark replays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from harness.experiment import Trial
from harness.record import ArmRecord, Outcome


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One measured trial.

    ``samples_s`` stands beside ``arms``: seconds per iteration of each of an arm's blocks, empty where the arm
    was not measured. ``log_ratios`` holds each candidate's paired log speedups, judged so many ``together``.
    ``outputs`` are the first arm's checked arrays, where the plan asks for them.
    """

    arms: list[ArmRecord]
    samples_s: list[tuple[float, ...]]
    log_ratios: list[tuple[float, ...]] = field(default_factory=list)
    together: int = 1
    outputs: list[np.ndarray] = field(default_factory=list)
    span_s: float = 0.0
    disturbance: dict[str, float] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    @classmethod
    def nothing(cls, trial: Trial, outcome: Outcome, reason: str) -> Measured:
        """Return a trial none of whose arms was measured, for one reason."""
        arms = [ArmRecord(levels=levels, outcome=outcome, reason=reason) for levels in trial.arms]
        return cls(arms=arms, samples_s=[()] * len(arms), log_ratios=[()] * len(arms))
