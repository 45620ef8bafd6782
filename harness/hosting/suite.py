"""The trials of one pytest session: what was collected, and what has been measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from harness.errors import BadInput, HarnessError
from harness.experiment import Technique, Trial, Workload, find_technique
from harness.hosting.asking import Asked, understand
from harness.hosting.collecting import Collected, gather, levels_in
from harness.hosting.conditions import Conditions
from harness.hosting.machine import this_machine
from harness.hosting.progress import Progress
from harness.measuring.travel import is_foreign
from harness.record import SCHEMA_VERSION, ArmRecord, Environment, Run, TrialRecord

if TYPE_CHECKING:  # loaded when the first trial is measured: most pytest sessions measure nothing
    from harness.measuring.measured import Measured
    from harness.measuring.pool import Pool


USUAL_SHARE = 2  # an arm takes about so many times its measuring time, with building, warming up and checking


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A trial that was measured, and what was asked of it."""

    asked: Asked
    measured: Measured
    record: TrialRecord


class Suite:
    """Measures each collected trial once, when the first of its tests asks for it."""

    def __init__(self, conditions: Conditions, progress: Progress) -> None:
        self.conditions = conditions
        self.progress = progress
        self.trials: dict[str, Collected] = {}  # by the node id of each of its tests
        self.arms: dict[str, int] = {}  # how many, by the trial's id
        self.entries: dict[str, Entry] = {}  # by the trial's id
        self.complaints: list[BadInput] = []  # of what the tests ask for

    def collect(self, items: Iterable[pytest.Item]) -> None:
        """Find the trials among the selected tests."""
        self.trials = gather(items, self.levels_of)
        self.arms = {trial.id: len(trial.arms) for trial in self.trials.values()}
        self.progress.expect(self.arms, arm_s=USUAL_SHARE * self.conditions.plan.budget_s)

    def measure(
        self, item: pytest.Item, workload: str | Workload, keywords: Mapping[str, Any]
    ) -> tuple[ArmRecord, tuple[float, ...]]:
        """Return what became of a test's arm, and its samples in seconds per iteration.

        Raises:
            BadInput: the test asks for something that cannot be measured.
        """
        trial = self.trials[item.nodeid]
        own = levels_in(item, trial.techniques)
        asked = understand(trial, own, workload, keywords, self.levels_of)
        entry = self.entries.get(trial.id) or self._measured(trial, asked)
        if asked.question != entry.asked.question:
            raise BadInput(
                f"the tests of one trial must ask for the same but for the toggled levels: this one asks for "
                f"{asked.question!r}, the first one asked for {entry.asked.question!r}"
            )
        place = trial.arms.index(own)
        return entry.measured.arms[place], entry.measured.samples_s[place]

    @property
    def records(self) -> list[TrialRecord]:
        """The trials measured so far."""
        return [entry.record for entry in self.entries.values()]

    def run(self, *, interrupted: bool) -> Run:
        """Return everything measured so far, as it is stored."""
        from harness import environment

        identity = this_machine()
        configuration = environment.configuration() | self.pool.configuration()
        return Run(
            schema_version=SCHEMA_VERSION,
            machine=environment.machine_key(identity),
            environment=Environment(identity=identity, configuration=configuration, readings=environment.readings()),
            settings=self.conditions.settings,
            trials=self.records,
            interrupted=interrupted,
        )

    def levels_of(self, technique: Technique) -> tuple[str, ...]:
        """Return the levels of a technique on this machine, baseline first."""
        accelerators = self._accelerators(technique.framework) if technique.name == "device" else ()
        return technique.levels_on(replace(self.conditions.host, accelerators=accelerators))

    def close(self) -> None:
        """End the workers."""
        if "pool" in self.__dict__:
            self.pool.close()

    @cached_property
    def pool(self) -> Pool:
        """The worker processes, started when first needed."""
        from harness.measuring.pool import Pool

        return Pool(self.conditions.plan)

    def _measured(self, trial: Collected, asked: Asked) -> Entry:
        with self.progress.measuring(trial.id, asked.question, trial.arms) as heard:
            measured = self.pool.measure(self._order(trial, asked), heard=heard)
        record = TrialRecord(
            id=trial.id,
            module=trial.module,
            framework=trial.framework,
            workload=asked.workload.name,
            summary=asked.workload.summary,
            unit=asked.workload.unit,
            techniques=[technique.name for technique in trial.techniques],
            problem=asked.problem,
            fixed=asked.fixed,
            arms=measured.arms,
            span_s=measured.span_s,
            disturbance=measured.disturbance,
            remarks=measured.remarks,
        )
        self.entries[trial.id] = Entry(asked=asked, measured=measured, record=record)
        return self.entries[trial.id]

    def _order(self, trial: Collected, asked: Asked) -> Trial:
        """Return the trial as a worker is told of it."""
        held = [find_technique(trial.framework, name) for name in asked.fixed]
        techniques = tuple(each for each in (*trial.techniques, *held) if is_foreign(each.apply))
        return Trial(
            framework=trial.framework,
            workload=asked.sent,
            arms=trial.arms,
            fixed=asked.fixed,
            problem=asked.problem,
            techniques=techniques,
            setting=self.conditions.setting,
            plan=self.conditions.plan,
        )

    def _accelerators(self, framework: str) -> tuple[str, ...]:
        try:
            return self.pool.accelerators(framework)
        except HarnessError:  # its worker was lost; so it will be when it measures, and then each arm says how
            return ()
