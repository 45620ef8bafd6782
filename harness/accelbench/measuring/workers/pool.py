"""The pool of worker processes in which trials are measured, and the handling of lost workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import accelbench.techniques  # noqa: F401  fills the catalogue
from accelbench.core import Host, Levels, OnProgress, Plan, Trial, environment_of
from accelbench.measuring.applicable import Applicable
from accelbench.measuring.trial_result import OVERHEAD, TimeLedger, TrialResult
from accelbench.measuring.workers.across_processes import add_proofs, alternate, retry_after_oom
from accelbench.measuring.workers.process import UnsendableError, Worker, WorkerLostError, ask_applicable, send_by_value
from accelbench.roofline import plausibility
from accelbench.roofline.ceilings import Ceilings
from accelbench.schema.reasons import reason_of
from accelbench.schema.result import ArmRecord, Ceiling

# A worker that ends after the last session may keep PyTorch's profiler attached. Else the profiler might leave in the
# middle of the next session (https://github.com/pytorch/kineto/pull/1554), or crash beside CUDA graphs with CUDA before
# 12.6 (https://github.com/pytorch/pytorch/pull/146604).
_PROFILED = {"TEARDOWN_CUPTI": "0"}


class Pool:
    """Measures trials in worker processes, one at a time.

    Each framework's worker stays for its next trial, since an import takes seconds, unless a trial has changed settings
    of the process that the next one would find. A worker that has an accelerator ends before another framework's trial,
    which would find the device's memory taken. Where a profiler must prove that arms run on an accelerator, it does so
    in workers of their own, in which nothing is timed.
    """

    def __init__(self, plan: Plan, *, spending: TimeLedger | None = None) -> None:
        self._plan = plan
        self._spending = spending or TimeLedger()
        self._workers: dict[str, Worker] = {}  # by framework
        self._descriptions: dict[str, tuple[tuple[str, ...], dict[str, str], bool]] = {}
        self.ceilings = Ceilings(self._measure_ceilings, self._configuration_of)

    def measure(self, trial: Trial, *, on_progress: OnProgress = lambda _: None) -> TrialResult:
        """Measure a trial; a lost worker is an outcome of the arms, never an exception."""
        measured = self._prove(trial, self._measure(trial, on_progress), on_progress)
        timed = any(stated and arm.timing for stated, arm in zip(measured.stated_work, measured.arms, strict=False))
        known = self.ceilings.get(trial.framework, on_progress) if timed else []
        judged = plausibility.check_trial(trial, measured, known)
        if [arm.outcome for arm in judged.arms] != [arm.outcome for arm in measured.arms]:
            judged = plausibility.check_trial(trial, measured, self.ceilings.remeasure(trial.framework, on_progress))
        return judged

    def _measure(self, trial: Trial, on_progress: OnProgress) -> TrialResult:
        environments = [_environment(trial, levels) for levels in trial.arms]
        if any(environment != environments[0] for environment in environments):
            return alternate(trial, environments, self._measure_in_fresh_worker, on_progress)
        measured = self._measure_once(trial, environments[0], on_progress)
        return self._retry_after_oom(trial, measured, environments[0], on_progress)

    def accelerators(self, framework: str) -> tuple[str, ...]:
        """Return the accelerators that a framework can use; none if it is not installed."""
        return self._describe(framework)[0]

    def applicable(self, trial: Trial, host: Host) -> list[Applicable]:
        """Return the techniques that apply to the trial's workload and that can be recommended.

        Raises:
            Unavailable: the framework is not installed.
            BadInput: the workload is a user's program that cannot be built.
            UnsendableError: the workload cannot be sent to the worker.
            WorkerLostError: the worker was lost.
        """
        return ask_applicable(self._worker_for(trial.framework, {}), trial, host)

    def start(self, framework: str) -> None:
        """Start a framework's worker, unless there is one, and wait until it has imported the framework.

        Raises:
            WorkerLostError: the worker was lost.
        """
        self._worker_for(framework, {})

    def configuration(self) -> dict[str, str]:
        """Return the configuration of the frameworks that were used so far."""
        return {key: text for _, description, _ in self._descriptions.values() for key, text in description.items()}

    def close(self) -> None:
        """End the workers; the next trials are measured in fresh ones."""
        for framework in list(self._workers):
            self._end(framework)

    def _retry_after_oom(
        self, trial: Trial, measured: TrialResult, environment: Mapping[str, str], on_progress: OnProgress
    ) -> TrialResult:
        """Retry candidates that ran out of memory beside the others, in workers of their own."""
        if trial.plan.rehearse:
            return measured
        return retry_after_oom(
            trial,
            measured,
            lambda pair: alternate(pair, [environment, environment], self._measure_in_fresh_worker, on_progress),
        )

    def _measure_in_fresh_worker(
        self, trial: Trial, environment: Mapping[str, str], on_progress: OnProgress
    ) -> TrialResult:
        self._end(trial.framework)
        return self._measure_once(trial, environment, on_progress)

    def _measure_once(self, trial: Trial, environment: Mapping[str, str], on_progress: OnProgress) -> TrialResult:
        before = self._spending.total()
        try:
            worker = self._worker_for(trial.framework, environment)
            self._describe(trial.framework)
            self._make_room(trial.framework)
            send_by_value(trial)
            measured: TrialResult = worker.ask(
                "measure", trial, silence_s=trial.plan.silence_s, on_progress=on_progress
            )
        except UnsendableError as error:
            return TrialResult.nothing(trial, "failed", reason_of(error))
        except WorkerLostError as lost:
            self._spending.add({"lost workers": self._spending.since(before).get(OVERHEAD, 0.0)})
            return TrialResult.nothing(trial, lost.outcome, reason_of(lost))
        except BaseException:  # interrupted: a worker in mid-trial is of no further use
            self._end(trial.framework)
            raise
        if measured.changes_process:
            self._end(trial.framework)
        self._spending.add(measured.spent_s)
        return measured

    def _prove(self, trial: Trial, measured: TrialResult, on_progress: OnProgress) -> TrialResult:
        """Prove where the arms run that were timed, if a profiler must show it."""
        shown = [arm.placement for arm in measured.arms]
        open_places = [
            place
            for place, (arm, evidence) in enumerate(zip(measured.arms, shown, strict=True))
            if arm.timing and evidence and evidence.kernels is None
        ]
        if not (open_places and trial.plan.prices and trial.plan.visit == 0 and self._describe(trial.framework)[2]):
            return measured
        proofs: dict[int, ArmRecord] = {}
        for environment, places in _by_environment(trial, open_places):
            proofs |= dict(zip(places, self._profile(trial, environment, places, on_progress), strict=False))
        return add_proofs(measured, proofs)

    def _profile(
        self, trial: Trial, environment: Mapping[str, str], places: list[int], on_progress: OnProgress
    ) -> list[ArmRecord]:
        """Return what a worker that ends with this shows of arms; nothing if it was lost."""
        with self._spending.charge("placement proof"):
            worker = Worker(trial.framework, {**environment, **_PROFILED})
            try:
                send_by_value(trial)
                proofs: list[ArmRecord] = worker.ask(
                    "prove", trial, places, silence_s=trial.plan.silence_s, on_progress=on_progress
                )
            except (UnsendableError, WorkerLostError):
                return []
            finally:
                worker.close()
        return proofs

    def _measure_ceilings(self, framework: str, on_progress: OnProgress, name: str) -> list[Ceiling]:
        """Return the ceilings that a fresh worker measures, which stays for the next trial; none if it was lost.

        If one is named, only that is measured, in the worker that there is.
        """
        if not name:
            self._end(framework)
        try:
            worker = self._worker_for(framework, {})
            self._describe(framework)
            self._make_room(framework)
            with self._spending.charge("ceilings"):
                ceilings: list[Ceiling] = worker.ask(
                    "ceilings", name, silence_s=self._plan.silence_s, on_progress=on_progress
                )
        except WorkerLostError:
            return []
        except BaseException:  # interrupted: a worker that is measuring is of no further use
            self._end(framework)
            raise
        return ceilings

    def _configuration_of(self, framework: str) -> dict[str, str]:
        """Return a framework's configuration; nothing if its worker was lost."""
        try:
            return self._describe(framework)[1]
        except WorkerLostError:
            return {}

    def _worker_for(self, framework: str, environment: Mapping[str, str]) -> Worker:
        worker = self._running(framework)
        if worker is None or worker.environment != environment:
            self._end(framework)
            worker = self._workers[framework] = Worker(framework, environment)
            self._spending.add({"framework import": worker.ask("import")})
        return worker

    def _running(self, framework: str) -> Worker | None:
        worker = self._workers.get(framework)
        return worker if worker and worker.is_running else None

    def _make_room(self, framework: str) -> None:
        """End the workers that hold memory of accelerators which this framework can use."""
        if not self.accelerators(framework):
            return
        for other in [name for name in self._workers if name != framework and self.accelerators(name)]:
            self._end(other)

    def _end(self, framework: str) -> None:
        if framework in self._workers:
            self._workers.pop(framework).close()

    def _describe(self, framework: str) -> tuple[tuple[str, ...], dict[str, str], bool]:
        if framework not in self._descriptions:
            worker = self._running(framework) or self._worker_for(framework, {})
            accelerators, description, profiles = worker.ask("describe")
            description = worker.interpreter.describe(framework, description)
            self._descriptions[framework] = accelerators, description, profiles
        return self._descriptions[framework]


def _by_environment(trial: Trial, places: Iterable[int]) -> list[tuple[dict[str, str], list[int]]]:
    """Return places of arms by the variables with which their worker must start."""
    groups: list[tuple[dict[str, str], list[int]]] = []
    for place in places:
        environment = _environment(trial, trial.arms[place])
        alike = next((others for known, others in groups if known == environment), None)
        if alike is None:
            groups.append((environment, [place]))
        else:
            alike.append(place)
    return groups


def _environment(trial: Trial, levels: Levels) -> dict[str, str]:
    return environment_of(trial.framework, {**trial.fixed, **levels})
