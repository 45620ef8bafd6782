"""Profile programs in workers of their own: nothing is timed where a profiler may still be attached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Any

from accelbench.advise.time_limit import TimeLimit
from accelbench.core import Levels, Setting, environment_of, find_technique, find_workload
from accelbench.errors import AccelbenchError, BadInput, Unavailable
from accelbench.explain.profile import Profile
from accelbench.explain.request import ExplanationRequest, name_budget
from accelbench.frameworks import load
from accelbench.measuring.workers.interpreter import STARTING_S
from accelbench.measuring.workers.pool import Pool
from accelbench.measuring.workers.process import Worker, WorkerLostError
from accelbench.schema.reasons import describe_error_at
from accelbench.text import FRAMEWORK_NAMES, join_names
from accelbench.units import minutes

LEAST_PROFILE_S = 60.0  # for the first profile, however short the budget is
PATIENCE_S = 1800.0  # of silence that a worker is allowed where a time limit ends its profile anyway
PROFILED = ("torch", "tensorflow", "numpy")  # frameworks whose workloads have a profiler


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


def profile_first(request: ExplanationRequest, worker: Worker) -> Profile:
    """Profile a program as it stands, no longer than its time: steps may be slow.

    Raises:
        BadInput: the program cannot be built, or nothing profiles programs of this kind.
        Unavailable: the program does not run, or the time was up before the profile was.
    """
    most_s = max(LEAST_PROFILE_S, 2 * request.longest_s)
    profile = TimeLimit(most_s).call(
        lambda: profile_in(worker, find_profiler(request), request.setting, silence_s=PATIENCE_S)
    )
    if profile is None:
        raise Unavailable(
            f"the profile of your program was not over after {minutes(most_s)}: a step, or its first call, is slow; "
            f"raise --budget, such as to {name_budget(2 * most_s)}"
        )
    return profile


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


def find_profiler(request: ExplanationRequest) -> Callable[..., Profile]:
    """Return the function that profiles the program in a worker, given the setting and the levels of techniques.

    Raises:
        BadInput: nothing profiles workloads of this kind.
    """
    work = request.workload
    if work.is_program:
        return partial(_profile_program, request.framework, request.build)
    if request.framework in PROFILED:
        return partial(_profile_workload, request.framework, work.name, request.fixed, request.options)
    raise BadInput(
        f"{work.name} runs in {request.framework}; of the suite's workloads, explain takes those of "
        f"{join_names([FRAMEWORK_NAMES[each] for each in PROFILED])}"
    )


def _profile_workload(
    framework: str, name: str, fixed: Levels, options: Mapping[str, Any], setting: Setting, levels: Levels
) -> Profile:
    profile_workload: Callable[..., Profile]
    if framework == "torch":
        from accelbench.explain.torch_profile import profile_workload
    elif framework == "tensorflow":
        from accelbench.explain.tensorflow_profile import profile_workload
    else:
        from accelbench.explain.array_profile import profile_workload

    with _in_one_line(name), load(framework).disable_tf32():  # as where it is timed
        return profile_workload(find_workload(name), setting, {**fixed, **levels}, options)


def _profile_program(framework: str, build: Callable[[], Any], setting: Setting, levels: Levels) -> Profile:
    profile: Callable[..., Profile]
    if framework == "numpy":
        from accelbench.explain.array_profile import profile_array_program as profile
    elif framework == "tensorflow":
        from accelbench.explain.tensorflow_profile import profile_keras_program as profile
    else:
        from accelbench.explain.torch_profile import profile_program as profile

    with _in_one_line("your program"):
        return profile(build, setting, levels)


@contextmanager
def _in_one_line(what: str) -> Iterator[None]:
    """Turn what ``what`` raises into one line; in a worker, since an error that is sent from there loses its place.

    Raises:
        BadInput: what it raises is one.
        Unavailable: it raises anything else; the message has the reason and the line of the user's own.
    """
    try:
        yield
    except AccelbenchError:
        raise
    except (Exception, SystemExit) as error:
        raise Unavailable(f"{what} cannot be profiled: failed: {describe_error_at(error)}") from error
