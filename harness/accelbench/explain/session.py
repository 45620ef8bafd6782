"""An explanation from request to answer: profile the program, take parts off it, try what may help, and sum up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from joblib import cpu_count

from accelbench.advise.time_limit import TimeLimit
from accelbench.core import Levels, OnProgress, Plan, Setting, Trial, Workload, find_technique, register_techniques
from accelbench.errors import BadInput, Unavailable
from accelbench.explain.causes import find_causes, plan_remedies
from accelbench.explain.explanation import Explanation
from accelbench.explain.parts import (
    TAKEN_OFF,
    Part,
    baseline_of,
    build_without,
    complete,
    left_out,
    plan_parts,
    read_part,
)
from accelbench.explain.prediction import Prediction, predict
from accelbench.explain.profile import ALPHA, Profile
from accelbench.explain.why import Reasons
from accelbench.machine_lock import hold_machine
from accelbench.measuring.workers.pool import Pool
from accelbench.measuring.workers.process import Worker, WorkerLostError

PARTS_SHARE = 0.6  # of the time that the profile leaves; the rest goes to what may help
OVERHEAD = 1.6  # times its measuring, that an arm takes with its build and its checks
LEAST_S, MOST_S = 0.5, 12.0  # of an arm
LONGEST = 1.15  # times the budget, after which measuring is cut short
PAIRS = 10  # that an arm gets at least: eight of one sign are the fewest that an interval at 99 % takes
PRECISE = 0.04  # half-width of an interval at which an arm gets no more pairs
FRAMEWORKS = ("torch", "numpy")  # whose programs are explained
SOON_S = 0.2  # of an iteration, from which parts are taken off
ZONE = 0.02  # speedups within it count as the same


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a user asks for: a program, how many seconds the answer may take, and what an hour of the machine costs."""

    workload: Workload
    budget_s: float = 120.0
    price_per_hour: float | None = None
    seed: int = 0


def explain(
    request: Request,
    *,
    report: Callable[[str], None] = lambda _: None,
    on_progress: OnProgress = lambda _: None,
) -> Explanation:
    """Say what holds a program back, where its time goes, and what to switch on.

    Raises:
        BadInput: the program cannot be built.
        Unavailable: the framework is not installed, or the program does not run.
    """
    pool = Pool(Plan())
    try:
        with hold_machine(report):
            return _explain(request, pool, report, on_progress)
    finally:
        pool.close()


def _explain(request: Request, pool: Pool, report: Callable[[str], None], on_progress: OnProgress) -> Explanation:
    framework = request.workload.frameworks[0]
    start_s = time.monotonic()
    setting = Setting(seed=request.seed, cores=cpu_count())
    report("profiling your program, in a process of its own")
    profile = profile_in_worker(request.workload, framework, setting)
    profiled_s = time.monotonic()
    ceilings = pool.ceilings.get(framework, on_progress)
    start_s += time.monotonic() - profiled_s  # ceilings are measured once per machine, beyond the budget
    measure = _Measurement(request, pool, profile, replace(setting, items=profile.items), on_progress)
    end_s = start_s + request.budget_s
    planned = plan_parts(profile)
    report(f"taking {len(planned)} parts off it, one at a time")
    parts, remedies = [left_out(*part) for part in planned], list[Part]()
    most_s = start_s + LONGEST * request.budget_s - time.monotonic()
    limit = TimeLimit(most_s)
    try:
        if most_s > LEAST_S:
            with limit:
                left_s = end_s - time.monotonic()
                if planned:
                    parts = measure(planned, PARTS_SHARE * left_s, items=few_items(profile))
                if tries := plan_remedies(profile, parts, find_causes(profile, parts, ceilings)):
                    report(f"trying {len(tries)} things that may help")
                    remedies = measure(tries, end_s - time.monotonic())
    except KeyboardInterrupt:
        if not limit.is_over:
            raise
    causes = find_causes(profile, parts, ceilings)
    return Explanation(
        workload=request.workload.name,
        unit=request.workload.unit,
        profile=profile,
        parts=tuple(parts),
        remedies=tuple(remedies),
        causes=tuple(causes),
        ceilings=tuple(ceilings),
        item_s=measure.item_s,
        price_per_hour=request.price_per_hour,
        spent_s=time.monotonic() - start_s,
    )


def predict_speedups(request: Request) -> list[Prediction]:
    """Rank techniques by what each could bring at most, from a profile of the program alone.

    Raises:
        BadInput: the program cannot be built.
        Unavailable: the framework is not installed.
    """
    setting = Setting(seed=request.seed, cores=cpu_count())
    return predict(profile_in_worker(request.workload, request.workload.frameworks[0], setting))


def explain_technique(
    request: Request,
    name: str,
    level: str,
    *,
    report: Callable[[str], None] = lambda _: None,
    on_progress: OnProgress = lambda _: None,
) -> Reasons:
    """Say why a technique makes a program faster or slower, from the operators of both.

    Raises:
        BadInput: the program cannot be built, or there is no such technique or level.
        Unavailable: the framework is not installed, or the technique cannot be switched here.
    """
    framework = request.workload.frameworks[0]
    find_technique(framework, name)
    setting = Setting(seed=request.seed, cores=cpu_count())
    pool = Pool(Plan())
    try:
        with hold_machine(report):
            report("profiling your program, in a process of its own")
            before = profile_in_worker(request.workload, framework, setting)
            setting = replace(setting, items=before.items)
            report(f"profiling it with {name} {level}")
            after = profile_in_worker(request.workload, framework, setting, {name: level})
            report("timing both in pairs")
            measure = _Measurement(request, pool, before, setting, on_progress)
            (measured,) = measure([(f"{name} {level}", {name: level})], request.budget_s / 2)
    finally:
        pool.close()
    prediction = next((each for each in predict(before) if name.replace("_", " ") in each.technique), None)
    return Reasons(workload=request.workload.name, measured=measured, before=before, after=after, prediction=prediction)


def profile_in_worker(work: Workload, framework: str, setting: Setting, levels: Levels | None = None) -> Profile:
    """Profile a program in a worker that ends with this: a profiler may stay attached to its process.

    Raises:
        BadInput: the program cannot be built.
        Unavailable: the framework is not installed, or the worker was lost.
    """
    build = own_builder(work)
    worker = Worker(framework, {})
    try:
        found: Profile = worker.call(_profile, framework, build, setting, levels or {})
    except WorkerLostError as lost:
        raise Unavailable(f"{framework}: {lost}") from None
    finally:
        worker.close()
    return found


def _profile(framework: str, build: Callable[[], Any], setting: Setting, levels: Levels) -> Profile:
    if framework == "numpy":
        from accelbench.explain.array_profile import profile_array_program

        return profile_array_program(build, setting, levels)
    from accelbench.explain.torch_profile import profile_program

    return profile_program(build, setting, levels)


def few_items(profile: Profile) -> float:
    """Return the items of an iteration that gives pairs soon: fewer where no loader process must be kept busy."""
    if profile.workers or not profile.batch_size:
        return profile.items
    batches = max(1, int(SOON_S / (profile.seconds / profile.batches)))
    return min(profile.items, batches * profile.batch_size)


def own_builder(work: Workload) -> Callable[[], Any]:
    """Return the user's function that builds a program.

    Raises:
        BadInput: the workload is no program of a user's own.
    """
    builder: Any = work.builder
    if work.frameworks[0] not in FRAMEWORKS:
        raise BadInput(
            f"{work.name} is a Keras program; explain takes those of PyTorch and NumPy; advise says what pays in it"
        )
    if not (work.is_program and isinstance(builder, partial) and builder.args):
        raise BadInput(f"{work.name} is no program; expected FILE.py:FUNCTION, where the function builds a program")
    build: Callable[[], Any] = builder.args[0]
    return build


class _Measurement:
    """Measures parts and remedies, each beside the program as it stands. ``item_s`` is its time per item."""

    def __init__(
        self, request: Request, pool: Pool, profile: Profile, setting: Setting, on_progress: OnProgress
    ) -> None:
        framework = profile.framework
        self._profile = profile
        self.item_s: float | None = None
        self._pool, self._on_progress = pool, on_progress
        work = request.workload
        is_taken_apart = framework == TAKEN_OFF.framework
        if is_taken_apart:
            work = replace(work, builder=partial(build_without, own_builder(work)))
        techniques = (TAKEN_OFF,) if is_taken_apart else ()
        register_techniques(*techniques)  # the pool asks about them in this process, too
        self._trial = Trial(framework=framework, workload=work, arms=({},), techniques=techniques, setting=setting)

    def __call__(
        self, parts: Sequence[tuple[str, Levels]], budget_s: float, *, items: float | None = None
    ) -> list[Part]:
        """Measure each part beside the program as it stands; the last ones are left out if the time is too short.

        An iteration has as many ``items`` as in the profile, unless others are named.

        Raises:
            Unavailable: the program itself does not run.
        """
        items = items or self._profile.items
        needed_s = 2 * PAIRS * self._profile.seconds * items / self._profile.items
        most = max(1, int(budget_s / OVERHEAD / needed_s) - 1)
        late = [left_out(*part) for part in parts[most:]]
        parts = parts[:most]
        baseline = baseline_of([*parts])
        arms = (baseline, *(complete(levels, baseline) for _, levels in parts))
        each_s = max(LEAST_S, needed_s, min(MOST_S, budget_s / OVERHEAD / len(arms)))
        plan = replace(
            self._trial.plan,
            budget_s=each_s,
            min_span_s=0.0,
            alpha=ALPHA * len(parts),
            noise=ZONE,
            half_width=PRECISE,
            builds=1,
            prices=False,
            visit=1,  # the passes of a first visit measure what is no time
        )
        setting = replace(self._trial.setting, items=items)
        trial = replace(self._trial, arms=arms, plan=plan, setting=setting)
        measured = self._pool.measure(trial, on_progress=self._on_progress)
        own = measured.arms[0]
        if own.outcome != "measured" or own.timing is None:
            raise Unavailable(f"your program was not measured: {own.outcome}: {own.reason}")
        if self.item_s is None:
            self.item_s = own.timing.median_s / (own.items or items)
        found = [read_part(name, levels, arm) for (name, levels), arm in zip(parts, measured.arms[1:], strict=True)]
        return [*found, *late]
