"""An explanation from request to answer: profile the program, take parts off it, try what may help, and sum up."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from joblib import cpu_count

from accelbench.advise.time_limit import TimeLimit
from accelbench.core import (
    Host,
    Levels,
    OnProgress,
    Plan,
    Setting,
    Trial,
    Workload,
    environment_of,
    find_technique,
    find_workload,
    register_techniques,
)
from accelbench.core.workload import Size
from accelbench.errors import AccelbenchError, BadInput, Unavailable
from accelbench.explain.causes import BOUND, find_causes, may_be_memory_bound, plan_remedies, withdraw_slower
from accelbench.explain.explanation import Explanation
from accelbench.explain.parts import (
    ABLATION,
    ABLATIONS,
    INTERRUPTED,
    PHASES,
    TOO_LATE,
    StepPart,
    baseline_of,
    plan_parts,
    read_part,
    skip_part,
)
from accelbench.explain.prediction import Prediction, leave_out, predict
from accelbench.explain.profile import ALPHA, Profile
from accelbench.explain.why import TechniqueExplanation
from accelbench.machine_lock import hold_machine
from accelbench.measuring.applicable import try_level
from accelbench.measuring.costs import resources
from accelbench.measuring.interference import describe_other_work
from accelbench.measuring.workers.interpreter import STARTING_S
from accelbench.measuring.workers.pool import Pool
from accelbench.measuring.workers.process import Worker, WorkerLostError, ask_applicable, send_by_value
from accelbench.schema import nvml
from accelbench.schema.reasons import Reason, describe_error_at
from accelbench.schema.result import ArmRecord, Ceiling
from accelbench.text import format_levels, join_names
from accelbench.units import minutes

PARTS_SHARE = 0.6  # of the time that the profile leaves; the rest goes to what may help
OVERHEAD = 1.6  # times its measuring, that an arm takes with its build and its checks
LEAST_S, MOST_S = 0.5, 12.0  # of an arm
LONGEST = 1.15  # times the budget, after which measuring is cut short
PAIRS = 10  # that an arm gets at least: eight of one sign are the fewest that an interval at 99 % takes
PRECISE = 0.04  # half-width of an interval at which an arm gets no more pairs
ENERGY_TIMES = 8  # as long as an arm's energy is counted, it takes with its build, its checks and its timing
SOON_S = 0.2  # of an iteration, from which parts are taken off
PROFILED = {"torch": "PyTorch", "tensorflow": "TensorFlow", "numpy": "NumPy"}  # whose workloads have a profiler
ZONE = 0.02  # speedups within it count as the same
ROUND_S = 10  # of a budget that is named
MORE = 1.5  # times a budget that was too short, which is named as one that may do
LEAST_PROFILE_S = 60.0  # for the first profile, however short the budget is
PATIENCE_S = 1800.0  # of silence, after which a worker is taken for hung where something else limits its time
ALONE = 0.5  # of the first part's delay, or the first profile's time, from which another is tried: it starts everything

_Result = TypeVar("_Result")


@dataclass(frozen=True, kw_only=True)
class ExplanationRequest:
    """What a user asks for: a program, how many seconds the answer may take, and what an hour of the machine costs.

    ``workload`` is a user's program, or one of the suite's; ``fixed`` techniques have one level, and ``options`` are
    the workload's own. It runs in its first framework, unless ``runs_in`` names another of them; ``size`` is that of a
    workload of the suite.
    """

    workload: Workload
    fixed: Levels = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    budget_s: float = 120.0
    price_per_hour: float | None = None
    seed: int = 0
    size: Size = "small"
    runs_in: str = ""

    @property
    def framework(self) -> str:
        """The program's framework."""
        return self.runs_in or self.workload.frameworks[0]

    @property
    def setting(self) -> Setting:
        """The setting in which the program is built for its profile."""
        return Setting(size=self.size, seed=self.seed, cores=cpu_count())

    @property
    def build(self) -> Callable[[], Any]:
        """The user's function that builds the program.

        Raises:
            BadInput: the workload is no program of a user's own.
        """
        builder: Any = self.workload.builder
        if not (self.workload.is_program and isinstance(builder, partial) and builder.args):
            raise BadInput(f"{self.workload.name} is no program of a user's own")
        build: Callable[[], Any] = builder.args[0]
        return build

    @property
    def profiler(self) -> Callable[..., Profile]:
        """The function that profiles the program in a worker, given the setting and the levels of techniques.

        Raises:
            BadInput: nothing profiles workloads of this kind.
        """
        work = self.workload
        if work.is_program:
            return partial(_profile_program, self.framework, self.build)
        if self.framework in PROFILED:
            return partial(_profile_workload, self.framework, work.name, self.fixed, self.options)
        raise BadInput(
            f"{work.name} runs in {self.framework}; of the suite's workloads, explain takes those of "
            f"{join_names([*PROFILED.values()])}"
        )


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
        profile = _profile_first(request, worker)
        profiled_s = time.monotonic()
        try:
            ceilings = [*pool.ceilings.get(request.framework, on_progress)]
            start_s += time.monotonic() - profiled_s  # that happens once per machine, beyond the budget
            if may_be_memory_bound(profile, ceilings):
                ceilings = [*pool.ceilings.measure_memory(request.framework, profile.device, on_progress)]
        except KeyboardInterrupt:
            interrupted = True
    measure = PairedMeasurement(request, pool, profile, on_progress)
    find_likely_causes = partial(find_causes, profile, ceilings=ceilings, least=BOUND)
    end_s = start_s + request.budget_s
    planned = [
        (name, levels)
        for name, levels in plan_parts(profile)
        if request.workload.is_program or ABLATION.name not in levels
    ]
    if not interrupted:
        report("taking parts off it, one at a time")
    parts, again, remedies = [skip_part(*part) for part in planned], list[StepPart](), list[StepPart]()
    item_j: float | None = None
    most_s = start_s + LONGEST * request.budget_s - time.monotonic()
    limit = TimeLimit(most_s)
    try:
        if most_s > LEAST_S and not interrupted:
            with limit:
                left_s = end_s - time.monotonic()
                if planned:
                    measure(
                        planned,
                        PARTS_SHARE * left_s,
                        items=_choose_items(profile),
                        into=parts,
                        latest_s=end_s,
                        alone_until_s=start_s + LONGEST * request.budget_s,
                    )
                tries = plan_remedies(profile, parts, find_likely_causes(parts))
                is_complete = all(part.reason != TOO_LATE for part in parts)
                if not tries and is_complete and (unsure := _list_open(planned, parts)):
                    report("taking some of them off again, which the pairs leave open")
                    left_s = end_s - time.monotonic()
                    measure(unsure, PARTS_SHARE * left_s, items=_choose_items(profile), into=again)
                    parts = _replace_parts(parts, again)
                    tries = plan_remedies(profile, parts, find_likely_causes(parts))
                if tries:
                    report(f"trying what may help: {join_names([name for name, _ in tries])}")
                    measure(tries, end_s - time.monotonic(), into=remedies)
                item_j, remedies = measure.count_energy(remedies, end_s)
    except KeyboardInterrupt:
        interrupted = not limit.is_over
    parts = _replace_parts(parts, again)
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
        item_j=item_j,
        price_per_hour=request.price_per_hour,
        spent_s=time.monotonic() - start_s,
        interrupted=interrupted,
        other_work=describe_other_work(measure.remarks),
    )


def _profile_first(request: ExplanationRequest, worker: Worker) -> Profile:
    """Profile a program as it stands, no longer than its time: steps may be slow.

    Raises:
        BadInput: the program cannot be built, or nothing profiles programs of this kind.
        Unavailable: the program does not run, or the time was up before the profile was.
    """
    most_s = max(LEAST_PROFILE_S, 2 * LONGEST * request.budget_s)
    profile = TimeLimit(most_s).call(lambda: profile_in(worker, request.profiler, request.setting, {}, PATIENCE_S))
    if profile is None:
        raise Unavailable(
            f"the profile of your program was not over after {minutes(most_s)}: a step, or its first call, is slow; "
            f"raise --budget, such as to {_name_budget(2 * most_s)}"
        )
    return profile


def _name_budget(needed_s: float) -> str:
    """Return a budget as a user writes it, such as ``120s``."""
    return f"{ROUND_S * math.ceil(needed_s / ROUND_S)}s"


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
    profiler = request.profiler
    with start_workers(request.framework, [request.fixed]) as (worker,), closing(worker):
        profile = _call_profiler(worker, profiler, request.setting, {}, PATIENCE_S)
        if not request.workload.is_program:
            return predict(profile)
        accelerators, *_ = worker.ask("describe")
        host = replace(_describe_host(), accelerators=accelerators)
        return leave_out(predict(profile), ask_applicable(worker, _trial_of(request), host))


def _trial_of(request: ExplanationRequest) -> Trial:
    """Return the trial of a program as it stands."""
    work = request.workload
    return Trial(
        framework=request.framework,
        workload=work if work.is_program else work.name,
        arms=({},),
        fixed=request.fixed,
        problem=request.options,
        setting=request.setting,
    )


def _describe_host() -> Host:
    cores = cpu_count()
    return Host(cores=cores, max_workers=cores)


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
    find_technique(request.framework, name).require_level_on(_describe_host(), level, "--technique")
    levels = {name: level}
    with hold_machine(report), closing(Pool(Plan())) as pool:
        on_start()
        start_s = time.monotonic()
        before, after, profile_s = _profile_both(request, levels, pool, start_s + LONGEST * request.budget_s, report)
        spent_s = time.monotonic() - start_s
        pool.ceilings.get(request.framework, on_progress)
        start_s = time.monotonic() - spent_s  # that happens once per machine, beyond the budget
        report("timing both in pairs")
        planned = _take_quicker(before, after)
        measure = PairedMeasurement(request, pool, planned, on_progress)
        measured = _time_technique(measure, planned, after, levels, start_s, request.budget_s)
        enough_s = max(time.monotonic() - start_s, spent_s + measure.needed_s(after))
    enough_s = max(enough_s + (profile_s if after is None else 0.0), MORE * request.budget_s)
    left_out = f"{TOO_LATE} to {_name_budget(enough_s)}"
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

    The program has it already, or nothing outside can change what it has.
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
    trial = _trial_of(request)
    send_by_value(trial)
    ((name, level),) = levels.items()
    if why := worker.call(find_objection, trial, name, level):
        raise Unavailable(f"{format_levels(levels)} cannot be compared with your program as it stands: {why}")


def _profile_both(
    request: ExplanationRequest, levels: Levels, pool: Pool, latest_s: float, report: Callable[[str], None]
) -> tuple[Profile, Profile | None, float]:
    """Return the profiles without and with a technique, None if the second is not over in time; the first's seconds."""
    report("profiling your program, in a process of its own")
    profiler = request.profiler
    with start_workers(request.framework, [request.fixed, {**request.fixed, **levels}], pool) as (first, second):
        _refuse_what_is_fixed(request, second, levels)
        start_s = time.monotonic()
        before = _profile_first(request, first)
        profile_s = time.monotonic() - start_s
        report(f"profiling it with {format_levels(levels)}")
        setting = replace(request.setting, items=before.items) if request.workload.is_program else request.setting
        after = _run_until(
            latest_s, ALONE * profile_s, lambda: profile_in(second, profiler, setting, levels, PATIENCE_S)
        )
    return before, after, profile_s


def _take_quicker(before: Profile, after: Profile | None) -> Profile:
    """Return the first profile with the shorter time of both per iteration: a busy machine slows one of them down."""
    if after is None or not after.items:
        return before
    return replace(before, seconds=min(before.seconds, after.seconds * before.items / after.items))


def _time_technique(
    measure: PairedMeasurement,
    before: Profile,
    after: Profile | None,
    levels: Levels,
    start_s: float,
    budget_s: float,
) -> StepPart | None:
    """Return what pairs without and with a technique say, None if the budget, which began at ``start_s``, is too short.

    An iteration is shortened where only that lets the pairs fit.
    """
    latest_s, items = start_s + LONGEST * budget_s, before.items
    if time.monotonic() + measure.needed_s(after, items) > latest_s:
        items = _choose_items(before)
    first_s = before.first_s + (after or before).first_s

    def run() -> StepPart:
        left_s = start_s + budget_s - first_s - time.monotonic()
        (measured,) = measure([(format_levels(levels), levels)], left_s, items=items)
        return measured

    return _run_until(latest_s, measure.needed_s(after, items), run)


def _run_until(latest_s: float, needed_s: float, run: Callable[[], _Result]) -> _Result | None:
    """Return what ``run`` returns, None where it would not be over, or is not over, at ``latest_s``.

    ``needed_s`` are the seconds that it takes at least.
    """
    left_s = latest_s - time.monotonic()
    return None if left_s < needed_s else TimeLimit(left_s).call(run)


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
        return _call_profiler(worker, profiler, setting, levels or {}, silence_s)


def _call_profiler(
    worker: Worker, profiler: Callable[..., Profile], setting: Setting, levels: Levels, silence_s: float
) -> Profile:
    found: Profile = worker.call(profiler, setting, levels, silence_s=silence_s)
    for name in found.recipes:
        find_technique(found.framework, name)
    return found


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

    with _in_one_line(name):
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


def _list_open(planned: Sequence[tuple[str, Levels]], parts: Sequence[StepPart]) -> list[tuple[str, Levels]]:
    """Return the planned parts that may be causes, and of which the pairs do not tell whether they are."""
    both = zip(planned, parts, strict=True)
    return [(name, levels) for (name, levels), part in both if part.is_open and name not in PHASES]


def _replace_parts(parts: Sequence[StepPart], again: Sequence[StepPart]) -> list[StepPart]:
    """Return the parts, with those in place that were measured again."""
    newer = {part.name: part for part in again if part.share is not None}
    return [newer.get(part.name, part) for part in parts]


def _choose_items(profile: Profile) -> float:
    """Return the items of an iteration that gives pairs soon: fewer where no loader process must be kept busy."""
    if profile.workers:
        return profile.items
    batches = max(1, int(SOON_S / (profile.seconds / profile.batches)))
    return min(profile.items, batches * profile.items / profile.batches)


class PairedMeasurement:
    """Measures parts and remedies in pairs with the program as it stands. ``item_s`` is its time per item."""

    def __init__(self, request: ExplanationRequest, pool: Pool, profile: Profile, on_progress: OnProgress) -> None:
        self.item_s: float | None = None
        self.remarks: list[Sequence[Reason]] = []  # on each trial
        self._late_s = 0.0  # that an arm took in the last trial beyond what was planned
        self._profile, self._pool, self._on_progress = profile, pool, on_progress
        self._is_program = request.workload.is_program
        work = request.workload
        self._trial = _trial_of(request)
        if work.is_program and request.framework in ABLATIONS:
            technique, builder = ABLATIONS[request.framework]
            register_techniques(technique)  # the pool asks about it in this process, too
            work = replace(work, builder=partial(builder, request.build))
            self._trial = replace(self._trial, workload=work, techniques=(technique,))

    def __call__(
        self,
        parts: Sequence[tuple[str, Levels]],
        budget_s: float,
        *,
        items: float | None = None,
        into: list[StepPart] | None = None,
        latest_s: float | None = None,
        alone_until_s: float | None = None,
    ) -> list[StepPart]:
        """Measure each part in pairs in ``budget_s`` seconds.

        The last ones are skipped if they would not be over at ``latest_s`` on the monotonic clock, which is the end of
        the budget if it is not named. What does not fit together is tried one by one, as long as one is likely to be
        over at ``alone_until_s``.

        An iteration has as many ``items`` as in the profile, unless others are named. What is returned is ``into``, if
        that is given: it has all parts, skipped ones among them, and each in its place as soon as it is measured.

        Raises:
            Unavailable: the program itself does not run.
        """
        found = [] if into is None else into
        found[:] = [skip_part(*part) for part in parts]
        items = items or self._profile.items
        needed_s = self._least_s(items)
        end_s, place = time.monotonic() + budget_s, 0
        while place < len(parts):
            # The very first part has a trial of its own, which shows what an arm takes beyond what was planned. Where
            # the time is up in a later trial, the results of this one are kept.
            start_s, is_first = time.monotonic(), self.item_s is None
            room = int(((latest_s or end_s) - start_s) / (OVERHEAD * needed_s + self._late_s)) - 1
            if room < 1 and not is_first:
                delay_s = self._late_s * (ALONE if place == 1 else 1.0)
                if alone_until_s is None or start_s + 2 * (OVERHEAD * needed_s + delay_s) > alone_until_s:
                    break
                room = 1
            group = parts[place : place + (1 if is_first else room)]
            arms_left = len(parts) - place + (2 if is_first and len(parts) > 1 else 1)
            each_s = ((end_s - start_s) / arms_left - self._late_s) / OVERHEAD
            each_s = max(needed_s, min(MOST_S, each_s))
            found[place : place + len(group)] = self._measure_group(group, each_s, items)
            self._late_s = max(0.0, (time.monotonic() - start_s) / (len(group) + 1) - OVERHEAD * each_s)
            place += len(group)
        return found

    def _least_s(self, items: float) -> float:
        """Return how long an arm is timed at least, in seconds, if an iteration has this number of items."""
        return max(LEAST_S, 2 * PAIRS * self._profile.seconds * items / self._profile.items)

    def needed_s(self, after: Profile | None, items: float | None = None) -> float:
        """Return the seconds that pairs with another arm take at least, whose profile is like this one if not known.

        Without ``items``, the iteration is as short as it may be.
        """
        first_s = self._profile.first_s + (after or self._profile).first_s
        return first_s + 2 * OVERHEAD * self._least_s(items or _choose_items(self._profile))

    def _measure_group(self, parts: Sequence[tuple[str, Levels]], each_s: float, items: float) -> list[StepPart]:
        """Return the parts as one trial shows them, in which each arm is timed for ``each_s`` seconds.

        Raises:
            Unavailable: the program itself does not run, and has not run before.
        """
        baseline = baseline_of([*parts])
        arms = (baseline, *({**baseline, **levels} for _, levels in parts))
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
        setting = self._trial.setting
        if self._is_program:
            setting = replace(setting, items=items, compares_outputs=self._profile.repeats)
        trial = replace(self._trial, arms=arms, plan=plan, setting=setting)
        measured = self._pool.measure(trial, on_progress=self._on_progress)
        self.remarks.append(measured.remarks)
        own = measured.arms[0]
        if own.outcome != "measured" or own.timing is None:
            name = "your program" if self._is_program else self._trial.workload
            why = f"{name} was not measured: {own.outcome}: {own.reason}"
            if self.item_s is None:
                raise Unavailable(why)
            return [replace(skip_part(*part), reason=why) for part in parts]
        if self.item_s is None:
            self.item_s = own.timing.median_s / (own.items or items)
        return [read_part(name, levels, arm) for (name, levels), arm in zip(parts, measured.arms[1:], strict=True)]

    def count_energy(self, remedies: Sequence[StepPart], end_s: float) -> tuple[float | None, list[StepPart]]:
        """Return the joules of an item of the program as it stands, and the remedies that help with theirs.

        Nothing is counted where the device has no counter, or where less time is left than that takes.
        """
        known = [*remedies]
        helping = [place for place, each in enumerate(known) if each.effect is not None and each.effect.low > 1]
        needed_s = ENERGY_TIMES * resources.COUNTED_LEAST_S * (1 + len(helping))
        if not counts_energy(self._profile.device) or time.monotonic() + needed_s > end_s:
            return None, known
        self._on_progress("energy")
        baseline = baseline_of([(known[place].name, known[place].levels) for place in helping])
        trial = replace(
            self._trial,
            arms=(baseline, *({**baseline, **known[place].levels} for place in helping)),
            plan=replace(self._trial.plan, budget_s=resources.COUNTED_LEAST_S, builds=1, min_span_s=0.0),
        )
        own, *others = self._pool.measure(trial, on_progress=self._on_progress).arms
        for place, arm in zip(helping, others, strict=True):
            known[place] = replace(known[place], item_j=_item_j(arm))
        return _item_j(own), known


def counts_energy(device: str) -> bool:
    """Return whether this machine counts the energy of a kind of device, such as ``cuda``."""
    gpus = {gpu.uuid for gpu in nvml.gpus()} if device != "cpu" else set()
    return resources.meter_of("GPU" if gpus else "CPU", gpus).counts


def _item_j(arm: ArmRecord) -> float | None:
    return arm.price.energy_j_per_item if arm.price else None
