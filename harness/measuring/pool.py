"""Where trials are measured: worker processes, and what to do when one is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import harness.techniques  # noqa: F401  fills the catalogue
from harness.errors import Unavailable
from harness.experiment import Host, Levels, Plan, Trial, find_technique
from harness.measuring import plausibility
from harness.measuring.applicable import Applicable
from harness.measuring.between import alternate
from harness.measuring.ceilings import Ceilings
from harness.measuring.crowding import tried_apart
from harness.measuring.handle import Heard, Worker, WorkerLostError
from harness.measuring.measured import Measured
from harness.measuring.repeats import merged
from harness.measuring.spending import OWN, Spending
from harness.measuring.travel import send_by_value
from harness.record import Ceiling


class Pool:
    """Measures trials in worker processes, one at work at a time.

    Each framework's worker stays for its next trial, since an import takes seconds. One that sees an accelerator ends
    before another framework's trial, which would find the device's memory taken.
    """

    def __init__(self, plan: Plan, *, spending: Spending | None = None) -> None:
        self._plan = plan
        self._spending = spending or Spending()
        self._workers: dict[str, Worker] = {}  # by framework
        self._described: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {}
        self.ceilings = Ceilings(self._measure_ceilings, self._facts)

    def measure(self, trial: Trial, *, heard: Heard = lambda _: None) -> Measured:
        """Measure a trial; a lost worker is an outcome of the arms, never an exception."""
        measured = self._measured(trial, heard)
        timed = any(claim and arm.timing for claim, arm in zip(measured.claims, measured.arms, strict=False))
        known = self.ceilings.holding_for(trial.framework, heard) if timed else []
        judged = plausibility.judged(trial, measured, known)
        if [arm.outcome for arm in judged.arms] != [arm.outcome for arm in measured.arms]:
            judged = plausibility.judged(trial, measured, self.ceilings.looked_at_again(trial.framework, heard))
        return judged

    def _measured(self, trial: Trial, heard: Heard) -> Measured:
        environments = [_environment(trial, levels) for levels in trial.arms]
        if any(environment != environments[0] for environment in environments):
            return alternate(trial, environments, self._fresh, heard)
        measured = self._repeated(trial, environments[0], heard)
        return self._apart(trial, measured, environments[0], heard)

    def accelerators(self, framework: str) -> tuple[str, ...]:
        """Return the accelerators that a framework can use; none where it is not installed."""
        return self._describe(framework)[0]

    def applicable(self, trial: Trial, host: Host) -> list[Applicable]:
        """Return the techniques that can be advised and that the trial's workload takes.

        Raises:
            Unavailable: the framework is not installed.
            WorkerLostError: the worker was lost.
        """
        send_by_value(trial)
        try:
            found = self._worker_for(trial.framework, {}).ask("applicable", trial, host)
        except WorkerLostError:
            self._end(trial.framework)
            raise
        if isinstance(found, Unavailable):
            raise found
        return cast(list[Applicable], found)

    def configuration(self) -> dict[str, str]:
        """Return what the frameworks used so far say of themselves."""
        return {key: text for _, description in self._described.values() for key, text in description.items()}

    def close(self) -> None:
        """End the workers."""
        for framework in list(self._workers):
            self._end(framework)

    def _repeated(self, trial: Trial, environment: Mapping[str, str], heard: Heard) -> Measured:
        if trial.plan.workers <= 1:
            return self._once(trial, environment, heard)
        results = [self._fresh(trial, environment, heard) for _ in range(trial.plan.workers)]
        return merged(results, trial.plan)

    def _apart(self, trial: Trial, measured: Measured, environment: Mapping[str, str], heard: Heard) -> Measured:
        """Try candidates that ran out of memory beside the others again, in workers of their own."""
        if trial.plan.rehearse:
            return measured
        return tried_apart(
            trial, measured, lambda pair: alternate(pair, [environment, environment], self._fresh, heard)
        )

    def _fresh(self, trial: Trial, environment: Mapping[str, str], heard: Heard) -> Measured:
        self._end(trial.framework)
        return self._once(trial, environment, heard)

    def _once(self, trial: Trial, environment: Mapping[str, str], heard: Heard) -> Measured:
        before = self._spending.so_far()
        try:
            worker = self._worker_for(trial.framework, environment)
            self._describe(trial.framework)
            self._make_room(trial.framework)
            send_by_value(trial)
            measured: Measured = worker.ask("measure", trial, silence_s=trial.plan.silence_s, heard=heard)
        except WorkerLostError as lost:
            self._end(trial.framework)
            self._spending.add({"lost workers": self._spending.since(before).get(OWN, 0.0)})
            return Measured.nothing(trial, lost.outcome, str(lost))
        except BaseException:  # interrupted: a worker in mid-trial is of no further use
            self._end(trial.framework)
            raise
        self._spending.add(measured.spent_s)
        return measured

    def _measure_ceilings(self, framework: str, heard: Heard) -> list[Ceiling]:
        """Have a fresh worker measure; none are known where it was lost."""
        self._end(framework)
        try:
            worker = self._worker_for(framework, {})
            self._describe(framework)
            self._make_room(framework)
            with self._spending.on("ceilings"):
                ceilings: list[Ceiling] = worker.ask("ceilings", silence_s=self._plan.silence_s, heard=heard)
        except WorkerLostError:
            return []
        finally:
            self._end(framework)
        return ceilings

    def _facts(self, framework: str) -> dict[str, str]:
        """Return what a framework says of itself; nothing where its worker was lost."""
        try:
            return self._describe(framework)[1]
        except WorkerLostError:
            return {}

    def _worker_for(self, framework: str, environment: Mapping[str, str]) -> Worker:
        kept = self._workers.get(framework)
        if kept is None or kept.environment != environment:
            self._end(framework)
            self._workers[framework] = Worker(framework, environment)
            self._spending.add({"framework import": self._workers[framework].ask("import")})
        return self._workers[framework]

    def _make_room(self, framework: str) -> None:
        """End the workers that hold memory of accelerators which this framework can use."""
        if not self.accelerators(framework):
            return
        for other in [name for name in self._workers if name != framework and self.accelerators(name)]:
            self._end(other)

    def _end(self, framework: str) -> None:
        if framework in self._workers:
            self._workers.pop(framework).close()

    def _describe(self, framework: str) -> tuple[tuple[str, ...], dict[str, str]]:
        if framework not in self._described:
            try:
                worker = self._workers.get(framework) or self._worker_for(framework, {})
                self._described[framework] = worker.ask("describe")
            except WorkerLostError:
                self._end(framework)
                raise
        return self._described[framework]


def _environment(trial: Trial, levels: Levels) -> dict[str, str]:
    """Return the variables with which an arm's worker must start."""
    switched = [*trial.fixed.items(), *levels.items()]
    techniques = [(find_technique(trial.framework, name), level) for name, level in switched]
    return {key: text for technique, level in techniques for key, text in technique.environment.get(level, {}).items()}
