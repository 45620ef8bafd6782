"""The checks of an arm before and after its timing: wrong answers and wrong work have no speed."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from accelbench.core import ROUNDING, Trial
from accelbench.core.arm import no_arrays, no_objection
from accelbench.core.verification import find_excess_error, relative_error
from accelbench.frameworks import Framework
from accelbench.measuring.arm_run import ArmRun
from accelbench.measuring.checks import claims, idle_baseline, placement
from accelbench.measuring.checks import output as check
from accelbench.measuring.checks.background_work import StepEnd, find_background_work
from accelbench.measuring.checks.input_dependence import InputDependenceCheck
from accelbench.measuring.checks.parameters import find_other_learning, learn, parameter_items
from accelbench.measuring.checks.timed_steps import TimedSteps
from accelbench.measuring.referee import Referee, Stopwatch
from accelbench.measuring.trial_result import TimeLedger
from accelbench.schema.reasons import Reason, reason
from accelbench.schema.result import Outcome, Price

PROBE_S = 0.03  # an arm whose inputs were changed for that long in all is not asked again
STALL_S = 0.25  # a container that has used up its share of the processor waits for less than this
STALL_TIMES = 20
# Kernels on a GPU may add up in another order each time, and training amplifies the difference. Two resets show one
# such difference; others may be several times as large. Of two normal ones, the ratio is above 10 in 6 % of cases if
# the output is a single number, and practically never if it holds many.
SPREAD_TIMES = 10
LATER_TIMES = 10  # tolerances by which parameters may differ after further steps: training amplifies differences
OTHER_SEEDS = 4  # show how far the output of an arm that draws random numbers may be from the baseline's
# Times the largest of their differences. If an output is a single number, an honest one is further away in about 1 % of
# cases; if it holds many, practically never.
SEEDS_TIMES = 3
MOST_SPREAD = 5e-2  # as far as bfloat16 may be off: an arm that repeats itself no better is not checked any less


def widen(tolerance: float, *prices: Price | None) -> float:
    """Return the tolerance between outputs of arms with these prices, which may not repeat themselves bit for bit."""
    spreads = [price.repeats_within or 0.0 for price in prices if price]
    return max(tolerance, min(MOST_SPREAD, SPREAD_TIMES * max(spreads, default=0.0)))


def _own_tolerance(arm_run: ArmRun) -> float:
    """Return how far the output of an arm that is expected to repeat itself may be from its own earlier one."""
    return max(arm_run.tolerance, arm_run.rounding)


def _draws_alike(arm_run: ArmRun) -> bool:
    """Return whether an arm draws the random numbers that the baseline draws, and the same ones in every run."""
    varies = (arm_run.price.repeats_within or 0.0) > ROUNDING
    return not arm_run.draws_otherwise and (arm_run.built.reseed is None or not varies)


def _later_tolerance(arm_run: ArmRun, reference: ArmRun) -> float:
    """Return how far outputs may differ after more steps than are checked; training amplifies differences."""
    tolerance = LATER_TIMES * widen(max(arm_run.tolerance, arm_run.rounding), arm_run.price, reference.price)
    learns = any(each.learning is not None and each.learning.moved for each in (arm_run, reference))
    varies = any(each.price.repeats_within for each in (arm_run, reference))
    return max(MOST_SPREAD, tolerance) if learns or varies else tolerance


class ArmChecks:
    """Checks the arms of one trial whenever they were built or timed; those that do not pass fail."""

    def __init__(
        self, trial: Trial, framework: Framework, stopwatch: Stopwatch, spending: TimeLedger, coin: Random
    ) -> None:
        self.trial = trial
        self.framework = framework
        self.stopwatch = stopwatch
        self.spending = spending
        self.coin = coin
        self.timed_steps = TimedSteps(
            trial.plan,
            framework,
            coin,
            stopwatch.clock,
            allowed_drift=lambda arm_run: widen(_own_tolerance(arm_run), arm_run.price),
            allowed_later=_later_tolerance,
        )

    def remember_inputs(self, arm_run: ArmRun) -> None:
        """Remember the arm's inputs as they are before its first step; later visits do not look at them."""
        if self.trial.plan.visit == 0:
            arm_run.fingerprint = InputDependenceCheck(arm_run.built, self.framework, self.coin).fingerprint()

    def check(self, arm_run: ArmRun, reference: ArmRun, first_output: Any = None) -> None:
        """Check an arm's output against its reference's, that it depends on its inputs, and where it was computed.

        ``first_output`` is that of a first step from the initial state, if it was just run.

        After the timing, the output is that of a timed block, and what timed steps showed takes effect. Later visits
        check the output alone: how it depends on its inputs and how well it repeats itself is known from the first.
        """
        if arm_run.objection:
            self._fail(arm_run, *arm_run.objection)
            return
        arm, first, output = arm_run.built, not arm_run.output, ()
        is_known = self.trial.plan.visit > 0
        values, arm_run.timed_output = arm_run.timed_output, None
        if values is None or first:
            with arm.enter():
                before = self._initial_parameters(arm_run) if first else []
                output = check.run(arm, self.framework, first_output)
                values = check.read(arm, self.framework, output)
                if first:
                    arm_run.dtypes = [leaf.dtype for leaf in placement.leaves(self.framework, output)]
                    arm_run.learning = arm_run.learning or learn(arm, self.framework, before, reference.learning)
        probe = InputDependenceCheck(arm, self.framework, self.coin, self.stopwatch.clock)
        if first:
            arm_run.remarks += arm.remarks
        if first and not is_known:
            self._fail(
                arm_run, "wrong-work", probe.find_changed_inputs(arm_run.fingerprint) or probe.find_constant_inputs()
            )
        if first:
            self._place(arm_run, output)
        if first and not is_known:
            self._measure_spread(arm_run, values)
        self._fail(arm_run, "wrong-output", self._find_wrong_output(arm_run, reference, values))
        if first:
            self._fail(arm_run, "wrong-work", self._find_other_dtypes(arm_run, reference))
            self._fail(arm_run, "wrong-output", self._find_other_learning(arm_run, reference, values))
        arm_run.output = arm_run.output or values
        if arm_run.ok and ((arm_run.probe_s < PROBE_S and not is_known) or arm_run.asks_again):
            start, asks_again = self.stopwatch.clock(), arm_run.asks_again
            arm_run.asks_again = False
            self._fail(arm_run, "wrong-work", probe.find_ignored_input(values, last=first or asks_again))
            arm_run.probe_s += self.stopwatch.clock() - start
            if first and arm_run.ok:
                arm_run.flags += probe.find_doubts(values, _own_tolerance(arm_run))
                arm_run.remarks += [reason("output-unmoved")] if probe.is_blind else []

    def judge_end(self, arm_run: ArmRun, ending: StepEnd, bystanders: Collection[int]) -> None:
        """Check, with the arm alone in the process, that its steps leave no work behind, and where they worked."""
        arm = arm_run.built
        left = find_background_work(ending, lambda: StepEnd(arm, self.framework, self.stopwatch), bystanders)
        if self.trial.plan.prices:
            self.prove_placement(arm_run, count=not self.framework.profiles)
        self._fail(arm_run, "wrong-work", left)
        peak_bytes = arm_run.price.allocator_peak_bytes
        self._fail(arm_run, "impossible", placement.find_missing_memory(arm_run.resident_bytes, peak_bytes))

    def prove_placement(self, arm_run: ArmRun, *, count: bool) -> None:
        """Check where the arm's work runs by the kernels that it starts and its memory, if these are to be counted."""
        if arm_run.placement is None:
            return
        if count:
            with arm_run.built.enter():
                kernels = self.framework.kernels(arm_run.built.step)
                allocations = self.framework.allocations(arm_run.built.step)
            arm_run.placement = replace(arm_run.placement, kernels=kernels, allocations=allocations)
        self._fail(arm_run, "misplaced", placement.find_contradiction(arm_run.label, arm_run.placement))
        if doubt := placement.find_missing_proof(arm_run.label, arm_run.placement):
            arm_run.flags.append(doubt)

    def find_arrays(self, arm_run: ArmRun) -> None:
        """Run the arm's checked steps and find where its arrays lie, without any other check."""
        with arm_run.built.enter():
            self._place(arm_run, check.run(arm_run.built, self.framework))

    def flag_compilation(self, arm_run: ArmRun, referee: Referee, place: int) -> None:
        """Flag an arm whose samples may contain compilation: graphs were made, or a block computed for far too long.

        A block that took as long without computing only waited, for a core of a busy machine for instance.
        """
        if referee.compilations:
            arm_run.flags.append(reason("compiled-while-timed", graphs=referee.compilations))
        longest = int(np.argmax(arm_run.samples_s))
        times = arm_run.samples_s[longest] / referee.median_s(place)
        took_s = arm_run.samples_s[longest] * referee.iterations[place]
        computed = not referee.stopwatch.processor_clock or (
            referee.processor_s[place][longest] >= idle_baseline.BUSY_SHARE * took_s
        )
        if times > STALL_TIMES and took_s > STALL_S and computed and referee.undisturbed_blocks(place)[longest]:
            arm_run.flags.append(reason("stalled-block", block_s=took_s, times=times))

    def check_items(self, arm_run: ArmRun, reference: ArmRun) -> None:
        """Check that an arm claims as many items as its reference, which must compute the same, in every build."""
        if arm_run.ok:
            self._fail(arm_run, "wrong-work", claims.find_other_items(arm_run, reference))

    def flag_items(self, arm_run: ArmRun, baseline: ArmRun) -> None:
        """Flag an arm that counts the items of the inputs which it shows in another way than the baseline."""
        if arm_run.ok and (doubt := claims.find_doubtful_items(arm_run, baseline, self.framework)):
            arm_run.flags.append(doubt)

    def flag_unearned_items(self, arm_run: ArmRun, baseline: ArmRun) -> None:
        """Flag a timed arm that claims more items than the baseline for the same output in no more time."""
        is_doubted = any(flag.code == "items-unlike-baseline" for flag in arm_run.flags)
        if not is_doubted and (doubt := claims.find_unearned_items(arm_run, baseline)):
            arm_run.flags.append(doubt)

    def flag_idle_baseline(self, baseline: ArmRun, referee: Referee) -> None:
        """Flag a baseline that waits for most of its timed blocks."""
        if not self.framework.accelerators() or baseline.label == placement.HOST:
            doubt = idle_baseline.find_idle_time(baseline.built, referee, self.stopwatch)
            baseline.flags.extend(filter(None, [doubt]))

    def _find_wrong_output(self, arm_run: ArmRun, reference: ArmRun, output: list[np.ndarray]) -> Reason | None:
        """Check the output itself, then first against the reference's, later against the arm's own first one."""
        if not arm_run.ok or arm_run.built.ignore_output:
            return None
        expected = arm_run.output or ([] if arm_run is reference else reference.output)
        if wrong := check.find_invalid_values(output, expected):
            return wrong
        verify = arm_run.built.verify
        if verify is not no_objection and (why := claims.objection_of(verify([array.copy() for array in output]))):
            return why
        if arm_run.output:
            drift = relative_error(output, arm_run.output)
            tolerance = widen(_own_tolerance(arm_run), arm_run.price)
            return find_excess_error(drift, tolerance, "its own output before the timing", (output, expected))
        if arm_run is reference:
            return None
        error = relative_error(output, reference.output)
        if error > widen(arm_run.tolerance, arm_run.price, reference.price):
            self._allow_other_draws(arm_run, output)
        tolerance = widen(arm_run.tolerance, arm_run.price, reference.price)
        arm_run.price = replace(arm_run.price, error=error, tolerance=tolerance)
        return check.find_error_to_baseline(error, tolerance, (output, expected))

    def _allow_other_draws(self, arm_run: ArmRun, output: list[np.ndarray]) -> None:
        """Let an arm that draws random numbers differ from the baseline as far as other seeds change its own output."""
        reseed = arm_run.built.reseed
        if reseed is None:
            return
        spreads = []
        with self.spending.charge("price passes"):
            try:
                for seed in range(1, OTHER_SEEDS + 1):
                    reseed(seed)
                    spreads.append(relative_error(check.output_of(arm_run.built, self.framework), output))
            finally:
                reseed(0)
        allowed = SEEDS_TIMES * max(spreads)
        if arm_run.tolerance < allowed < math.inf:
            arm_run.tolerance, arm_run.draws_otherwise = allowed, True
            arm_run.flags.append(reason("other-random-numbers", spread=max(spreads), allowed=allowed))

    def _initial_parameters(self, arm_run: ArmRun) -> list[np.ndarray]:
        """Return parameters after a reset; later visits need no further look at what is learnt."""
        arm = arm_run.built
        if arm.parameters is no_arrays or self.trial.plan.visit or arm_run.learning or arm.ignore_output:
            return []
        arm.reset()
        return parameter_items(arm, self.framework)

    def _find_other_learning(self, arm_run: ArmRun, reference: ArmRun, output: list[np.ndarray]) -> Reason | None:
        """Check what at least two steps changed in the parameters, and the output of the last of them.

        An arm that draws other random numbers may learn otherwise although its first output was close by chance.
        """
        if arm_run is reference or not arm_run.ok:
            return None
        why = self._compare_learning(arm_run, reference)
        if why is None or why.code == "parameters-unchanged" or arm_run.draws_otherwise:
            return why
        self._allow_other_draws(arm_run, output)
        return self._compare_learning(arm_run, reference) if arm_run.draws_otherwise else why

    def _compare_learning(self, arm_run: ArmRun, reference: ArmRun) -> Reason | None:
        own, expected = arm_run.learning, reference.learning
        if own is None or expected is None:
            return None
        tolerance = LATER_TIMES * widen(arm_run.tolerance, arm_run.price, reference.price)
        if why := find_other_learning(own, expected, tolerance, exact=arm_run.exact and _draws_alike(arm_run)):
            return why
        error = relative_error(own.output, expected.output) if own.steps == expected.steps else 0.0
        return check.find_error_to_baseline(error, _later_tolerance(arm_run, reference))

    def _measure_spread(self, arm_run: ArmRun, output: list[np.ndarray]) -> None:
        """Run the arm from its initial state once more, and flag an arm that repeats itself less well than expected."""
        if not (arm_run.ok and arm_run.widens) or arm_run.built.ignore_output:
            return
        with self.spending.charge("price passes"):  # no check that follows another build takes as long
            spread = relative_error(check.output_of(arm_run.built, self.framework), output)
        if not math.isfinite(spread):
            return
        arm_run.price = replace(arm_run.price, repeats_within=spread)
        allowed = widen(_own_tolerance(arm_run), arm_run.price)
        if allowed > _own_tolerance(arm_run):
            arm_run.flags.append(reason("repeats-within", spread=spread, allowed=allowed))

    def _find_other_dtypes(self, arm_run: ArmRun, reference: ArmRun) -> Reason | None:
        if arm_run is reference or not arm_run.exact or not arm_run.ok:
            return None
        return check.find_other_dtypes(arm_run.dtypes, reference.dtypes)

    def _place(self, arm_run: ArmRun, output: Any) -> None:
        if not arm_run.ok:
            return
        arm = arm_run.built
        arm_run.label = placement.label_of(self.trial.device_of(arm_run.levels) or arm.device)
        arm_run.placement = placement.find_placement(arm, self.framework, output)
        arm_run.resident_bytes = placement.resident_bytes(arm, self.framework)
        self._fail(arm_run, "misplaced", placement.find_contradiction(arm_run.label, arm_run.placement))

    @staticmethod
    def _fail(arm_run: ArmRun, outcome: Outcome, why: Reason | None) -> None:
        if why and arm_run.ok:
            arm_run.fail(outcome, why)
