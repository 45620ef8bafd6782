"""What a pass under profilers shows of a program: its operators, and facts that point at a cause.

A profile says what to look at, and where; how much a cause costs is measured without a profiler.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, stdev

from accelbench.student_t import quantile

ALPHA = 0.01  # of an interval of a share


@dataclass(frozen=True, kw_only=True)
class StepShare:
    """A share of the time of a step, between ``low`` and ``high`` at 99 %."""

    share: float
    low: float
    high: float

    @classmethod
    def of(cls, shares: Sequence[float]) -> StepShare:
        """Return the mean of the shares of several passes, with its interval."""
        mean = fmean(shares)
        if len(shares) < 2:
            return cls(share=mean, low=0.0, high=1.0)
        reach = quantile(len(shares) - 1, ALPHA) * stdev(shares) / math.sqrt(len(shares))
        return cls(share=mean, low=max(0.0, mean - reach), high=min(1.0, mean + reach))

    @classmethod
    def sum_of(cls, shares: Iterable[StepShare]) -> StepShare:
        """Return the share of several parts together; its interval is that of parts which vary together.

        Parts that overlap, or whose measuring takes time of its own, are all of it at most.
        """
        listed = list(shares)
        return cls(
            share=min(1.0, sum(each.share for each in listed)),
            low=min(1.0, sum(each.low for each in listed)),
            high=min(1.0, sum(each.high for each in listed)),
        )


@dataclass(frozen=True, kw_only=True)
class OperatorTime:
    """An operator, or a function: all of its calls in one iteration.

    ``operations`` and ``moved_bytes`` are the least that it must compute and pass to and from memory, None where that
    is not known. ``precision`` is that of its floating-point inputs, as ceilings call it.
    """

    name: str
    calls: float
    seconds: float
    share: StepShare
    operations: float | None = None
    moved_bytes: float | None = None
    precision: str = ""

    @property
    def is_function(self) -> bool:
        """Whether it is a function of the program's own, which is named with its file and line."""
        return ".py:" in self.name


@dataclass(frozen=True, kw_only=True)
class CallSite:
    """A line of the program, what it calls there, and how often in an iteration."""

    file: str
    line: int
    call: str
    times: float

    def __str__(self) -> str:
        return f"{self.call} in {self.file}:{self.line}"


@dataclass(frozen=True, kw_only=True)
class Compilation:
    """What ``torch.compile`` did in the first iterations: its graph breaks and recompilations, each in a line."""

    breaks: tuple[str, ...] = ()
    recompilations: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What the passes under profilers showed of one iteration.

    Attributes:
        framework: the program's.
        device: the label of the device on which it computes.
        seconds: of an iteration without a profiler.
        items: of an iteration.
        batches: of an iteration.
        batch_size: items of a batch, None where the program decides.
        most: items of an epoch, None where it is unknown.
        is_epoch: whether an iteration is a whole epoch.
        operators: those with most time first.
        outside: the share of the time outside of operators and of loading: the interpreter, and launching.
        outside_is_python: whether that share may be Python's alone, and not that of array operations which no profiler
            of them sees.
        launch_s: the seconds that starting an operation takes, None where nothing tells.
        loading: the share of the time in which the program waits for its loader, None where that is unknown.
        update: the share of the time in the optimizer's step.
        float64: the share of the time in operators that compute in float64.
        threads: as many as PyTorch, or BLAS, uses.
        cores: as many as the process may use.
        workers: loader processes.
        persistent: whether loader processes live on from epoch to epoch.
        pool: processes of a loader that is no ``DataLoader``, such as those of a multiprocessing pool.
        loads: whether the loader is one whose worker processes can be switched.
        draws: whether the program loads in its own process data that draw random numbers, which no thread may do.
        pipeline: what a ``tf.data.Dataset`` does, of ``"map"`` for one after the other, ``"parallel map"``, ``"cache"``
            and ``"prefetch"``; None without one.
        repeats: whether the program's outputs are the same in every run from the same start.
        optimizer: the optimizer's implementation, of a Keras program its class, "" without one.
        tensors: as many as the optimizer updates.
        anomaly: whether autograd's anomaly mode was on.
        readings: the lines that read numbers out of tensors.
        copies: the lines that copy tensors.
        compilation: what torch.compile did; None if it was not used.
        first_s: seconds of the first iteration, with whatever is compiled and started there.
        observed: what the program's arm observes of itself, such as the steps that a gradient scaler skipped.
        page_faults: of an iteration.
        kernels: as many as an iteration starts on an accelerator, None without one.
        device_s: seconds of an iteration in which the accelerator computes or copies, None without one.
        recipes: what a user of the program writes for techniques, where they say something else, as in a ``Program``.
        blind: why a profiler sees nothing, or not all; "" if it sees all.
    """

    framework: str
    device: str
    seconds: float
    items: float
    batches: float = 1
    batch_size: int | None = None
    most: int | None = None
    is_epoch: bool = False
    operators: tuple[OperatorTime, ...] = ()
    outside: StepShare | None = None
    outside_is_python: bool = True
    launch_s: float | None = None
    loading: StepShare | None = None
    update: StepShare | None = None
    float64: StepShare | None = None
    threads: int = 0
    cores: int = 1
    workers: int = 0
    persistent: bool = False
    pool: int = 0
    loads: bool = False
    draws: bool = False
    pipeline: tuple[str, ...] | None = None
    repeats: bool = True
    optimizer: str = ""
    tensors: int = 0
    anomaly: bool = False
    readings: tuple[CallSite, ...] = ()
    copies: tuple[CallSite, ...] = ()
    compilation: Compilation | None = None
    first_s: float = 0.0
    observed: Mapping[str, float] = field(default_factory=dict)
    page_faults: float = 0.0
    kernels: float | None = None
    device_s: float | None = None
    recipes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    blind: str = ""

    @property
    def loader_processes(self) -> int:
        """The processes that load, whoever starts them."""
        return self.workers or self.pool

    @property
    def calls(self) -> float:
        """The number of calls of operators in an iteration."""
        return sum(each.calls for each in self.operators)

    @property
    def call_s(self) -> float:
        """The seconds of a call of an operator on average; infinite where none was recorded."""
        return sum(each.seconds for each in self.operators) / self.calls if self.calls else math.inf

    @property
    def busy(self) -> float | None:
        """The share of an iteration in which the accelerator computes or copies, None where none starts a kernel."""
        return min(1.0, self.device_s / self.seconds) if self.device_s is not None and self.kernels else None

    @cached_property
    def batch_moved_bytes(self) -> float:
        """The bytes that all operators move for a batch."""
        return sum(each.moved_bytes or 0.0 for each in self.operators) / self.batches

    @property
    def caveat(self) -> str:
        """A sentence about what the profiler does not see, "" if it sees all."""
        return f"the profiler does not see all: {self.blind}" if self.blind else ""
