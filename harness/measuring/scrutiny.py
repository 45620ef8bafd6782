"""What an arm must stand before and after its timing: wrong answers and wrong work have no speed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from harness.experiment import Trial
from harness.frameworks import Framework
from harness.measuring import check, placement
from harness.measuring.entrant import Entrant
from harness.measuring.leftovers import Ending, leftovers
from harness.measuring.probes import Probe
from harness.measuring.referee import Referee
from harness.measuring.stopwatch import Stopwatch
from harness.record import Outcome
from harness.units import plural, seconds

PROBE_S = 0.03  # an arm whose inputs were changed for so long is not asked again
STALL_S = 0.25  # a container that has used up its share of the processor waits for less than this
STALL_TIMES = 20


class Scrutiny:
    """Looks at the arms of one trial whenever they were built or timed, and withdraws those that do not stand it."""

    def __init__(self, trial: Trial, framework: Framework, stopwatch: Stopwatch, coin: Random) -> None:
        self.trial = trial
        self.framework = framework
        self.stopwatch = stopwatch
        self.coin = coin

    def see_inputs(self, entrant: Entrant) -> None:
        """Keep what the arm's inputs are before its first step."""
        entrant.fingerprint = Probe(entrant.built, self.framework, self.coin).fingerprint()

    def check(self, entrant: Entrant, reference: Entrant) -> None:
        """Check an arm's output against its reference's, that it comes of its inputs, and where it was computed."""
        arm, first = entrant.built, not entrant.output
        with arm.entered():
            output = check.run(arm, self.framework)
            values = self.framework.to_host(output)
        probe = Probe(arm, self.framework, self.coin)
        if first:
            entrant.dtypes = [leaf.dtype for leaf in placement.leaves(self.framework, output)]
            self._withdraw(entrant, "wrong-work", probe.changed(entrant.fingerprint) or probe.constant())
            self._place(entrant, output)
        self._withdraw(entrant, "wrong-output", self._wrong_output(entrant, reference, values))
        if first:
            self._withdraw(entrant, "wrong-work", self._wrong_type(entrant, reference))
        entrant.output = entrant.output or values
        if entrant.stands and entrant.probe_s < PROBE_S:
            start = self.stopwatch.clock()
            self._withdraw(entrant, "wrong-work", probe.objection(values, last=first))
            entrant.probe_s += self.stopwatch.clock() - start

    def judge_end(self, entrant: Entrant, ending: Ending, bystanders: Collection[int]) -> None:
        """Check, with the arm alone in the process, that its steps leave no work behind, and where they worked."""
        arm = entrant.built
        left = leftovers(ending, lambda: Ending(arm, self.framework, self.stopwatch), bystanders)
        if entrant.placement is not None:
            with arm.entered():
                kernels = self.framework.kernels(arm.step)
            entrant.placement = replace(entrant.placement, kernels=kernels)
            self._withdraw(entrant, "misplaced", placement.contradiction(entrant.label, entrant.placement))
            if doubt := placement.unproven(entrant.label, entrant.placement):
                entrant.flags.append(doubt)
        self._withdraw(entrant, "wrong-work", left)
        peak_bytes = entrant.price.allocator_peak_bytes
        self._withdraw(entrant, "impossible", placement.too_little_memory(entrant.resident_bytes, peak_bytes))

    def flag_compilation(self, entrant: Entrant, referee: Referee, place: int) -> None:
        """Say where an arm's samples may hold compilation: graphs were made, or a block took far too long."""
        if referee.compilations:
            made = plural(referee.compilations, "graph")
            entrant.flags.append(f"compiled during the timed blocks of this trial: {made}")
        longest = int(np.argmax(entrant.samples_s))
        times = entrant.samples_s[longest] / referee.median_s(place)
        took_s = entrant.samples_s[longest] * referee.iterations[place]
        if times > STALL_TIMES and took_s > STALL_S and referee.quiet(place)[longest]:
            entrant.flags.append(
                f"one block took {seconds(took_s)}, {times:.0f} times the median, while nothing disturbed the machine: "
                "something was compiled or loaded inside the window"
            )

    def _wrong_output(self, entrant: Entrant, reference: Entrant, output: list[np.ndarray]) -> str | None:
        """Check the output for itself, then first against the reference's, later against the arm's own first one."""
        if not entrant.stands:
            return None
        if wrong := check.fault(output) or entrant.built.verify(output):
            return wrong
        if entrant.output:
            drift = check.relative_error(output, entrant.output)
            return check.too_far(drift, max(entrant.tolerance, entrant.rounding), "its own output before the timing")
        if entrant is reference:
            return None
        error = check.relative_error(output, reference.output)
        entrant.price = replace(entrant.price, error=error, tolerance=entrant.tolerance)
        return check.off_baseline(error, entrant.tolerance)

    def _wrong_type(self, entrant: Entrant, reference: Entrant) -> str | None:
        if entrant is reference or not entrant.exact or not entrant.stands:
            return None
        return check.other_types(entrant.dtypes, reference.dtypes)

    def _place(self, entrant: Entrant, output: Any) -> None:
        if not entrant.stands:
            return
        arm = entrant.built
        entrant.label = placement.label_of({**self.trial.fixed, **entrant.levels}.get("device", arm.device))
        entrant.placement = placement.seen(arm, self.framework, output)
        entrant.resident_bytes = placement.resident_bytes(arm, self.framework)
        self._withdraw(entrant, "misplaced", placement.contradiction(entrant.label, entrant.placement))

    @staticmethod
    def _withdraw(entrant: Entrant, outcome: Outcome, sentence: str | None) -> None:
        if sentence and entrant.stands:
            entrant.withdraw(outcome, sentence)
