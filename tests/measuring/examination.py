"""Examine an arm beside a baseline: measure the two, and return what the suite says of them."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
from bench import Bench

import accelbench
from accelbench.core import Arm, Build, Plan, Setting, Technique, Trial, Workload
from accelbench.errors import AccelbenchError
from accelbench.measuring import compare
from accelbench.measuring.interference import InterferenceMonitor
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema.reasons import Reason
from accelbench.schema.result import ArmRecord

Door = Literal["trial", "compare"]
Builder = Callable[[Bench], Arm]

# What may disturb a trial on a busy machine says nothing about its arms; and a candidate falls with its baseline.
_NO_ACCUSATION = {
    "no-baseline",
    "other-processes",
    "output-unmoved",
    "shared-cores",
    "slower-than-before",
    "stalled-block",
    "stolen-cores",
    "timing-disturbed",
    "waited-for-core",
}


@dataclass(frozen=True, kw_only=True)
class Examined:
    """What was said of two arms, the baseline first: their records, and the ``codes`` of all reasons and flags.

    A call that was refused has the code ``refused``, one that ended with another error ``raised``.
    """

    arms: tuple[ArmRecord, ...] = ()
    codes: tuple[str, ...] = ()
    wording: tuple[str, ...] = ()

    @property
    def verdict(self) -> str | None:
        """The verdict on the arm that is not the baseline; None if it has none."""
        effect = self.arms[-1].effect if self.arms else None
        return effect.verdict if effect else None

    @property
    def is_accused(self) -> bool:
        """Whether an arm has no speed, or a doubtful one."""
        return bool(self.codes)


@dataclass(kw_only=True)
class Examination:
    """A candidate beside a baseline, and the way in which they are measured.

    With ``swapped``, the candidate's place is the baseline's. Without ``same_output``, the technique computes something
    else at each level by design.
    """

    candidate: Builder
    baseline: Builder
    framework: str = "fake"
    door: Door = "trial"
    swapped: bool = False
    same_output: bool = True
    plan: Plan = field(default_factory=lambda: Plan(budget_s=0.1))

    def of(self, seed: int) -> Examined:
        """Measure both with this seed; the process is left as it was."""
        return self.on(Bench(seed, self.framework))

    def on(self, bench: Bench) -> Examined:
        """Measure both on this bench."""
        with process_restored(bench):
            try:
                return self._compare(bench) if self.door == "compare" else self._measure(bench)
            except AccelbenchError as error:
                return Examined(codes=("refused",), wording=(str(error),))
            except Exception as error:  # the machinery must not fall with an arm
                return Examined(codes=("raised",), wording=(f"{type(error).__name__}: {error}",))

    def _measure(self, bench: Bench) -> Examined:
        def build(_: Setting, *, disguise: str) -> Arm:
            return (self.candidate if disguise == "candidate" else self.baseline)(bench)

        def disguised(build: Build, level: str) -> Arm:
            return build(disguise=level)

        levels = ("candidate", "baseline") if self.swapped else ("baseline", "candidate")
        technique = Technique(
            name="disguise",
            framework=bench.framework.name,
            levels=levels,
            summary="",
            apply=disguised,
            same_output=self.same_output,
        )
        workload = Workload(name="examined", frameworks=(bench.framework.name,), unit="row", summary="", builder=build)
        trial = Trial(
            framework=bench.framework.name,
            workload=workload,
            arms=tuple({"disguise": level} for level in levels),
            techniques=(technique,),
            plan=self.plan,
        )
        measured = TrialRun(trial, bench.framework, clock=bench.clock, coin=Random(bench.seed)).run()
        return _examined(measured.arms, measured.remarks)

    def _compare(self, bench: Bench) -> Examined:
        names = ("candidate", "baseline") if self.swapped else ("baseline", "candidate")
        builders = {"candidate": self.candidate, "baseline": self.baseline}
        arms = {name: builders[name](bench) for name in names}
        records: list[ArmRecord] = []
        noted = compare._candidate  # noqa: SLF001  a result has sentences, and the codes are asked for

        def note(record: ArmRecord, hint: str) -> accelbench.CandidateResult:
            records.append(record)
            return noted(record, hint)

        with (
            patch.object(compare, "perf_counter", bench.clock),
            patch.object(compare, "Random", lambda: Random(bench.seed)),
            patch.object(compare, "InterferenceMonitor", lambda *_: InterferenceMonitor.disabled()),
            patch.object(compare, "_candidate", note),
        ):
            accelbench.compare(
                {name: arm.step for name, arm in arms.items()},
                budget_s=2 * self.plan.budget_s,
                items={name: arm.items for name, arm in arms.items()},
            )
        gc.freeze()  # as before compare, so that no later collection looks through what was imported
        return _examined(records, ())


def _examined(records: list[ArmRecord], remarks: tuple[Reason, ...] | list[Reason]) -> Examined:
    reasons = [record.reason for record in records if record.reason]
    said = [*reasons, *(flag for record in records for flag in record.flags), *remarks]
    return Examined(
        arms=tuple(records),
        codes=tuple(dict.fromkeys(each.code for each in accusations(said))),
        wording=tuple(dict.fromkeys(map(str, accusations(said)))),
    )


def accusations(said: Iterable[Reason]) -> list[Reason]:
    """Return what is said against arms, without what a busy machine may cause: a test by a real clock asks for this."""
    return [each for each in said if each.code not in _NO_ACCUSATION]


@contextmanager
def process_restored(bench: Bench) -> Iterator[None]:
    """Undo what an arm leaves behind in this process."""
    affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    folder, environment = os.getcwd(), dict(os.environ)  # noqa: PTH109  what os.chdir takes back
    errors, printing, switch_s = np.geterr(), np.get_printoptions(), sys.getswitchinterval()
    collecting, thresholds, callbacks = gc.isenabled(), gc.get_threshold(), list(gc.callbacks)
    profiler = sys.getprofile()
    torch = sys.modules.get("torch")
    undo = _torch_undo(torch) if torch else []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as in a user's process, where they stop nothing
            yield
    finally:
        for restore in [*reversed(bench.undo), *undo]:
            restore()
        if sys.getprofile() is not profiler:
            sys.setprofile(profiler)
        gc.callbacks[:] = callbacks
        gc.set_threshold(*thresholds)
        (gc.enable if collecting else gc.disable)()
        sys.setswitchinterval(switch_s)
        np.set_printoptions(**printing)  # type: ignore[arg-type]
        np.seterr(**errors)
        os.environ.clear()
        os.environ.update(environment)
        with suppress(OSError):
            os.chdir(folder)
        if affinity is not None:
            os.sched_setaffinity(0, affinity)


def _torch_undo(torch: Any) -> list[Callable[[], object]]:
    dtype, gradients, threads = torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_num_threads()
    anomaly, precision = torch.is_anomaly_enabled(), torch.get_float32_matmul_precision()
    deterministic = torch.are_deterministic_algorithms_enabled()
    return [
        lambda: torch.set_default_dtype(dtype),
        lambda: torch.set_grad_enabled(gradients),
        lambda: torch.set_num_threads(threads),
        lambda: torch.autograd.set_detect_anomaly(anomaly),
        lambda: torch.set_float32_matmul_precision(precision),
        lambda: torch.use_deterministic_algorithms(deterministic),
    ]
