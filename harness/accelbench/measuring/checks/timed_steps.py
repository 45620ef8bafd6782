"""What is checked is what is timed: the steps of timed blocks do the work of the checked ones.

A check resets an arm before its steps. Timed blocks have no reset before them, and the collector is off in them. So an
arm may pass every check and do something else, or nothing, while it is timed: a loader's iterator is exhausted after
the first epoch, training stops early, an answer is remembered, work has moved to where no clock runs. Four things show
it, in blocks that the referee plays as it plays timed ones:

**Outputs.** The output of the last step of some timed blocks, which a coin draws, and of a block after the last one,
must be numbers of the checked output's types. NaN is an error unless the baseline has it after as many steps. An arm
without a reset has declared that it has no state, so its timed outputs must be its checked one.

**Changed inputs.** At the end of a build's blocks, single steps run on inputs as they are and on changed ones, each
after the same writes. An arm whose every step on changed inputs takes ``SLOWER_TIMES`` as long as most on unchanged
ones, in ``REPEATS`` rounds and relative to the baseline's own ratio, remembers answers. One whose outputs do not
change either is compared with itself after a reset.

**A fresh reset.** The checked output after the timing is that of a timed block that follows a reset. After a reset and
some more steps, as many as a coin draws, arms that compute the same must still agree. If steps after a
reset follow changed inputs, or change parameters, and those without one do not and take far less time, the timed steps
no longer do their work. Where neither inputs nor parameters are visible, time alone is the evidence. It suffices if a
step takes next to nothing; otherwise it is a doubt, for the first step after a reset may have to start workers.

**Surroundings.** Reset, contexts, feed and callbacks of the collector are timed (:mod:`surroundings`).

Nobody is accused on one reading. Every suspicion is repeated, and the shortest of the long times is compared with the
upper quartile of the short ones: where a busy machine delays every second step, that happens to 2 honest arms in
100,000. The blocks are no part of the evidence for a speed. The first build of the first visit is examined as a whole.
Of later ones, a coin draws some, which are examined for answers that are remembered if that takes at most
``EXAMINATION_SHARE`` of their budget. In a later visit that is not drawn, there are the drawn outputs alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from random import Random
from statistics import median
from typing import Any
from zlib import crc32

import numpy as np

from accelbench.core import Arm, Plan
from accelbench.core.arm import no_arrays, nothing
from accelbench.core.verification import find_excess_error, relative_error
from accelbench.frameworks import Framework
from accelbench.measuring.arm_run import ArmRun
from accelbench.measuring.checks import output as check
from accelbench.measuring.checks import placement, surroundings
from accelbench.measuring.checks.input_dependence import ALL, ONE, InputChange
from accelbench.measuring.checks.parameters import norm, parameter_items
from accelbench.measuring.checks.surroundings import Surroundings
from accelbench.measuring.referee import Answer, Examination, Question, Referee, StoppedError
from accelbench.schema.reasons import Reason, reason
from accelbench.schema.result import Outcome

SLOWER_TIMES = 2  # an honest step may take longer on other numbers, and then the baseline's mostly does, too
BASELINE_TIMES = 2  # times as much for the baseline, which a candidate excuses less well
REPEATS = 12
LEAST_REPEATS = 4  # where so many take longer than that
PATIENCE_S = 2.0
LEAST_S = 10e-6  # a shorter difference may be that of caches
FRESH_TIMES = 3  # of a step without a reset; the step after one finds other caches
LEARNING_TIMES = 1.5  # a step that learns takes three times as long as one that does not
IDLE_TIMES = 20  # where nothing but time shows that timed steps do nothing
IDLE_S = 100e-6  # what looping over an exhausted iterator takes at most
DOUBTFUL_TIMES = 10
LITTLE_SHARE = 0.1  # of the baseline's step: one that does the work in its reset or feed has no more left
DOUBTFUL_S = 1e-3
EXAMINATION_SHARE = 0.1  # of a build's budget
LATER_SHARE = 1 / 3  # of the builds after the first one, which a coin draws
STEPS = 10  # of an examination, about
LATER_STEPS = (8, 16)  # since a reset, after which arms are compared once more
MOST_GROWTH = 10  # of the norm of the outputs meanwhile
MOST_PARAMETERS = 16  # arrays of parameters that are looked at
LONGEST_REPLAY_TIMES = 2  # of the budget, to see after how many steps there is no number any more

Steps = Generator[Question, Answer, None]


@dataclass(kw_only=True)
class LateSteps:
    """What steps at the end of the timed blocks did, without a reset: seconds by what had changed, and their traces.

    ``static``: their outputs are equal bit for bit, some of them on changed inputs. ``frozen``: the arm shows
    parameters, and they are what they were.
    """

    plain_s: list[float] = field(default_factory=list)
    unchanged_s: dict[str, list[float]] = field(default_factory=dict)
    changed_s: dict[str, list[float]] = field(default_factory=dict)
    static: bool = False
    frozen: bool = False

    @property
    def longest_s(self) -> float:
        """The longest step on unchanged inputs."""
        return max([*self.plain_s, *(seconds for each in self.unchanged_s.values() for seconds in each)])

    def slowdown(self, what: str) -> float:
        """Return how much longer every step on changed inputs took than most on unchanged ones, at least."""
        return _ratio(min(self.changed_s[what]), float(np.percentile(self.unchanged_s[what], 75)))

    def may_be_slower(self, what: str, times: float) -> bool:
        """Return whether further rounds may show such a slowdown."""
        return _ratio(min(self.changed_s[what]), min(self.unchanged_s[what])) >= times

    def has_repeated(self, what: str) -> bool:
        """Return whether there were rounds enough to judge a slowdown."""
        changed_s, unchanged_s = self.changed_s.get(what, []), self.unchanged_s.get(what, [])
        return _are_enough([*changed_s, *unchanged_s], len(changed_s))

    def usual_slowdown(self, what: str) -> float:
        """Return how much longer a step on changed inputs usually takes; 1 where inputs cannot be changed."""
        if what not in self.changed_s:
            return 1.0
        return _ratio(median(self.changed_s[what]), median(self.unchanged_s[what]))


def _norm(output: Sequence[np.ndarray]) -> float:
    return norm(array for array in output if array.dtype.kind == "f")


def _are_enough(times_s: Sequence[float], readings: int) -> bool:
    return readings >= REPEATS or (readings >= LEAST_REPEATS and sum(times_s) > PATIENCE_S)


def _ratio(longer_s: float, shorter_s: float) -> float:
    if longer_s - shorter_s < LEAST_S:
        return 1.0
    return longer_s / shorter_s if shorter_s > 0 else math.inf


@dataclass(frozen=True, kw_only=True)
class FreshSteps:
    """The checked steps of an arm in a timed block after a reset: seconds a step, and what they did."""

    step_s: float
    reset_s: float
    output: list[np.ndarray]
    learnt: bool


class TimedSteps:
    """Examines the timed steps of the arms of one trial; objections stay with the arms until they are checked."""

    def __init__(
        self,
        plan: Plan,
        framework: Framework,
        coin: Random,
        clock: Callable[[], float],
        *,
        allowed_drift: Callable[[ArmRun], float],
        allowed_later: Callable[[ArmRun, ArmRun], float],
    ) -> None:
        self.plan = plan
        self.framework = framework
        self.coin = coin
        self.clock = clock
        self.allowed_drift = allowed_drift
        self.allowed_later = allowed_later

    def inspect(self, arm_run: ArmRun, output: Any) -> None:
        """Object to an output of a timed step that is no numbers, is of another type, or differs without a state."""
        if not arm_run.ok or arm_run.objection or not arm_run.output or arm_run.built.ignore_output:
            return
        arm = arm_run.built
        if cause := self._find_wrong(arm_run, self._to_host(arm, output), output):
            arm_run.objection = ("wrong-output", reason("timed-output", cause=cause))

    def _find_wrong(self, arm_run: ArmRun, values: list[np.ndarray], output: Any) -> Reason | None:
        wrong = check.find_invalid_values(values, arm_run.output)
        if wrong and wrong.code != "zero-output":  # a loss may come to be zero
            return wrong
        dtypes = [leaf.dtype for leaf in placement.leaves(self.framework, output)]
        if arm_run.dtypes and {*dtypes} != {*arm_run.dtypes}:
            return check.find_other_dtypes(dtypes, arm_run.dtypes)
        if arm_run.built.reset is not nothing or arm_run.built.checked_steps > 1:
            return None
        drift = relative_error(values, arm_run.output)
        return find_excess_error(drift, self.allowed_drift(arm_run), "its own output before the timing")

    def examine(self, referee: Referee, arm_runs: Sequence[ArmRun]) -> Examination:
        """Examine the arms of a build that have not failed when its rounds are over."""
        is_first = self.plan.visit == 0 and referee.builds == 1
        places = [place for place, arm_run in enumerate(arm_runs) if arm_run.ok]
        if 0 not in places:
            return
        self.coin.shuffle(places)
        late: dict[int, LateSteps] = {}
        is_drawn = is_first or self.coin.random() < LATER_SHARE
        if self.plan.visit and not is_drawn:
            return
        for place in places:
            if is_first or (is_drawn and self._is_affordable(referee, place)):
                with StoppedError.naming(place):
                    late[place] = yield from self._take_late_steps(place, arm_runs[place], referee, whole=is_first)
        for place in [*late]:
            yield from self._find_remembered(place, arm_runs, late)
            yield from self._find_not_finite(place, arm_runs, referee)
        fresh: dict[int, FreshSteps] = {}
        for place in places:
            with StoppedError.naming(place):
                fresh[place] = yield from self._take_fresh_steps(place, arm_runs[place])
                arm_runs[place].timed_output = fresh[place].output
        if is_first:
            for place in places:
                with StoppedError.naming(place):
                    yield from self._find_idle(place, arm_runs[place], late, fresh, referee.median_s(place))
            self._find_moved_work(referee, arm_runs, late, fresh)
            yield from self._compare_later_steps(referee, arm_runs)

    def _is_affordable(self, referee: Referee, place: int) -> bool:
        return STEPS * referee.median_s(place) <= EXAMINATION_SHARE * self.plan.budget_s / self.plan.builds

    def _take_late_steps(
        self, place: int, arm_run: ArmRun, referee: Referee, *, whole: bool
    ) -> Generator[Question, Answer, LateSteps]:
        """Run single steps as the timed blocks left the arm, on inputs as they are and on changed ones.

        The first one is the last of the timed steps. Long steps meet one change, which a coin draws. An arm that raises
        on changed inputs may need them as they are, and is asked no more.
        """
        arm, late, start = arm_run.built, LateSteps(), self.clock()
        before = self._parameters(arm) if whole else []
        is_short = referee.has_lead_in[place]
        changes = self._changes(arm)
        outputs: list[list[np.ndarray]] = []
        for change in changes if is_short else changes[:1]:
            if late.changed_s and self.clock() - start > EXAMINATION_SHARE * self.plan.budget_s:
                break
            outputs += yield from self._take_pair(place, arm_run, change, late, lead_in=is_short, whole=whole)
        if not late.changed_s:
            outputs.clear()
            answer = yield Question(arm=place)
            late.plain_s.append(answer.block_s)
            self.inspect(arm_run, answer.output)
        if whole:
            late.static = bool(outputs and outputs[0]) and all(check.identical(each, outputs[0]) for each in outputs)
            late.frozen = bool(before) and self._parameters(arm) == before
        return late

    def _changes(self, arm: Arm) -> list[InputChange]:
        """Return what can be changed in the arm's inputs, in random order."""
        changes: list[InputChange] = []
        if arm.inputs is no_arrays:
            return changes
        with suppress(Exception):  # of numbers that the framework cannot scale, or for which there is no room twice
            one, every = (InputChange(arm, self.framework, self.coin, what) for what in (ONE, ALL))
            changes = [each for each in (one, every) if each is one or each.can_be_whole] if one.is_possible else []
        self.coin.shuffle(changes)
        return changes

    def _take_pair(
        self, place: int, arm_run: ArmRun, change: InputChange, late: LateSteps, *, lead_in: bool, whole: bool = False
    ) -> Generator[Question, Answer, list[list[np.ndarray]]]:
        """Time a step on unchanged inputs and one on changed ones, after the same writes; return the ``whole`` outputs.

        A lead-in, on unchanged inputs, brings code and data into the caches, and an answer into a cache of answers.
        """
        arm, outputs = arm_run.built, []
        for changed, seconds in ((False, late.unchanged_s), (True, late.changed_s)):
            try:
                if lead_in:
                    change.take_back()
                    yield Question(arm=place)
                (change.make if changed else change.take_back)()
                answer = yield Question(arm=place)
            except Exception:
                if not changed:
                    raise
                late.unchanged_s.pop(change.what, None)
                late.changed_s.pop(change.what, None)
                return []
            finally:
                change.take_back()
            seconds.setdefault(change.what, []).append(answer.block_s)
            if not changed:
                self.inspect(arm_run, answer.output)
            if whole:
                outputs.append(self._to_host(arm, answer.output))
        return outputs

    def _find_remembered(self, place: int, arm_runs: Sequence[ArmRun], late: dict[int, LateSteps]) -> Steps:
        """Object to an arm that is much slower on changed inputs, again and again, unless the baseline is, too."""
        own, allowed = late[place], SLOWER_TIMES * (1 if place else BASELINE_TIMES)
        for what in [*own.changed_s]:
            yield from self._repeat_while_slower(place, arm_runs, what, own, allowed)
            if not own.has_repeated(what) or own.slowdown(what) < allowed:
                continue
            others = [0] if place else [other for other in late if other]
            for other in others:
                yield from self._see_usual(other, arm_runs, what, late.setdefault(other, LateSteps()))
            usual = min((late[other].usual_slowdown(what) for other in others), default=1.0)
            times = own.slowdown(what)
            if times >= allowed * max(1.0, usual):
                self._object(arm_runs[place], "wrong-work", reason("remembers-answers", times=times, what=what))

    def _see_usual(self, place: int, arm_runs: Sequence[ArmRun], what: str, late: LateSteps) -> Steps:
        """Time an honest arm's steps on changed inputs as often as an accused one's."""
        arm_run = arm_runs[place]
        with StoppedError.naming(place):
            if what not in late.changed_s and self._changes(arm_run.built):
                change = InputChange(arm_run.built, self.framework, self.coin, what)
                yield from self._take_pair(place, arm_run, change, late, lead_in=True)
        yield from self._repeat_while_slower(place, arm_runs, what, late, 0.0)

    def _repeat_while_slower(
        self, place: int, arm_runs: Sequence[ArmRun], what: str, late: LateSteps, allowed: float
    ) -> Steps:
        arm = arm_runs[place].built
        while what in late.changed_s and not late.has_repeated(what) and late.may_be_slower(what, allowed):
            with StoppedError.naming(place):
                change = InputChange(arm, self.framework, self.coin, what)
                yield from self._take_pair(place, arm_runs[place], change, late, lead_in=True)

    def _find_not_finite(self, place: int, arm_runs: Sequence[ArmRun], referee: Referee) -> Steps:
        """Withdraw the objection to NaN in a timed step, and flag it, if another arm has it after as many steps."""
        arm_run = arm_runs[place]
        cause = arm_run.objection[1].values.get("cause") if arm_run.objection else None
        if not isinstance(cause, Reason) or cause.code != "not-finite":
            return
        others = (other for other, each in enumerate(arm_runs) if each.ok and other != place)
        against = next((other for other in others if arm_runs[other].computes() == arm_run.computes()), None)
        if against is None:
            return
        limit_s = LONGEST_REPLAY_TIMES * self.plan.budget_s
        steps = yield from self._replay(place, arm_run, referee, steps=math.inf, seconds=limit_s)
        if steps is None:
            return
        as_well = yield from self._replay(against, arm_runs[against], referee, steps=2 * steps, seconds=math.inf)
        if as_well is not None:
            arm_run.objection = None
            self._flag(arm_run, reason("not-finite-when-timed"))

    def _replay(
        self, place: int, arm_run: ArmRun, referee: Referee, *, steps: float, seconds: float
    ) -> Generator[Question, Answer, int | None]:
        """Reset an arm, and return the number of steps after which its output is not finite; None if it stays so."""
        played, spent_s, iterations = 0, 0.0, 1
        with StoppedError.naming(place):
            self._reset(arm_run.built)
            while played < steps and spent_s < seconds:
                answer = yield Question(arm=place, iterations=iterations)
                played, spent_s = played + iterations, spent_s + answer.block_s
                iterations = min(2 * iterations, max(referee.iterations))
                if not check.are_finite(self._to_host(arm_run.built, answer.output)):
                    return played
        return None

    def _take_fresh_steps(
        self, place: int, arm_run: ArmRun, change: InputChange | None = None, *, watch_learning: bool = False
    ) -> Generator[Question, Answer, FreshSteps]:
        """Run an arm's checked steps as a timed block that follows a reset, on changed inputs if there is a change."""
        arm = arm_run.built
        with change.made() if change else nullcontext():
            reset_s = self._reset(arm)
            before = self._parameters(arm) if watch_learning else []
            answer = yield Question(arm=place, iterations=arm.checked_steps)
            output = self._to_host(arm, answer.output)
        learnt = watch_learning and self._parameters(arm) != before
        step_s = answer.block_s / arm.checked_steps
        return FreshSteps(step_s=step_s, reset_s=reset_s, output=output, learnt=learnt)

    def _compare_later_steps(self, referee: Referee, arm_runs: Sequence[ArmRun]) -> Steps:
        """Object to an arm that no longer agrees with one that computes the same after more steps than are checked.

        A coin draws the number of steps, the same for all arms with a reset whose steps are short. Where outputs have
        become much larger meanwhile, they say nothing: what grows like that also makes differences grow.
        """
        steps = self.coin.randint(*LATER_STEPS)
        outputs: dict[int, list[np.ndarray]] = {}
        for place, arm_run in enumerate(arm_runs):
            if not arm_run.ok:
                continue
            arm = arm_run.built
            if arm.reset is nothing or arm.ignore_output or not referee.has_lead_in[place]:
                continue
            with StoppedError.naming(place):
                self._reset(arm)
                answer = yield Question(arm=place, iterations=steps)
                outputs[place] = self._to_host(arm, answer.output)
        for place, values in outputs.items():
            arm_run = arm_runs[place]
            first = next(other for other in outputs if arm_runs[other].computes() == arm_run.computes())
            expected = outputs[first]
            has_grown = _norm(expected) > MOST_GROWTH * _norm(arm_run.output)
            if first == place or not check.are_finite(expected) or has_grown:
                continue
            error, tolerance = relative_error(values, expected), self.allowed_later(arm_run, arm_runs[first])
            if not error <= tolerance:
                why = reason("later-output", steps=steps, error=error, tolerance=tolerance)
                self._object(arm_run, "wrong-output", why)

    def _reset(self, arm: Arm) -> float:
        """Reset an arm, and return the seconds that this takes; 0 where nothing is reset."""
        with arm.enter():
            start = self.clock()
            arm.reset()
            self.framework.synchronize()
            return self.clock() - start if arm.reset is not nothing else 0.0

    def _find_idle(
        self, place: int, arm_run: ArmRun, late: dict[int, LateSteps], fresh: dict[int, FreshSteps], timed_s: float
    ) -> Steps:
        """Object to an arm whose steps do their work only after a reset, or only where they are checked."""
        own = late[place]
        if arm_run.objection or (own.static and not (yield from self._follows_inputs(place, arm_run, fresh[place]))):
            return
        is_hidden = not own.changed_s and not (self._parameters(arm_run.built) and not own.frozen)
        least = FRESH_TIMES if own.static else LEARNING_TIMES if own.frozen else DOUBTFUL_TIMES
        if arm_run.built.reset is nothing or not (own.static or own.frozen or is_hidden):
            return
        readings, late_s = [fresh[place]], max(own.longest_s, timed_s)
        while _ratio(readings[-1].step_s, late_s) >= least:
            if _are_enough([each.step_s for each in readings], len(readings)):
                break
            readings.append((yield from self._take_fresh_steps(place, arm_run, watch_learning=own.frozen)))
        else:
            return
        start = _ratio(fresh[0].step_s, late[0].longest_s) if place else 1.0  # of the baseline, which may be slow, too
        fresh_s = min(each.step_s for each in readings)
        times = _ratio(fresh_s, late_s) / max(1.0, start)
        idle = reason("idle-without-reset", fresh_s=fresh_s, late_s=late_s)
        if own.static and times >= FRESH_TIMES:
            self._object(arm_run, "wrong-work", idle)
        elif own.frozen and readings[-1].learnt and times >= LEARNING_TIMES:
            self._object(arm_run, "wrong-work", reason("stopped-learning", fresh_s=fresh_s, late_s=late_s))
        elif is_hidden and times >= IDLE_TIMES and late_s <= IDLE_S:
            self._object(arm_run, "wrong-work", idle)
        elif is_hidden and times >= DOUBTFUL_TIMES and fresh_s - late_s >= DOUBTFUL_S:
            self._flag(arm_run, reason("faster-without-reset", times=times, fresh_s=fresh_s, late_s=late_s))

    def _follows_inputs(self, place: int, arm_run: ArmRun, unchanged: FreshSteps) -> Generator[Question, Answer, bool]:
        """Return whether the arm's output follows changed inputs after a reset.

        Object to an arm whose checked steps follow them, and not its timed ones after the same reset. An output may not
        depend on a change; but it must still depend on what it did before the timing.
        """
        arm, ignored = arm_run.built, 0
        for what in (ONE, ALL, ONE):
            change = InputChange(arm, self.framework, self.coin, what)
            try:
                checked = self._checked_output(arm, change)
                if check.identical(checked, unchanged.output):
                    continue
                timed = yield from self._take_fresh_steps(place, arm_run, change)
            except Exception:  # on inputs that the arm was not made for
                continue
            if not check.identical(timed.output, unchanged.output):
                return True
            ignored += 1
        if ignored > 1:
            self._object(arm_run, "wrong-work", reason("ignores-inputs-when-timed"))
        arm_run.asks_again = True
        return False

    def _checked_output(self, arm: Arm, change: InputChange) -> list[np.ndarray]:
        """Return the output of the checked steps on changed inputs, as every check runs them."""
        with change.made():
            return check.output_of(arm, self.framework)

    def _find_moved_work(
        self, referee: Referee, arm_runs: Sequence[ArmRun], late: dict[int, LateSteps], fresh: dict[int, FreshSteps]
    ) -> None:
        """Object to an arm whose surroundings do the work of its step, or flag it where that is not proved."""
        costs: dict[int, Surroundings] = {}
        for place in sorted(fresh):
            arm_run = arm_runs[place]
            with StoppedError.naming(place):
                costs[place] = self._surroundings(arm_run, fresh[place].reset_s)
                step_s, items = referee.median_s(place), arm_run.built.items
                baseline_s = referee.median_s(0) * items / arm_runs[0].built.items
                if surroundings.find_moved_cost(costs[place], step_s, costs[0], baseline_s) is None:
                    continue
                surely = self._surroundings(arm_run)
                moved = surroundings.find_moved_cost(surely, step_s, costs[0], baseline_s)
                if moved is None:
                    continue
                if self._lives_on(arm_run.built, moved.part, late[place]):
                    self._object(arm_run, "wrong-work", reason("work-outside-step", **moved.values()))
                elif moved.part == "contexts_s" or (
                    arm_run.label == arm_runs[0].label  # else data may go to another device
                    and (step_s <= LITTLE_SHARE * baseline_s or self._is_hidden(arm_run, late[place]))
                ):
                    self._flag(arm_run, reason("costs-outside-step", **moved.values()))

    @staticmethod
    def _is_hidden(arm_run: ArmRun, late: LateSteps) -> bool:
        """Return whether nothing that the step reads or changes is visible."""
        return not late.changed_s and arm_run.built.parameters is no_arrays

    def _surroundings(self, arm_run: ArmRun, reset_s: float | None = None) -> Surroundings:
        """Time what surrounds the steps once if the time of a reset is given, or else as often as is sure."""
        arm, framework = arm_run.built, self.framework
        readings = LEAST_REPEATS if reset_s is None else 1
        shown = arm.inputs() if arm.feed else ()

        def feed() -> None:
            if arm.feed is not None:
                arm.feed(shown)
                framework.synchronize()

        def shortest_s(run: Callable[[], object]) -> float:
            return surroundings.shortest_s(run, self.clock, readings)

        return Surroundings(
            reset_s=min(self._reset(arm) for _ in range(readings)) if reset_s is None else reset_s,
            contexts_s=shortest_s(lambda: surroundings.enter(arm)) if arm.contexts else 0.0,
            feed_s=shortest_s(feed) if arm.feed else 0.0,
            collector_s=surroundings.callbacks_s(arm_run.collector_callbacks, self.clock, readings),
        )

    def _lives_on(self, arm: Arm, part: str, late: LateSteps) -> bool:
        """Return whether it is proved that the step needs this part of its surroundings to answer.

        The outputs of an arm that lives on its reset stand still without one, whatever its inputs are; those of an arm
        that lives on its contexts stand still while it is within them.
        """
        if part == "collector_s":
            return True
        if part == "reset_s":
            return late.static
        return part == "contexts_s" and self._stands_still_within(arm)

    def _stands_still_within(self, arm: Arm) -> bool:
        changes = self._changes(arm)
        if not changes:
            return False
        with arm.enter():
            arm.reset()
            first = self._to_host(arm, arm.step())
            for change in changes:
                try:
                    with change.made():
                        if not check.identical(self._to_host(arm, arm.step()), first):
                            return False
                except Exception:
                    return False
        return True

    @staticmethod
    def _object(arm_run: ArmRun, outcome: Outcome, why: Reason) -> None:
        arm_run.objection = arm_run.objection or (outcome, why)

    @staticmethod
    def _flag(arm_run: ArmRun, doubt: Reason) -> None:
        """Flag an arm once, also if its trial starts over without another one."""
        if doubt.code not in {flag.code for flag in arm_run.flags}:
            arm_run.flags.append(doubt)

    def _parameters(self, arm: Arm) -> list[int]:
        """Return checksums of some of the arm's parameters."""
        return [crc32(array.tobytes()) for array in parameter_items(arm, self.framework, MOST_PARAMETERS)]

    def _to_host(self, arm: Arm, output: Any) -> list[np.ndarray]:
        if arm.ignore_output:
            return []
        return check.read(arm, self.framework, output)
