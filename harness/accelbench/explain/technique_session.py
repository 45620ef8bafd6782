"""Why a technique pays or not: profile a program without and with it, and time both in pairs."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TypeVar

from accelbench.advise.time_limit import TimeLimit
from accelbench.core import Levels, OnProgress, Plan, Trial, Workload, find_technique, find_workload
from accelbench.errors import Unavailable
from accelbench.explain.paired_measurement import SECOND_SHARE, PairedMeasurement, choose_items
from accelbench.explain.parts import TOO_LATE, StepPart, skip_part
from accelbench.explain.prediction import predict
from accelbench.explain.profile import Profile
from accelbench.explain.profile_worker import PATIENCE_S, find_profiler, profile_first, profile_in, start_workers
from accelbench.explain.request import ExplanationRequest, describe_host, name_budget
from accelbench.explain.why import TechniqueExplanation
from accelbench.machine_lock import hold_machine
from accelbench.measuring.applicable import try_level
from accelbench.measuring.workers.pool import Pool
from accelbench.measuring.workers.process import Worker, send_by_value
from accelbench.text import format_levels

MORE = 1.5  # times a budget that was too short, which is named as one that may do

_Result = TypeVar("_Result")


def explain_technique(
    request: ExplanationRequest,
    name: str,
    level: str,
    *,
    report: Callable[[str], None] = lambda _: None,
    on_progress: OnProgress = lambda _: None,
    on_start: Callable[[], None] = lambda: None,
) -> TechniqueExplanation:
    """Say why a technique makes a program faster or slower, from the operators of both.

    ``on_start`` is called when the machine is locked.

    Raises:
        BadInput: the program cannot be built, or there is no such technique or level.
        Unavailable: the framework is not installed, or the technique cannot be switched here.
    """
    find_technique(request.framework, name).require_level_on(describe_host(), level, "--technique")
    levels = {name: level}
    with hold_machine(report), closing(Pool(Plan())) as pool:
        on_start()
        start_s = time.monotonic()
        before, after, profile_s = _profile_both(request, levels, pool, start_s + request.longest_s, report)
        spent_s = time.monotonic() - start_s
        pool.ceilings.get(request.framework, on_progress)
        start_s = time.monotonic() - spent_s  # that happens once per machine, beyond the budget
        report("timing both in pairs")
        planned = _take_quicker(before, after)
        measure = PairedMeasurement(request, pool, planned, on_progress)
        measured = _time_technique(request, measure, planned, after, levels, start_s)
        enough_s = max(time.monotonic() - start_s, spent_s + measure.needed_s(after))
    enough_s = max(enough_s + (profile_s if after is None else 0.0), MORE * request.budget_s)
    left_out = f"{TOO_LATE} to {name_budget(enough_s)}"
    return TechniqueExplanation(
        workload=request.workload.name,
        measured=measured or skip_part(format_levels(levels), levels, left_out),
        before=before,
        after=after,
        prediction=next((each for each in predict(before) if name in each.techniques), None),
        left_out="" if after else left_out,
    )


def find_objection(trial: Trial, name: str, level: str) -> str:
    """Return why a level cannot be compared with a user's program, "" if it can; in a worker.

    Either the program already has it, or nothing outside can change what it has.
    """
    work = trial.workload if isinstance(trial.workload, Workload) else find_workload(trial.workload)
    if why := work.superseded.get(name):
        return why
    _, objection = try_level(find_technique(trial.framework, name), level, work, trial)
    return str(objection or "")


def _refuse_what_is_fixed(request: ExplanationRequest, worker: Worker, levels: Levels) -> None:
    """Check, before anything is profiled, that a user's program can be compared with itself at these levels.

    Raises:
        Unavailable: it cannot; the message says why.
    """
    if not request.workload.is_program:
        return
    trial = request.trial
    send_by_value(trial)
    ((name, level),) = levels.items()
    if why := worker.call(find_objection, trial, name, level):
        raise Unavailable(f"{format_levels(levels)} cannot be compared with your program as it stands: {why}")


def _profile_both(
    request: ExplanationRequest, levels: Levels, pool: Pool, latest_s: float, report: Callable[[str], None]
) -> tuple[Profile, Profile | None, float]:
    """Return the profiles without and with a technique, None if the second is not over in time; the first's seconds."""
    report("profiling your program, in a process of its own")
    with start_workers(request.framework, [request.fixed, {**request.fixed, **levels}], pool) as (first, second):
        _refuse_what_is_fixed(request, second, levels)
        start_s = time.monotonic()
        before = profile_first(request, first)
        profile_s = time.monotonic() - start_s
        report(f"profiling it with {format_levels(levels)}")
        setting = replace(request.setting, items=before.items) if request.workload.is_program else request.setting
        profiler, needed_s = find_profiler(request), SECOND_SHARE * profile_s
        after = _run_until(latest_s, needed_s, lambda: profile_in(second, profiler, setting, levels, PATIENCE_S))
    return before, after, profile_s


def _take_quicker(before: Profile, after: Profile | None) -> Profile:
    """Return the first profile with the shorter time of both per iteration: a busy machine slows one of them down."""
    if after is None or not after.items:
        return before
    return replace(before, seconds=min(before.seconds, after.seconds * before.items / after.items))


def _time_technique(
    request: ExplanationRequest,
    measure: PairedMeasurement,
    before: Profile,
    after: Profile | None,
    levels: Levels,
    start_s: float,
) -> StepPart | None:
    """Return what pairs without and with a technique say, None if the budget that began at ``start_s`` is too short.

    An iteration is shortened where only that lets the pairs fit.
    """
    latest_s, items = start_s + request.longest_s, before.items
    if time.monotonic() + measure.needed_s(after, items) > latest_s:
        items = choose_items(before)
    first_s = before.first_s + (after or before).first_s

    def run() -> StepPart:
        left_s = start_s + request.budget_s - first_s - time.monotonic()
        (measured,) = measure([(format_levels(levels), levels)], left_s, items=items)
        return measured

    return _run_until(latest_s, measure.needed_s(after, items), run)


def _run_until(latest_s: float, needed_s: float, run: Callable[[], _Result]) -> _Result | None:
    """Return what ``run`` returns, None where it would not be over, or is not over, at ``latest_s``.

    ``needed_s`` are the seconds that it takes at least.
    """
    left_s = latest_s - time.monotonic()
    return None if left_s < needed_s else TimeLimit(left_s).call(run)
