"""An explanation from request to answer: profile the program, take parts off it, try what may help, and sum up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from accelbench.advise.time_limit import TimeLimit
from accelbench.core import Levels, OnProgress, Plan
from accelbench.explain.causes import BOUND, find_causes, may_be_memory_bound, plan_remedies, withdraw_slower
from accelbench.explain.explanation import Explanation
from accelbench.explain.paired_measurement import LEAST_S, PairedMeasurement, choose_items
from accelbench.explain.parts import ABLATION, INTERRUPTED, PHASES, TOO_LATE, StepPart, plan_parts, skip_part
from accelbench.explain.prediction import Prediction, leave_out, predict
from accelbench.explain.profile import Profile
from accelbench.explain.profile_worker import PATIENCE_S, call_profiler, find_profiler, profile_first, start_workers
from accelbench.explain.request import ExplanationRequest, describe_host
from accelbench.machine_lock import hold_machine
from accelbench.measuring.interference import describe_other_work
from accelbench.measuring.workers.pool import Pool
from accelbench.measuring.workers.process import ask_applicable
from accelbench.schema.result import Ceiling
from accelbench.text import join_names

PARTS_SHARE = 0.6  # of the time that the profile leaves; the rest goes to what may help


def explain(
    request: ExplanationRequest,
    *,
    report: Callable[[str], None] = lambda _: None,
    on_progress: OnProgress = lambda _: None,
    on_start: Callable[[], None] = lambda: None,
) -> Explanation:
    """Say what holds a program back, where its time goes, and what to switch on.

    No part of the step is taken off a workload of the suite. ``on_start`` is called when the machine is locked.

    Raises:
        BadInput: the program cannot be built, or has a recipe for something that is no technique, or nothing profiles
            workloads of this kind.
        Unavailable: the framework is not installed, or the program does not run.
    """
    with hold_machine(report), closing(Pool(Plan())) as pool:
        on_start()
        return _explain(request, pool, report, on_progress)


def _explain(
    request: ExplanationRequest, pool: Pool, report: Callable[[str], None], on_progress: OnProgress
) -> Explanation:
    start_s = time.monotonic()
    report(f"profiling {request.workload.name}, in a process of its own")
    ceilings, interrupted = list[Ceiling](), False
    with start_workers(request.framework, [request.fixed], pool) as (worker,):
        profile = profile_first(request, worker)
        profiled_s = time.monotonic()
        try:
            ceilings = [*pool.ceilings.get(request.framework, on_progress)]
            start_s += time.monotonic() - profiled_s  # that happens once per machine, beyond the budget
            if may_be_memory_bound(profile, ceilings):
                ceilings = [*pool.ceilings.measure_memory(request.framework, profile.device, on_progress)]
        except KeyboardInterrupt:
            interrupted = True
    measure = PairedMeasurement(request, pool, profile, on_progress)
    found = _Measured(planned=tuple(_choose_parts(request, profile)))
    most_s = start_s + request.longest_s - time.monotonic()
    if most_s > LEAST_S and not interrupted:
        limit = TimeLimit(most_s)
        try:
            with limit:
                _measure_parts_and_remedies(request, profile, ceilings, measure, start_s, found, report)
        except KeyboardInterrupt:
            interrupted = not limit.is_over
    parts, remedies = found.all_parts, found.remedies
    if interrupted:
        parts, remedies = (_say_interrupted(each) for each in (parts, remedies))
    return Explanation(
        workload=request.workload.name,
        unit=request.workload.unit,
        profile=profile,
        parts=tuple(parts),
        remedies=tuple(remedies),
        causes=tuple(withdraw_slower(find_causes(profile, parts, ceilings), remedies, profile)),
        ceilings=tuple(ceilings),
        item_s=measure.item_s,
        item_j=found.item_j,
        price_per_hour=request.price_per_hour,
        spent_s=time.monotonic() - start_s,
        interrupted=interrupted,
        other_work=describe_other_work(measure.remarks),
    )


@dataclass(kw_only=True)
class _Measured:
    """What the pairs have shown so far: parts, those that were taken off again, what was tried, joules of an item."""

    planned: tuple[tuple[str, Levels], ...]
    parts: list[StepPart] = field(init=False)
    again: list[StepPart] = field(default_factory=list)
    remedies: list[StepPart] = field(default_factory=list)
    item_j: float | None = None

    def __post_init__(self) -> None:
        self.parts = [skip_part(*part) for part in self.planned]

    @property
    def all_parts(self) -> list[StepPart]:
        """The parts, with those in place that were measured again."""
        newer = {part.name: part for part in self.again if part.share is not None}
        return [newer.get(part.name, part) for part in self.parts]

    @property
    def is_complete(self) -> bool:
        """Whether there was time for every part."""
        return all(part.reason != TOO_LATE for part in self.parts)

    def list_open(self) -> list[tuple[str, Levels]]:
        """Return the planned parts that may be causes, and of which the pairs do not tell whether they are."""
        both = zip(self.planned, self.parts, strict=True)
        return [(name, levels) for (name, levels), part in both if part.is_open and name not in PHASES]


def _choose_parts(request: ExplanationRequest, profile: Profile) -> Iterator[tuple[str, Levels]]:
    """Yield the parts to take off; of a workload of the suite, those that techniques can switch."""
    for name, levels in plan_parts(profile):
        if request.workload.is_program or ABLATION.name not in levels:
            yield name, levels


def _measure_parts_and_remedies(
    request: ExplanationRequest,
    profile: Profile,
    ceilings: Sequence[Ceiling],
    measure: PairedMeasurement,
    start_s: float,
    found: _Measured,
    report: Callable[[str], None],
) -> None:
    """Take parts off the program and try what may help, in the budget that began at ``start_s``, into ``found``."""
    end_s, items = start_s + request.budget_s, choose_items(profile)

    def plan_tries() -> list[tuple[str, Levels]]:
        parts = found.all_parts
        return plan_remedies(profile, parts, find_causes(profile, parts, ceilings, least=BOUND))

    report("taking parts off it, one at a time")
    if found.planned:
        budget_s = PARTS_SHARE * (end_s - time.monotonic())
        latest_s, alone_until_s = end_s, start_s + request.longest_s
        measure(found.planned, budget_s, items=items, into=found.parts, latest_s=latest_s, alone_until_s=alone_until_s)
    tries = plan_tries()
    if not tries and found.is_complete and (unsure := found.list_open()):
        report("taking some of them off again, which the pairs leave open")
        measure(unsure, PARTS_SHARE * (end_s - time.monotonic()), items=items, into=found.again)
        tries = plan_tries()
    if tries:
        report(f"trying what may help: {join_names([name for name, _ in tries])}")
        measure(tries, end_s - time.monotonic(), into=found.remedies)
    found.item_j, found.remedies = measure.count_energy(found.remedies, end_s)


def _say_interrupted(parts: Sequence[StepPart]) -> list[StepPart]:
    """Return parts of which those that there was no time for say that Ctrl-C ended it."""
    return [replace(part, reason=INTERRUPTED) if part.reason == TOO_LATE else part for part in parts]


def predict_speedups(request: ExplanationRequest) -> list[Prediction]:
    """Rank techniques by what each could bring at most, from a profile of the program alone.

    What a user's program has already, and what cannot be switched in it, is left out of the ranking.

    Raises:
        BadInput: the program cannot be built, or nothing profiles programs of this kind.
        Unavailable: the framework is not installed.
    """
    profiler = find_profiler(request)
    with start_workers(request.framework, [request.fixed]) as (worker,), closing(worker):
        profile = call_profiler(worker, profiler, request.setting, {}, PATIENCE_S)
        if not request.workload.is_program:
            return predict(profile)
        accelerators, *_ = worker.ask("describe")
        applicable = ask_applicable(worker, request.trial, describe_host(accelerators))
        return leave_out(predict(profile), applicable)
