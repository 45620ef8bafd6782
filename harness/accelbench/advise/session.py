"""An advice from request to answer: ask a worker which techniques apply, search their configurations, and sum up."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from joblib import cpu_count

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.advise.advice import Advice, build_advice
from accelbench.advise.evaluate import Evaluator
from accelbench.advise.program_search import ProgramSearch, out_of_time
from accelbench.advise.search import NO_LIMITS, Limits, NoBaseline, Search
from accelbench.advise.space import Configuration, SearchSpace, build_space
from accelbench.advise.time_limit import LONGEST, TimeLimit
from accelbench.core import (
    Host,
    OnProgress,
    Plan,
    Setting,
    Technique,
    Trial,
    Workload,
    declared_for,
    find_technique,
    find_workload,
    is_technique,
    register_techniques,
    suggest_technique,
)
from accelbench.core.technique import MAX_BATCH
from accelbench.core.workload import Size
from accelbench.errors import BadInput, Unavailable
from accelbench.machine_lock import hold_machine
from accelbench.measuring.applicable import Applicable
from accelbench.measuring.interference import describe_other_work
from accelbench.measuring.workers.pool import Pool
from accelbench.measuring.workers.process import WorkerLostError


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a user asks for.

    Attributes:
        workload: its name, or a workload of the user's own.
        framework: where it runs; its first framework if empty.
        budget_s: seconds of the search; for a user's program, of everything, from the start of the first worker.
        limits: on memory and numeric error.
        deterministic: whether two runs must give the same bits.
        only: names of the techniques to try; all if empty.
        held: techniques that stay at a level, and options of the workload, by name.
        techniques: techniques of the user's own, which a worker cannot import.
        max_batch: the largest batch size to try; None means 64, or 1024 on an accelerator.
        seed: of the search, the inputs and the weights.
    """

    workload: str | Workload
    framework: str = ""
    budget_s: float = 60.0
    limits: Limits = NO_LIMITS
    deterministic: bool = False
    only: tuple[str, ...] = ()
    held: Mapping[str, str] = field(default_factory=dict)
    techniques: tuple[Technique, ...] = ()
    max_batch: int | None = None
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """What a search needs: its space, its evaluator, and the trial that every evaluation is an instance of."""

    workload: Workload
    trial: Trial
    space: SearchSpace
    evaluator: Evaluator
    applicable: Collection[Applicable]
    accelerators: tuple[str, ...]


def prepare(request: Request, pool: Pool) -> Preparation:
    """Ask a worker which techniques apply, and build the search space.

    Raises:
        BadInput: a name is unknown.
        Unavailable: the framework is not installed, or nothing can be switched.
    """
    work, framework = _resolve(request)
    try:
        accelerators = pool.accelerators(framework)
        host, setting = _host_and_setting(accelerators, request)
        trial = _trial(request, work, framework, setting, host)
        applicable = pool.applicable(trial, host)
    except WorkerLostError as lost:
        raise Unavailable(f"{framework}: {lost}") from None
    space = build_space(framework, applicable, request.only)
    return Preparation(
        workload=work,
        trial=trial,
        space=space,
        evaluator=Evaluator(pool=pool, trial=trial, space=space),
        applicable=applicable,
        accelerators=accelerators,
    )


def advise(
    request: Request,
    *,
    pool: Pool | None = None,
    report: Callable[[str], None] = lambda _: None,
    on_progress: OnProgress = lambda _: None,
    on_start: Callable[[], None] = lambda: None,
) -> Advice:
    """Search for the fastest configuration of a workload that keeps the limits.

    The budget starts when the baseline has run once; for a user's program, of which every technique is also judged
    alone, it starts now. ``report`` receives what is tried, ``on_progress`` each step of it. The search locks the
    machine, so that nothing else is measured meanwhile, except where a ``pool`` is given: its owner locks the machine
    and closes the pool. ``on_start`` is called when the machine is locked.

    Raises:
        BadInput: a name is unknown.
        Unavailable: the framework is not installed, nothing can be switched, or nothing keeps the limits.
    """
    _resolve(request)  # reports a wrong name before it waits for the machine
    own = pool or Pool(Plan())
    try:
        with nullcontext() if pool else hold_machine(report):
            on_start()
            return _advise(request, own, report, on_progress)
    finally:
        if pool is None:
            own.close()


def _advise(request: Request, pool: Pool, report: Callable[[str], None], on_progress: OnProgress) -> Advice:
    start_s = time.monotonic()
    preparation = _prepare_in_time(request, pool, report)
    evaluator = replace(preparation.evaluator, on_progress=on_progress)
    preparation = replace(preparation, evaluator=evaluator)
    try:
        search = _search(request, preparation, report, start_s)
        if not preparation.workload.is_program:
            report("the baseline")
        best = _run(search, start_s)
    except NoBaseline as failure:
        if preparation.workload.is_program:
            raise
        preparation = _move_baseline(preparation, request.only, failure)
        search = _search(request, preparation, report, start_s)
        best = search.run()
    advice = build_advice(
        preparation.workload,
        preparation.trial,
        search,
        best,
        preparation.applicable,
        device=_device(preparation.trial, search.space.levels(best), preparation.accelerators),
        only=request.only,
    )
    return replace(advice, other_work=describe_other_work(preparation.evaluator.remarks))


def _prepare_in_time(request: Request, pool: Pool, report: Callable[[str], None]) -> Preparation:
    """Prepare a search, that for a program no longer than its time: it may take long to build.

    Raises:
        Unavailable: the time was up before that.
    """
    if isinstance(request.workload, str) or not request.workload.is_program:
        return prepare(request, pool)
    report("building your program")
    preparation = TimeLimit(LONGEST * request.budget_s).call(lambda: prepare(request, pool))
    if preparation is None:
        raise out_of_time(request.budget_s)
    return preparation


def _run(search: Search, start_s: float) -> Configuration:
    """Run a search, that for a program no longer than its time: what is under way then is not waited for.

    Raises:
        Unavailable: the time was up before there was an answer.
    """
    if not isinstance(search, ProgramSearch):
        return search.run()
    limit = TimeLimit(start_s + LONGEST * search.budget_s - time.monotonic())
    best = limit.call(search.run) or search.answer_so_far()
    if limit.is_over:
        search.interrupted, search.is_cut_short = False, True
    return best


def _search(request: Request, preparation: Preparation, report: Callable[[str], None], start_s: float) -> Search:
    evaluator = preparation.evaluator
    usual: dict[str, Any] = {
        "space": preparation.space,
        "evaluate": evaluator,
        "budget_s": request.budget_s,
        "clock": time.monotonic,
        "rng": Random(request.seed),
        "limits": request.limits,
        "find_objection": evaluator.find_nondeterminism if request.deterministic else None,
        "report": report,
    }
    if preparation.workload.is_program:
        judge = evaluator.judge if request.limits.memory_bytes is None else evaluator.judge_fully
        usual |= {"judge": judge, "confirm": evaluator.judge_fully, "iteration": evaluator.iteration}
        return ProgramSearch(**usual, start_s=start_s)
    return Search(**usual)


def _move_baseline(preparation: Preparation, only: tuple[str, ...], failure: NoBaseline) -> Preparation:
    """Return the search with one technique starting at its second level, if the baseline runs with that.

    Raises:
        NoBaseline: it runs with none.
    """
    for axis in preparation.space.axes if failure.is_permanent else ():
        applicable = [
            _without_first_level(each, failure.reason) if each.technique == axis.technique else each
            for each in preparation.applicable
        ]
        with suppress(Unavailable):  # the technique has no other level, and --only names it
            space = build_space(preparation.trial.framework, applicable, only)
            evaluator = replace(preparation.evaluator, space=space)
            if not evaluator.find_error(space.baseline):
                return replace(preparation, applicable=applicable, space=space, evaluator=evaluator)
    raise failure


def _without_first_level(applicable: Applicable, reason: str) -> Applicable:
    first, *levels = applicable.levels
    return replace(applicable, levels=tuple(levels), refused={**applicable.refused, first: reason})


def _resolve(request: Request) -> tuple[Workload, str]:
    """Register the user's own techniques, and return the workload and its framework."""
    register_techniques(*request.techniques)
    work = find_workload(request.workload) if isinstance(request.workload, str) else request.workload
    if request.framework and request.framework not in work.frameworks:
        raise BadInput(
            f"--framework: {work.name} does not run in {request.framework!r}; "
            f"expected one of: {', '.join(work.frameworks)}"
        )
    framework = request.framework or work.frameworks[0]
    for name in request.only:
        find_technique(framework, name, "--only")
    return work, framework


def _host_and_setting(accelerators: tuple[str, ...], request: Request) -> tuple[Host, Setting]:
    cores = cpu_count()
    size: Size = "full" if accelerators else "small"
    max_batch = request.max_batch or MAX_BATCH[size]
    host = Host(cores=cores, accelerators=accelerators, size=size, max_batch=max_batch, max_workers=cores)
    return host, Setting(size=size, seed=request.seed, cores=cores)


def _trial(request: Request, work: Workload, framework: str, setting: Setting, host: Host) -> Trial:
    fixed = {name: level for name, level in request.held.items() if is_technique(framework, name)}
    if both := [name for name in request.only if name in fixed]:
        raise BadInput(f"--only: {both[0]} cannot be tried, since --set holds it at {fixed[both[0]]}")
    for name, level in fixed.items():
        find_technique(framework, name).require_level_on(host, level, "--set")
    problem = {name: _parse_value(text) for name, text in request.held.items() if name not in fixed}
    if unknown := sorted(problem.keys() - work.options):
        known = ", ".join(sorted(work.options))
        raise BadInput(
            f"--set: {unknown[0]!r} is neither a technique of {framework} nor an option of {work.name}; "
            f"its options are: {known}{suggest_technique(framework, unknown[0])}"
        )
    if request.deterministic:
        fixed = {each.name: each.deterministic for each in declared_for(framework) if each.deterministic} | fixed
    return Trial(
        framework=framework,
        workload=request.workload,
        arms=({},),
        fixed=fixed,
        problem=problem,
        techniques=request.techniques,
        setting=setting,
    )


def _parse_value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _device(trial: Trial, levels: Mapping[str, str], accelerators: tuple[str, ...]) -> str:
    """Return the kind of device that the advice is for, as a framework names it, such as ``cuda``."""
    chosen = trial.device_of(dict(levels)) or next(iter(accelerators), "cpu")
    return chosen.partition(":")[0]
