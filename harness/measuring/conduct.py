"""Conduct one trial inside a worker: build, cold call, check, time, check again, price."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random

from harness.errors import HarnessError, Unavailable
from harness.experiment import ROUNDING, Trial
from harness.frameworks import Framework
from harness.measuring import alone, check, telemetry
from harness.measuring.entrant import Entrant, effect_of, entrants, timing_of
from harness.measuring.evidence import fewest_pairs
from harness.measuring.measured import Measured
from harness.measuring.referee import Referee, StoppedError
from harness.measuring.stopwatch import Stopwatch
from harness.units import seconds

PATIENCE = 3  # an arm may need this many times its budget for the fewest pairs that decide


class Conduct:
    """One trial in this process. The clock, the coin and the framework's device are handed in."""

    def __init__(
        self,
        trial: Trial,
        framework: Framework,
        *,
        clock: Callable[[], float] = time.perf_counter,
        coin: Random | None = None,
        heard: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.trial = trial
        self.plan = trial.plan
        self.framework = framework
        self.stopwatch = Stopwatch(clock, framework.synchronize)
        self.coin = coin or Random()
        self.heard = heard
        self.entrants = entrants(trial)
        self.samples: dict[str, tuple[float, ...]] = {}
        self.log_ratios: dict[str, tuple[float, ...]] = {}
        self.together = 1

    def run(self) -> Measured:
        """Measure the trial and return what became of every arm."""
        before, start = telemetry.read(), self.stopwatch.clock()
        try:
            for entrant in self.entrants:
                self._prepare(entrant)
            self._without_baseline()
            if not self.plan.rehearse:
                self._contest()
        finally:
            for entrant in self.entrants:
                entrant.close()
        span_s = self.stopwatch.clock() - start
        disturbance, remarks = telemetry.disturbance(before, telemetry.read(), span_s)
        if not self.plan.rehearse:
            for entrant in self._standing():
                self._price(entrant)
        return Measured(
            arms=[entrant.record() for entrant in self.entrants],
            samples_s=[self.samples.get(entrant.name, ()) for entrant in self.entrants],
            log_ratios=[self.log_ratios.get(entrant.name, ()) for entrant in self.entrants],
            span_s=span_s,
            disturbance=disturbance,
            remarks=remarks,
            together=self.together,
            outputs=self.entrants[0].output if self.plan.keep_outputs else [],
        )

    def _standing(self) -> list[Entrant]:
        return [entrant for entrant in self.entrants if entrant.stands]

    def _prepare(self, entrant: Entrant) -> None:
        """Build an arm, make its cold call, give it up where it cannot finish, and check its output."""
        self.heard(f"{entrant.name}: build")
        with self._withdrawing(entrant):
            self._build(entrant)
            self.heard(f"{entrant.name}: cold call")
            entrant.items = entrant.built.items
            entrant.cold_s = self.stopwatch.block_s(entrant.built, 1)
            if not self.plan.rehearse and (hopeless := self._hopeless(entrant)):
                entrant.withdraw("given-up", hopeless)
                return
            self._check(entrant)

    def _build(self, entrant: Entrant) -> None:
        start = self.stopwatch.clock()
        self.framework.seed(self.trial.setting.seed)
        entrant.arm = entrant.build()
        self.framework.synchronize()
        entrant.watched = entrant.built.watched
        entrant.build_s = entrant.build_s or self.stopwatch.clock() - start

    def _hopeless(self, entrant: Entrant) -> str | None:
        """Return a sentence where not even the fewest pairs fit; a slow cold call alone may be compilation."""
        if entrant.cold_s <= self.plan.budget_s:
            return None
        step_s = self.stopwatch.block_s(entrant.built, 1)
        pairs = fewest_pairs(self.plan.alpha_each(len(self.entrants)))
        if step_s * pairs <= PATIENCE * self.plan.budget_s:
            return None
        return (
            f"one step takes {seconds(step_s)}, so the {pairs} pairs that a verdict needs would take "
            f"{seconds(step_s * pairs)}, far over the budget of {seconds(self.plan.budget_s)} per arm"
        )

    def _check(self, entrant: Entrant) -> None:
        """Check the output for itself, then first against the baseline's, later against the arm's own first one."""
        output = check.output_of(entrant.built, self.framework)
        wrong = check.fault(output) or entrant.built.verify(output)
        baseline = self.entrants[0]
        if not wrong and entrant.output:
            drift = check.relative_error(output, entrant.output)
            wrong = check.too_far(drift, max(entrant.tolerance, ROUNDING), "its own output before the timing")
        elif not wrong and entrant is not baseline and entrant.comparable and baseline.stands:
            error = check.relative_error(output, baseline.output)
            entrant.price = replace(entrant.price, error=error, tolerance=entrant.tolerance)
            wrong = check.too_far(error, entrant.tolerance, "the baseline's")
        entrant.output = entrant.output or output
        if wrong:
            entrant.withdraw("wrong-output", wrong)

    def _without_baseline(self) -> None:
        baseline, *candidates = self.entrants
        if baseline.stands:
            return
        for candidate in candidates:
            if candidate.stands:
                candidate.withdraw("unavailable", f"there is no baseline to compare with: {baseline.reason}")

    def _contest(self) -> None:
        """Time the arms that stand, built as often as the plan says; start over without an arm that stops."""
        standing = self._standing()
        while standing:
            referee = Referee(stopwatch=self.stopwatch, coin=self.coin, plan=self.plan, arms=len(standing))
            try:
                while not referee.settled:
                    self._play(referee, standing)
                for index, entrant in enumerate(standing):
                    with StoppedError.naming(index):
                        self._observe(entrant)
                break
            except StoppedError as stopped:
                with self._withdrawing(standing[stopped.arm]):
                    raise stopped.error from None
            self._without_baseline()
            standing = self._standing()
        if standing:
            self._without_baseline()
            self._keep(referee, standing)

    def _play(self, referee: Referee, standing: list[Entrant]) -> None:
        if referee.builds or any(entrant.arm is None for entrant in standing):
            self._rebuild(standing)
        referee.play([entrant.built for entrant in standing], self.heard)
        for index, entrant in enumerate(standing):
            with StoppedError.naming(index):
                self._check(entrant)

    def _rebuild(self, standing: list[Entrant]) -> None:
        """Build the arms afresh in the opposite order, so that an accident of memory layout changes sides."""
        for entrant in standing:
            entrant.close()
        self.framework.free()
        for index, entrant in reversed(list(enumerate(standing))):
            with StoppedError.naming(index):
                self._build(entrant)

    def _observe(self, entrant: Entrant) -> None:
        if entrant.arm is not None and entrant.arm.observe is not None:
            self.heard(f"{entrant.name}: observe")
            with entrant.arm.entered():
                entrant.observed = dict(entrant.arm.observe())

    def _keep(self, referee: Referee, standing: list[Entrant]) -> None:
        self.together = referee.together
        for index, entrant in enumerate(standing):
            if not entrant.stands:
                continue
            warmup = referee.warmups[index]
            entrant.timing = timing_of(
                referee.samples_s[index],
                iterations=referee.iterations[index],
                entrant=entrant,
                warmup_blocks=warmup.blocks,
                warmup_settled=warmup.settled,
            )
            self.samples[entrant.name] = tuple(referee.samples_s[index])
            if index:
                self.log_ratios[entrant.name] = tuple(referee.log_ratios[index])
                entrant.effect = effect_of(referee.judgement(index), referee.log_ratios[index])

    def _price(self, entrant: Entrant) -> None:
        """Measure memory and, where the arm asks for it, utilisation, in passes with the arm alone in the process."""

        def build() -> None:
            self._build(entrant)

        self.heard(f"{entrant.name}: memory")
        with self._withdrawing(entrant):
            alone.memory(entrant, self.framework, build)
        if entrant.stands and entrant.watched:
            self.heard(f"{entrant.name}: utilisation")
            with self._withdrawing(entrant):
                alone.use(entrant, self.framework, build, self.stopwatch, cores=self.trial.setting.cores)

    @contextmanager
    def _withdrawing(self, entrant: Entrant) -> Iterator[None]:
        """Turn an exception into the entrant's recorded outcome."""
        try:
            yield
        except (Unavailable, ImportError) as error:  # a library that a framework loads late may be missing
            entrant.withdraw("unavailable", _first_line(error))
        except HarnessError as error:
            entrant.withdraw("failed", str(error))
        except Exception as error:
            memory = isinstance(error, MemoryError) or self.framework.is_out_of_memory(error)
            entrant.withdraw("out-of-memory" if memory else "failed", f"{type(error).__name__}: {_first_line(error)}")
            self.framework.free()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]
