"""Why techniques paid or not in a run: what profiles of its baselines predict, and why some of its effects came about.

It is stored beside the run, as ``0007_quick.explained`` beside ``0007_quick.json``: everything that reads runs, such as
pytest-benchmark, reads every ``*.json``. Measured speedups stay in the run.

Schema history:
    1  first version
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec

from accelbench.schema.result import ArmRecord, Count, Effect, Environment, Run, Seconds, TrialRecord
from accelbench.schema.result_json import to_json
from accelbench.schema.safe_json import as_schema
from accelbench.text import name_tests

SCHEMA_VERSION = 1
SUFFIX = ".explained"
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
Asked = Literal["slower", "surpassed", "chosen"]
Calls = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


def highest_speedup(share: float) -> float:
    """Return the most that a technique brings which touches this share of the time, by Amdahl's law (1967)."""
    return 1 / (1 - share) if share < 1 else math.inf


@dataclass(frozen=True, kw_only=True)
class PredictedEffect:
    """What the baseline's profile says of an arm of a trial: which ``share`` of the time its technique touches.

    The share lies between ``low`` and ``high`` at 99 %.
    """

    trial: str
    levels: dict[str, str]
    touches: str
    share: Fraction
    low: Fraction
    high: Fraction

    @property
    def at_most(self) -> float:
        """The highest speedup that the profile allows, which may be infinite."""
        return highest_speedup(self.high)


@dataclass(frozen=True, kw_only=True)
class OperatorChange:
    """An operator's seconds per iteration and its calls, without a technique and with it."""

    name: str
    before_s: Seconds
    after_s: Seconds
    calls_before: Calls
    calls_after: Calls

    @property
    def added_s(self) -> float:
        """The seconds that the technique adds; negative if it saves some."""
        return self.after_s - self.before_s


@dataclass(frozen=True, kw_only=True)
class ExplainedEffect:
    """Why an arm of a trial is slower or faster than its baseline, from a profile of both.

    ``asked`` says what is in question: that it is slower, that it surpasses what the profile allows, or that somebody
    chose it.
    ``sentences`` say it, without a full stop. ``operators`` are those whose time changes most. ``before_s`` and
    ``after_s`` are seconds of an iteration of the same items in the two processes, without a profiler.
    """

    trial: str
    levels: dict[str, str]
    asked: Asked
    sentences: list[str]
    operators: list[OperatorChange]
    before_s: Seconds
    after_s: Seconds


@dataclass(frozen=True, kw_only=True)
class RunExplanation:
    """What profiles say of a run. ``created`` is an ISO time.

    ``left_out`` counts the effects that a reader would ask about and for which the time did not suffice,
    ``baselines_left_out`` the baselines that were not profiled for the same reason. ``not_profiled`` says in a sentence
    each what could not be profiled, and why.
    """

    schema_version: Annotated[int, msgspec.Meta(ge=1)]
    machine: str
    environment: Environment
    created: str
    spent_s: Seconds
    predictions: list[PredictedEffect] = field(default_factory=list)
    reasons: list[ExplainedEffect] = field(default_factory=list)
    left_out: Count = 0
    baselines_left_out: Count = 0
    not_profiled: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class EffectOfRun:
    """An effect of a run, with its trial and its arm; ``test`` names its test where another one measures the same."""

    trial: TrialRecord
    arm: ArmRecord
    effect: Effect
    test: str = ""


def list_predictions(explanation: RunExplanation, run: Run) -> list[tuple[PredictedEffect, EffectOfRun]]:
    """Return the predictions with the effects that were measured, those first that touch most of the time."""
    return sorted(_pair(explanation.predictions, run), key=lambda pair: pair[0].share, reverse=True)


def list_reasons(explanation: RunExplanation, run: Run) -> list[tuple[ExplainedEffect, EffectOfRun]]:
    """Return the explained effects with what was measured of each."""
    return list(_pair(explanation.reasons, run))


def _pair(parts: list[Any], run: Run) -> Iterator[tuple[Any, EffectOfRun]]:
    """Yield the parts of an explanation whose effects the run has, with these."""
    tests = name_tests(run.trials)
    effects = {
        (trial.id, frozenset(arm.levels.items())): EffectOfRun(
            trial=trial, arm=arm, effect=arm.effect, test=tests.get(trial.id, "")
        )
        for trial in run.trials
        for arm in trial.arms[1:]
        if arm.effect is not None
    }
    for part in parts:
        if (found := effects.get((part.trial, frozenset(part.levels.items())))) is not None:
            yield part, found


def to_bytes(explanation: RunExplanation) -> bytes:
    """Return the content of a file that holds an explanation."""
    return json.dumps(to_json(explanation), indent=1, allow_nan=False).encode()


def from_bytes(data: bytes, *, source: str) -> RunExplanation:
    """Return the explanation in a file's content.

    Raises:
        UnreadableResult: it is truncated or no explanation, has a newer schema, or does not follow its schema.
    """
    other = "not the explanation of a run; make one with accelbench explain RESULT"
    return as_schema(data, RunExplanation, SCHEMA_VERSION, source=source, again="explain", otherwise=other)
