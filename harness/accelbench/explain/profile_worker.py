"""Workers that profile a program: each is ended afterwards, since a profiler may stay attached to its process."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from accelbench.advise.time_limit import TimeLimit
from accelbench.core import Levels, Setting, environment_of, find_technique
from accelbench.errors import Unavailable
from accelbench.explain.profile import Profile
from accelbench.explain.request import ExplanationRequest
from accelbench.measuring.workers.interpreter import STARTING_S
from accelbench.measuring.workers.pool import Pool
from accelbench.measuring.workers.process import Worker, WorkerLostError
from accelbench.units import minutes

LEAST_PROFILE_S = 60.0  # for the first profile, however short the budget is
PATIENCE_S = 1800.0  # of silence, after which a worker is taken for hung where something else limits its time
ROUND_S = 10  # of a budget that is named


@contextmanager
def start_workers(framework: str, levels: Sequence[Levels], pool: Pool | None = None) -> Iterator[list[Worker]]:
    """Start a worker for each profile, and the pool's beside them, since an import takes seconds; yield the former.

    ``levels`` are those of the techniques of each profile; some need variables with which a worker starts. All have
    imported the framework by then, so that no import disturbs a profile.

    Raises:
        Unavailable: a worker was lost, here or within the context.
    """
    with ExitStack() as stack:
        try:
            environments = [environment_of(framework, each) for each in levels]
            workers = [stack.enter_context(closing(Worker(framework, each))) for each in environments]
            if pool is not None:
                pool.start(framework)
            for worker in workers:
                worker.ask("import")
            yield workers
        except WorkerLostError as lost:
            raise Unavailable(f"{framework}: {lost}") from None


def profile_in(
    worker: Worker,
    profiler: Callable[..., Profile],
    setting: Setting,
    levels: Levels | None = None,
    silence_s: float = STARTING_S,
) -> Profile:
    """Profile a program in a worker, and end the worker: a profiler may stay attached to its process.

    A worker that is silent for ``silence_s`` seconds is ended, too.

    Raises:
        BadInput: the program cannot be built, or has a recipe for something that is no technique.
        Unavailable: the program raises; the message has the reason and the line of the user's own.
    """
    with closing(worker):
        return call_profiler(worker, profiler, setting, levels or {}, silence_s)


def call_profiler(
    worker: Worker, profiler: Callable[..., Profile], setting: Setting, levels: Levels, silence_s: float
) -> Profile:
    """Profile a program in a worker that lives on.

    Raises:
        BadInput: the program cannot be built, or has a recipe for something that is no technique.
        Unavailable: the program raises.
    """
    found: Profile = worker.call(profiler, setting, levels, silence_s=silence_s)
    for name in found.recipes:
        find_technique(found.framework, name)
    return found


def profile_first(request: ExplanationRequest, worker: Worker) -> Profile:
    """Profile a program as it stands, no longer than its time: steps may be slow.

    Raises:
        BadInput: the program cannot be built, or nothing profiles programs of this kind.
        Unavailable: the program does not run, or the time was up before the profile was.
    """
    most_s = max(LEAST_PROFILE_S, 2 * request.longest_s)
    profile = TimeLimit(most_s).call(
        lambda: profile_in(worker, request.profiler, request.setting, silence_s=PATIENCE_S)
    )
    if profile is None:
        raise Unavailable(
            f"the profile of your program was not over after {minutes(most_s)}: a step, or its first call, is slow; "
            f"raise --budget, such as to {name_budget(2 * most_s)}"
        )
    return profile


def name_budget(needed_s: float) -> str:
    """Return a budget as a user writes it, such as ``120s``."""
    return f"{ROUND_S * math.ceil(needed_s / ROUND_S)}s"
