"""The comparisons of a calibration. Each returns records of the certificate.

All but `compare_in_suite` run inside a worker process, which measures nothing else.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any

from joblib import cpu_count

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.calibrate.known_work import busy_wait, find_work, slow_once
from accelbench.core import Arm, Build, Plan, Setting, Technique, Trial, register_techniques
from accelbench.errors import Unavailable
from accelbench.measuring.compare import CandidateResult, compare
from accelbench.measuring.referee import Stopwatch
from accelbench.measuring.workers.pool import Pool
from accelbench.measuring.workers.process import WorkerLostError
from accelbench.schema.certificate import KnownComparison, Multiple, SlowCall, Timer, Wait
from accelbench.schema.result import Verdict

WAITS_S = (1e-4, 1e-3, 1e-2)
MULTIPLES = (2, 4)
SLOW_S = 0.2
CLOCK_READINGS = 10_000


def compare_known(name: str, effect_size: float, busy_processes: int, budget_s: float) -> list[KnownComparison]:
    """Compare known work with ``1 + effect_size`` times as much of it, each with its own data."""
    work = find_work(name)
    arms = {"baseline": partial(work.step, 0.0), "candidate": partial(work.step, effect_size)}
    start = perf_counter()
    effects = compare(arms, budget_s=budget_s, framework=work.framework, tolerance=None, rebuild=True)
    verdict, speedup, low, high = _require_speed(name, effects["candidate"])
    comparison = KnownComparison(
        through="compare",
        framework=work.framework,
        work=name,
        effect_size=effect_size,
        busy_processes=busy_processes,
        spent_s=perf_counter() - start,
        verdict=verdict,
        speedup=speedup,
        low=low,
        high=high,
    )
    return [comparison]


def compare_multiples(name: str, budget_s: float) -> list[Multiple]:
    """Compare twice and four times the work with once."""
    work = find_work(name)
    arms = {str(times): partial(work.step, times - 1) for times in (1, *MULTIPLES)}
    effects = compare(arms, budget_s=budget_s, tolerance=None, rebuild=True)
    return [_to_multiple(name, times, effects[str(times)]) for times in MULTIPLES]


def _to_multiple(name: str, times: int, effect: CandidateResult) -> Multiple:
    """Return how many times as long it took: the inverse of the speedup."""
    _, speedup, low, high = _require_speed(f"{times} times {name}", effect)
    return Multiple(
        work=name, times=times, measured=1 / speedup, low=1 / high if high else 0.0, high=1 / low if low else None
    )


def _require_speed(what: str, effect: CandidateResult) -> tuple[Verdict, float, float, float | None]:
    """Return the verdict, the speedup and its bounds, of which the upper one is None if there is none.

    Raises:
        Unavailable: the candidate has no speed.
    """
    if effect.verdict is None:
        raise Unavailable(f"{what}: {effect.reason}")
    return effect.verdict, effect.speedup, effect.low, effect.high if math.isfinite(effect.high) else None


def measure_waits(budget_s: float) -> list[Wait]:
    """Measure busy waits of known length."""
    arms = {str(requested_s): busy_wait(requested_s) for requested_s in WAITS_S}
    effects = compare(arms, budget_s=budget_s, tolerance=None)
    for requested_s, effect in effects.items():
        _require_speed(f"wait of {requested_s} s", effect)
    measured_s = effects.per_item_s
    return [Wait(requested_s=requested_s, measured_s=measured_s[str(requested_s)]) for requested_s in WAITS_S]


def compare_slow_call(call: int, budget_s: float) -> list[SlowCall]:
    """Compare a loop with the same loop, one call of which takes ``SLOW_S`` longer."""
    work = find_work("Python loop")
    calls = {"baseline": None, "candidate": call}
    arms = {name: slow_once(work.step(), chosen, busy_wait(SLOW_S)) for name, chosen in calls.items()}
    effect = compare(arms, budget_s=budget_s, tolerance=None, by_value=False)["candidate"]  # copies would count anew
    verdict, speedup, low, high = _require_speed(f"slow call {call}", effect)
    return [SlowCall(call=call, slow_s=SLOW_S, verdict=verdict, speedup=speedup, low=low, high=high)]


def measure_timer() -> list[Timer]:
    """Measure the cost of reading the clock, and its resolution."""
    steps = (later - earlier for earlier, later in pairwise([perf_counter() for _ in range(CLOCK_READINGS)]))
    timer = Timer(
        cost_s=Stopwatch(time.perf_counter, lambda: None).timer_cost_s(),
        resolution_s=min((step for step in steps if step > 0), default=time.get_clock_info("perf_counter").resolution),
    )
    return [timer]


@dataclass(frozen=True, kw_only=True)
class SuiteCase:
    """A built-in workload with its options; an ``accelerated`` one needs an accelerator."""

    framework: str
    workload: str
    problem: dict[str, Any] = field(default_factory=dict)
    accelerated: bool = False

    @property
    def name(self) -> str:
        """The workload and where it runs."""
        place = "an accelerator" if self.accelerated else "the CPU"
        return f"{self.workload} of {self.framework} on {place}"


SUITE_CASES = (
    SuiteCase(framework="numpy", workload="heat", problem={"elements": 10_000}),
    SuiteCase(framework="numpy", workload="n-body", problem={"elements": 256}),
    SuiteCase(framework="torch", workload="heat", problem={"elements": 10_000, "array_library": "torch-cpu"}),
    SuiteCase(framework="torch", workload="mlp-train", problem={"device": "cpu"}),
    SuiteCase(framework="torch", workload="mlp-train", accelerated=True),
    SuiteCase(framework="tensorflow", workload="dense-train-keras"),
    SuiteCase(
        framework="cupy",
        workload="heat",
        problem={"elements": 1_000_000, "array_library": "resident"},
        accelerated=True,
    ),
)
LEVELS = ("one", "other")


def build_unchanged(build: Build, _: str) -> Arm:
    """Build the arm without a change."""
    return build()


def placebo(framework: str) -> Technique:
    """Return a technique whose two levels are the same code."""
    return Technique(
        name="placebo", framework=framework, levels=LEVELS, summary="A switch without effect.", apply=build_unchanged
    )


def compare_in_suite(case: SuiteCase, busy_processes: int, plan: Plan) -> tuple[list[KnownComparison], dict[str, str]]:
    """Compare two identical arms through the suite; return the comparison and the framework's configuration.

    The comparison has a worker process of its own, whose start does not count in ``spent_s``.

    Raises:
        Unavailable: the arms could not be measured.
    """
    register_techniques(placebo(case.framework))
    pool = Pool(plan)
    try:
        accelerators = pool.accelerators(case.framework)  # starts the worker
        if case.accelerated and not accelerators:
            raise Unavailable(f"{case.name}: there is no accelerator")
        start = perf_counter()
        candidate = pool.measure(_make_trial(case, accelerators, plan)).arms[1]
        spent_s = perf_counter() - start
        configuration = pool.configuration()
    except WorkerLostError as lost:
        raise Unavailable(f"{case.name}: {lost}") from None
    finally:
        pool.close()
    if candidate.effect is None:
        raise Unavailable(f"{case.name}: {candidate.outcome}: {candidate.reason}")
    comparison = KnownComparison(
        through="suite",
        framework=case.framework,
        work=case.name,
        effect_size=0.0,
        busy_processes=busy_processes,
        spent_s=spent_s,
        verdict=candidate.effect.verdict,
        speedup=candidate.effect.speedup,
        low=candidate.effect.low,
        high=candidate.effect.high,
    )
    return [comparison], configuration


def _make_trial(case: SuiteCase, accelerators: tuple[str, ...], plan: Plan) -> Trial:
    device = {"device": accelerators[0]} if case.accelerated and case.framework == "torch" else {}
    return Trial(
        framework=case.framework,
        workload=case.workload,
        arms=tuple({"placebo": level} for level in LEVELS),
        problem={**case.problem, **device},
        techniques=(placebo(case.framework),),
        setting=Setting(cores=cpu_count()),
        plan=plan,
    )
