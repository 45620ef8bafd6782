"""Arms that find no room: tried again alone, the smallest first, until one has too little memory to itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.experiment import Trial, named
from harness.measuring.measured import Measured
from harness.record import ArmRecord

if TYPE_CHECKING:
    from harness.measuring.entrant import Entrant


def no_room(smaller: Iterable[Entrant | ArmRecord]) -> str:
    """Return why an arm is not tried where one that takes less memory ran out of it, "" where none did."""
    full = next((arm for arm in smaller if arm.outcome == "out-of-memory"), None)
    return f"larger than {named(full.levels)}, which ran out of memory" if full else ""


def tried_apart(trial: Trial, measured: Measured, alone: Callable[[Trial], Measured]) -> Measured:
    """Measure candidates that ran out of memory beside the others again, and larger ones that were therefore left out.

    ``alone`` compares the baseline with one candidate, each with the memory to itself. Where the baseline was lost,
    there is nothing to compare.
    """
    arms = measured.arms
    if arms[0].outcome != "measured":
        return measured
    smaller = [trial.smaller(place) for place in range(len(arms))]
    full = [arm.outcome == "out-of-memory" for arm in arms]
    left_out = [arm.outcome == "unavailable" and any(full[i] for i in smaller[p]) for p, arm in enumerate(arms)]
    for place in range(1, len(arms)):
        if not (full[place] or left_out[place]):
            continue
        if reason := no_room(arms[i] for i in smaller[place]):
            arms[place] = replace(arms[place], outcome="unavailable", reason=reason)
            continue
        again = alone(replace(trial, arms=(trial.arms[0], trial.arms[place])))
        if left_out[place] or again.arms[1].outcome == "measured":
            arms[place], measured.samples_s[place] = again.arms[1], again.samples_s[1]
            measured.claims[place] = again.claims[1]  # what was never built had claimed nothing yet
    return measured
