"""Advise: ask a worker which techniques apply, race their configurations, and tell what came out."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from joblib import cpu_count

import harness.workloads  # noqa: F401  fills the catalogue
from harness.advice.heats import Heats
from harness.advice.limits import NO_LIMITS, Limits
from harness.advice.opening import NoBaseline, space_of, without_first
from harness.advice.outcome import Advice, advice
from harness.advice.racing import Race
from harness.advice.space import Space
from harness.errors import BadInput, Unavailable
from harness.experiment import (
    Host,
    Plan,
    Setting,
    Technique,
    Trial,
    Workload,
    adopt,
    find_workload,
    is_technique,
)
from harness.experiment.workload import Size
from harness.hosting.conditions import MAX_BATCH
from harness.hosting.lock import alone
from harness.measuring.applicable import Applicable
from harness.measuring.handle import WorkerLostError
from harness.measuring.pool import Pool

DETERMINISTIC = "deterministic_algorithms"  # the technique that makes a framework refuse what it cannot repeat


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked. ``only`` names techniques, all where it is empty; ``held`` are ``name=value`` pairs.

    A name in ``held`` is a technique, which stays at that level, or else an option of the workload. ``max_batch`` is
    the largest batch size to try, 64 where it is None, or 1024 on an accelerator. ``techniques`` are those that a user
    declared in a module of their own, which a worker cannot import.
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
class Prepared:
    """What a search needs: the trial of which every heat is one, the space, how heats are run, and what was found."""

    workload: Workload
    trial: Trial
    space: Space
    heats: Heats
    found: Collection[Applicable]
    accelerators: tuple[str, ...]


def prepare(request: Request, pool: Pool) -> Prepared:
    """Ask a worker which techniques apply.

    Raises:
        BadInput: a name is unknown.
        Unavailable: the framework is not installed, or nothing can be switched.
    """
    work, framework = _asked(request)
    try:
        accelerators = pool.accelerators(framework)
        host, setting = _conditions(accelerators, request)
        trial = _trial(request, work, framework, setting)
        found = pool.applicable(trial, host)
    except WorkerLostError as lost:
        raise Unavailable(f"{framework}: {lost}") from None
    space = space_of(framework, found, request.only)
    return Prepared(
        workload=work,
        trial=trial,
        space=space,
        heats=Heats(pool=pool, trial=trial, space=space),
        found=found,
        accelerators=accelerators,
    )


def advise(
    request: Request,
    *,
    pool: Pool | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Advice:
    """Search for the fastest configuration of a workload that keeps the limits.

    The budget begins when the baseline has run once. The machine is held meanwhile, so that no other run is measured,
    except where a ``pool`` is given, whose owner holds it and closes it.

    Raises:
        BadInput: a name is unknown.
        Unavailable: the framework is not installed, nothing can be switched, or nothing keeps the limits.
    """
    _asked(request)  # a wrong name is told at once
    own = pool or Pool(Plan())
    try:
        with nullcontext() if pool else alone(say):
            return _advised(request, prepare(request, own), say)
    finally:
        if pool is None:
            own.close()


def _advised(request: Request, prepared: Prepared, say: Callable[[str], None]) -> Advice:
    try:
        race = _race(request, prepared, say)
        best = race.run()
    except NoBaseline as missing:
        prepared = _begun_later(prepared, request.only, missing)
        race = _race(request, prepared, say)
        best = race.run()
    device = _device(prepared.trial, race.space.levels(best), prepared.accelerators)
    return advice(prepared.workload, prepared.trial, race, best, prepared.found, device=device)


def _race(request: Request, prepared: Prepared, say: Callable[[str], None]) -> Race:
    return Race(
        space=prepared.space,
        heat=prepared.heats,
        budget_s=request.budget_s,
        clock=time.monotonic,
        coin=Random(request.seed),
        limits=request.limits,
        objection=prepared.heats.repeats if request.deterministic else None,
        say=say,
    )


def _begun_later(prepared: Prepared, only: tuple[str, ...], missing: NoBaseline) -> Prepared:
    """Return the search with one technique begun at its next level, where the baseline runs with it.

    Raises:
        NoBaseline: it runs with none.
    """
    for axis in prepared.space.axes if missing.broken else ():
        found = without_first(prepared.found, axis.technique, missing.reason)
        with suppress(Unavailable):  # it has no other level, and was asked for
            space = space_of(prepared.trial.framework, found, only)
            heats = replace(prepared.heats, space=space)
            if not heats.objection(space.baseline):
                return replace(prepared, found=found, space=space, heats=heats)
    raise missing


def _asked(request: Request) -> tuple[Workload, str]:
    """Return the workload and its framework, the techniques of a user's own being known from now on."""
    adopt(*request.techniques)
    work = find_workload(request.workload) if isinstance(request.workload, str) else request.workload
    if request.framework and request.framework not in work.frameworks:
        raise BadInput(
            f"--framework: {work.name} does not run in {request.framework!r}; "
            f"expected one of: {', '.join(work.frameworks)}"
        )
    return work, request.framework or work.frameworks[0]


def _conditions(accelerators: tuple[str, ...], request: Request) -> tuple[Host, Setting]:
    cores = cpu_count()
    size: Size = "full" if accelerators else "small"
    most = request.max_batch or MAX_BATCH[size]
    host = Host(cores=cores, accelerators=accelerators, size=size, max_batch=most, max_workers=cores)
    return host, Setting(size=size, seed=request.seed, cores=cores)


def _trial(request: Request, work: Workload, framework: str, setting: Setting) -> Trial:
    fixed = {name: level for name, level in request.held.items() if is_technique(framework, name)}
    problem = {name: _value(text) for name, text in request.held.items() if name not in fixed}
    if unknown := sorted(problem.keys() - work.options):
        known = ", ".join(sorted(work.options))
        raise BadInput(
            f"--set: {unknown[0]!r} is neither a technique of {framework} nor an option of {work.name}; "
            f"its options are: {known}"
        )
    if request.deterministic and is_technique(framework, DETERMINISTIC):
        fixed = {DETERMINISTIC: "on", **fixed}
    return Trial(
        framework=framework,
        workload=request.workload,
        arms=({},),
        fixed=fixed,
        problem=problem,
        techniques=request.techniques,
        setting=setting,
    )


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _device(trial: Trial, levels: Mapping[str, str], accelerators: tuple[str, ...]) -> str:
    """Return the kind of device that the advice is for, as a framework names it, such as ``cuda``."""
    chosen = {**trial.fixed, **levels}.get("device") or next(iter(accelerators), "cpu")
    return chosen.partition(":")[0]
