"""The passes of a run over its trials: every pass visits each trial once, in an order of its own, in fresh workers.

A visit is one fresh build of a trial's arms. Several visits that lie apart in time give an interval that holds for the
next run, too. Later passes leave out the trials whose verdicts would not change. At the end, a few of the visits that
found the machine in an unusual state are repeated, in the workers of the last pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from accelbench.core import Contrast, Trial, annotate
from accelbench.errors import AccelbenchError, Unavailable
from accelbench.measuring.core_latency import CoreLatency
from accelbench.measuring.interference import cores_of_this_process
from accelbench.measuring.machine_state import MachineState, StateReader, reader_of_cores
from accelbench.measuring.trial_result import Pairs, TrialResult, round_seconds, sum_seconds
from accelbench.measuring.visits import (
    EarlierSpeedups,
    MeasuredVisit,
    join_visits,
    mark_page_faults,
    may_decide,
    may_go_on,
    next_visit,
    prior_of,
    settled_contrasts,
)
from accelbench.moderated_variance import Prior
from accelbench.pytest_plugin.collection import TrialSpec
from accelbench.pytest_plugin.earlier_runs import EarlierRuns
from accelbench.pytest_plugin.options import this_machine
from accelbench.pytest_plugin.session import SURE_VISITS, Session
from accelbench.schema.machine_id import machine_key
from accelbench.schema.reasons import Reason, message_line, reason, reason_of
from accelbench.schema.result import WORKER_LOST, ArmRecord, TrialRecord, Visit
from accelbench.text import cross

REPEATED_SHARE = 0.2  # of all visits at most, to replace odd ones

Case = tuple[str, dict[str, str | int | float | bool], dict[str, str]]  # workload, its options, levels held


@dataclass(frozen=True, kw_only=True)
class MeasuredTrial:
    """A measured trial; ``samples_s`` has the seconds per iteration of each block, for each arm of the record."""

    record: TrialRecord
    samples_s: list[tuple[float, ...]]


@dataclass(frozen=True, kw_only=True)
class JournaledVisit:
    """One visit of a trial as the journal keeps it, and what the frameworks used so far report about themselves.

    ``pairs`` belong to the ``contrasts`` of the same place. ``spent_s`` are the seconds that the visit took, by kind.
    """

    trial: str
    workload: str
    problem: dict[str, str | int | float | bool]
    fixed: dict[str, str]
    visit: Visit
    arms: list[ArmRecord]
    samples_s: list[tuple[float, ...]]
    contrasts: list[tuple[int, int]]
    pairs: list[Pairs]
    span_s: float
    disturbance: dict[str, float]
    remarks: list[Reason]
    spent_s: dict[str, float]
    configuration: dict[str, str]

    @classmethod
    def of(
        cls,
        trial: str,
        case: Case,
        visit: Visit,
        result: TrialResult,
        *,
        spent_s: dict[str, float],
        configuration: dict[str, str],
    ) -> JournaledVisit:
        """Return what the journal keeps of a measured visit."""
        return cls(
            trial=trial,
            workload=case[0],
            problem=case[1],
            fixed=case[2],
            visit=visit,
            arms=result.arms,
            samples_s=result.samples_s,
            contrasts=[(contrast.arm, contrast.against) for contrast in result.pairs],
            pairs=list(result.pairs.values()),
            span_s=result.span_s,
            disturbance=result.disturbance,
            remarks=result.remarks,
            spent_s=spent_s,
            configuration=configuration,
        )

    @property
    def case(self) -> Case:
        """What the trial's tests asked for."""
        return self.workload, self.problem, self.fixed

    @property
    def measured(self) -> MeasuredVisit:
        """The visit with its result."""
        result = TrialResult(
            arms=self.arms,
            samples_s=self.samples_s,
            pairs={Contrast(*each): pairs for each, pairs in zip(self.contrasts, self.pairs, strict=True)},
            span_s=self.span_s,
            disturbance=self.disturbance,
            remarks=self.remarks,
        )
        return MeasuredVisit(visit=self.visit, result=result)

    @property
    def is_lost(self) -> bool:
        """Whether an arm was lost with its worker, perhaps for the same reason as the run."""
        return any(arm.outcome in WORKER_LOST for arm in self.arms)


class Passes:
    """Visits the trials of a session, and joins the visits of a trial into one result."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.is_interrupted = False
        self._coin = Random()
        self._latency = CoreLatency(() if session.config.rehearse else cores_of_this_process())
        self._joined: dict[str, MeasuredTrial] = {}  # from the visits so far
        self._known_prior: Prior | None = None
        self._narrows_until_s = time.monotonic() + session.config.narrowing_s
        session.progress.end_optional(self._narrows_until_s)
        self._cut_short: set[str] = set()  # trials whose intervals there was no time to narrow

    def measure_until_interrupted(self, specs: Sequence[TrialSpec]) -> None:
        """Measure trials until Ctrl-C or the end of the session's time; their tests then report what there is."""
        try:
            self.measure(specs)
        except Unavailable:
            self.session.time_slice.leave(spec.id for spec in specs if self._is_left(spec))
        except KeyboardInterrupt:
            self.is_interrupted = True

    def measure(self, specs: Sequence[TrialSpec]) -> None:
        """Measure trials in passes.

        Raises:
            Unavailable: a visit does not fit into the session's time any more.
        """
        for number in range(1 if self.session.config.rehearse else self.session.config.plan.visits):
            due = [spec for spec in self._shuffle(specs) if self._needs_visit(spec, number)]
            for spec in specs:
                if spec not in due:
                    self.session.progress.leave_out((spec.id, number))
            if number:
                self.session.pool.close()
            self._visit_all(due)
        repeated = self._odd_visits(specs)
        for spec in repeated:
            self.session.expect_visit(spec.id, len(self.session.visits[spec.id]))
        self._visit_all(repeated, are_repetitions=True)

    def join(self, spec: TrialSpec) -> MeasuredTrial:
        """Return a trial from its visits."""
        if spec.id not in self._joined:
            self._joined[spec.id] = self._join(spec)
        return self._joined[spec.id]

    def close(self) -> None:
        """End the process that reads the machine's state."""
        self._latency.close()

    @cached_property
    def _states(self) -> StateReader:
        read = MachineState if self.session.config.rehearse else reader_of_cores(self._latency)
        return StateReader(machine_key(this_machine()), read)

    def _shuffle(self, specs: Iterable[TrialSpec]) -> list[TrialSpec]:
        """Return trials in random order, those of one framework together: on a GPU only one worker has room."""
        places: dict[str, float] = {}
        return sorted(
            specs, key=lambda spec: (places.setdefault(spec.framework, self._coin.random()), self._coin.random())
        )

    def _needs_visit(self, spec: TrialSpec, number: int) -> bool:
        """Return whether a trial is to be visited in this pass; the third and later ones leave out what is settled."""
        visits = self._measured_visits(spec.id)
        if len(visits) > number or not may_go_on(self.session.trial_of(spec), visits):
            return False
        if number < SURE_VISITS or spec.factorial:
            return True
        return not all(self._settled(spec, visits).values())

    def _is_left(self, spec: TrialSpec) -> bool:
        """Return whether a pass that is still to come would visit a trial."""
        number = len(self.session.visits.get(spec.id, []))
        return number < self.session.config.plan.visits and self._needs_visit(spec, number)

    def _odd_visits(self, specs: Iterable[TrialSpec]) -> list[TrialSpec]:
        """Return the trials with odd visits that are repeated, those with the fewest usual visits first.

        Where most visits were odd, that is how the machine is now, and another visit would be no different.
        """
        usual = {spec.id: [not each.visit.odd for each in self._measured_visits(spec.id)] for spec in specs}
        total, usual_total = sum(map(len, usual.values())), sum(map(sum, usual.values()))
        if 2 * usual_total < total:
            return []
        odd = [spec for spec in specs if not all(usual[spec.id]) and self._needs_repetition(spec)]
        return sorted(odd, key=lambda spec: sum(usual[spec.id]))[: int(REPEATED_SHARE * total)]

    def _needs_repetition(self, spec: TrialSpec) -> bool:
        """Return whether another visit may decide what is undecided."""
        visits, plan = self._measured_visits(spec.id), self.session.config.plan
        is_new = plan.visits > 1 and not any(measured.visit.is_repetition for measured in visits)
        may_be = is_new and may_go_on(self.session.trial_of(spec), visits)
        return may_be and may_decide(visits, plan, self._prior, self._earlier_speedups(spec.id))

    def _settled(self, spec: TrialSpec, visits: Sequence[MeasuredVisit]) -> dict[Contrast, bool]:
        return settled_contrasts(visits, self.session.config.plan, self._prior, self._earlier_speedups(spec.id))

    def _contrasts_left_out(self, spec: TrialSpec) -> list[Contrast]:
        """Return the contrasts that the next visit leaves out since they are settled; a factorial needs all arms."""
        visits = self._measured_visits(spec.id)
        if len(visits) < SURE_VISITS or spec.factorial:
            return []
        return [contrast for contrast, is_settled in self._settled(spec, visits).items() if is_settled]

    def _measured_visits(self, trial: str) -> list[MeasuredVisit]:
        return mark_page_faults([visit.measured for visit in self.session.visits.get(trial, [])])

    @property
    def _prior(self) -> Prior:
        """What the effects of all trials say about the spread between visits."""
        if self._known_prior is None:
            self._known_prior = prior_of(
                (self._measured_visits(trial), self._earlier_speedups(trial)) for trial in self.session.visits
            )
        return self._known_prior

    @cached_property
    def _earlier_runs(self) -> EarlierRuns:
        files, machine = self.session.storage.earlier_files, machine_key(this_machine())
        return EarlierRuns(files, machine, self.session.config.settings)

    def _earlier_speedups(self, trial: str) -> EarlierSpeedups:
        """Return the speedups of a trial's contrasts in earlier runs.

        A workload and techniques of this package are the same in all runs of one version of it. What a user's own
        module defines may have changed since then, or what it calls.
        """
        visits, request = self.session.visits.get(trial), self.session.requests.get(trial)
        if not visits or not request:
            return EarlierSpeedups()
        return EarlierSpeedups(
            by_contrast=self._earlier_runs.log_speedups(trial, request.case, visits, self.session.pool.configuration()),
            of_same_code=not self.session.has_user_code(trial),
        )

    def _visit_all(self, specs: Sequence[TrialSpec], *, are_repetitions: bool = False) -> None:
        left_out = [self._contrasts_left_out(spec) for spec in specs]  # by what is known before any of these visits
        for spec, contrasts in zip(specs, left_out, strict=True):
            number = len(self.session.visits.get(spec.id, []))
            if number >= SURE_VISITS and self._has_no_time_to_narrow:
                self._cut_short.add(spec.id)
                self.session.progress.leave_out((spec.id, number))
            else:
                self._visit(spec, contrasts, is_repetition=are_repetitions)

    @property
    def _has_no_time_to_narrow(self) -> bool:
        return time.monotonic() > self._narrows_until_s

    def _visit(self, spec: TrialSpec, settled: Sequence[Contrast], *, is_repetition: bool) -> None:
        """Visit a trial, without its settled contrasts, and keep what was measured in the journal.

        Raises:
            Unavailable: it does not fit into the time that is left.
        """
        request, known = self.session.requests[spec.id], self.session.visits.get(spec.id, [])
        number = len(known)
        self.session.time_slice.start_visit(expected_s=self.session.progress.expected_s((spec.id, number)))
        spent_before = self.session.spending.total()
        levels = " ".join("/".join(arm.values()) for arm in spec.arms)
        shown = f"{request} · {cross(spec.arms[0])} {levels}"
        whole = self.session.trial_of(spec)
        trial = next_visit(whole, [visit.measured for visit in known], number, settled)
        begun_s, before = self._now_s(), self._states.read()
        with self.session.progress.measuring((spec.id, number), shown) as show_phase:
            result = self._retry_after_crash(trial, show_phase)
        state = self._states.visit(begun_s, before, self._states.read())
        visit = JournaledVisit.of(
            spec.id,
            request.case,
            replace(state, span_s=max(0.0, self._now_s() - begun_s), is_repetition=is_repetition),
            result,
            spent_s=round_seconds(self.session.spending.since(spent_before)),
            configuration=self.session.pool.configuration(),
        )
        self.session.visits.setdefault(spec.id, []).append(visit)
        self._joined.clear()
        self._known_prior = None
        if self.session.journal:
            self.session.journal.append(visit)
        if not may_go_on(whole, [each.measured for each in self.session.visits[spec.id]]):
            for later in range(number + 1, self.session.config.plan.visits):
                self.session.progress.leave_out((spec.id, later))

    def _now_s(self) -> float:
        """Return the seconds since the run began."""
        return max(0.0, time.time() - self.session.began)

    def _join(self, spec: TrialSpec) -> MeasuredTrial:
        request = self.session.requests[spec.id]
        visits = self._measured_visits(spec.id)
        result = join_visits(visits, self.session.trial_of(spec).plan, self._prior, self._earlier_speedups(spec.id))
        cut_short = [reason("visits-cut-short", visits=len(visits))] if spec.id in self._cut_short else []
        record = TrialRecord(
            id=spec.id,
            module=spec.module,
            framework=spec.framework,
            workload=request.workload.name,
            summary=request.workload.summary,
            unit=request.workload.unit,
            techniques=[technique.name for technique in spec.techniques],
            technique_summaries={technique.name: technique.summary for technique in spec.techniques},
            kinds={technique.name: technique.kind for technique in spec.techniques},
            problem=request.problem,
            fixed=request.fixed,
            arms=result.arms,
            span_s=result.span_s,
            disturbance=result.disturbance,
            remarks=[*result.remarks, *cut_short],
            spent_s=round_seconds(sum_seconds(visit.spent_s for visit in self.session.visits[spec.id])),
            visits=[measured.visit for measured in visits],
        )
        return MeasuredTrial(record=annotate(record), samples_s=result.samples_s)

    def _retry_after_crash(self, trial: Trial, show_phase: Callable[[str], None]) -> TrialResult:
        """Measure a trial; if a worker crashed, measure once more, since something else may have killed the worker."""
        result = self._measure(trial, show_phase)
        crash = next((arm.reason for arm in result.arms if arm.outcome == "crashed"), None)
        if crash is None:
            return result
        again = self._measure(trial, show_phase)
        return replace(again, remarks=[*again.remarks, reason("measured-twice", cause=crash)])

    def _measure(self, trial: Trial, show_phase: Callable[[str], None]) -> TrialResult:
        """Measure a trial; what raises in this process, such as a function of a technique, costs this trial alone."""
        try:
            return self.session.pool.measure(trial, on_progress=show_phase)
        except AccelbenchError as error:
            return TrialResult.nothing(trial, "failed", reason_of(error))
        except Exception as error:
            why = reason("error", type=type(error).__name__, message=message_line(error))
            return TrialResult.nothing(trial, "failed", why)
