"""One trial in one process: build, cold call, check, time, check again, measure costs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from random import Random
from typing import Any

from accelbench.core import ROUNDING, Contrast, Plan, Trial
from accelbench.frameworks import Framework
from accelbench.measuring import cold_cache, interference
from accelbench.measuring.arm_run import ArmRun, Building, arm_runs_of
from accelbench.measuring.checks import claims
from accelbench.measuring.checks.arm_checks import ArmChecks
from accelbench.measuring.checks.background_work import StepEnd, threads_and_processes
from accelbench.measuring.checks.idle_baseline import processor_clock_beside
from accelbench.measuring.checks.placement import label_of
from accelbench.measuring.checks.process_state import SharedStateCheck
from accelbench.measuring.costs import resource_passes, resources
from accelbench.measuring.interference import InterferenceMonitor
from accelbench.measuring.referee import Examination, Referee, StoppedError, Stopwatch
from accelbench.measuring.statistics import fewest_pairs_of
from accelbench.measuring.trial_result import Pairs, StatedWork, TimeLedger, TrialResult, no_baseline
from accelbench.schema.reasons import Reason, reason
from accelbench.schema.result import ArmRecord
from accelbench.schema.storable import plain_numbers

PATIENCE = 3  # an arm may need this many times its budget for the fewest pairs that decide
DEVICE_BOUND_SHARE = 0.95  # of an iteration in which the device works; what the host adds is hidden or negligible
BURST_TIMES = 2  # as long as a burst of other work may make a step: one that only seems too slow is read once more


def find_slow_step(plan: Plan, contrasts: int, step_s: float, times: float = 1.0) -> Reason | None:
    """Return a reason if the fewest pairs of such a step take longer than that many times what an arm may need."""
    pairs = fewest_pairs_of(plan, plan.alpha_each(contrasts))
    if pairs * step_s <= times * PATIENCE * plan.budget_s:
        return None
    return reason(
        "step-too-slow",
        step_s=step_s,
        pairs=plan.visits * pairs,
        needed_s=plan.visits * pairs * step_s,
        budget_s=plan.visits * plan.budget_s,
    )


class TrialRun:
    """One trial in this process.

    ``arm_runs`` replace the arms of a declared workload. In its ``own_process`` the trial first starts every device of
    the framework and seeds random generators before each build; it leaves a user's process as it is. ``warning`` says
    in a sentence what was not measured as planned.
    """

    warning = ""
    referee_kind: type[Referee] = Referee

    def __init__(
        self,
        trial: Trial,
        framework: Framework,
        *,
        clock: Callable[[], float] = time.perf_counter,
        coin: Random | None = None,
        on_progress: Callable[[str], None] = lambda _: None,
        windows: InterferenceMonitor | None = None,
        arm_runs: Sequence[ArmRun] | None = None,
        own_process: bool = True,
    ) -> None:
        self.trial = trial
        self.plan = trial.plan
        self.framework = framework
        self.stopwatch = Stopwatch(clock, framework.synchronize, processor_clock_beside(clock))
        self.coin = coin or Random()
        self.on_progress = on_progress
        self.windows = windows or InterferenceMonitor.disabled()
        self.spending = TimeLedger(clock)
        self.own_process = own_process
        seed = trial.setting.seed if own_process else None
        self.building = Building(framework, seed, stopwatch=self.stopwatch, spending=self.spending, coin=self.coin)
        self.shared_state = SharedStateCheck(framework, self.building)
        self.arm_runs = arm_runs_of(trial) if arm_runs is None else list(arm_runs)
        self.checks = ArmChecks(trial, framework, self.stopwatch, self.spending, self.coin)
        self.pairs: dict[Contrast, Pairs] = {}

    def run(self) -> TrialResult:
        """Measure the trial and return its result."""
        if self.own_process:
            with self.spending.charge("framework import"), suppress(Exception):  # an arm that needs it will fail
                self.framework.warm_up(self._accelerators())
        before, start = interference.look(self.trial.setting.cores), self.stopwatch.clock()
        try:
            for arm_run in self.shared_state.separate(self._arms_left()):
                self._prepare(arm_run)
            self._fail_without_baseline()
            self.windows.gpus = self._gpus()
            if not self.plan.rehearse:
                self._time_arms(self._cold_stopwatch() if self.plan.cold_cache else self.stopwatch)
                self.shared_state.judge_timing(self._arms_left())
        finally:
            for arm_run in self.arm_runs:
                arm_run.close()
        span_s = self.stopwatch.clock() - start
        timed = any(arm_run.samples_s for arm_run in self.arm_runs)  # else the caller is still busy
        after = interference.look(self.trial.setting.cores, before) if timed else interference.read()
        before, after = (interference.on_gpus(each, self.windows.gpus) for each in (before, after))
        disturbance, remarks = interference.disturbance(before, after, self.windows.glances)
        of_arms = dict.fromkeys(chain(*(arm_run.remarks for arm_run in self.arm_runs)))
        left_out = not self.pairs or not all(all(each.undisturbed) for each in self.pairs.values())
        of_windows = self.windows.reasons(left_out_pairs=left_out)
        disturbance, remarks = disturbance | self.windows.figures(), [*remarks, *of_windows, *of_arms]
        if self.plan.visit == 0 and not self.plan.rehearse and self._is_compared():
            for arm_run in self._arms_left():
                self._price(arm_run)
        for arm_run in self.arm_runs:
            claims.hold_against_schema(arm_run)
        self._fail_without_baseline()
        return TrialResult(
            arms=[arm_run.record() for arm_run in self.arm_runs],
            samples_s=[arm_run.samples_s if arm_run.ok else () for arm_run in self.arm_runs],
            pairs={each: self.pairs[each] for each in self.pairs if all(self.arm_runs[place].ok for place in each)},
            stated_work=[self._stated_work(arm_run) for arm_run in self.arm_runs],
            span_s=span_s,
            disturbance=disturbance,
            remarks=remarks,
            spent_s=self.spending.total(),
            outputs=self.arm_runs[0].output if self.plan.keep_outputs else [],
            dtypes=self.arm_runs[0].dtypes if self.plan.keep_outputs else [],
        )

    def prove(self, places: Sequence[int]) -> list[ArmRecord]:
        """Build each of the arms at these places alone and prove where its work runs; return their records.

        A profiler may stay attached to the process, so nothing can be timed in it any more.
        """
        with suppress(Exception):  # as where arms are timed
            self.framework.warm_up(self._accelerators())
        arm_runs = [self.arm_runs[place] for place in places]
        for arm_run in arm_runs:
            self.on_progress(f"{arm_run.name}: placement")
            with arm_run.failing(self.framework):
                self.building.build(arm_run)
                self.checks.find_arrays(arm_run)
                if arm_run.ok:
                    self.checks.prove_placement(arm_run, count=True)
            arm_run.close()
            self.framework.empty_cache()
        return [arm_run.record() for arm_run in arm_runs]

    def _accelerators(self) -> set[str]:
        """Return the accelerators on which techniques put arms, and the current one where an arm chooses itself."""
        named = {self.trial.device_of(levels) for levels in self.trial.arms}
        chosen = {label_of(device) or self.framework.current_accelerator() for device in named}
        return {device for device in chosen if device in self.framework.accelerators()}

    def _gpus(self) -> frozenset[str]:
        """Return the UUIDs of the GPUs that the arms use."""
        return frozenset().union(*(resource_passes.gpus_of(arm_run, self.framework) for arm_run in self.arm_runs))

    def _arms_left(self) -> list[ArmRun]:
        return [arm_run for arm_run in self.arm_runs if arm_run.ok]

    def _is_compared(self) -> bool:
        """Return whether a verdict may come of this, as it cannot where every candidate has failed."""
        return len(self.arm_runs) == 1 or len(self._arms_left()) > 1

    def _prepare(self, arm_run: ArmRun) -> None:
        """Build an arm, make its cold call, give it up if it cannot finish in time, and check its output."""
        self.on_progress(f"{arm_run.name}: build")
        with arm_run.failing(self.framework):
            self.building.build_elsewhere(arm_run)
            self.checks.remember_inputs(arm_run)
            self.on_progress(f"{arm_run.name}: cold call")
            arm_run.items = arm_run.built.items
            with self.spending.charge("cold calls"):
                first_output = self._cold_call(arm_run)
                too_slow = self._check_step_time(arm_run)
            self.building.note_callbacks(arm_run)
            if too_slow:
                arm_run.fail("given-up", too_slow)
                return
            self._check(arm_run, first_output)
            self.checks.flag_items(arm_run, self.arm_runs[0])

    def _cold_call(self, arm_run: ArmRun) -> Any:
        """Time the first call; in later visits it starts from the initial state, and its output is returned."""
        is_known = self.plan.visit > 0
        if is_known:
            with arm_run.built.enter():
                arm_run.built.reset()
        arm_run.cold_s = self.stopwatch.block_s(arm_run.built, 1, keep_output=is_known)
        return self.stopwatch.take_output() if is_known else None

    def _check(self, arm_run: ArmRun, first_output: Any = None) -> None:
        with self.spending.charge("checks"):
            self.checks.check(arm_run, self._reference(arm_run), first_output)
            self.checks.check_items(arm_run, self._reference(arm_run))

    def _reference(self, arm_run: ArmRun) -> ArmRun:
        """Return the first arm that has not failed and must compute the same, perhaps the arm itself."""
        if not self.arm_runs[0].ok:
            return arm_run  # without a baseline nothing is compared
        alike = (other for other in self.arm_runs if other.computes() == arm_run.computes())
        return next(other for other in alike if other.ok or other is arm_run)

    def _stated_work(self, arm_run: ArmRun) -> StatedWork | None:
        return claims.work_of(
            arm_run.stated_work,
            self._reference(arm_run).stated_work,
            device=arm_run.label,
            any_precision=arm_run.rounding > ROUNDING,
        )

    def _check_step_time(self, arm_run: ArmRun) -> Reason | None:
        """Return a reason if not even the fewest pairs fit; a slow cold call alone may be compilation."""
        if self.plan.rehearse or self.plan.visit or arm_run.cold_s <= self.plan.budget_s:
            return None
        contrasts = len(self.trial.contrasts(range(len(self.arm_runs))))
        step_s, why = math.inf, None
        for number in range(arm_run.warm_calls + 1):
            if number == arm_run.warm_calls and find_slow_step(self.plan, contrasts, step_s, BURST_TIMES):
                break
            step_s = min(step_s, self.stopwatch.block_s(arm_run.built, 1))
            why = find_slow_step(self.plan, contrasts, step_s)
            if why is None:
                break
        return why

    def _fail_without_baseline(self) -> None:
        baseline, *candidates = self.arm_runs
        if baseline.ok:
            return
        for candidate in candidates:
            if candidate.ok:
                candidate.fail("unavailable", no_baseline(baseline.record()))

    def _cold_stopwatch(self) -> Stopwatch:
        return cold_cache.stopwatch_of(self._arms_left(), self.framework, self.stopwatch)

    def _time_arms(self, stopwatch: Stopwatch) -> None:
        """Time the arms that have not failed, built often enough; start over without an arm that fails."""
        arms_left = self._arms_to_time()
        plan = self.building.plan(self.plan, len(arms_left))
        while arms_left:
            referee = self._referee(stopwatch, plan, arms_left)
            try:
                while not referee.is_settled:
                    self._play(referee, arms_left)
                for index, arm_run in enumerate(arms_left if self.plan.visit == 0 else ()):
                    with StoppedError.naming(index):
                        self._observe(arm_run)
                break
            except StoppedError as stopped:
                with arms_left[stopped.arm].failing(self.framework):
                    raise stopped.error from None
            finally:
                self.spending.add({"warm-up": referee.warmed_s, "timed blocks": referee.timed_s})
            self._fail_without_baseline()
            arms_left = self._arms_to_time()
        if arms_left:
            self._fail_without_baseline()
            if not self.plan.cold_cache:
                for index, arm_run in enumerate(arms_left):
                    if arm_run.ok:
                        self._read_device_clock(arm_run, referee, index)
            self.pairs = self._pairs(referee, arms_left)
            for index, arm_run in enumerate(arms_left):
                if arm_run.ok:
                    arm_run.keep(referee, index, [each.levels for each in arms_left])
                    self.checks.flag_compilation(arm_run, referee, index)
                    self.checks.flag_unearned_items(arm_run, self.arm_runs[0])
            self._flag_idle_baseline(referee)

    def _referee(self, stopwatch: Stopwatch, plan: Plan, arms_left: Sequence[ArmRun], **options: Any) -> Referee:
        return self.referee_kind(
            stopwatch=stopwatch,
            coin=self.coin,
            plan=plan,
            arms=len(arms_left),
            contrasts=self._contrasts(arms_left),
            windows=self.windows,
            known_iterations=[arm_run.iterations for arm_run in arms_left],
            count_compilations=self.framework.compilations,
            inspect=partial(self._inspect, arms_left),
            examine=partial(self._examine, arms_left) if self._is_compared() else None,
            **options,
        )

    def _inspect(self, arms_left: Sequence[ArmRun], index: int, output: Any) -> None:
        with self.spending.charge("examination"):
            self.checks.timed_steps.inspect(arms_left[index], output)

    def _examine(self, arms_left: Sequence[ArmRun], referee: Referee) -> Examination:
        self.on_progress("timed steps")
        with self.spending.charge("examination"):
            yield from self.checks.timed_steps.examine(referee, arms_left)

    def _places(self, arms_left: Sequence[ArmRun]) -> list[int]:
        return [place for place, arm_run in enumerate(self.arm_runs) if arm_run in arms_left]

    def _arms_to_time(self) -> list[ArmRun]:
        """Return the arms that have not failed; one that is in no contrast any more counts as settled."""
        arms_left = self._arms_left()
        compared = {index for contrast in self._contrasts(arms_left) for index in contrast}
        for index, arm_run in enumerate(arms_left):
            arm_run.is_settled = index > 0 and index not in compared
        return self._arms_left()

    def _contrasts(self, arms_left: Sequence[ArmRun]) -> list[Contrast]:
        """Return the contrasts that need pairs, by the indexes of their arms; an arm that is settled hides none."""
        tried = [place for place, arm_run in enumerate(self.arm_runs) if arm_run in arms_left or arm_run.is_settled]
        indexes = {place: index for index, place in enumerate(self._places(arms_left))}
        found = [[indexes.get(tried[index]) for index in contrast] for contrast in self.trial.open_contrasts(tried)]
        return [Contrast(arm, against) for arm, against in found if arm is not None and against is not None]

    def _pairs(self, referee: Referee, arms_left: Sequence[ArmRun]) -> dict[Contrast, Pairs]:
        """Return the pairs of each contrast, by the places of its arms in the trial."""
        places = self._places(arms_left)
        return {
            Contrast(places[contrast.arm], places[contrast.against]): Pairs(
                log_ratios=tuple(log_ratios),
                undisturbed=tuple(referee.undisturbed(contrast).tolist()),
                build_starts=tuple(referee.build_starts[contrast][1:]),
            )
            for contrast, log_ratios in referee.log_ratios.items()
        }

    def _play(self, referee: Referee, arms_left: list[ArmRun]) -> None:
        if referee.builds or any(arm_run.arm is None for arm_run in arms_left):
            self.building.rebuild(arms_left, backwards=referee.builds % 2 == 1)
        referee.play([arm_run.built for arm_run in arms_left], self.on_progress)
        is_due = self.plan.visit == 0 and self._is_compared()
        for index, arm_run in enumerate(arms_left):
            if is_due or arm_run.was_examined:
                with StoppedError.naming(index):
                    self._check(arm_run)

    def _observe(self, arm_run: ArmRun) -> None:
        if arm_run.arm is not None and arm_run.arm.observe is not None:
            self.on_progress(f"{arm_run.name}: observe")
            with self.spending.charge("price passes"), arm_run.arm.enter():
                arm_run.observed = plain_numbers(arm_run.arm.observe(), "what observe returned")

    def _flag_idle_baseline(self, referee: Referee) -> None:
        baseline = self.arm_runs[0]
        is_compared = len(self.arm_runs) > 1 or self.plan.keep_outputs  # with the arm of another worker
        if baseline.ok and is_compared and self.plan.visit == 0:
            self.on_progress(f"{baseline.name}: processor time")
            with baseline.failing(self.framework), self.spending.charge("checks"):
                self.checks.flag_idle_baseline(baseline, referee)

    def _read_device_clock(self, arm_run: ArmRun, referee: Referee, place: int) -> None:
        self.on_progress(f"{arm_run.name}: device clock")
        median_s = referee.median_s(place)
        with arm_run.failing(self.framework), self.spending.charge("price passes"):
            resource_passes.time_on_device(arm_run, self.framework, self.stopwatch, median_s)
        referee.is_device_bound[place] = (arm_run.device_s or 0.0) >= DEVICE_BOUND_SHARE * median_s

    @property
    def _counts_energy(self) -> bool:
        """Whether counting energy takes no longer than timing, and finds the caches as the timed blocks did."""
        budget_s = self.plan.visits * self.plan.budget_s
        return self.plan.prices and budget_s >= resources.COUNTED_LEAST_S and not self.plan.cold_cache

    def _ending(self, arm_run: ArmRun, build: Callable[[], None]) -> StepEnd:
        """Build an arm alone in the process and run its checked steps."""
        if self.plan.prices:
            return resource_passes.measure_memory(arm_run, self.framework, build, self.stopwatch)
        build()
        return StepEnd(arm_run.built, self.framework, self.stopwatch)

    def _price(self, arm_run: ArmRun) -> None:
        """Measure memory, energy and, where the arm asks for it, utilisation, with the arm alone in the process."""
        build = partial(self.building.build, arm_run)
        self.on_progress(f"{arm_run.name}: memory")
        with arm_run.failing(self.framework), self.spending.charge("price passes"):
            bystanders = threads_and_processes()
            try:
                ending = self._ending(arm_run, build)
                self.checks.judge_end(arm_run, ending, bystanders)
                if arm_run.ok and self._counts_energy:
                    self.on_progress(f"{arm_run.name}: energy")
                    with self.spending.charge("energy"):
                        resource_passes.measure_energy(arm_run, self.framework, self.stopwatch)
                arm_run.close()
            finally:
                self.framework.empty_cache()
        if arm_run.ok and arm_run.watched and self.plan.utilisation:
            self.on_progress(f"{arm_run.name}: utilisation")
            with arm_run.failing(self.framework), self.spending.charge("price passes"):
                resource_passes.measure_utilisation(
                    arm_run, self.framework, build, self.stopwatch, cores=self.trial.setting.cores
                )
