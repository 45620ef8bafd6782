"""The result of a run as frozen facts: what measuring stores and everything else reads.

A run is stored under the key ``accelbench`` of pytest-benchmark's JSON. `results/README.md` documents every field.

Schema history:
    1  first version
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Annotated, Literal

import msgspec

from accelbench.schema.reasons import Reason

SCHEMA_VERSION = 1
KEY = "accelbench"
AS_IS = "as-is"  # the level at which a technique is not applied: the baseline where a user's program is measured
ADDS = "+"  # begins the name of a ladder's level, which adds something to the level before it
SEVERAL, PYTHON_LOOPS = "several together", "Python loops"
GROUPS = (  # under which reports show techniques, in the order in which people ask for them; others come after them
    "device", "array library", "precision", "batch size", "input pipeline", "copies", "compilation", "memory",
    "threads", "overlap", "kernels", "model files", SEVERAL,
)  # fmt: skip


def rank_spending(spent_s: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """Return what time was spent on, with its seconds and its share of all of it, the largest share first."""
    total_s = sum(spent_s.values()) or 1.0
    ordered = sorted(spent_s.items(), key=lambda item: item[1], reverse=True)
    return [(kind, seconds, seconds / total_s) for kind, seconds in ordered]


def join_groups(groups: Iterable[str]) -> str:
    """Return the heading of techniques that are switched together, given the heading of each."""
    headings = set(groups)
    if PYTHON_LOOPS in headings:
        return PYTHON_LOOPS
    return headings.pop() if len(headings) == 1 else SEVERAL


Verdict = Literal["faster", "slower", "same", "undecided"]
Outcome = Literal[
    "measured",
    "unavailable",
    "given-up",
    "out-of-memory",
    "wrong-output",
    "wrong-work",
    "misplaced",
    "impossible",
    "failed",
    "crashed",
    "hung",
]
OUT_OF_REACH: tuple[Outcome, ...] = ("unavailable", "given-up")  # of this machine or budget, which is no arm's fault
SKIPPED: tuple[Outcome, ...] = (*OUT_OF_REACH, "out-of-memory")  # outcomes that skip a test; all others fail it
WORKER_LOST: tuple[Outcome, ...] = ("crashed", "hung")  # the worker process was lost with the arm
DISBELIEVED: tuple[Outcome, ...] = ("wrong-output", "wrong-work", "misplaced", "impossible")  # it ran, to no avail
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]  # bounds that no measurement reaches keep arithmetic finite
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Ratio = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


@dataclass(frozen=True, kw_only=True)
class VisitEffect:
    """What one visit of the trial, by its number, showed of an effect: the median log speedup of its pairs.

    ``in_interval`` is false where the interval leaves the visit out, since it was odd.
    """

    visit: Count
    log_speedup: float
    pairs: Count
    in_interval: bool = True


@dataclass(frozen=True, kw_only=True)
class Effect:
    """An arm's speedup over another arm of its trial, per item, with the interval that the verdict rests on.

    ``against`` holds the levels of the other arm. ``low`` and ``high`` bound the median paired ratio at confidence
    ``1 - alpha``; too few pairs leave it unbounded, 0 and None. ``paired`` is false where the arms ran in different
    processes. The interval carries the spread between ``workers`` fresh processes, or between ``builds`` of the arms in
    them; 1 where it carries none. ``log_ratios`` are evenly spaced quantiles of the paired log speedups,
    ``log_ratios_in_order`` the medians of about 40 stretches of them in the order in which they were measured, the same
    number in every visit and in each of its builds. ``visits`` are those that measured the effect, in order; the
    interval may leave out odd ones. It also carries the spread between this run and ``earlier_runs`` of the same
    machine and configuration. The speedup is the mean of this run and ``joined_runs`` of those, each with the same
    weight.
    """

    against: dict[str, str]
    speedup: Ratio
    low: Ratio
    high: Ratio | None
    verdict: Verdict
    pairs: Count
    paired: bool = True
    workers: Count = 1
    builds: Count = 1
    log_ratios: tuple[float, ...] = ()
    log_ratios_in_order: tuple[float, ...] = ()
    visits: tuple[VisitEffect, ...] = ()
    earlier_runs: Count = 0
    joined_runs: Count = 0

    def __post_init__(self) -> None:
        """Refuse an interval whose ends are the wrong way round.

        Raises:
            ValueError: they are.
        """
        if self.high is not None and self.low > self.high:
            raise ValueError(f"low {self.low:g} is above high {self.high:g}")

    @property
    def of_this_run(self) -> tuple[float, float, float]:
        """The log of the speedup that this run alone shows, and the ends of its interval, which may be infinite."""
        low, high = math.log(self.low) if self.low > 0 else -math.inf, math.log(self.upper)
        centre = math.log(self.speedup) if self.speedup > 0 else -math.inf
        visits = [visit.log_speedup for visit in self.visits if visit.in_interval]
        if not self.joined_runs or not visits:
            return centre, low, high
        own, wider = fmean(visits), math.sqrt(1 + self.joined_runs)
        return own, own - wider * (centre - low), own + wider * (high - centre)

    @property
    def upper(self) -> float:
        """The interval's upper end, which may be infinite."""
        return math.inf if self.high is None else self.high


@dataclass(frozen=True, kw_only=True)
class Timing:
    """An arm's samples, summarised: evenly spaced quantiles of seconds per iteration, and how they came about.

    ``warmup_s`` are seconds per iteration before the first sample, in order, as medians of at most 40 stretches.
    ``device_s`` are seconds per iteration by the device's own clock, with all of it in the queue before the device
    begins; None if there is no such clock, or the step waits for its device. They contain ``events_s``, the seconds
    that this clock shows for no work at all. ``page_faults`` are the minor page faults of the worker in an iteration:
    pages that the system hands out anew.
    """

    median_s: Seconds
    quantiles_s: tuple[Seconds, ...]
    blocks: Count
    iterations_per_block: Count
    cold_s: Seconds
    build_s: Seconds
    warmup_blocks: Count
    warmup_settled: bool
    warmup_s: tuple[Seconds, ...] = ()
    device_s: Seconds | None = None
    page_faults: Annotated[float, msgspec.Meta(ge=0, le=1e15)] | None = None
    events_s: Seconds | None = None

    def quantile(self, share: float) -> float:
        """Return a quantile of the samples, between the two nearest of those that are known."""
        place, beyond = divmod(share * (len(self.quantiles_s) - 1), 1)
        low, high = self.quantiles_s[int(place)], self.quantiles_s[min(int(place) + 1, len(self.quantiles_s) - 1)]
        return low + beyond * (high - low)


@dataclass(frozen=True, kw_only=True)
class Price:
    """What an arm costs besides time. ``error`` is relative to the baseline's output; None means not measurable here.

    ``repeats_within`` is the relative difference between the arm's own outputs after two resets, 0 where they are equal
    bit for bit.

    Memory is measured with the arm alone in its process, from before it was built to the end of its checked steps:
    ``peak_rss_bytes`` is the rise of resident memory, ``allocator_peak_bytes`` the framework allocator's own peak,
    where it keeps one.

    ``energy_j_per_item`` is the energy that the whole device took while the arm alone ran on it, idle draw included:
    ``energy_of`` a ``GPU``, without the host beside it, or the ``CPU``'s packages. None if nothing counts it.
    """

    error: float | None = None
    tolerance: float | None = None
    repeats_within: float | None = None
    peak_rss_bytes: int | None = None
    allocator_peak_bytes: int | None = None
    energy_j_per_item: float | None = None
    energy_of: Literal["CPU", "GPU", ""] = ""


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where an arm's work ran: the devices on which its arrays lay, such as ``["cuda:0"]``.

    ``kernels`` counts what one iteration started on accelerators; None if they cannot be counted. ``allocations``
    are the accelerators on which one iteration allocated memory, as far as a framework's allocator shows it.
    """

    inputs: list[str]
    parameters: list[str]
    outputs: list[str]
    kernels: Count | None = None
    allocations: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A rate that an arm's median sample implies, per second, and its share of the ceiling of that name."""

    ceiling: str
    per_s: float
    share: float


@dataclass(frozen=True, kw_only=True)
class ArmRecord:
    """One arm's outcome. ``reason`` says why the arm was not measured; None if it was.

    ``recipe`` holds the lines of code that a user writes to have the arm instead of its baseline, where its techniques
    say so. ``flags`` are doubts about an arm that was measured. ``effects`` hold one effect for each contrast of the
    arm: the first is against the baseline; a rung of a ladder has a second one against the nearest rung below that was
    measured, unless that is the baseline.
    """

    levels: dict[str, str]
    outcome: Outcome
    reason: Reason | None = None
    items: Annotated[float, msgspec.Meta(ge=0, le=1e18)] | None = None
    timing: Timing | None = None
    price: Price | None = None
    effects: list[Effect] = field(default_factory=list)
    observed: dict[str, float] = field(default_factory=dict)
    placement: Placement | None = None
    rates: list[Rate] = field(default_factory=list)
    flags: list[Reason] = field(default_factory=list)
    recipe: list[str] = field(default_factory=list)

    @property
    def effect(self) -> Effect | None:
        """The effect against the baseline; None for the baseline and for an arm that was not measured."""
        return self.effects[0] if self.effects else None

    def effect_over(self, levels: Mapping[str, str]) -> Effect | None:
        """Return the effect against the arm at these levels, None if the two were not compared."""
        return next((effect for effect in self.effects if effect.against == levels), None)


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One visit of a trial: a fresh build of its arms in a fresh worker, and the state of the machine meanwhile.

    ``begun_s`` are seconds since the run began, ``span_s`` is how long the visit took. ``core_latency_s`` is the time
    that a cache line took from one core to another, ``slowdown`` that of reference work as a multiple of the shortest
    ever seen on this machine; the greater of the readings before and after the visit, None where nothing can be read.
    ``odd`` says what sets the visit apart from others: effects then rest on the other visits, where there are enough.
    ``is_repetition`` says that the visit was made because an earlier one was odd.
    """

    begun_s: Seconds
    core_latency_s: Seconds | None = None
    slowdown: Ratio | None = None
    odd: list[Reason] = field(default_factory=list)
    span_s: Seconds | None = None
    is_repetition: bool = False


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """One trial: the baseline is the first arm. ``id`` is stable from run to run and machine to machine.

    ``technique_summaries`` describe each technique in a sentence, ``technique_aliases`` are what else people call them,
    ``technique_groups`` are the headings under which reports show them.
    ``remarks`` are what may have disturbed the trial.
    ``spent_s`` are the seconds that the trial took, by kind. ``visits`` are numbered from 0 by the effects.
    """

    id: str
    module: str
    framework: str
    workload: str
    summary: str
    unit: str
    techniques: list[str]
    technique_summaries: dict[str, str] = field(default_factory=dict)
    technique_aliases: dict[str, list[str]] = field(default_factory=dict)
    technique_groups: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)  # of each technique: "switch", "sweep", "device" or "ablation"
    problem: dict[str, str | int | float | bool]
    fixed: dict[str, str]
    arms: Annotated[list[ArmRecord], msgspec.Meta(min_length=1)]
    span_s: Seconds = 0.0
    disturbance: dict[str, float] = field(default_factory=dict)
    remarks: list[Reason] = field(default_factory=list)
    spent_s: dict[str, float] = field(default_factory=dict)
    visits: list[Visit] = field(default_factory=list)

    def step(self, arm: ArmRecord) -> Effect | None:
        """Return the effect of a ladder's rung against the nearest measured rung below; None for any other arm."""
        place = next(place for place, other in enumerate(self.arms) if other.levels == arm.levels)
        for technique in [name for name, level in arm.levels.items() if level.startswith(ADDS)]:
            alike = [
                other for other in self.arms[:place] if {**other.levels, technique: arm.levels[technique]} == arm.levels
            ]
            below = [other for other in alike if other.outcome == "measured"]
            return arm.effect_over(below[-1].levels) if below else None
        return None


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """The highest rate that this machine reached: ``per_s`` of ``unit``, such as bytes or operations, per second.

    ``name`` is a device and what it does, such as ``"cpu matrix bf16"`` or ``"cuda:0 memory"``. A rate of memory holds
    for working sets from ``working_set_bytes`` up to that of the next ceiling.
    """

    name: str
    per_s: float
    unit: str
    working_set_bytes: float = 0


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU, or a slice of one. ``uuid_hash`` distinguishes GPUs of one model without disclosing which they are.

    A slice (MIG) has its own memory and number of ``multiprocessors``, which is 0 for a whole GPU. Its hash is that of
    the whole GPU.
    """

    name: str
    memory_gib: int
    multiprocessors: int = 0
    uuid_hash: str = ""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The machine itself: a change of any of this makes it another machine.

    ``cpu_signature`` is family, model and stepping of an x86 processor, implementer, part and variant of an Arm one.
    """

    cpu_model: str
    cpu_signature: str = ""
    cpu_cores: int
    memory_gib: int
    gpus: list[Gpu] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The fingerprint of hardware and software under which a run was made (identity, configuration, readings)."""

    identity: Identity
    configuration: dict[str, str] = field(default_factory=dict)
    readings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One ``pytest benchmarks/`` session. ``spent_s`` are the seconds that it took, by kind."""

    schema_version: Annotated[int, msgspec.Meta(ge=1)]
    machine: str
    environment: Environment
    settings: dict[str, str | int | float | bool | None]
    trials: list[TrialRecord]
    interrupted: bool = False
    ceilings: list[Ceiling] = field(default_factory=list)
    spent_s: dict[str, float] = field(default_factory=dict)
