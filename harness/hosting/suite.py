"""The trials of one pytest session: what was collected, and what has been measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from harness.errors import BadInput, HarnessError
from harness.experiment import Technique, Trial, Workload, find_technique
from harness.hosting.asking import Asked, question, understand
from harness.hosting.collecting import Collected, gather, levels_in
from harness.hosting.conditions import Conditions
from harness.hosting.journal import Finished, Journal
from harness.hosting.machine import this_machine
from harness.hosting.part import Part
from harness.hosting.progress import Progress
from harness.hosting.resuming import changed, require_same
from harness.hosting.telling import unknown_to_workers
from harness.identity import machine_key
from harness.measuring.spending import Spending
from harness.record import SCHEMA_VERSION, ArmRecord, Environment, Run, TrialRecord

if TYPE_CHECKING:  # loaded when the first trial is measured: most pytest sessions measure nothing
    from filelock import BaseFileLock

    from harness.measuring.measured import Measured
    from harness.measuring.pool import Pool


USUAL_SHARE = 1.5  # an arm takes about so many times its measuring time: building and checking come to early verdicts


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A finished trial, and what was asked of it; ``samples_s`` stands beside the record's arms."""

    asked: Asked
    record: TrialRecord
    samples_s: list[tuple[float, ...]]


class Suite:
    """Measures each collected trial once, when the first of its tests asks for it."""

    def __init__(self, conditions: Conditions, progress: Progress) -> None:
        self.conditions = conditions
        self.progress = progress
        self.part = Part(conditions.part_s)
        self.spending = Spending()
        self.spent_before_s: dict[str, float] = {}  # on the trials that an unfinished run left
        self.trials: dict[str, Collected] = {}  # by the node id of each of its tests
        self.arms: dict[str, int] = {}  # how many, by the trial's id
        self.entries: dict[str, Entry] = {}  # by the trial's id
        self.complaints: list[BadInput] = []  # of what the tests ask for
        self.journal: Journal | None = None  # of a run that is saved
        self.lock: BaseFileLock | None = None  # of the machine

    def collect(self, items: Iterable[pytest.Item]) -> None:
        """Find the trials among the selected tests."""
        self.trials = gather(items, self.levels_of)
        self.arms = {trial.id: len(trial.arms) for trial in self.trials.values()}
        self._expect(self.arms)

    def keep_in(self, journal: Journal) -> None:
        """Keep finished trials in a journal, and take from it those that an unfinished run left.

        Raises:
            BadInput: the unfinished run was measured with frameworks in another configuration.
        """
        self.journal = journal
        for framework in {trial.record.framework for trial in journal.finished.values()}:
            self._accelerators(framework)  # its worker then tells its configuration too
        told = self.pool.configuration() if journal.finished else {}
        # What else a worker tells may depend on the environment variables with which it was started.
        then = {name: text for name, text in journal.configuration.items() if name.endswith(".version")}
        require_same(journal, list(changed(then, {name: told.get(name, text) for name, text in then.items()})))
        self._expect({trial: arms for trial, arms in self.arms.items() if trial not in journal.finished})

    def measure(
        self, item: pytest.Item, workload: str | Workload, keywords: Mapping[str, Any]
    ) -> tuple[ArmRecord, tuple[float, ...]]:
        """Return what became of a test's arm, and its samples in seconds per iteration.

        Raises:
            BadInput: the test asks for something that cannot be measured.
            Unavailable: its trial is left for the next part of the run.
        """
        trial = self.trials[item.nodeid]
        own = levels_in(item, trial.techniques)
        asked = understand(trial, own, workload, keywords, self.levels_of)
        entry = self.entries.get(trial.id) or self._finished(trial, asked)
        if asked.question != entry.asked.question:
            raise BadInput(
                f"the tests of one trial must ask for the same but for the toggled levels: this one asks for "
                f"{asked.question!r}, the first one asked for {entry.asked.question!r}"
            )
        place = trial.arms.index(own)
        return entry.record.arms[place], entry.samples_s[place]

    @property
    def records(self) -> list[TrialRecord]:
        """The trials measured so far."""
        return [entry.record for entry in self.entries.values()]

    def run(self, *, interrupted: bool) -> Run:
        """Return everything measured so far, as it is stored."""
        from harness import environment

        identity = this_machine()
        told = self.journal.configuration if self.journal else {}
        configuration = environment.configuration() | self.pool.configuration() | told
        return Run(
            schema_version=SCHEMA_VERSION,
            machine=machine_key(identity),
            environment=Environment(identity=identity, configuration=configuration, readings=environment.readings()),
            settings=self.conditions.settings,
            trials=self.records,
            interrupted=interrupted,
            spent_s=_rounded(_summed(self.spending.so_far(), self.spent_before_s)),
            ceilings=self.pool.ceilings.on_file() if self._judged else [],
        )

    @property
    def _judged(self) -> bool:
        """Whether any arm was held against the machine's ceilings."""
        return any(arm.rates or arm.outcome == "impossible" for trial in self.records for arm in trial.arms)

    def levels_of(self, technique: Technique) -> tuple[str, ...]:
        """Return the levels of a technique on this machine, baseline first."""
        accelerators = self._accelerators(technique.framework) if technique.name == "device" else ()
        return technique.levels_on(replace(self.conditions.host, accelerators=accelerators))

    def close(self) -> None:
        """End the workers and let the machine go."""
        if "pool" in self.__dict__:
            self.pool.close()
        if self.lock:
            self.lock.release()

    @cached_property
    def pool(self) -> Pool:
        """The worker processes, started when first needed."""
        from harness.measuring.pool import Pool

        return Pool(self.conditions.plan, spending=self.spending)

    def _expect(self, arms: Mapping[str, int]) -> None:
        self.progress.expect(arms, arm_s=USUAL_SHARE * self.conditions.plan.budget_s)

    def _finished(self, trial: Collected, asked: Asked) -> Entry:
        """Return a trial that an unfinished run left, or measure it and keep it."""
        found = self.journal.finished.get(trial.id) if self.journal else None
        if found and asked.question == question(found.record.workload, found.record.problem, found.record.fixed):
            entry = Entry(asked=asked, record=found.record, samples_s=found.samples_s)
            self.spent_before_s = _summed(self.spent_before_s, found.record.spent_s)
        else:
            entry = self._measured(trial, asked)
            if self.journal:
                self.journal.append(Finished.of(entry.record, entry.samples_s, self.pool.configuration()))
        self.entries[trial.id] = entry
        return entry

    def _measured(self, trial: Collected, asked: Asked) -> Entry:
        self.part.begin(trial.id, expected_s=self.progress.expected_s(trial.id))
        before = self.spending.so_far()
        with self.progress.measuring(trial.id, asked.question, trial.arms) as heard:
            measured = self._twice_if_lost(self._order(trial, asked), heard)
        record = TrialRecord(
            id=trial.id,
            module=trial.module,
            framework=trial.framework,
            workload=asked.workload.name,
            summary=asked.workload.summary,
            unit=asked.workload.unit,
            techniques=[technique.name for technique in trial.techniques],
            technique_summaries={technique.name: technique.summary for technique in trial.techniques},
            problem=asked.problem,
            fixed=asked.fixed,
            arms=measured.arms,
            span_s=measured.span_s,
            disturbance=measured.disturbance,
            remarks=measured.remarks,
            spent_s=_rounded(self.spending.since(before)),
        )
        return Entry(asked=asked, record=record, samples_s=measured.samples_s)

    def _twice_if_lost(self, order: Trial, heard: Callable[[str], None]) -> Measured:
        """Measure a trial, and once more where a worker crashed, since it may have been killed from outside."""
        measured = self.pool.measure(order, heard=heard)
        crashes = [arm.reason for arm in measured.arms if arm.outcome == "crashed"]
        if not crashes:
            return measured
        again = self.pool.measure(order, heard=heard)
        return replace(again, remarks=[*again.remarks, f"measured twice, since at first {crashes[0]}"])

    def _order(self, trial: Collected, asked: Asked) -> Trial:
        """Return the trial as a worker is told of it."""
        held = [find_technique(trial.framework, name) for name in asked.fixed]
        return Trial(
            framework=trial.framework,
            workload=asked.sent,
            arms=trial.arms,
            fixed=asked.fixed,
            problem=asked.problem,
            techniques=unknown_to_workers([*trial.techniques, *held]),
            setting=self.conditions.setting,
            plan=replace(self.conditions.plan, whole_rounds=trial.factorial),
        )

    def _accelerators(self, framework: str) -> tuple[str, ...]:
        try:
            return self.pool.accelerators(framework)
        except HarnessError:  # its worker was lost; so it will be when it measures, and then each arm says how
            return ()


def _summed(some_s: Mapping[str, float], more_s: Mapping[str, float]) -> dict[str, float]:
    return {kind: some_s.get(kind, 0.0) + more_s.get(kind, 0.0) for kind in some_s.keys() | more_s.keys()}


def _rounded(spent_s: dict[str, float]) -> dict[str, float]:
    return {kind: round(seconds, 4) for kind, seconds in spent_s.items()}
