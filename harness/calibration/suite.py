"""Identical arms through the suite: real workloads of the catalogue, each round of them in fresh workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from joblib import cpu_count

from harness.certificate import Duel
from harness.experiment import Arm, Build, Plan, Setting, Technique, Trial, adopt
from harness.measuring.handle import WorkerLostError
from harness.measuring.measured import Measured
from harness.measuring.pool import Pool


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A workload of the catalogue with its options, on an accelerator where it needs one."""

    framework: str
    workload: str
    problem: dict[str, Any] = field(default_factory=dict)
    accelerated: bool = False

    @property
    def name(self) -> str:
        """The workload and where it runs."""
        place = "an accelerator" if self.accelerated else "the CPU"
        return f"{self.workload} of {self.framework} on {place}"


KINDS = (
    Kind(framework="numpy", workload="heat", problem={"elements": 10_000}),
    Kind(framework="numpy", workload="n-body", problem={"elements": 256}),
    Kind(framework="torch", workload="heat", problem={"elements": 10_000, "array_library": "torch-cpu"}),
    Kind(framework="torch", workload="mlp-train", problem={"device": "cpu"}),
    Kind(framework="torch", workload="mlp-train", accelerated=True),
    Kind(framework="tensorflow", workload="dense-train-keras"),
    Kind(
        framework="cupy",
        workload="heat",
        problem={"elements": 1_000_000, "array_library": "resident"},
        accelerated=True,
    ),
)
LEVELS = ("one", "other")


def unchanged(build: Build, _: str) -> Arm:
    """Switch nothing."""
    return build()


def placebo(framework: str) -> Technique:
    """Return a technique both levels of which are the same code."""
    return Technique(
        name="placebo", framework=framework, levels=LEVELS, summary="A switch without effect.", apply=unchanged
    )


@dataclass(frozen=True, kw_only=True)
class Found:
    """A duel, or the sentence that says why there is none, and what the framework said of itself."""

    duel: Duel | None
    reason: str
    configuration: dict[str, str]


def in_a_fresh_worker(kind: Kind, neighbours: int, plan: Plan) -> Found:
    """Measure a trial of two identical arms in a worker of its own. The worker's start is not part of the time."""
    adopt(placebo(kind.framework))
    pool = Pool(plan)
    try:
        accelerators = pool.accelerators(kind.framework)  # starts the worker
        if kind.accelerated and not accelerators:
            return Found(duel=None, reason=f"{kind.name}: there is no accelerator", configuration={})
        start = perf_counter()
        measured = pool.measure(_trial(kind, accelerators, plan))
        return _found(kind, neighbours, perf_counter() - start, measured, pool.configuration())
    except WorkerLostError as lost:
        return Found(duel=None, reason=f"{kind.name}: {lost}", configuration={})
    finally:
        pool.close()


def _trial(kind: Kind, accelerators: tuple[str, ...], plan: Plan) -> Trial:
    device = {"device": accelerators[0]} if kind.accelerated and kind.framework == "torch" else {}
    return Trial(
        framework=kind.framework,
        workload=kind.workload,
        arms=tuple({"placebo": level} for level in LEVELS),
        problem={**kind.problem, **device},
        techniques=(placebo(kind.framework),),
        setting=Setting(cores=cpu_count()),
        plan=plan,
    )


def _found(kind: Kind, neighbours: int, spent_s: float, measured: Measured, configuration: dict[str, str]) -> Found:
    other = measured.arms[1]
    if other.effect is None:
        return Found(duel=None, reason=f"{kind.name}: {other.outcome}: {other.reason}", configuration=configuration)
    duel = Duel(
        through="suite",
        framework=kind.framework,
        work=kind.name,
        dose=0.0,
        neighbours=neighbours,
        spent_s=spent_s,
        verdict=other.effect.verdict,
        speedup=other.effect.speedup,
        low=other.effect.low,
        high=other.effect.high,
    )
    return Found(duel=duel, reason="", configuration=configuration)
