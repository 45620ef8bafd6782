"""What is measured of the stopwatch and the referee, in a process that serves nothing else."""

from __future__ import annotations

import gc
import os
import signal
import time
from functools import partial
from itertools import pairwise
from time import perf_counter

import harness.techniques
import harness.workloads  # noqa: F401  importing fills the catalogue
from harness.calibration.known_work import find_work, slow_once, waiting
from harness.certificate import Duel, Multiple, SlowCall, Timer, Wait
from harness.frameworks import load
from harness.measuring.compare import compare
from harness.measuring.evidence import Judgement
from harness.measuring.stopwatch import Stopwatch

WAITS_S = (1e-4, 1e-3, 1e-2)
MULTIPLES = (2, 4)
SLOW_S = 0.2
READINGS = 10_000


def prepare(framework: str) -> None:
    """Begin as a worker of the framework does, on one thread, and leave Ctrl-C to the parent, which ends this process.

    Two threads of one arm, beside a busy neighbour on two cores, would measure the scheduler.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load(framework)
    gc.collect()
    gc.freeze()


def duel(name: str, dose: float, neighbours: int, budget_s: float) -> Duel:
    """Let some known work meet ``dose`` more of it, each with data of its own."""
    work = find_work(name)
    arms = {"usual": partial(work.step, 0.0), "more": partial(work.step, dose)}
    start = perf_counter()
    judged = compare(arms, budget_s=budget_s, framework=work.framework, rebuild=True)["more"]
    return Duel(
        through="compare",
        framework=work.framework,
        work=name,
        dose=dose,
        neighbours=neighbours,
        spent_s=perf_counter() - start,
        verdict=judged.verdict,
        speedup=judged.speedup,
        low=judged.low,
        high=judged.kept_high,
    )


def multiples(name: str, budget_s: float) -> list[Multiple]:
    """Measure twice and four times the same work against once."""
    work = find_work(name)
    arms = {str(times): partial(work.step, times - 1) for times in (1, *MULTIPLES)}
    found = compare(arms, budget_s=budget_s, rebuild=True)
    return [_multiple(name, times, found[str(times)]) for times in MULTIPLES]


def _multiple(name: str, times: int, judged: Judgement) -> Multiple:
    """Return how many times as long it took: the inverse of the speedup."""
    high = 1 / judged.low if judged.low else None
    return Multiple(work=name, times=times, measured=1 / judged.speedup, low=1 / judged.high, high=high)


def waits(budget_s: float) -> list[Wait]:
    """Measure busy waits of known length."""
    found = compare({str(asked_s): waiting(asked_s) for asked_s in WAITS_S}, budget_s=budget_s)
    return [Wait(asked_s=asked_s, measured_s=found.per_item_s[str(asked_s)]) for asked_s in WAITS_S]


def slow_call(call: int, budget_s: float) -> SlowCall:
    """Compare a loop with the same loop, one call of which takes 0.2 s longer."""
    work = find_work("Python loop")
    slow = {"usual": None, "slow once": call}
    arms = {name: slow_once(work.step(), chosen, waiting(SLOW_S)) for name, chosen in slow.items()}
    judged = compare(arms, budget_s=budget_s)["slow once"]
    return SlowCall(
        call=call,
        slow_s=SLOW_S,
        verdict=judged.verdict,
        speedup=judged.speedup,
        low=judged.low,
        high=judged.kept_high,
    )


def timer() -> Timer:
    """Measure what reading the clock costs, and its least step."""
    steps = (later - earlier for earlier, later in pairwise([perf_counter() for _ in range(READINGS)]))
    return Timer(
        cost_s=Stopwatch(time.perf_counter, lambda: None).timer_cost_s(),
        resolution_s=min((step for step in steps if step > 0), default=time.get_clock_info("perf_counter").resolution),
    )
