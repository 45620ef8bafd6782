"""The result of one trial: the records of its arms, the raw samples, and where the time went."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from accelbench.core import Contrast, Trial, Work
from accelbench.schema.reasons import Reason, reason
from accelbench.schema.result import ArmRecord, Outcome

if TYPE_CHECKING:  # pytest sessions that measure nothing import this module
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class StatedWork:
    """What an arm must at least do in an iteration, and on which device; None where that is not known.

    ``any_precision``: a technique lets it compute in another precision than its work states.
    """

    work: Work
    device: str | None = None
    any_precision: bool = False

    @property
    def is_something(self) -> bool:
        """Whether any amount of work is stated."""
        work = self.work
        amounts = work.operations, work.memory_bytes, work.to_device_bytes, work.from_device_bytes, work.disk_bytes
        return any(amounts)

    def of_another_arm(self, *, device: str | None, any_precision: bool) -> StatedWork:
        """Return what an arm must at least do that states nothing, if it must compute the same as the arm of this work.

        What is sent to a device or read from a disk is left out, since a technique may keep it where it is needed, and
        so are bytes of memory in another precision, which may be fewer.
        """
        memory_bytes = 0.0 if any_precision else self.work.memory_bytes
        work = Work(
            operations=self.work.operations,
            saving=self.work.saving,
            memory_bytes=memory_bytes,
            precision=self.work.precision,
        )
        return StatedWork(work=work, device=device, any_precision=any_precision)


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """The paired log speedups of one contrast, and whether each pair was undisturbed.

    ``build_starts`` are the places of the first pair of each build of the arms but the first.
    """

    log_ratios: tuple[float, ...]
    undisturbed: tuple[bool, ...]
    build_starts: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """One measured trial.

    ``samples_s`` and ``stated_work`` have an entry for each of the ``arms``: the seconds per iteration of each of its
    blocks, empty where it was not measured, and the work that it states, None where it states none. ``pairs`` holds
    the paired log speedups of each contrast between arms that were measured. ``outputs`` are the first arm's checked
    arrays and ``dtypes`` their types, where the plan asks for them. ``spent_s`` are the worker's seconds by kind.
    ``changes_process`` says that the process is not as the trial found it, so that the next one needs another.
    """

    arms: list[ArmRecord]
    samples_s: list[tuple[float, ...]]
    pairs: dict[Contrast, Pairs] = field(default_factory=dict)
    outputs: list[np.ndarray] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    stated_work: list[StatedWork | None] = field(default_factory=list)
    span_s: float = 0.0
    disturbance: dict[str, float] = field(default_factory=dict)
    remarks: list[Reason] = field(default_factory=list)
    spent_s: dict[str, float] = field(default_factory=dict)
    changes_process: bool = False

    @classmethod
    def nothing(cls, trial: Trial, outcome: Outcome, reason: Reason | None) -> TrialResult:
        """Return a trial in which all arms have this outcome and no samples, but for those that are settled."""
        settled = trial.settled_places
        arms = [
            ArmRecord(levels=levels, outcome="measured")
            if place in settled
            else ArmRecord(levels=levels, outcome=outcome, reason=reason)
            for place, levels in enumerate(trial.arms)
        ]
        return cls(arms=arms, samples_s=[()] * len(arms))

    @property
    def compares_outputs(self) -> bool:
        """Whether outputs are compared, as they are not of a program that was found not to repeat itself."""
        return all(remark.code != "program-differs" for remark in self.remarks)


def no_baseline(baseline: ArmRecord) -> Reason:
    """Return why a candidate has no speed if its baseline has none."""
    return reason("no-baseline", cause=baseline.reason or reason("message", message=baseline.outcome))


OVERHEAD = "overhead"


class TimeLedger:
    """Seconds by kind since it was made. Times are exclusive: a nested kind's time is not charged to the outer one.

    The kinds are ``framework import``, ``build``, ``cold calls``, ``warm-up``, ``timed blocks``, ``price passes``,
    ``energy``, ``placement proof`` in a worker of its own, ``checks``, ``examination`` of timed steps, ``ceilings``,
    ``lost workers``, ``waiting`` for another run to end, and ``overhead`` for the rest: processes, messages, judging,
    pytest.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._start = self._since = clock()
        self._spent_s: dict[str, float] = {}
        self._within: list[str] = []

    @contextmanager
    def charge(self, kind: str) -> Iterator[None]:
        """Charge the time within to this kind."""
        self._charge()
        self._within.append(kind)
        try:
            yield
        finally:
            self._charge()
            self._within.pop()

    def add(self, spent_s: Mapping[str, float]) -> None:
        """Charge seconds that were measured elsewhere to their kinds, and not to the kind that is open."""
        for kind, seconds in spent_s.items():
            self._spent_s[kind] = self._spent_s.get(kind, 0.0) + seconds
        if self._within:
            self._spent_s[self._within[-1]] = self._spent_s.get(self._within[-1], 0.0) - sum(spent_s.values())

    def total(self) -> dict[str, float]:
        """Return the seconds by kind; their sum is all the time that has passed."""
        self._charge()
        rest_s = self._clock() - self._start - sum(self._spent_s.values())
        return self._spent_s | {OVERHEAD: self._spent_s.get(OVERHEAD, 0.0) + max(0.0, rest_s)}

    def since(self, earlier: Mapping[str, float]) -> dict[str, float]:
        """Return the seconds by kind since ``total`` returned ``earlier``."""
        later = self.total()
        spent_s = {kind: seconds - earlier.get(kind, 0.0) for kind, seconds in later.items()}
        return {kind: seconds for kind, seconds in spent_s.items() if seconds > 0}

    def _charge(self) -> None:
        now = self._clock()
        if self._within:
            kind = self._within[-1]
            self._spent_s[kind] = self._spent_s.get(kind, 0.0) + now - self._since
        self._since = now


def sum_seconds(spent_s: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the sum of seconds by kind."""
    total = Counter[str]()
    for each in spent_s:
        total.update(each)
    return dict(total)


def round_seconds(spent_s: Mapping[str, float]) -> dict[str, float]:
    """Return seconds by kind to a tenth of a millisecond."""
    return {kind: round(seconds, 4) for kind, seconds in spent_s.items()}
