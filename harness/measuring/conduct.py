"""Conduct one trial inside a worker: build, cold call, check, time, check again, price."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from random import Random

from harness.experiment import Trial
from harness.frameworks import Framework
from harness.measuring import alone, cold, device_clock, energy, telemetry
from harness.measuring.building import Building
from harness.measuring.entrant import Entrant, entrants
from harness.measuring.evidence import fewest_pairs
from harness.measuring.leftovers import present
from harness.measuring.measured import Measured, no_baseline
from harness.measuring.referee import Referee
from harness.measuring.scrutiny import Scrutiny
from harness.measuring.spending import Spending
from harness.measuring.stopped import StoppedError
from harness.measuring.stopwatch import Stopwatch
from harness.measuring.windows import Windows
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
        windows: Windows | None = None,
    ) -> None:
        self.trial = trial
        self.plan = trial.plan
        self.framework = framework
        self.stopwatch = Stopwatch(clock, framework.synchronize)
        self.coin = coin or Random()
        self.heard = heard
        self.windows = windows or Windows.blind()
        self.spending = Spending(clock)
        self.building = Building(
            framework, trial.setting.seed, stopwatch=self.stopwatch, spending=self.spending, coin=self.coin
        )
        self.entrants = entrants(trial)
        self.scrutiny = Scrutiny(trial, framework, self.stopwatch, self.coin)
        self.together = 1

    def run(self) -> Measured:
        """Measure the trial and return what became of every arm."""
        with self.spending.on("framework import"), suppress(Exception):  # what does not work, the arms will say
            self.framework.wake()
        before, start = telemetry.look(self.trial.setting.cores), self.stopwatch.clock()
        try:
            for entrant in self.entrants:
                self._prepare(entrant)
            self._without_baseline()
            if not self.plan.rehearse:
                self._contest(self._cold() if self.plan.cold_cache else self.stopwatch)
        finally:
            for entrant in self.entrants:
                entrant.close()
        span_s = self.stopwatch.clock() - start
        timed = any(entrant.samples_s for entrant in self.entrants)  # else whoever asked is still busy
        after = telemetry.look(self.trial.setting.cores) if timed else telemetry.read()
        disturbance, remarks = telemetry.disturbance(before, after, span_s, self.windows.glances)
        disturbance, remarks = disturbance | self.windows.figures(), remarks + self.windows.sentences()
        for entrant in self._standing() if not self.plan.rehearse else ():
            self._price(entrant)
        self._without_baseline()
        return Measured(
            arms=[entrant.record() for entrant in self.entrants],
            samples_s=[entrant.samples_s if entrant.stands else () for entrant in self.entrants],
            log_ratios=[entrant.log_ratios if entrant.stands else () for entrant in self.entrants],
            gains=[entrant.gains if entrant.stands else () for entrant in self.entrants],
            quiet=[entrant.quiet for entrant in self.entrants],
            claims=[entrant.claim for entrant in self.entrants],
            span_s=span_s,
            disturbance=disturbance,
            remarks=remarks,
            spent_s=self.spending.so_far(),
            together=self.together,
            outputs=self.entrants[0].output if self.plan.keep_outputs else [],
            dtypes=self.entrants[0].dtypes if self.plan.keep_outputs else [],
        )

    def _standing(self) -> list[Entrant]:
        return [entrant for entrant in self.entrants if entrant.stands]

    def _prepare(self, entrant: Entrant) -> None:
        """Build an arm, make its cold call, give it up where it cannot finish, and check its output."""
        self.heard(f"{entrant.name}: build")
        with entrant.withdrawing(self.framework):
            self.building.build_elsewhere(entrant)
            self.scrutiny.see_inputs(entrant)
            self.heard(f"{entrant.name}: cold call")
            entrant.items = entrant.built.items
            with self.spending.on("cold calls"):
                entrant.cold_s = self.stopwatch.block_s(entrant.built, 1)
                hopeless = None if self.plan.rehearse else self._hopeless(entrant)
            if hopeless:
                entrant.withdraw("given-up", hopeless)
                return
            self._check(entrant)

    def _check(self, entrant: Entrant) -> None:
        with self.spending.on("checks"):
            self.scrutiny.check(entrant, self._reference(entrant))

    def _reference(self, entrant: Entrant) -> Entrant:
        """Return the first that stands of the arms that must compute the same, which may be the arm itself."""
        if not self.entrants[0].stands:
            return entrant  # nobody is measured without a baseline
        alike = (other for other in self.entrants if other.computes() == entrant.computes())
        return next(other for other in alike if other.stands or other is entrant)

    def _hopeless(self, entrant: Entrant) -> str | None:
        """Return a sentence where not even the fewest pairs fit; a slow cold call alone may be compilation."""
        if entrant.cold_s <= self.plan.budget_s:
            return None
        step_s = self.stopwatch.block_s(entrant.built, 1)
        gains = sum(len(each.lower) > 1 for each in self.entrants)
        pairs = fewest_pairs(self.plan.alpha_each(len(self.entrants) + gains))
        if step_s * pairs <= PATIENCE * self.plan.budget_s:
            return None
        return (
            f"one step takes {seconds(step_s)}, so the {pairs} pairs that a verdict needs would take "
            f"{seconds(step_s * pairs)}, far over the budget of {seconds(self.plan.budget_s)} per arm"
        )

    def _without_baseline(self) -> None:
        baseline, *candidates = self.entrants
        if baseline.stands:
            return
        for candidate in candidates:
            if candidate.stands:
                candidate.withdraw("unavailable", no_baseline(baseline.reason))

    def _cold(self) -> Stopwatch:
        return cold.stopwatch_of(self._standing(), self.framework, self.stopwatch)

    def _contest(self, stopwatch: Stopwatch) -> None:
        """Time the arms that stand, built often enough; start over without an arm that stops."""
        standing = self._standing()
        plan = self.building.plan(self.plan, len(standing))
        while standing:
            referee = Referee(
                stopwatch=stopwatch,
                coin=self.coin,
                plan=plan,
                arms=len(standing),
                below=_rungs_below(standing),
                windows=self.windows,
                count_compilations=self.framework.compilations,
            )
            try:
                while not referee.settled:
                    self._play(referee, standing)
                for index, entrant in enumerate(standing):
                    with StoppedError.naming(index):
                        self._observe(entrant)
                break
            except StoppedError as stopped:
                with standing[stopped.arm].withdrawing(self.framework):
                    raise stopped.error from None
            finally:
                self.spending.add({"warm-up": referee.warmed_s, "timed blocks": referee.timed_s})
            self._without_baseline()
            standing = self._standing()
        if standing:
            self._without_baseline()
            self.together = referee.together
            for index, entrant in enumerate(standing):
                if entrant.stands:
                    entrant.keep(referee, index)
                    self.scrutiny.flag_compilation(entrant, referee, index)
                    if not self.plan.cold_cache:
                        self._read_device_clock(entrant)

    def _play(self, referee: Referee, standing: list[Entrant]) -> None:
        if referee.builds or any(entrant.arm is None for entrant in standing):
            self.building.rebuild(standing, backwards=referee.builds % 2 == 1)
        referee.play([entrant.built for entrant in standing], self.heard)
        for index, entrant in enumerate(standing):
            with StoppedError.naming(index):
                self._check(entrant)

    def _observe(self, entrant: Entrant) -> None:
        if entrant.arm is not None and entrant.arm.observe is not None:
            self.heard(f"{entrant.name}: observe")
            with self.spending.on("price passes"), entrant.arm.entered():
                entrant.observed = dict(entrant.arm.observe())

    def _read_device_clock(self, entrant: Entrant) -> None:
        self.heard(f"{entrant.name}: device clock")
        with entrant.withdrawing(self.framework), self.spending.on("price passes"):
            device_clock.read(entrant, self.framework, self.stopwatch)

    @property
    def _counts_energy(self) -> bool:
        """Whether counting takes no longer than timing, and finds the caches as the timed blocks did."""
        return self.plan.budget_s >= energy.LEAST_S and not self.plan.cold_cache

    def _price(self, entrant: Entrant) -> None:
        """Measure memory, energy and, where the arm asks for it, utilisation, with the arm alone in the process."""
        build = partial(self.building.build, entrant)
        self.heard(f"{entrant.name}: memory")
        with entrant.withdrawing(self.framework), self.spending.on("price passes"):
            bystanders = present()
            try:
                ending = alone.memory(entrant, self.framework, build, self.stopwatch)
                self.scrutiny.judge_end(entrant, ending, bystanders)
                if entrant.stands and self._counts_energy:
                    self.heard(f"{entrant.name}: energy")
                    alone.energy_per_item(entrant, self.stopwatch)
                entrant.close()
            finally:
                self.framework.free()
        if entrant.stands and entrant.watched:
            self.heard(f"{entrant.name}: utilisation")
            with entrant.withdrawing(self.framework), self.spending.on("price passes"):
                alone.use(entrant, self.framework, build, self.stopwatch, cores=self.trial.setting.cores)


def _rungs_below(standing: Sequence[Entrant]) -> dict[int, int]:
    """Return the places of a ladder's rungs with those of the rungs below, without those just above the baseline."""
    below = {place: entrant.below for place, entrant in enumerate(standing)}
    return {place: standing.index(rung) for place, rung in below.items() if rung and rung is not standing[0]}
