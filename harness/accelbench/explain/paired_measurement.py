"""Time a program without parts of it, and with techniques that may help, in pairs with the program as it stands."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from accelbench.core import Levels, OnProgress, register_techniques
from accelbench.errors import Unavailable
from accelbench.explain.parts import ABLATIONS, StepPart, baseline_of, read_part, skip_part
from accelbench.explain.profile import ALPHA, Profile
from accelbench.explain.request import ExplanationRequest
from accelbench.measuring.costs import resources
from accelbench.measuring.workers.pool import Pool
from accelbench.schema import nvml
from accelbench.schema.reasons import Reason
from accelbench.schema.result import ArmRecord

OVERHEAD = 1.6  # times its measuring, that an arm takes with its build and its checks
LEAST_S, MOST_S = 0.5, 12.0  # of an arm
PAIRS = 10  # that an arm gets at least: eight of one sign are the fewest that an interval at 99 % takes
PRECISE = 0.04  # half-width of an interval at which an arm gets no more pairs
ENERGY_TIMES = 8  # as long as an arm's energy is counted, it takes with its build, its checks and its timing
SOON_S = 0.2  # of an iteration, from which parts are taken off
ZONE = 0.02  # speedups within it count as the same
SECOND_SHARE = 0.5  # of the first one's delay: what the second may take, since the first one starts everything


class PairedMeasurement:
    """Measures parts and remedies in pairs with the program as it stands.

    ``item_s`` is the program's time per item, None before the first trial. ``remarks`` are those on each trial.
    """

    def __init__(self, request: ExplanationRequest, pool: Pool, profile: Profile, on_progress: OnProgress) -> None:
        self.item_s: float | None = None
        self.remarks: list[Sequence[Reason]] = []
        self._late_s = 0.0  # that an arm took in the last trial beyond what was planned
        self._profile, self._pool, self._on_progress = profile, pool, on_progress
        self._is_program = request.workload.is_program
        work = request.workload
        self._trial = request.trial
        if work.is_program and request.framework in ABLATIONS:
            technique, builder = ABLATIONS[request.framework]
            register_techniques(technique)  # the pool asks about it in this process, too
            work = replace(work, builder=partial(builder, request.build))
            self._trial = replace(self._trial, workload=work, techniques=(technique,))

    def __call__(
        self,
        parts: Sequence[tuple[str, Levels]],
        budget_s: float,
        *,
        items: float | None = None,
        into: list[StepPart] | None = None,
        latest_s: float | None = None,
        alone_until_s: float | None = None,
    ) -> list[StepPart]:
        """Measure each part in pairs, and return all of them in their order, skipped ones among them.

        Args:
            parts: names, and the levels that take a part off or switch a technique.
            budget_s: seconds for all of them.
            items: those of an iteration; as many as in the profile by default.
            into: the list that is returned; each part is in its place as soon as it is measured.
            latest_s: reading of the monotonic clock; parts that would not be over by then are skipped. By default, the
                end of the budget.
            alone_until_s: a later reading; what is skipped is tried one by one while it is likely to be over by then.

        Raises:
            Unavailable: the program itself does not run.
        """
        found = [] if into is None else into
        found[:] = [skip_part(*part) for part in parts]
        items = items or self._profile.items
        needed_s = self._least_s(items)
        end_s, place = time.monotonic() + budget_s, 0
        while place < len(parts):
            # The very first part has a trial of its own, which shows what an arm takes beyond what was planned. Where
            # the time is up in a later trial, the results of this one are kept.
            start_s, is_first = time.monotonic(), self.item_s is None
            room = int(((latest_s or end_s) - start_s) / (OVERHEAD * needed_s + self._late_s)) - 1
            if room < 1 and not is_first:
                delay_s = self._late_s * (SECOND_SHARE if place == 1 else 1.0)
                if alone_until_s is None or start_s + 2 * (OVERHEAD * needed_s + delay_s) > alone_until_s:
                    break
                room = 1
            group = parts[place : place + (1 if is_first else room)]
            arms_left = len(parts) - place + (2 if is_first and len(parts) > 1 else 1)
            each_s = ((end_s - start_s) / arms_left - self._late_s) / OVERHEAD
            each_s = max(needed_s, min(MOST_S, each_s))
            found[place : place + len(group)] = self._measure_group(group, each_s, items)
            self._late_s = max(0.0, (time.monotonic() - start_s) / (len(group) + 1) - OVERHEAD * each_s)
            place += len(group)
        return found

    def _least_s(self, items: float) -> float:
        """Return how long an arm is timed at least, in seconds, if an iteration has this number of items."""
        return max(LEAST_S, 2 * PAIRS * self._profile.seconds * items / self._profile.items)

    def needed_s(self, after: Profile | None, items: float | None = None) -> float:
        """Return the seconds that pairs with another arm take at least, whose profile is like this one if not known.

        Without ``items``, the iteration is as short as it may be.
        """
        first_s = self._profile.first_s + (after or self._profile).first_s
        return first_s + 2 * OVERHEAD * self._least_s(items or choose_items(self._profile))

    def _measure_group(self, parts: Sequence[tuple[str, Levels]], each_s: float, items: float) -> list[StepPart]:
        """Return the parts as one trial shows them, in which each arm is timed for ``each_s`` seconds.

        Raises:
            Unavailable: the program itself does not run, and has not run before.
        """
        baseline = baseline_of([*parts])
        arms = (baseline, *({**baseline, **levels} for _, levels in parts))
        plan = replace(
            self._trial.plan,
            budget_s=each_s,
            min_span_s=0.0,
            alpha=ALPHA * len(parts),
            noise=ZONE,
            half_width=PRECISE,
            builds=1,
            prices=False,
            visit=1,  # the passes of a first visit measure what is no time
        )
        setting = self._trial.setting
        if self._is_program:
            setting = replace(setting, items=items, compares_outputs=self._profile.repeats)
        trial = replace(self._trial, arms=arms, plan=plan, setting=setting)
        measured = self._pool.measure(trial, on_progress=self._on_progress)
        self.remarks.append(measured.remarks)
        own = measured.arms[0]
        if own.outcome != "measured" or own.timing is None:
            name = "your program" if self._is_program else self._trial.workload
            why = f"{name} was not measured: {own.outcome}: {own.reason}"
            if self.item_s is None:
                raise Unavailable(why)
            return [replace(skip_part(*part), reason=why) for part in parts]
        if self.item_s is None:
            self.item_s = own.timing.median_s / (own.items or items)
        return [read_part(name, levels, arm) for (name, levels), arm in zip(parts, measured.arms[1:], strict=True)]

    def count_energy(self, remedies: Sequence[StepPart], end_s: float) -> tuple[float | None, list[StepPart]]:
        """Return the joules of an item of the program as it stands, and the remedies that help with theirs.

        Nothing is counted where the device has no counter, or where less time is left than that takes.
        """
        known = [*remedies]
        helping = [place for place, each in enumerate(known) if each.effect is not None and each.effect.low > 1]
        needed_s = ENERGY_TIMES * resources.COUNTED_LEAST_S * (1 + len(helping))
        if not counts_energy(self._profile.device) or time.monotonic() + needed_s > end_s:
            return None, known
        self._on_progress("energy")
        baseline = baseline_of([(known[place].name, known[place].levels) for place in helping])
        trial = replace(
            self._trial,
            arms=(baseline, *({**baseline, **known[place].levels} for place in helping)),
            plan=replace(self._trial.plan, budget_s=resources.COUNTED_LEAST_S, builds=1, min_span_s=0.0),
        )
        own, *others = self._pool.measure(trial, on_progress=self._on_progress).arms
        for place, arm in zip(helping, others, strict=True):
            known[place] = replace(known[place], item_j=_item_j(arm))
        return _item_j(own), known


def counts_energy(device: str) -> bool:
    """Return whether this machine counts the energy of a kind of device, such as ``cuda``."""
    gpus = {gpu.uuid for gpu in nvml.gpus()} if device != "cpu" else set()
    return resources.meter_of("GPU" if gpus else "CPU", gpus).counts


def _item_j(arm: ArmRecord) -> float | None:
    return arm.price.energy_j_per_item if arm.price else None


def choose_items(profile: Profile) -> float:
    """Return the items of an iteration that gives pairs soon: fewer where no loader process must be kept busy."""
    if profile.workers:
        return profile.items
    batches = max(1, int(SOON_S / (profile.seconds / profile.batches)))
    return min(profile.items, batches * profile.items / profile.batches)
