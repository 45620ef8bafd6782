"""One pytest session: the trials that were collected, and those that have been measured."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pytest

from accelbench.core import (
    AS_IS,
    Host,
    Ladder,
    Levels,
    Technique,
    Trial,
    Workload,
    find_technique,
    find_workload,
    is_technique,
    suggest_technique,
    techniques_of,
)
from accelbench.errors import AccelbenchError, BadInput, Unavailable
from accelbench.measuring.trial_result import TimeLedger, round_seconds, sum_seconds
from accelbench.measuring.workers.interpreter import find_interpreter
from accelbench.measuring.workers.process import is_user_code
from accelbench.progress import Expected, Progress
from accelbench.pytest_plugin.collection import ToggledTest, TrialSpec, arm_of, collect_trials
from accelbench.pytest_plugin.options import RunConfig, this_machine
from accelbench.pytest_plugin.resume import (
    Journal,
    describe_changes,
    journal_header,
    require_same,
)
from accelbench.pytest_plugin.storage import Storage
from accelbench.schema.machine_id import machine_key
from accelbench.schema.reasons import Reason, reason
from accelbench.schema.result import SCHEMA_VERSION, Environment, Outcome, Run, TrialRecord
from accelbench.schema.storable import plain_name, require_storable
from accelbench.sigint import stop_once
from accelbench.text import format_case, name_type
from accelbench.units import plural

if TYPE_CHECKING:  # loaded when the first trial is measured: most pytest sessions measure nothing
    from filelock import BaseFileLock

    from accelbench.measuring.workers.pool import Pool
    from accelbench.pytest_plugin.passes import Case, JournaledVisit, MeasuredTrial, Passes

UNFINISHED_STATUS = 75  # EX_TEMPFAIL of sysexits.h: come again later; pytest and accelbench use it for nothing else
SURE_VISITS = 2  # of every trial; later ones leave out what is settled
USUAL_SHARE = 1.5  # an arm takes about this multiple of its budget: builds and checks add, early verdicts save


@dataclass(frozen=True, kw_only=True)
class MeasureRequest:
    """One call of ``measure``: the workload, the techniques held at one level in every arm, the workload's options."""

    workload: Workload
    fixed: dict[str, str]
    problem: dict[str, str | int | float | bool]

    def __str__(self) -> str:
        return format_case(workload=self.workload.name, problem=self.problem, fixed=self.fixed)

    @property
    def case(self) -> Case:
        """What tests of one trial must have in common."""
        return self.workload.name, self.problem, self.fixed


class TimeSlice:
    """The time that a session may take, counted from its start, or no limit if that is None.

    ``is_over`` is true if the session ended because its time was up, and not because somebody stopped it.
    """

    def __init__(self, limit_s: float | None) -> None:
        self._ends = None if limit_s is None else time.monotonic() + limit_s
        self.is_over = False
        self._has_started = False
        self._left: set[str] = set()

    def start_visit(self, *, expected_s: float) -> None:
        """Note that a trial is going to be visited. The first visit always may be, so that every slice makes progress.

        Raises:
            Unavailable: the visit is expected to take longer than what is left of the slice, or trials have been left:
                one that fits into the rest would be visited in all passes at once, and visits are to lie apart.
        """
        is_too_late = self._ends is not None and time.monotonic() + expected_s > self._ends
        if self._left or (self._has_started and is_too_late):
            raise Unavailable(reason("time-is-up"))
        self._has_started = True

    def leave(self, trials: Iterable[str]) -> None:
        """Note which trials are left for the next slice."""
        self._left.update(trials)

    @property
    def rest(self) -> str:
        """The number of trials left for the next slice, in words; empty if there are none."""
        return f"{plural(len(self._left), 'trial')} left; repeat the command to continue" if self._left else ""


class Session:
    """Measures the collected trials in passes, each of which visits every trial, before their tests report them."""

    def __init__(self, config: RunConfig, progress: Progress, storage: Storage) -> None:
        self.config = config
        self.progress = progress
        self.storage = storage
        self.time_slice = TimeSlice(config.time_limit_s)
        self.spending = TimeLedger()
        self.saved_spent_s: dict[str, float] = {}
        self.tests: dict[str, ToggledTest] = {}  # by the node id of the test function
        self.refusals: dict[str, BadInput] = {}  # of test functions that cannot be parametrised, likewise
        self.trials: dict[str, TrialSpec] = {}  # by the node id of each of its tests
        self._with_user_code: dict[str, bool] = {}
        self.requests: dict[str, MeasureRequest] = {}  # by the trial's id, as everything below
        self.visits: dict[str, list[JournaledVisit]] = {}
        self._present: dict[str, dict[str, set[str]]] = {}  # levels that a program has, by trial and technique
        self.is_planning = False  # tests run to show what they ask for
        self.usage_errors: list[BadInput] = []
        self.began = time.time()
        self._resumed_spent_s: dict[str, float] = {}  # on the visits of the unfinished run
        self._lock: BaseFileLock | None = None  # of the machine

    @property
    def arms(self) -> dict[str, int]:
        """The number of arms of each collected trial, by its id."""
        return {trial.id: len(trial.arms) for trial in self.trials.values()}

    @property
    def records(self) -> list[TrialRecord]:
        """The trials measured so far."""
        specs = {spec.id: spec for spec in self.trials.values() if spec.id in self.visits}
        return [self.passes.join(spec).record for spec in specs.values()]

    @property
    def has_been_interrupted(self) -> bool:
        """Whether Ctrl-C ended the measuring."""
        return "passes" in self.__dict__ and self.passes.is_interrupted

    @property
    def journal(self) -> Journal | None:
        """The journal of a run that is saved."""
        return self.storage.journal

    def host_for(self, techniques: Iterable[Technique]) -> Host:
        """Return what the levels of one framework's techniques depend on.

        A worker is asked for accelerators only if a technique switches the device.
        """
        for technique in techniques:
            if technique.kind == "device":
                return replace(self.config.host, accelerators=self._accelerators(technique.framework))
        return self.config.host

    def collect(self, items: Iterable[pytest.Item]) -> None:
        """Find the trials among the selected tests.

        Raises:
            BadInput: the user names an interpreter for the framework of a trial that cannot serve.
        """
        self.trials = collect_trials(items, self.tests)
        for framework in dict.fromkeys(trial.framework for trial in self.trials.values()):
            find_interpreter(framework)
        self._expect()

    def start(self, session: pytest.Session) -> list[str]:
        """Lock the machine and open the journal before the first trial is measured; return lines for the terminal.

        Raises:
            BadInput: another run is measuring on the machine, or the unfinished run cannot be continued.
        """
        from accelbench.machine_lock import lock_machine  # here, since most pytest sessions measure nothing

        interrupting = ExitStack()
        session.config.add_cleanup(interrupting.close)
        interrupting.enter_context(stop_once())
        with self.spending.charge("waiting"):
            self._lock = lock_machine(
                wait=self.config.options.wait, say=partial(_write_at_once, session.config.pluginmanager)
            )
        items = [item for item in session.items if item.nodeid in self.trials]
        header = partial(journal_header, config=self.config, trials=self.trials.values(), items=items)
        lines = list(self.storage.open_journal(header, self.config.options))
        if self.journal:
            self._resume_from(self.journal)
        return lines

    def _resume_from(self, journal: Journal) -> None:
        """Check that the frameworks are those of the unfinished run, and expect only the trials that it left.

        Raises:
            BadInput: a framework has another version.
        """
        self.visits = {trial: list(visits) for trial, visits in journal.visits.items()}
        self.began = datetime.fromisoformat(journal.header.started).timestamp()
        for framework in {spec.framework for spec in self.trials.values() if spec.id in self.visits}:
            self._accelerators(framework)  # starts its worker, which reports its configuration
        now = self.pool.configuration() if journal.visits else {}
        # Only versions: the rest may depend on the environment variables with which a worker was started.
        then = {name: text for name, text in journal.configuration.items() if name.endswith(".version")}
        require_same(journal, list(describe_changes(then, {name: now.get(name, text) for name, text in then.items()})))
        self._resumed_spent_s = sum_seconds(visit.spent_s for visits in self.visits.values() for visit in visits)
        self._expect()

    def plan(self, item: pytest.Item, workload: str | Workload, keywords: Mapping[str, Any]) -> MeasureRequest:
        """Note what a test asks for; the first test of a trial decides for all of them.

        Raises:
            BadInput: the test asks for something that cannot be measured, or for something else than the first test.
        """
        trial = self.trials[item.nodeid]
        request = parse_request(trial, arm_of(item, trial.techniques), workload, keywords)
        for name, level in request.fixed.items():
            technique = find_technique(trial.framework, name)
            _require_level(technique, level, self.host_for([technique]))
        first = self.requests.setdefault(trial.id, request)
        if request.case != first.case:
            raise BadInput(
                "the tests of one trial may differ only in the toggled levels: this one asks for "
                f"{str(request)!r}, the first one asked for {str(first)!r}"
            )
        if request.workload.is_program:
            self._compare_with_program(trial)
        if any(visit.case != request.case for visit in self.visits.get(trial.id, ())):  # of the unfinished run
            del self.visits[trial.id]
        return request

    def _compare_with_program(self, trial: TrialSpec) -> None:
        """Make the program as it stands the baseline of a trial: its other arms are candidates over it.

        A ladder has a start of its own, and a factorial the levels between which it switches.
        """
        as_is = {each.name: AS_IS for each in trial.techniques}
        if trial.factorial or any(isinstance(each, Ladder) for each in trial.techniques) or trial.arms[0] == as_is:
            return
        compared = replace(trial, arms=(as_is, *trial.arms))
        self.trials = {nodeid: compared if each.id == trial.id else each for nodeid, each in self.trials.items()}

    def _find_present(self, trial: Trial, spec: TrialSpec) -> dict[int, tuple[Outcome, Reason | None]]:
        """Return the arms whose levels a user's program has already: they are not measured."""
        if trial.arms[0] != {each.name: AS_IS for each in spec.techniques}:
            return {}
        if spec.id not in self._present:
            host = self.host_for(spec.techniques)
            try:
                found = self.pool.applicable(trial, host)
            except AccelbenchError:  # the arms that this stops will say how
                found = []
            self._present[spec.id] = {each.technique: {*each.present, AS_IS} for each in found}
        present = self._present[spec.id]
        return {
            place: ("unavailable", reason("program-has-this"))
            for place, arm in enumerate(trial.arms)
            if place and all(level in present.get(name, ()) for name, level in arm.items())
        }

    def measure(
        self, item: pytest.Item, workload: str | Workload, keywords: Mapping[str, Any]
    ) -> tuple[MeasuredTrial, int]:
        """Return the trial of a test, and the index of the test's arm in it; measure a trial that was not planned.

        Raises:
            BadInput: the test asks for something that cannot be measured.
            Unavailable: the trial is left for the next part of the run, or the run was interrupted.
        """
        self.plan(item, workload, keywords)
        trial = self.trials[item.nodeid]
        if trial.id not in self.visits:
            if self.passes.is_interrupted:
                raise Unavailable(reason("interrupted"))
            self.passes.measure([trial])
        return self.passes.join(trial), trial.arms.index(arm_of(item, trial.techniques))

    def measure_all(self) -> None:
        """Measure every trial of which a test has shown what it asks for; Ctrl-C ends that."""
        specs = {spec.id: spec for spec in self.trials.values() if spec.id in self.requests}
        self.passes.measure_until_interrupted(list(specs.values()))

    def trial_of(self, spec: TrialSpec) -> Trial:
        """Return the trial for a worker, with the workload by name if the worker knows it, else by value."""
        request = self.requests[spec.id]
        workload = request.workload
        plan = self.config.plan
        if spec.factorial:
            from accelbench.attribution import batches_for  # here, since it loads NumPy, which few sessions need

            plan = replace(plan, whole_rounds=True, max_builds=batches_for(len(spec.arms)))
        trial = Trial(
            framework=spec.framework,
            workload=workload if is_user_code(workload.builder) else workload.name,
            arms=spec.arms,
            fixed=request.fixed,
            problem=request.problem,
            techniques=techniques_to_send(self._techniques(spec)),
            setting=self.config.setting,
            plan=plan,
        )
        return replace(trial, failures=self._find_present(trial, spec)) if workload.is_program else trial

    def has_user_code(self, trial: str) -> bool:
        """Return whether a trial's workload or one of its techniques is of a user's own module."""
        if trial not in self._with_user_code:
            spec = next(spec for spec in self.trials.values() if spec.id == trial)
            self._with_user_code[trial] = has_user_code(self.requests[trial].workload, self._techniques(spec))
        return self._with_user_code[trial]

    def _techniques(self, spec: TrialSpec) -> list[Technique]:
        """Return the techniques that a trial switches and those that it holds at a level."""
        return [*spec.techniques, *(find_technique(spec.framework, name) for name in self.requests[spec.id].fixed)]

    def run(self, *, interrupted: bool) -> Run:
        """Return everything measured so far, as it is stored."""
        from accelbench.schema import environment

        self.saved_spent_s = round_seconds(sum_seconds([self.spending.total(), self._resumed_spent_s]))
        identity = this_machine()
        resumed = self.journal.configuration if self.journal else {}
        configuration = environment.configuration() | self.pool.configuration() | resumed
        has_rates = any(arm.rates or arm.outcome == "impossible" for trial in self.records for arm in trial.arms)
        return Run(
            schema_version=SCHEMA_VERSION,
            machine=machine_key(identity),
            environment=Environment(identity=identity, configuration=configuration, readings=environment.readings()),
            settings=self.config.settings,
            trials=self.records,
            interrupted=interrupted,
            spent_s=self.saved_spent_s,
            ceilings=self.pool.ceilings.on_file() if has_rates else [],
        )

    def close(self) -> None:
        """Stop the workers and release the machine."""
        if "pool" in self.__dict__:
            self.pool.close()
        if "passes" in self.__dict__:
            self.passes.close()
        if self._lock:
            self._lock.release()

    @cached_property
    def passes(self) -> Passes:
        """The passes over the trials."""
        from accelbench.pytest_plugin.passes import Passes

        return Passes(self)

    @cached_property
    def pool(self) -> Pool:
        """The worker processes, started when first needed."""
        from accelbench.measuring.workers.pool import Pool

        return Pool(self.config.plan, spending=self.spending)

    def _expect(self) -> None:
        self.progress.expect({})
        for number in range(self.config.plan.visits):
            for trial in self.arms:
                if number >= len(self.visits.get(trial, ())):
                    self.expect_visit(trial, number)

    def expect_visit(self, trial: str, number: int) -> None:
        """Count a visit among those that are to come."""
        plan = self.config.plan
        # The arms of one file's trials take about equally long; those of another file need not.
        expected = Expected(
            group=trial.partition("::")[0],
            guess_s=USUAL_SHARE * plan.budget_s / plan.visits,
            parts=self.arms[trial],
            is_optional=number >= SURE_VISITS,
        )
        self.progress.add((trial, number), expected)

    def _accelerators(self, framework: str) -> tuple[str, ...]:
        try:
            return self.pool.accelerators(framework)
        except AccelbenchError:  # the worker was lost; the arms that it should measure will say how
            return ()


def parse_request(
    trial: TrialSpec, arm: Levels, workload: str | Workload, keywords: Mapping[str, Any]
) -> MeasureRequest:
    """Return what a test asks for in its call of ``measure``; ``arm`` has the levels of the test.

    Raises:
        BadInput: the call asks for something that cannot be measured.
        UnstorableValue: it names something that no result file can hold.
    """
    for name in arm.keys() & keywords.keys():
        if keywords[name] != arm[name]:
            raise BadInput(
                f"measure was given {name}={keywords[name]!r} in the test of {name}={arm[name]!r}: the test toggles "
                f"{name}, so leave {name} out of the call"
            )
    if not isinstance(workload, str | Workload):
        raise BadInput(
            f"the workload is {name_type(workload)}; give measure a workload or the name of one, such as 'cnn-train'"
        )
    found = find_workload(workload) if isinstance(workload, str) else workload
    if trial.framework not in found.frameworks:
        raise BadInput(
            f"workload {found.name} runs in {', '.join(found.frameworks)}, but the test toggles techniques of "
            f"{trial.framework}"
        )
    others = {name: value for name, value in keywords.items() if name not in arm}
    fixed = {name: str(value) for name, value in others.items() if is_technique(trial.framework, name)}
    problem = {name: value for name, value in others.items() if name not in fixed}
    for name, value in problem.items():
        if name not in found.options:
            known = ", ".join(sorted(found.options)) or "none"
            raise BadInput(
                f"measure was given {name!r}, which is neither a technique of {trial.framework} nor an option of "
                f"{found.name}; its options are: {known}{suggest_technique(trial.framework, name)}"
            )
        if not isinstance(value, str | int | float | bool):
            raise BadInput(
                f"option {name} is {name_type(value)}; give a string, a number or a Boolean, which a result file "
                "can hold"
            )
        require_storable(value, f"option {name}")
    for what in ("name", "unit", "summary"):
        plain_name(getattr(found, what), f"the workload's {what}")
    return MeasureRequest(workload=found, fixed=fixed, problem=problem)


def techniques_to_send(techniques: Sequence[Technique]) -> tuple[Technique, ...]:
    """Return the techniques that a worker cannot import: the user's, and ladders after the user's rungs."""
    sent: list[Technique] = []
    for each in techniques:
        sent += [part for part in parts_of(each) if is_user_code(part.apply)]
        sent += [each] if isinstance(each, Ladder) else []
    return tuple(sent)


def has_user_code(workload: Workload, techniques: Sequence[Technique]) -> bool:
    """Return whether a workload, a technique or a rung of a ladder is of a user's own module."""
    functions = [part.apply for each in techniques for part in parts_of(each)]
    return any(map(is_user_code, [workload.builder, *functions]))


def parts_of(technique: Technique) -> list[Technique]:
    """Return the techniques of a ladder, or the technique itself."""
    return techniques_of(technique) if isinstance(technique, Ladder) else [technique]


def _require_level(technique: Technique, level: str, host: Host) -> None:
    levels = technique.levels_on(host)
    # A number beyond the limit of a sweep may be held: the arm will say whether this machine can run it.
    is_number = callable(technique.levels) and level.isdigit()
    if level not in levels and not is_number:
        raise BadInput(f"technique {technique.name} has no level {level!r} here; expected one of: {', '.join(levels)}")


def _write_at_once(plugins: pytest.PytestPluginManager, line: str) -> None:
    """Show a line before a wait, even if the terminal is a pipe."""
    if reporter := plugins.get_plugin("terminalreporter"):
        reporter.write_line(line)
        reporter.flush()
