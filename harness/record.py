"""The waist: what a run leaves behind, as frozen facts that both wings share.

A run is stored under the key ``accelbench`` of pytest-benchmark's JSON. `results/README.md` documents every field.

Schema history:
    1  first version
    2  evidence: where an arm's work ran, what rates it implies, what was found doubtful; where a trial's time went; the
       machine's ceilings; outcomes wrong-work, misplaced and impossible
    3  courses in time: an arm's warm-up, a candidate's ratios in the order in which they were measured
    4  ladders: a rung's speedup over the rung below, with which it was paired too; what a technique is, in a sentence
    5  what a device says: the time of an iteration by its own clock, the energy of an item
    6  a processor's signature, which tells it from another one of the same name
    7  over how many builds of the arms an interval spans
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal

import msgspec

SCHEMA_VERSION = 7
KEY = "accelbench"

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
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]  # bounds that no measurement reaches keep arithmetic finite
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Ratio = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A candidate's speedup over its baseline, per item, with the interval that the verdict rests on.

    ``low`` and ``high`` bound the median paired ratio at confidence ``1 - alpha``; too few pairs leave it
    unbounded, 0 and None. ``paired`` is false where the arms ran in different processes. The interval carries the
    spread between so many fresh ``workers``, or ``builds`` of the arms in one; 1 where it carries none. ``log_ratios``
    are evenly spaced quantiles of the paired log speedups, ``log_ratios_in_order`` the medians of at most 40 stretches
    of them in the order in which they were measured.
    """

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

    @property
    def upper(self) -> float:
        """The interval's upper end, which may be infinite."""
        return math.inf if self.high is None else self.high


@dataclass(frozen=True, kw_only=True)
class Timing:
    """An arm's samples, summarised: evenly spaced quantiles of seconds per iteration, and how they came about.

    ``warmup_s`` are seconds per iteration before the first sample, in order, as medians of at most 40 stretches.
    ``device_s`` are seconds per iteration by the device's own clock, with all of it in the queue before the device
    begins; None where there is no such clock, or the step waits for its device.
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


@dataclass(frozen=True, kw_only=True)
class Price:
    """What an arm costs besides time. ``error`` is relative to the baseline's output; None means not measurable here.

    Memory is measured with the arm alone in its process, from before it was built to the end of its checked steps:
    ``peak_rss_bytes`` is the rise of resident memory, ``allocator_peak_bytes`` the framework allocator's own peak,
    where it keeps one.

    ``energy_j_per_item`` is the energy that the whole device took while the arm alone ran on it, idle draw included:
    ``energy_of`` a ``GPU``, without the host beside it, or the ``CPU``'s packages. None where nothing counts it.
    """

    error: float | None = None
    tolerance: float | None = None
    peak_rss_bytes: int | None = None
    allocator_peak_bytes: int | None = None
    energy_j_per_item: float | None = None
    energy_of: Literal["CPU", "GPU", ""] = ""


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where an arm's work ran: the devices on which its arrays lay, such as ``["cuda:0"]``.

    ``kernels`` counts what one iteration started on accelerators; None where that cannot be counted.
    """

    inputs: list[str]
    parameters: list[str]
    outputs: list[str]
    kernels: Count | None = None


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A rate that an arm's median sample implies, per second, and its share of the ceiling of that name."""

    ceiling: str
    per_s: float
    share: float


@dataclass(frozen=True, kw_only=True)
class ArmRecord:
    """One arm's outcome. ``reason`` is the sentence that says why it was not measured, empty where it was.

    ``flags`` are sentences on what is doubtful about an arm that was measured all the same. ``gain`` is the speedup
    of a ladder's rung over the nearest rung below that stands, the arm at the levels ``gain_over``.
    """

    levels: dict[str, str]
    outcome: Outcome
    reason: str = ""
    items: Annotated[float, msgspec.Meta(ge=0, le=1e18)] | None = None
    timing: Timing | None = None
    price: Price | None = None
    effect: Effect | None = None
    gain: Effect | None = None
    gain_over: dict[str, str] = field(default_factory=dict)
    observed: dict[str, float] = field(default_factory=dict)
    placement: Placement | None = None
    rates: list[Rate] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """One trial: the baseline is the first arm. ``id`` is stable from run to run and machine to machine.

    ``spent_s`` says by kind where the trial's time went, ``technique_summaries`` in a sentence what each technique is.
    """

    id: str
    module: str
    framework: str
    workload: str
    summary: str
    unit: str
    techniques: list[str]
    technique_summaries: dict[str, str] = field(default_factory=dict)
    problem: dict[str, str | int | float | bool]
    fixed: dict[str, str]
    arms: Annotated[list[ArmRecord], msgspec.Meta(min_length=1)]
    span_s: Seconds = 0.0
    disturbance: dict[str, float] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    spent_s: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """The fastest that this machine was seen to do a thing: so many ``unit`` per second, such as bytes or operations.

    ``name`` is one of a device's, such as ``"cpu matrix bf16"`` or ``"cuda:0 memory"``. A rate of memory holds for
    working sets from ``working_set_bytes`` on, up to that of the next one.
    """

    name: str
    per_s: float
    unit: str
    working_set_bytes: float = 0


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU. ``uuid_hash`` tells two of a kind apart without naming either."""

    name: str
    memory_gib: int
    uuid_hash: str = ""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The machine itself: what a change of would make it another machine.

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
    """One ``pytest benchmarks/`` session. ``spent_s`` says by kind where its time went."""

    schema_version: Annotated[int, msgspec.Meta(ge=1)]
    machine: str
    environment: Environment
    settings: dict[str, str | int | float | bool | None]
    trials: list[TrialRecord]
    interrupted: bool = False
    ceilings: list[Ceiling] = field(default_factory=list)
    spent_s: dict[str, float] = field(default_factory=dict)
