"""A calibration of this machine: what is measured, in which order and how often, and the resulting certificate."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import cycle, islice
from typing import Any, TypeVar, cast

from joblib import cpu_count

from accelbench.calibrate import comparisons
from accelbench.calibrate.comparisons import SUITE_CASES
from accelbench.calibrate.known_work import KNOWN_WORK, KnownWork
from accelbench.core import Plan
from accelbench.errors import AccelbenchError, BadInput, Unavailable
from accelbench.frameworks.protocol import FRAMEWORKS
from accelbench.machine_lock import hold_machine
from accelbench.measuring.core_latency import CoreLatency
from accelbench.measuring.interference import cores_of_this_process
from accelbench.measuring.machine_state import MachineState, StateReader
from accelbench.measuring.workers.interpreter import find_interpreter
from accelbench.measuring.workers.process import Worker, WorkerLostError
from accelbench.progress import Expected, Progress
from accelbench.schema.certificate import SCHEMA_VERSION, Certificate, KnownComparison, Multiple, SlowCall, Timer, Wait
from accelbench.schema.environment import fingerprint
from accelbench.schema.machine_id import machine_key
from accelbench.schema.reasons import reason
from accelbench.units import plural

SLOW_CALLS = (1, 3, 200)  # the cold call, one while blocks are sized, one among the samples
# Two threads of one arm, next to a busy process on two cores, would measure the scheduler.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
# The process ends by itself when its parent, whose id is the argument, has ended in any way.
_BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(10**5))"
_IDENTICAL_S, _DIFFERENT_S, _SUITE_S = 0.6, 0.4, 5.0  # guesses per comparison, for the time left at the start
RecordKind = TypeVar("RecordKind")


@dataclass(frozen=True, kw_only=True)
class Extent:
    """How often each thing is measured, and for how long.

    ``identical`` is the number of comparisons of identical code through ``compare``. ``different`` maps an effect size
    to the number of comparisons with each kind of known work. The suite compares identical arms of every workload in
    ``suite_rounds`` rounds.
    """

    identical: int
    different: Mapping[float, int]
    suite_rounds: int
    budget_s: float = 1.0


FULL = Extent(identical=175, different={0.01: 10, 0.02: 10, 0.03: 50, 0.05: 10, 0.1: 10}, suite_rounds=6)
QUICK = Extent(identical=20, different={0.01: 1, 0.02: 1, 0.03: 5, 0.05: 1, 0.1: 1}, suite_rounds=1, budget_s=0.5)


Record = KnownComparison | Multiple | Wait | SlowCall | Timer


@dataclass(frozen=True, kw_only=True)
class Task:
    """One thing to measure, which takes about ``guess_s``.

    ``measure`` returns records. It runs in a worker of ``framework``; a comparison through the suite names none, since
    it starts workers of its own, and returns the framework's configuration beside its records.
    """

    part: str
    guess_s: float
    measure: Callable[[], Any]
    framework: str = ""


@dataclass(kw_only=True)
class CalibrationSession:
    """What has been measured so far, and a worker process per framework that measures more.

    ``states`` reads how far apart the cores are; without it, comparisons do not say.
    """

    states: StateReader | None = None
    records: list[Record] = field(default_factory=list)
    not_measured: list[str] = field(default_factory=list)
    configuration: dict[str, str] = field(default_factory=dict)
    workers: dict[str, Worker] = field(default_factory=dict)

    def of(self, kind: type[RecordKind]) -> list[RecordKind]:
        """Return the records of one kind."""
        return [record for record in self.records if isinstance(record, kind)]

    def run(self, task: Task) -> None:
        """Measure a task and add its records, or why it cannot be measured."""
        before = self.states.read() if self.states else MachineState()
        try:
            records = self._measure(task)
        except (Unavailable, BadInput) as error:  # such as a step that a busy machine makes too slow for its budget
            if str(error) not in self.not_measured:
                self.not_measured.append(str(error))
            return
        self.records += [self._note_cores(record, before) for record in records]

    def _measure(self, task: Task) -> list[Record]:
        if task.framework:
            return self._call(task.framework, task.measure)
        records, configuration = task.measure()
        self.configuration |= configuration
        return cast(list[Record], records)

    def _note_cores(self, record: Record, before: MachineState) -> Record:
        """Return a comparison with how far apart the cores lay; any other record as it is."""
        if self.states is None or not isinstance(record, KnownComparison):
            return record
        visit = self.states.visit(0.0, before, self.states.read())
        if visit.core_latency_s is None:
            return record
        are_far = any(odd.code == "cores-far-apart" for odd in visit.odd)
        return replace(record, core_latency_s=visit.core_latency_s, cores_are_far=are_far)

    def _call(self, framework: str, measure: Callable[[], list[Record]]) -> list[Record]:
        if framework not in self.workers:
            self.workers[framework] = Worker(framework, ONE_THREAD)
        try:
            records: list[Record] = self.workers[framework].call(measure)
        except WorkerLostError as lost:
            raise AccelbenchError(f"{framework}: {lost}; calibrate again") from None
        return records


@contextmanager
def open_session(machine: str) -> Iterator[CalibrationSession]:
    """Provide a session on the machine of this key, and end its workers."""
    latency = CoreLatency(cores_of_this_process())
    states = StateReader(machine, lambda: MachineState(core_latency_s=latency.read_s()))
    session = CalibrationSession(states=states)
    try:
        yield session
    finally:
        latency.close()
        for worker in session.workers.values():
            worker.close()


@contextmanager
def background_load(processes: int) -> Iterator[None]:
    """Run this many busy processes inside the context, to take cores from what is being measured."""
    command = [sys.executable, "-c", _BUSY, str(os.getpid())]
    silent = subprocess.DEVNULL
    running = [subprocess.Popen(command, stdin=silent, stdout=silent, stderr=silent) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def plan_tasks(extent: Extent, frameworks: Sequence[str], busy_processes: int) -> list[Task]:
    """Return what is measured next to this many busy processes; with none, also what does not depend on them.

    Each kind of work comes in turn, so that a bad minute of the machine affects all kinds.
    """
    kinds = [work for work in KNOWN_WORK if work.framework in frameworks]
    identical = [(work, 0.0) for work in islice(cycle(kinds), extent.identical)]
    different = [
        (work, effect_size)
        for number in range(max(extent.different.values()))
        for effect_size, times in extent.different.items()
        for work in kinds
        if work.divisible and number < times
    ]
    return [
        *([] if busy_processes else _stopwatch_tasks(extent)),
        *(_known_task(extent, *each, busy_processes) for each in (*identical, *different)),
        *_suite_tasks(extent, frameworks, busy_processes),
    ]


def _stopwatch_tasks(extent: Extent) -> Iterator[Task]:
    measures: list[Callable[[], list[Any]]] = [
        comparisons.measure_timer,
        partial(comparisons.measure_waits, budget_s=extent.budget_s),
        *(
            partial(comparisons.compare_multiples, work.name, budget_s=2 * extent.budget_s)
            for work in KNOWN_WORK
            if work.divisible
        ),
        *(partial(comparisons.compare_slow_call, call, budget_s=extent.budget_s) for call in SLOW_CALLS),
    ]
    for measure in measures:
        yield Task(part="work of known length", guess_s=extent.budget_s, measure=measure, framework="numpy")


def _known_task(extent: Extent, work: KnownWork, effect_size: float, busy_processes: int) -> Task:
    what, guess_s = ("more work", _DIFFERENT_S) if effect_size else ("identical code", _IDENTICAL_S)
    measure = partial(
        comparisons.compare_known,
        work.name,
        effect_size=effect_size,
        busy_processes=busy_processes,
        budget_s=extent.budget_s,
    )
    return Task(part=_beside(what, busy_processes), guess_s=guess_s, measure=measure, framework=work.framework)


def _suite_tasks(extent: Extent, frameworks: Sequence[str], busy_processes: int) -> Iterator[Task]:
    plan, part = Plan(budget_s=extent.budget_s), _beside("identical arms in fresh workers", busy_processes)
    for _ in range(extent.suite_rounds):
        for case in SUITE_CASES:
            if case.framework in frameworks:
                measure = partial(comparisons.compare_in_suite, case, busy_processes=busy_processes, plan=plan)
                yield Task(part=part, guess_s=_SUITE_S, measure=measure)


def _beside(what: str, busy_processes: int) -> str:
    return f"{what} beside {busy_processes} busy" if busy_processes else what


def calibrate(
    progress: Progress, *, quick: bool = False, busy: bool = False, frameworks: Sequence[str] = ()
) -> Certificate:
    """Measure on this machine, with ``busy`` also next to busy processes, and return the certificate.

    Ctrl-C ends the calibration early; the certificate then holds what was measured until then.

    Raises:
        BadInput: a framework has an unknown name.
        Unavailable: a framework is not installed, or nothing could be compared.
        KeyboardInterrupt: Ctrl-C before anything was compared.
    """
    chosen = _choose_frameworks(frameworks)
    extent = QUICK if quick else FULL
    loads = (0, max(1, int(cpu_count()) // 2)) if busy else (0,)
    environment = fingerprint()
    machine = machine_key(environment.identity)
    with hold_machine(progress.screen.print_line), open_session(machine) as session:
        start = time.monotonic()
        schedule = {load: plan_tasks(extent, chosen, load) for load in loads}
        progress.screen.print_line(describe_tasks([task for tasks in schedule.values() for task in tasks]))
        interrupted = _run_tasks(session, schedule, progress)
    if session.not_measured and not session.of(KnownComparison):
        raise Unavailable(f"nothing could be compared: {session.not_measured[0]}")
    plan = Plan()
    return Certificate(
        schema_version=SCHEMA_VERSION,
        machine=machine,
        environment=replace(environment, configuration=environment.configuration | session.configuration),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        settings={
            "quick": quick,
            "frameworks": ", ".join(chosen),
            "budget_s": extent.budget_s,
            "alpha": plan.alpha,
            "noise": plan.noise,
        },
        spent_s=time.monotonic() - start,
        comparisons=session.of(KnownComparison),
        multiples=session.of(Multiple),
        waits=session.of(Wait),
        slow_calls=session.of(SlowCall),
        timer=next(iter(session.of(Timer)), None),
        not_measured=session.not_measured,
        interrupted=interrupted,
    )


def describe_tasks(tasks: Sequence[Task]) -> str:
    """Return in one line how many measurements the progress counts, and how many of them are of each part."""
    parts = Counter(task.part for task in tasks)
    return f"{plural(len(tasks), 'measurement')}: {', '.join(f'{number} of {part}' for part, number in parts.items())}"


def _choose_frameworks(names: Sequence[str]) -> list[str]:
    if unknown := [name for name in names if name not in FRAMEWORKS]:
        raise BadInput(f"--framework: {unknown[0]!r} is no framework; expected one of: {', '.join(FRAMEWORKS)}")
    wanted = names or FRAMEWORKS
    missing = [name for name in wanted if not find_interpreter(name).has_framework]
    if names and missing:
        raise Unavailable(reason("not-installed", package=missing[0], install=f"'accelbench[{missing[0]}]'"))
    return [name for name in wanted if name not in missing]


def _run_tasks(session: CalibrationSession, schedule: dict[int, list[Task]], progress: Progress) -> bool:
    """Measure the tasks until their end or Ctrl-C, and return whether Ctrl-C ended them.

    Raises:
        KeyboardInterrupt: Ctrl-C before anything was compared.
    """
    numbered = [*enumerate(task for tasks in schedule.values() for task in tasks)]
    progress.expect({number: Expected(group=task.part, guess_s=task.guess_s) for number, task in numbered})
    rest = iter(numbered)
    try:
        for busy_processes, tasks in schedule.items():
            with background_load(busy_processes):
                for number, task in islice(rest, len(tasks)):
                    with progress.measuring(number, task.part):
                        session.run(task)
    except KeyboardInterrupt:
        if not session.of(KnownComparison):
            raise
        return True
    return False
