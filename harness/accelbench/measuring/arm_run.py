"""The state of one arm of a trial on its way through building, checking and timing, and its random layout in memory.

Where arrays lie can make the same code faster or slower by some per cent, on some processors by 40 %. Freed memory is
handed out again at the same place, so an arm that is merely built again would keep its layout (Curtsinger and Berger
2013, "Stabilizer: statistically sound performance evaluation").
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from traceback import clear_frames
from typing import TYPE_CHECKING

import numpy as np

from accelbench.core import (
    AS_IS,
    ROUNDING,
    Arm,
    Build,
    Ladder,
    Levels,
    Plan,
    Technique,
    Trial,
    Work,
    apply_all,
    find_technique,
    find_workload,
    register_techniques,
)
from accelbench.errors import AccelbenchError, BadInput, LazyOutput, Unavailable, place_of
from accelbench.frameworks import Framework, load
from accelbench.frameworks.protocol import FRAMEWORKS
from accelbench.measuring.checks import claims
from accelbench.measuring.referee import Referee, StoppedError, Stopwatch
from accelbench.measuring.statistics import effect_of, in_order, quantiles
from accelbench.measuring.trial_result import StatedWork, TimeLedger
from accelbench.schema.reasons import Reason, message_line, reason, reason_of
from accelbench.schema.result import ArmRecord, Effect, Outcome, Placement, Price, Timing
from accelbench.sigint import is_ctrl_c
from accelbench.text import format_levels

if TYPE_CHECKING:
    from accelbench.measuring.checks.parameters import Learning

# PyTorch's mode reduce-overhead compiles in the first call and records its CUDA graphs in the second, and a model that
# learns has two graphs: https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html.
COMPILED_WARM_CALLS = 3
_SKIPS = ("Skipped", "SkipTest")  # what pytest.skip, pytest.importorskip and unittest raise


@dataclass(kw_only=True)
class ArmRun:
    """One arm's state within a trial: it is measured until it fails for a reason.

    The outputs of arms whose ``computes`` agree may differ by ``tolerance``: the sum of what the switched techniques
    allow, and of those fixed techniques that round coarsely, since they may do so in another order. Where ``exact``,
    the dtypes must be the same too. ``rounding`` is the largest tolerance of any of its techniques; by this much its
    output may differ from call to call, where kernels add up in another order each time. Where it ``widens``,
    tolerances grow with the difference that two resets of it show. ``warm_calls`` is the number of calls after the
    first one until it may be called too slow. ``smaller`` are earlier arms that differ from it only by taking less
    memory. ``iterations`` is how many its blocks had in an earlier visit, 0 where there was none. Where ``is_settled``,
    earlier visits suffice and it is not measured.

    ``objection`` is what its timed steps showed, which takes effect when it is checked next. ``timed_output`` is the
    output of the checked steps in a timed block, ``learning`` what they changed in its parameters. ``asks_again`` says
    that its output may no longer depend on its inputs. ``draws_otherwise`` says that it draws other random numbers than
    the arms that compute the same. ``device_s`` and ``events_s`` are those of its timing. ``collector_callbacks`` came
    with it into the process.
    """

    levels: Levels
    build: Callable[[], Arm]
    tolerance: float
    computes: Callable[[], tuple[str, ...]]
    exact: bool = True
    rounding: float = ROUNDING
    widens: bool = True
    warm_calls: int = 1
    smaller: Sequence[ArmRun] = ()
    iterations: int = 0
    is_settled: bool = False
    outcome: Outcome = "measured"
    reason: Reason | None = None
    arm: Arm | None = None
    output: list[np.ndarray] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    fingerprint: Sequence[int] = ()
    probe_s: float = 0.0
    label: str | None = None
    resident_bytes: int = 0
    items: float | None = None
    build_s: float = 0.0
    cold_s: float = 0.0
    device_s: float | None = None
    events_s: float | None = None
    timing: Timing | None = None
    price: Price = field(default_factory=Price)
    effects: list[Effect] = field(default_factory=list)
    samples_s: tuple[float, ...] = ()
    observed: dict[str, float] = field(default_factory=dict)
    watched: bool = False
    work: Work | None = None
    placement: Placement | None = None
    flags: list[Reason] = field(default_factory=list)
    remarks: list[Reason] = field(default_factory=list)
    objection: tuple[Outcome, Reason] | None = None
    timed_output: list[np.ndarray] | None = None
    learning: Learning | None = None
    asks_again: bool = False
    draws_otherwise: bool = False
    collector_callbacks: list[Callable[..., object]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The levels in words, such as ``amp bf16``."""
        switched = {name: level for name, level in self.levels.items() if level != AS_IS}
        return format_levels(switched) or ("your program" if self.levels else "")

    @property
    def ok(self) -> bool:
        """Whether it is to be measured and has not failed so far."""
        return self.outcome == "measured" and not self.is_settled

    @property
    def was_examined(self) -> bool:
        """Whether an examination of its timed steps has left something to check."""
        return self.timed_output is not None or self.objection is not None

    @property
    def stated_work(self) -> StatedWork | None:
        """What its speed is compared with the machine's ceilings by; None where its workload states no work."""
        if self.work is None:
            return None
        return StatedWork(work=self.work, device=self.label, any_precision=self.rounding > ROUNDING)

    @property
    def built(self) -> Arm:
        """The built arm."""
        assert self.arm is not None, f"{self.name} is used before it was built"
        return self.arm

    def fail(self, outcome: Outcome, why: Reason) -> None:
        """Take it out of the trial."""
        self.outcome, self.reason = outcome, why
        self.close()

    def close(self) -> None:
        """Dispose of the built arm, which fails where that raises, unless it has failed already."""
        if self.arm is None:
            return
        arm, self.arm = self.arm, None
        try:
            arm.close()
        except BaseException as error:
            if is_ctrl_c(error):
                raise
            if self.ok:
                why = reason("raised-in-close", type=type(error).__name__, message=message_line(error))
                self.outcome, self.reason = "failed", why

    @contextmanager
    def failing(self, framework: Framework) -> Iterator[None]:
        """Turn an exception into its recorded outcome."""
        try:
            yield
        except (Unavailable, ImportError) as error:  # a library that a framework loads late may be missing
            self.fail("unavailable", reason_of(error))
        except LazyOutput as error:
            self.fail("wrong-work", reason_of(error))
        except AccelbenchError as error:
            self.fail("failed", reason_of(error))
        except BaseException as error:
            if is_ctrl_c(error):
                raise
            self.fail(*self._outcome_of(error, framework))
            clear_frames(error.__traceback__)  # they refer to the arrays of the step, and so keep their memory
            framework.empty_cache()

    def _outcome_of(self, error: BaseException, framework: Framework) -> tuple[Outcome, Reason]:
        message = {"type": type(error).__name__, "message": message_line(error)}
        if why := _why_unavailable(error):
            return "unavailable", why
        if message["type"] in _SKIPS:
            return "unavailable", reason("message", message=message["message"] or message["type"])
        if isinstance(error, KeyboardInterrupt | SystemExit):
            return "failed", reason("ends-program", **_without_empty(message))
        is_out_of_memory = isinstance(error, MemoryError) or framework.is_out_of_memory(error)
        smaller_ran = any(arm_run.ok for arm_run in self.smaller)
        if not is_out_of_memory and framework.is_too_large(error, smaller_ran=smaller_ran):
            return "unavailable", reason("arrays-too-large", **message)
        said, place = _without_empty(message), place_of(error)
        why = reason("error-at", **said, place=place) if place else reason("error", **said)
        return "out-of-memory" if is_out_of_memory else "failed", why

    def keep(self, referee: Referee, place: int, levels: Sequence[Levels]) -> None:
        """Keep the referee's measurements of the arm at this place; ``levels`` are those of all its arms."""
        warmup = referee.warmups[place]
        self.samples_s = tuple(referee.samples_s[place])
        self.timing = Timing(
            median_s=float(np.median(self.samples_s)),
            quantiles_s=quantiles(self.samples_s),
            blocks=len(self.samples_s),
            iterations_per_block=referee.iterations[place],
            cold_s=self.cold_s,
            build_s=self.build_s,
            warmup_blocks=len(warmup.blocks_s),
            warmup_settled=warmup.settled,
            warmup_s=in_order([block_s / referee.iterations[place] for block_s in warmup.blocks_s]),
            device_s=self.device_s,
            page_faults=referee.page_faults[place] / (referee.iterations[place] * len(self.samples_s)),
            events_s=self.events_s,
        )
        builds = referee.builds if referee.spreads else 1
        self.effects = [
            effect_of(referee.judgement(*contrast), [log_ratios], levels[contrast.against], builds=builds)
            for contrast, log_ratios in referee.log_ratios.items()
            if contrast.arm == place
        ]

    def record(self) -> ArmRecord:
        """Return its record; an arm that failed has a reason instead of a speed."""
        return ArmRecord(
            levels=self.levels,
            outcome=self.outcome,
            reason=self.reason,
            items=self.items,
            timing=self.timing if self.ok else None,
            price=self.price,
            effects=self.effects if self.ok else [],
            observed=self.observed,
            placement=self.placement,
            flags=self.flags,
        )


def _why_unavailable(error: BaseException) -> Reason | None:
    """Return why the framework that raised an error cannot compute here, None if it can."""
    raised_in = type(error).__module__
    name = next((each for each in FRAMEWORKS if raised_in.startswith(each)), None)
    return load(name).why_unavailable(error) if name else None


def _without_empty(texts: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text}


def arm_runs_of(trial: Trial) -> list[ArmRun]:
    """Return the trial's arms, baseline first, ready to be built."""
    register_techniques(*trial.techniques)
    workload = find_workload(trial.workload) if isinstance(trial.workload, str) else trial.workload
    fixed = [(find_technique(trial.framework, name), level) for name, level in trial.fixed.items()]

    def problem(**options: object) -> Arm:
        if twice := sorted(trial.problem.keys() & options.keys()):
            raise BadInput(
                f"the test gives {twice[0]}={trial.problem[twice[0]]!r}, and a technique of this arm sets {twice[0]}, "
                "too; leave it out of the call of measure, or switch another technique"
            )
        return workload.build(trial.setting, **trial.problem, **options)

    made: list[ArmRun] = []
    settled_places = trial.settled_places
    for place in range(len(trial.arms)):
        made.append(_arm_run(trial, place, made, fixed, problem))
        made[place].outcome, made[place].reason = trial.failures.get(place, ("measured", None))
        made[place].price = Price(repeats_within=trial.spreads.get(place))
        made[place].iterations = trial.iterations.get(place, 0)
        made[place].is_settled = place in settled_places
    return made


def _arm_run(
    trial: Trial, place: int, before: Sequence[ArmRun], fixed: list[tuple[Technique, str]], problem: Build
) -> ArmRun:
    levels = trial.arms[place]
    lower = tuple(before[below] for below in trial.rungs_below(place))
    smaller = [before[other] for other in trial.smaller(place)]
    toggled = [(find_technique(trial.framework, name), level) for name, level in levels.items()]
    switched = [pair for pair in toggled if pair[1] != trial.arms[0][pair[0].name]]

    @cache
    def applied() -> list[tuple[Technique, str]]:
        """Leave out of a ladder the techniques whose rungs below had failed when this was first called."""
        fallen = [rung.levels for rung in lower if rung.outcome != "measured"]
        return [(_without(technique, fallen), level) for technique, level in toggled]

    def computes() -> tuple[str, ...]:
        away = [(technique, level) for technique, level in applied() if level != trial.arms[0][technique.name]]
        return tuple(filter(None, (technique.computes(level) for technique, level in away)))

    def build() -> Arm:
        if why := find_smaller_failure(smaller):
            raise Unavailable(why)
        return apply_all([*applied(), *fixed], problem)

    everywhere = [technique.tolerance_at(level) for technique, level in fixed]
    compiles = any(level in technique.compiles for technique, level in [*toggled, *fixed])
    return ArmRun(
        levels=levels,
        build=build,
        tolerance=sum(technique.tolerance_at(level) for technique, level in switched)
        + sum(each for each in everywhere if each > ROUNDING),
        computes=computes,
        smaller=smaller,
        exact=all(technique.tolerance_at(level) <= ROUNDING for technique, level in switched),
        rounding=max([ROUNDING, *everywhere, *(technique.tolerance_at(level) for technique, level in toggled)]),
        warm_calls=COMPILED_WARM_CALLS if compiles else 1,
    )


def _without(technique: Technique, fallen: Sequence[Levels]) -> Technique:
    if isinstance(technique, Ladder):
        return technique.without([levels[technique.name] for levels in fallen])
    return technique


def find_smaller_failure(smaller: Iterable[ArmRun | ArmRecord]) -> Reason | None:
    """Return why an arm is not tried: one that takes less memory ran out of it, or its arrays were too large."""
    for arm in smaller:
        if arm.outcome == "out-of-memory":
            return reason("larger-than-out-of-memory", arm=format_levels(arm.levels))
        if is_too_large(arm):
            return reason("larger-than-arrays-too-large", arm=format_levels(arm.levels))
    return None


def is_too_large(arm: ArmRun | ArmRecord) -> bool:
    """Return whether a kernel could not count the elements of the arm's arrays."""
    return arm.reason is not None and arm.reason.code == "arrays-too-large"


BUILDING_SHARE = 0.25  # of the trial's budget may be spent on their building, first calls and checks
SPANS = 2  # as long in all as with few builds, so that the neighbours of each can be counted
MOST_GAPS_BYTES = 2**30  # some 170 moves
# One gap of each size from 2**10 to 2**22 bytes. Of larger ones NumPy asks for huge pages: the allocator touches the
# ends of a gap, each of which would then take 2 MiB, and the arms' arrays would lie on such pages, too.
GAPS = range(10, 22)


def built_often(plan: Plan, arms: int, again_s: float) -> Plan:
    """Return the plan with many builds if building all arms once more, which takes ``again_s``, is cheap.

    A plan of one build, or of a single arm, stays as it is.
    """
    if plan.builds == 1 or arms == 1 or plan.max_builds * again_s > BUILDING_SHARE * plan.budget_s * arms:
        return plan
    return replace(plan, builds=plan.max_builds, min_span_s=SPANS * plan.min_span_s)


class LayoutRandomization:
    """Gaps of random sizes in the heap, never touched, so that the next arm is built elsewhere in memory.

    The gaps take address space and no memory. Beyond ``MOST_GAPS_BYTES`` the oldest are freed.
    """

    def __init__(self, coin: Random) -> None:
        self._coin = coin
        self._gaps: deque[np.ndarray] = deque()
        self._gaps_bytes = 0

    def move(self) -> None:
        """Leave more gaps: large ones where freed arrays lay, small ones between those to come."""
        for size in reversed(GAPS):
            self._gaps.append(np.empty(self._coin.randrange(2**size, 2 ** (size + 1)), np.uint8))
            self._gaps_bytes += self._gaps[-1].nbytes
        while self._gaps_bytes > MOST_GAPS_BYTES:
            self._gaps_bytes -= self._gaps.popleft().nbytes


class Building:
    """Builds the arms of one trial, with the same seed every time, or without one."""

    def __init__(
        self, framework: Framework, seed: int | None, *, stopwatch: Stopwatch, spending: TimeLedger, coin: Random
    ) -> None:
        self.framework = framework
        self.seed = seed
        self.stopwatch = stopwatch
        self.spending = spending
        self.layout = LayoutRandomization(coin)
        self.known_callbacks = gc.callbacks[:]

    def note_callbacks(self, arm_run: ArmRun) -> None:
        """Take new callbacks of the garbage collector for this arm's, which was just built or called."""
        arm_run.collector_callbacks += [each for each in gc.callbacks if each not in self.known_callbacks]
        self.known_callbacks = gc.callbacks[:]

    def build(self, arm_run: ArmRun) -> None:
        """Build an arm."""
        start = self.stopwatch.clock()
        with self.spending.charge("build"):
            if self.seed is not None:
                self.framework.seed(self.seed)
            arm_run.arm = arm_run.build()
            arm_run.arm = claims.admit(arm_run.arm)
            self.framework.synchronize()
        self.note_callbacks(arm_run)
        arm_run.watched, arm_run.work = arm_run.built.watched, arm_run.built.work
        arm_run.build_s = arm_run.build_s or self.stopwatch.clock() - start

    def build_elsewhere(self, arm_run: ArmRun) -> None:
        """Build an arm where nothing of it lay before."""
        self.layout.move()
        self.build(arm_run)

    def rebuild(self, standing: Sequence[ArmRun], *, backwards: bool) -> None:
        """Build arms afresh, and elsewhere, in their order or from the last to the first.

        Raises:
            StoppedError: an arm could not be built again.
        """
        for arm_run in standing:
            arm_run.close()
        self.framework.empty_cache()
        for place in sorted(range(len(standing)), reverse=backwards):
            with StoppedError.naming(place):
                self.build_elsewhere(standing[place])

    def plan(self, plan: Plan, arms: int) -> Plan:
        """Return the plan for arms that were all built, called and checked: with many builds, where these are cheap."""
        spent_s = self.spending.total()
        return built_often(plan, arms, sum(spent_s.get(kind, 0.0) for kind in ("build", "cold calls", "checks")))
