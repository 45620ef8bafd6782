"""`accelbench.compare`: the suite's measurement for a user's own callables.

The callables become a trial in this process, run as a worker of the suite runs it: every arm is synchronised, its
output is compared with the baseline's, and disturbances of the machine are recorded.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from random import Random
from time import perf_counter
from typing import Any

import numpy as np

from accelbench import units
from accelbench.core import ROUNDING, Arm, Plan, Trial
from accelbench.core.arm import no_objection
from accelbench.errors import BadInput, check_positive, is_real
from accelbench.measuring import interference
from accelbench.measuring.arm_run import ArmRun
from accelbench.measuring.by_value import Prototype, UncopyableError
from accelbench.measuring.callables import require_callable, require_mapping
from accelbench.measuring.checks.process_state import first_calls_taken_back
from accelbench.measuring.first_calls import FirstCalls, FirstCallsRun, hint_on_error, hint_on_output, not_copied
from accelbench.measuring.interference import InterferenceMonitor
from accelbench.measuring.many_builds import ManyBuildsRun
from accelbench.measuring.trial_result import TrialResult
from accelbench.measuring.trial_run import BURST_TIMES, TrialRun, find_slow_step
from accelbench.schema.reasons import Reason
from accelbench.schema.result import ArmRecord, Verdict
from accelbench.text import format_table, format_table_html

Verify = Callable[[Sequence[np.ndarray]], object]  # returns None or True, or a sentence or False
_DIFFERS = ("too-far", "too-far-like-rounding")
MIN_BLOCK_S = 100e-6  # callables are often compared for a second, and many pairs decide
_HEADERS = ("arm", "time", "speedup", "interval", "verdict")


@dataclass(frozen=True, kw_only=True)
class CandidateResult:
    """A candidate's speedup over the baseline, per item, with its interval at confidence ``1 - alpha``.

    ``speedup`` is above 1 if the candidate is faster. ``low`` and ``high`` bound it; ``high`` is infinite if there are
    too few ``pairs`` of blocks to bound it. ``builds`` is how often the arms were built meanwhile, 1 if their data
    stayed where they are. ``verdict`` is "faster", "slower", "same" or "undecided". A candidate without a speed, such
    as one that gave a wrong answer, has NaN for all three numbers, None for the verdict, and a ``reason`` that says
    why.
    """

    speedup: float = math.nan
    low: float = math.nan
    high: float = math.nan
    verdict: Verdict | None = None
    pairs: int = 0
    builds: int = 1
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Comparison(Mapping[str, CandidateResult]):
    """The result of a comparison, a mapping from the name of each candidate to its result; shown as a table.

    ``baseline`` is the name of the arm that the ``candidates`` were compared with. ``per_item_s`` holds the median
    seconds per item of each arm that was measured. ``warnings`` are sentences on what may be wrong with the numbers: a
    disturbed machine, outputs that could not be compared, suspicious blocks.
    """

    baseline: str
    candidates: Mapping[str, CandidateResult]
    per_item_s: Mapping[str, float]
    warnings: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> CandidateResult:
        return self.candidates[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the table, a row for each arm: name, time per item, speedup, interval, verdict.

        An item is a call of the arm, unless the number of items was given.
        """
        rows: list[tuple[str, ...]] = [
            (self.baseline, units.seconds(self.per_item_s[self.baseline]), "1×", "", "baseline")
        ]
        for name, result in self.candidates.items():
            if result.verdict is None:
                rows.append((name, "", "", "", result.reason))
            else:
                time_per_item, interval = units.seconds(self.per_item_s[name]), units.interval(result.low, result.high)
                rows.append((name, time_per_item, units.speedup(result.speedup), interval, result.verdict))
        return rows

    def __str__(self) -> str:
        table = format_table(self.rows(), _HEADERS)
        return "\n".join([table, *(f"Warning: {warning}." for warning in self.warnings)])

    def _repr_html_(self) -> str:
        table = format_table_html(self.rows(), _HEADERS)
        return table + "".join(f"<p>Warning: {escape(warning)}.</p>" for warning in self.warnings)


def compare(
    arms: Mapping[str, Callable[[], Any]],
    *,
    baseline: str | None = None,
    budget_s: float = 2.0,
    alpha: float = 0.01,
    noise: float = 0.01,
    tolerance: float | None = ROUNDING,
    verify: Verify | None = None,
    framework: str | None = None,
    items: Mapping[str, float] | None = None,
    rebuild: bool = False,
    by_value: bool = True,
) -> Comparison:
    """Compare callables: which are faster, by how much, and with what confidence.

    Every arm is called a few times before it is timed, to see which framework it uses and to compare its output with
    the baseline's, and again between and after the timed blocks. A candidate with another output has no speed. If the
    baseline's output differs from call to call, as a training step's does, outputs are compared for the first two calls
    only, from the same start on; if the arms cannot be started again, or draw random numbers, they are not compared. A
    warning says so in both cases. An arm that returns None or the promise of a result, such as a generator, a coroutine
    or a future, is refused. A function that works in place returns the array that it writes to.

    The addresses of arrays can make the same code faster or slower by some per cent, on some processors by 40 %. So the
    callables are copied with their data all the time, often hundreds of times, and the copies are timed: the interval
    covers the spread between them. Every second copy lies where the other callable's data lay. The data stay where they
    are, and a warning says so, if a callable holds something that cannot be copied: a generator, a lock, a pool of
    workers, a memory map, an open file, arrays on an accelerator, a compiled model, over 256 MiB; or if a copy returns
    something else than its original. Arms that take long are copied less often.

    Args:
        arms: zero-argument callables by name; each must do its whole work, and must not synchronise.
        baseline: the arm that the others are compared with; the first one unless named.
        budget_s: seconds for all arms together, whereas ``--accel-budget`` is per arm; the comparison ends earlier once
            every figure is precise. First calls and warming up are paid from it, but at least half of it is kept for
            timing and rebuilding.
        alpha: the error rate of the verdicts on equal arms, over all candidates together.
        noise: speedups within this fraction of 1 count as the same.
        tolerance: relative error that an output may have against the baseline's; None if the arms compute different
            things by design, so that outputs are not compared; arms may then return None.
        verify: checks the output of every arm by itself, and outputs are not compared with each other: for random
            numbers, or where several answers are right. It is called with a list of the arrays and numbers in an output
            as arrays in float64. It returns None or True if the output is right, False or a sentence if it is wrong.
        framework: whose devices are synchronised: "numpy", "torch", "tensorflow" or "cupy"; by default that of the
            arrays which the arms return, or else of the arrays, models and modules that they hold. If they show none,
            it is the framework that this process has imported.
        items: how many items one call of each arm processes, 1 unless named; speedups are per item. The output of an
            arm that processes another number of items than the baseline is not compared with the baseline's.
        rebuild: the arms are functions that prepare their data and return the callable to time. They are called all the
            time instead of copying callables, or once if the budget has no room for six calls. The global random
            generators are seeded before each call, so that all arms draw the same data.
        by_value: whether finished callables are copied. If not, they are timed with their data where these are.

    Returns:
        A mapping from each candidate's name to its result: ``speedup``, ``low``, ``high``, ``verdict``, ``reason``.

    Raises:
        BadInput: there is no candidate, a name is unknown, a number is out of its range, an arm is no function that
            can be called without arguments, the arms use several frameworks, the baseline could not be measured, or
            with ``rebuild`` an arm returned no callable.
    """
    items = {} if items is None else items
    _check_arms(arms, items, rebuild=rebuild)
    began_s = perf_counter()
    first = next(iter(arms)) if baseline is None else baseline
    if first not in arms:
        raise BadInput(f"baseline {baseline!r} is not among the arms; expected one of: {', '.join(map(repr, arms))}")
    require_valid_numbers(budget_s=budget_s, alpha=alpha, noise=noise, tolerance=tolerance)
    if verify is not None and not callable(verify):
        raise BadInput(f"verify is not callable, got {verify!r}; give a function of the arrays of an output")
    names = sorted(arms, key=lambda name: name != first)  # the baseline first, the others in their order
    given = {name: partial(_arm, name, arms[name], items.get(name, 1), rebuild) for name in names}
    plan = Plan(
        budget_s=budget_s / len(names), alpha=alpha, noise=noise, min_block_s=MIN_BLOCK_S, builds=1, prices=False
    )

    def require_time(step_s: float) -> None:
        if why := find_slow_step(plan, len(names) - 1, step_s, BURST_TIMES):
            raise BadInput(_describe_failure(first, why))

    prototypes, warning = _prototypes(arms) if by_value and not rebuild else ({}, "")
    copies = {name: partial(_copy, given[name], prototypes[name]) for name in names} if prototypes else {}
    with first_calls_taken_back(given.values(), framework):
        known = FirstCallsRun(
            given,
            copies,
            framework=framework,
            tolerance=tolerance,
            verifies=verify is not None,
            rebuild=rebuild,
            clock=perf_counter,
            require_time=require_time,
        ).result()
    measured, warnings = measure_arms(
        copies if known.copies else given,
        plan,
        known,
        tolerance,
        verify,
        seeded=rebuild,
        trial_run=partial(ManyBuildsRun, can_rebuild=rebuild or known.copies, began_s=began_s),
    )
    hints = {name: hint_on_output(varies=name in known.varying) for name in names}
    return comparison_of(measured.arms, hints, tuple(filter(None, [warning, *warnings])))


def comparison_of(arms: Sequence[ArmRecord], hints: Mapping[str, str], warnings: tuple[str, ...]) -> Comparison:
    """Return the comparison of measured arms, the first of which is the baseline.

    ``hints`` are the ways out for arms whose output differs, by the names of all arms in their order.
    """
    named = dict(zip(hints, arms, strict=True))
    baseline, *candidates = named
    return Comparison(
        baseline=baseline,
        candidates={name: _candidate(named[name], hints[name]) for name in candidates},
        per_item_s={name: arm.timing.median_s / (arm.items or 1) for name, arm in named.items() if arm.timing},
        warnings=warnings,
    )


def _prototypes(arms: Mapping[str, Callable[[], Any]]) -> tuple[dict[str, Prototype], str]:
    """Return prototypes of all arms, or none and a warning if one of them cannot be copied."""
    prototypes = {}
    for name, original in arms.items():
        try:
            prototypes[name] = Prototype(original)
        except UncopyableError as error:
            return {}, not_copied(name, str(error))
    return prototypes, ""


def _copy(given: Callable[[], Arm], prototype: Prototype) -> Arm:
    return replace(given(), step=prototype.copy())


def measure_arms(
    builders: Mapping[str, Callable[[], Arm]],
    plan: Plan,
    known: FirstCalls,
    tolerance: float | None,
    verify: Verify | None,
    *,
    seeded: bool,
    trial_run: Callable[..., TrialRun],
) -> tuple[TrialResult, tuple[str, ...]]:
    """Measure arms that were tried out; return the trial and its warnings.

    ``seeded`` says whether random generators are seeded before each build.

    Raises:
        BadInput: the baseline could not be measured.
    """
    baseline = next(iter(builders))

    def built(name: str) -> Arm:
        if seeded:
            known.adapter.seed(0)
        objection = no_objection if verify is None else partial(_find_objection, verify)
        return replace(builders[name](), ignore_output=name not in known.checked, verify=objection)

    def computes(name: str) -> tuple[str, ...]:
        alike = verify is None and known.items[name] == known.items[baseline]
        return () if alike else (name,)

    allowed = math.inf if verify else tolerance or 0.0  # what is verified may differ from call to call
    arm_runs = [
        ArmRun(
            levels={"arm": name},
            build=partial(built, name),
            tolerance=allowed,
            rounding=max(ROUNDING, allowed),
            computes=partial(computes, name),
            exact=False,
            widens=False,  # the tolerance is the user's own
        )
        for name in builders
    ]
    for arm_run in arm_runs:
        arm_run.outcome, arm_run.reason = known.failures.get(arm_run.levels["arm"], ("measured", None))
    trial = Trial(
        framework=known.adapter.name, workload="", arms=tuple(arm_run.levels for arm_run in arm_runs), plan=plan
    )
    windows = InterferenceMonitor(perf_counter, interference.glance)
    run = trial_run(
        trial,
        known.adapter,
        clock=perf_counter,
        coin=Random(),
        windows=windows,
        arm_runs=arm_runs,
        own_process=False,
    )
    with _young_objects_only():
        measured = run.run()
    first = measured.arms[0]
    if first.outcome != "measured":
        raise BadInput(_describe_failure(baseline, first.reason or first.outcome)) from known.baseline_error
    flags = (f"{arm.levels['arm']}: {flag}" for arm in measured.arms for flag in arm.flags)
    return measured, tuple(
        dict.fromkeys(filter(None, [*known.warnings, run.warning, *map(str, measured.remarks), *flags]))
    )


@contextmanager
def _young_objects_only() -> Iterator[None]:
    """Let collections of cycles look only at objects that are made within, so that each takes microseconds.

    If the caller has frozen objects itself, nothing changes: unfreezing would take them back, too.
    """
    gc.collect(1)  # what first calls have just left; what is older may take a tenth of a second
    is_free = not gc.get_freeze_count()
    if is_free:
        gc.freeze()
    try:
        yield
    finally:
        if is_free:
            gc.unfreeze()


def _find_objection(verify: Verify, output: Sequence[np.ndarray]) -> str | None:
    """Return in a sentence why the user's function does not accept an output; None if it does.

    Raises:
        BadInput: it returned something else than an answer.
    """
    answer = verify(output)
    if answer is None or isinstance(answer, bool | np.bool_):
        return "verify did not accept the output" if answer is not None and not answer else None
    if isinstance(answer, str):
        return answer or None
    raise BadInput(
        f"verify returned an object of type {type(answer).__name__}; expected None or True if the output is right, and "
        "False or a sentence if it is wrong"
    )


def _candidate(arm: ArmRecord, hint: str) -> CandidateResult:
    effect = arm.effect
    if arm.outcome != "measured" or effect is None:
        why = _explain(arm.reason) if arm.reason else ""
        return CandidateResult(reason=why + (hint if arm.reason and _is_distance(arm.reason) else ""))
    return CandidateResult(
        speedup=effect.speedup,
        low=effect.low,
        high=effect.upper,
        verdict=effect.verdict,
        pairs=effect.pairs,
        builds=effect.builds,
    )


def _is_distance(why: Reason) -> bool:
    """Return whether a reason says how far an output is from the baseline's, which a larger tolerance would allow."""
    return why.code in _DIFFERS and math.isfinite(float(str(why.values["error"])))


def _describe_failure(baseline: str, why: Reason | str) -> str:
    return f"the baseline {baseline!r} has no speed: {_explain(why) if isinstance(why, Reason) else why}"


def _explain(why: Reason) -> str:
    """Return the wording of a reason, with the way out of a usual error of the callable's and of a budget too short."""
    if why.code == "step-too-slow":
        needed_s, budget_s = (float(str(why.values[name])) for name in ("needed_s", "budget_s"))
        return f"{why}; a budget_s {math.ceil(needed_s / budget_s)} times as long would do"
    if why.code not in ("error", "error-at"):
        return str(why)
    kind, message = str(why.values["type"]), str(why.values.get("message", ""))
    return str(why) + hint_on_error(kind, message, is_inside=why.code == "error-at")


def _arm(name: str, given: Callable[[], Any], items: float, rebuild: bool) -> Arm:
    if not rebuild:
        return Arm(step=given, items=items)
    arm = Arm.prepared(name, given, items)
    require_callable(arm.step, f"what arm {name!r} returned")
    return arm


def _check_arms(arms: Mapping[str, Callable[[], Any]], items: Mapping[str, float], *, rebuild: bool) -> None:
    """Check what the arms are, without calling them."""
    require_mapping(arms, "compare", "compare(…)")
    if len(arms) < 2:
        raise BadInput(
            f"compare needs a baseline and a candidate, got {units.plural(len(arms), 'arm')}; give at least two"
        )
    for name, step in arms.items():
        if not isinstance(name, str) or not name.strip():
            raise BadInput(f"an arm is named {name!r}; expected a text that is not empty")
        require_callable(step, f"arm {name!r}", is_builder=rebuild)
    if not isinstance(items, Mapping):
        raise BadInput(
            f"items must be a mapping from names of arms to numbers, got {items!r}; as in items={{'one': 3}}"
        )
    for name, count in items.items():
        if name not in arms:
            raise BadInput(f"items names {name!r}, which is not among the arms; expected: {', '.join(map(repr, arms))}")
        check_positive(count, f"items of {name!r}")


def require_valid_numbers(*, budget_s: float, alpha: float, noise: float, tolerance: float | None) -> None:
    """Check what `compare` and `attribute` are given.

    Raises:
        BadInput: a number is out of its range.
    """
    numbers = {"budget_s": budget_s, "alpha": alpha, "noise": noise}
    for name, value in (numbers if tolerance is None else {**numbers, "tolerance": tolerance}).items():
        if not is_real(value):
            raise BadInput(f"{name} must be a number, got {value!r}")
    check_positive(budget_s, "budget_s")
    if not 0 < alpha < 1:
        raise BadInput(f"alpha must lie between 0 and 1, got {alpha!r}")
    if not 0 <= noise < 1:
        raise BadInput(f"noise must lie between 0 and 1, got {noise!r}")
    if tolerance is not None and not 0 <= tolerance < math.inf:
        raise BadInput(f"tolerance must be at least 0 and finite, or None, got {tolerance!r}")
