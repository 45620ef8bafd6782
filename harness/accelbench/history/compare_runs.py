"""Compare two sets of runs: how much of a change is the machine's, a workload's or a technique's?

The unit of the statistics is the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy  # its modules load at their first use
from numpy.typing import NDArray

from accelbench.errors import BadInput
from accelbench.history.decompose import MIN_WORKLOADS, WORKLOAD, TimeParts, split_times
from accelbench.history.observations import (
    COLD_CACHE,
    LABEL,
    History,
    describe_disturbed,
    pivot,
    standard_errors,
    tests_by_case,
)
from accelbench.history.policy import Thresholds, log_margin
from accelbench.history.run_statistics import MAX_RUNS, adjust_p_values, estimate_spread, fewest_runs
from accelbench.results.arm_table import rows_of
from accelbench.schema.result import OUT_OF_REACH
from accelbench.schema.safe_json import printable
from accelbench.text import join_names
from accelbench.units import plural

Floats = NDArray[np.float64]
Bounds = Callable[[], tuple[Floats | pd.Series, Floats | pd.Series]]

FACTOR = 1.5  # between unchanged runs of a shared two-core machine, one effect in a hundred moved by 1.2 to 1.4
MIN_RUNS = 3  # on a side, from which its own spread is all that counts
_MIN_OTHER_RUNS = 4  # two or more of an environment, from which the spread of a short side counts as known
_MAX_OTHER_RUNS = 60  # that are used to estimate the spread; more would add little
_MAX_FREEDOM = 10.0  # degrees of freedom for one or two runs, which, unlike a mean of several, may lie far out
_CASE = [*WORKLOAD, "case", "against"]  # where the baselines differ, a case is another one
_DESCRIPTION = ["trial", "module", "problem", "fixed", "technique", "level"]
_STANDINGS = {"same": "carries over", "faster": "grows", "slower": "shrinks", "undecided": "unclear"}


@dataclass(frozen=True, kw_only=True)
class Side:
    """Runs of one machine and one size. ``similar`` are groups of runs, each group of one environment."""

    runs: tuple[str, ...]
    machine: str
    similar: tuple[tuple[str, ...], ...]

    @property
    def is_short(self) -> bool:
        """Whether its own runs are too few to show how much they spread."""
        return len(self.runs) < MIN_RUNS

    @property
    def shows_spread(self) -> bool:
        """Whether enough runs are known to say how much runs of this machine spread."""
        return not self.is_short or sum(len(group) for group in self.similar if len(group) > 1) >= _MIN_OTHER_RUNS


@dataclass(frozen=True, kw_only=True)
class Sides:
    """Both sides of a comparison, and what counts as a change."""

    before: Side
    after: Side
    thresholds: Thresholds

    @property
    def is_spread_known(self) -> bool:
        """Whether the spread between runs is known on both sides."""
        return self.before.shows_spread and self.after.shows_spread

    @property
    def are_two_machines(self) -> bool:
        """Whether the sides are two machines."""
        return self.before.machine != self.after.machine

    @property
    def runs(self) -> list[str]:
        """The runs of both sides, and those that show how much such runs spread."""
        return list(dict.fromkeys(run for side in (self.before, self.after) for group in side.similar for run in group))

    def shifts(self, values: pd.DataFrame) -> pd.DataFrame:
        """Return the means over the runs of each side, ``before`` and ``after``, and their ``shift``."""
        before, after = (values[list(side.runs)].mean(axis=1) for side in (self.before, self.after))
        return pd.DataFrame({"before": before, "after": after, "shift": after - before})

    def on_both(self, values: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that have a value in at least one run of each side."""
        before, after = self.where_known(values)
        return values[before & after]

    def where_known(self, values: pd.DataFrame) -> tuple[pd.Series[bool], pd.Series[bool]]:
        """Return whether each row has a value in at least one run of the side before, and of the side after."""
        before, after = (values[list(side.runs)].notna().any(axis=1) for side in (self.before, self.after))
        return before, after

    def compare(
        self, values: pd.DataFrame, margins: Sequence[float], bounds: Bounds, errors: pd.DataFrame | None = None
    ) -> pd.DataFrame:
        """Return for each series how much higher it lies after than before.

        ``values`` are logarithms with a row per series and a column per run, and ``margins`` the smallest changes that
        matter. ``errors`` are the standard errors that the runs themselves give: a side too short to show its own
        spread is never taken to be more certain than these. Intervals are Student's, or Welch's across machines, on the
        means of runs. Where nobody knows how much such runs spread, they are the ``bounds``, which hold for these very
        runs alone and decide nothing unless they lie beyond a factor of 1.5.

        The columns: ``before``, ``after``, ``shift``, ``low``, ``high``, ``p``, ``verdict`` (above 0 is ``faster``),
        and ``runs``: about how many on each side would decide what is undecided.
        """
        shifts = self.shifts(values)
        if not self.is_spread_known:
            low, high = bounds()
            far = (low > math.log(FACTOR)) | (high < -math.log(FACTOR))
            verdict = np.where(far, _directions(shifts["shift"]), "undecided")
            runs = np.where(far, np.nan, float(MIN_RUNS))
            return shifts.assign(low=low, high=high, p=np.nan, verdict=verdict, runs=runs)
        alpha, zones = self.thresholds.false_discovery_rate, np.array([log_margin(margin) for margin in margins])
        sides = (self.before, self.after)
        side_errors, freedoms = zip(*(_standard_error(values, side, errors) for side in sides), strict=True)
        error = np.hypot(*side_errors)
        shared = self.before.similar == self.after.similar
        freedom = np.minimum(*freedoms) if shared else _welch_freedom(side_errors, freedoms)
        reach = np.nan_to_num(-scipy.special.stdtrit(freedom, alpha / 2) * error, nan=math.inf)
        shift = shifts["shift"]
        p = 2 * scipy.special.stdtr(freedom, -np.abs(shift) / error)
        found = shifts.assign(low=shift - reach, high=shift + reach, p=p)
        numbers = [values[list(side.runs)].notna().sum(axis=1) for side in sides]
        per_run = np.asarray(error / np.sqrt(1 / numbers[0] + 1 / numbers[1]))
        judged = found.assign(verdict=_verdicts(found, alpha, zones))
        return judged.assign(runs=_runs_to_decide(judged, per_run, alpha, zones))


@dataclass(frozen=True, kw_only=True)
class RunComparison(Sides):
    """What changed from one side to the other, as frames with a row per series.

    Their columns are ``before``, ``after``, ``shift``, ``low``, ``high``, ``p``, ``verdict`` and ``runs``, which is
    about how many runs a side would decide. Shifts are logarithms, above 0 where it is faster after. ``machine`` has
    one row, or none where nothing is known of it: without times in common, or on one machine with few workloads.
    ``workloads`` are indexed by framework and workload. ``techniques`` have one row per effect, with its description,
    ``standing``, the name of its ``test`` where another one measures the same, and how the times of its baseline and
    of itself shifted beyond the machine's part: ``baseline_shift`` and ``own_shift``. ``one_sided`` are the arms that
    have a speed on one ``side`` only, with the ``outcome`` and ``reason`` that the newest run with the arm on the other
    side recorded; the outcome is missing where none has the arm. Those that failed come first.
    """

    machine: pd.DataFrame
    workloads: pd.DataFrame
    techniques: pd.DataFrame
    one_sided: pd.DataFrame
    remarks: tuple[str, ...]


def compare_runs(
    history: History, before: Sequence[str], after: Sequence[str], thresholds: Thresholds | None = None
) -> RunComparison:
    """Compare runs of a history, by their names.

    Raises:
        BadInput: a run stands on both sides, a side mixes machines, or the sizes or the caches differ.
    """
    sides = _make_sides(history.runs, before, after, thresholds or Thresholds())
    observed = history.observations[history.observations["run"].isin(sides.runs)]
    all_times, undisturbed = (
        pivot(arms, "log_s", [*_CASE, "baseline"], sides.runs) for arms in (observed, observed[~observed["disturbed"]])
    )
    times = sides.on_both(undisturbed)
    parts = split_times(times, min_workloads=1 if sides.are_two_machines else MIN_WORKLOADS)
    beyond_machine = (times - parts.machine.fillna(0.0)).droplevel("baseline")
    machine = _compare_machine(parts, sides)
    one_sided = _find_one_sided(all_times, observed, history.unmeasured, sides)
    return RunComparison(
        before=sides.before,
        after=sides.after,
        thresholds=sides.thresholds,
        machine=machine,
        workloads=_compare_workloads(parts, sides),
        techniques=_compare_techniques(observed, history.runs, beyond_machine, sides),
        one_sided=one_sided,
        remarks=(
            _count_arms(len(sides.on_both(all_times)), one_sided),
            *describe_disturbed(observed, [*before, *after]),
            *_doubt_machine(parts, machine),
        ),
    )


def _make_sides(runs: pd.DataFrame, before: Sequence[str], after: Sequence[str], thresholds: Thresholds) -> Sides:
    """Return both sides of a comparison.

    The spread between runs is that around the mean of each side, and where a side has few runs also that around the
    mean of other runs of its machine, identity and size, in groups of one configuration. Two sides on one machine share
    theirs.
    """
    if both := [run for run in before if run in set(after)]:
        raise BadInput(f"{printable(both[0])} stands on both sides; compare it with another run")
    facts = runs.set_index("run")
    size = _only_size(facts.loc[[*before, *after], "size"])
    places = [_machine_of(facts, side) for side in (before, after)]
    if places[0] == places[1]:
        similar = [_similar_runs(facts, places[0], size, (before, after))] * 2
    else:
        similar = [
            _similar_runs(facts, place, size, (side,)) for place, side in zip(places, (before, after), strict=True)
        ]
    return Sides(
        before=Side(runs=tuple(before), machine=places[0][0], similar=similar[0]),
        after=Side(runs=tuple(after), machine=places[1][0], similar=similar[1]),
        thresholds=thresholds,
    )


def _only_size(found: pd.Series[str]) -> str:
    """Return the size of all runs, given by their names."""
    sizes = dict.fromkeys(size.removesuffix(COLD_CACHE) for size in found)
    caches = dict.fromkeys("cold" if size.endswith(COLD_CACHE) else "warm" for size in found)
    if len(sizes) > 1 and "" in sizes:
        silent = printable(str(found[found.isin(["", COLD_CACHE])].index[0]))
        raise BadInput(f"{silent} does not say at which size it was made; compare runs of one size")
    differing = [f"at sizes {join_names([*map(printable, sizes)])}"] if len(sizes) > 1 else []
    differing += [f"with {join_names([*caches])} caches"] if len(caches) > 1 else []
    if differing:
        wanted = "of one size" if len(sizes) > 1 else "with caches of one kind"
        raise BadInput(f"the runs were made {join_names(differing)}; compare runs {wanted}")
    return str(found.iloc[0])


def _machine_of(facts: pd.DataFrame, side: Sequence[str]) -> tuple[str, str]:
    """Return a side's machine by name and identity."""
    places = list(dict.fromkeys(zip(facts.loc[list(side), "machine"], facts.loc[list(side), "identity"], strict=True)))
    if len(places) > 1:
        named = ", ".join(printable(machine) for machine, _ in places[:3])
        raise BadInput(f"one side holds runs of {len(places)} machines ({named}); give runs of one machine a side")
    return places[0]


def _similar_runs(
    facts: pd.DataFrame, place: tuple[str, str], size: str, sides: Sequence[Sequence[str]]
) -> tuple[tuple[str, ...], ...]:
    """Return the sides on a machine, and where one is short the newest other runs there, grouped by configuration."""
    own = [tuple(side) for side in sides]
    if all(len(side) >= MIN_RUNS for side in sides):
        return tuple(own)
    here = (facts["machine"] == place[0]) & (facts["identity"] == place[1]) & (facts["size"] == size)
    others = facts[here & ~facts.index.isin([run for side in sides for run in side])].tail(_MAX_OTHER_RUNS)
    groups = others.groupby("configuration", sort=False, observed=True)
    return (*own, *(tuple(group.index) for _, group in groups))


def _compare_machine(parts: TimeParts, sides: Sides) -> pd.DataFrame:
    """Return by how much the machine became faster, as one row over everything it measured; no row if not known."""
    speeds = -parts.machine.to_frame("machine").T
    if parts.workloads.empty or sides.on_both(speeds).empty:
        return pd.DataFrame()

    def bounds() -> tuple[Floats, Floats]:
        shifts = sides.shifts(speeds.iloc[0] - parts.workloads)["shift"]
        median = scipy.stats.quantile_test(shifts).confidence_interval(1 - sides.thresholds.false_discovery_rate)
        return np.nan_to_num([median.low], nan=-math.inf), np.nan_to_num([median.high], nan=math.inf)

    return sides.compare(speeds, [sides.thresholds.margin], bounds)


def _compare_workloads(parts: TimeParts, sides: Sides) -> pd.DataFrame:
    speeds = -_common_to_candidates(parts, sides)
    margins = [sides.thresholds.margin_of(workload=workload) for _, workload in speeds.index]
    unbounded = np.full(len(speeds), math.inf)
    return sides.compare(speeds, margins, lambda: (-unbounded, unbounded))


def _common_to_candidates(parts: TimeParts, sides: Sides) -> pd.DataFrame:
    """Return the workloads' parts, shifted by what their baselines and their candidates have in common.

    That is the smaller of both shifts, and 0 where they have different signs: a shift of only one of the two is a
    change of effects.
    """
    own, together = (sides.shifts(each)["shift"] for each in (parts.workloads, parts.candidates))
    both = pd.DataFrame({"own": own, "together": together.reindex(own.index).fillna(own)})
    common = both.min(axis=1).clip(lower=0) + both.max(axis=1).clip(upper=0)
    workloads, after = parts.workloads.copy(), list(sides.after.runs)
    workloads[after] = workloads[after].add(common - own, axis=0)
    return workloads


def _compare_techniques(observed: pd.DataFrame, runs: pd.DataFrame, times: pd.DataFrame, sides: Sides) -> pd.DataFrame:
    """Return one row per effect that both sides have, the largest decided shifts first.

    ``times`` are those of the cases beyond the machine's part.
    """
    names, before, after = sides.runs, list(sides.before.runs), list(sides.after.runs)
    effects = sides.on_both(pivot(observed, "log_effect", _CASE, names))
    described = _describe_cases(observed, times, sides)
    rows = effects.join(described[["technique"]]).reset_index()
    margins = [sides.thresholds.margin_of(*each) for each in zip(rows["technique"], rows["workload"], strict=True)]
    errors = standard_errors(observed, _CASE, runs.set_index("run", drop=False).loc[names]).reindex(effects.index)

    def bounds() -> tuple[pd.Series, pd.Series]:
        lows, highs = (pivot(observed, name, _CASE, names).reindex(effects.index) for name in ("log_low", "log_high"))
        low = lows[after].min(axis=1) - highs[before].max(axis=1)
        return low, highs[after].max(axis=1) - lows[before].min(axis=1)

    found = sides.compare(effects, margins, bounds, errors)
    zones = np.array([log_margin(margin) for margin in margins])
    found = found.assign(standing=_judge_standings(found, zones)).join(described).reset_index()
    tests = tests_by_case(rows_of(found[["case", "trial", *LABEL]]))
    found = found.assign(test=[tests.get(case, "") for case in found["case"]])
    size = found["shift"].abs().where(found["verdict"].isin(["faster", "slower"]), -1)
    return found.iloc[np.argsort(-size, kind="stable")].reset_index(drop=True)


def _judge_standings(found: pd.DataFrame, zones: Floats) -> list[str]:
    """Return how each effect after relates to that before; it flips where it helps on one side, harms on the other."""
    ends = found["before"].abs() > zones, found["after"].abs() > zones
    opposite = found["before"] * found["after"] < 0
    flips = found["verdict"].isin(["faster", "slower"]) & ends[0] & ends[1] & opposite
    return ["flips" if flip else _STANDINGS[verdict] for flip, verdict in zip(flips, found["verdict"], strict=True)]


def _describe_cases(observed: pd.DataFrame, times: pd.DataFrame, sides: Sides) -> pd.DataFrame:
    """Return what each case is, and how the times of its baseline and of itself shifted beyond the machine's."""
    texts = dict.fromkeys([*_CASE, *_DESCRIPTION], str)
    cases = observed.astype(texts).drop_duplicates(_CASE).set_index(_CASE)
    arms = cases[[*_DESCRIPTION, "baseline"]].assign(own_shift=sides.shifts(-times)["shift"])
    baselines = arms[arms["baseline"].astype(bool)].groupby([*WORKLOAD, "trial"])["own_shift"].first()
    keys = pd.MultiIndex.from_frame(arms.reset_index()[[*WORKLOAD, "trial"]])
    return arms.drop(columns="baseline").assign(baseline_shift=baselines.reindex(keys).to_numpy())


def _standard_error(values: pd.DataFrame, side: Side, errors: pd.DataFrame | None) -> tuple[Floats, Floats]:
    """Return the standard error of a side's mean in each series, and its degrees of freedom."""
    matrix = values[[run for group in side.similar for run in group]].to_numpy(float).T
    states = np.repeat(np.arange(len(side.similar)), [len(group) for group in side.similar])
    spread = estimate_spread(matrix, np.broadcast_to(states[:, None], matrix.shape))
    variance = spread.deviation**2
    present = values[list(side.runs)].notna()
    if errors is not None and side.is_short:
        own = errors[list(side.runs)].pow(2).where(present).max(axis=1).to_numpy()
        variance = np.fmax(variance, own)
    max_freedom = _MAX_FREEDOM if side.is_short else np.inf
    return np.sqrt(variance / present.sum(axis=1).to_numpy()), np.minimum(spread.freedom, max_freedom)


def _welch_freedom(errors: tuple[Floats, ...], freedoms: tuple[Floats, ...]) -> Floats:
    """Return the degrees of freedom of a difference whose sides spread differently (Welch 1947, *Biometrika* 34)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = sum(error**4 / freedom for error, freedom in zip(errors, freedoms, strict=True))
        return np.asarray((errors[0] ** 2 + errors[1] ** 2) ** 2 / parts)


def _verdicts(found: pd.DataFrame, alpha: float, zones: Floats) -> Floats:
    """Return a verdict per series: significant among all of them, or the same within the smallest change."""
    same = (found["low"] >= -zones) & (found["high"] <= zones)
    significant = adjust_p_values(found["p"].to_numpy()) <= alpha
    decided = np.where(significant, _directions(found["shift"]), "undecided")
    return np.where(same, "same", decided)


def _directions(shift: pd.Series) -> Floats:
    return np.where(shift > 0, "faster", "slower")


def _runs_to_decide(found: pd.DataFrame, per_run: Floats, alpha: float, zones: Floats) -> Floats:
    """Return about how many runs on each side would decide an undecided shift of the same size; NaN otherwise.

    It becomes the same once its interval fits within the zone, and faster or slower once it is the next of all series
    that is significant.
    """
    runs = np.arange(MIN_RUNS, MAX_RUNS + 1)
    shift, pending = np.asarray(found["shift"].abs()), (found["verdict"] == "undecided").to_numpy()
    decided = int(found["verdict"].isin(["faster", "slower"]).sum())
    needed = [
        fewest_runs(
            per_run[:, None] * (-scipy.special.stdtrit(2 * runs - 2, level / 2) * np.sqrt(2 / runs)), room, runs
        )
        for level, room in ((alpha, zones - shift), (alpha * (decided + 1) / max(len(found), 1), shift))
    ]
    return np.where(pending, np.minimum(*needed), np.nan)


def _find_one_sided(
    all_times: pd.DataFrame, observed: pd.DataFrame, unmeasured: pd.DataFrame, sides: Sides
) -> pd.DataFrame:
    """Return the arms that have a time on one side only, with what became of them on the other, failures first."""
    before, after = sides.where_known(all_times)
    arms = observed.astype(dict.fromkeys([*_CASE, *_DESCRIPTION], str)).drop_duplicates(list(all_times.index.names))
    arms = arms[[*all_times.index.names, *_DESCRIPTION]]
    tests = tests_by_case(rows_of(arms))
    found = []
    for name, is_alone, other in (("before", before & ~after, sides.after), ("after", after & ~before, sides.before)):
        only = all_times.index[is_alone].to_frame(index=False)
        recorded = unmeasured.loc[unmeasured["run"].isin(other.runs), ["case", "outcome", "reason"]].astype(str)
        recorded = recorded.drop_duplicates("case", keep="last")
        found.append(only.merge(arms, how="left").merge(recorded, on="case", how="left").assign(side=name))
    one_sided = pd.concat(found, ignore_index=True)
    one_sided = one_sided.assign(test=[tests.get(case, "") for case in one_sided["case"]])
    severity = 2 * one_sided["outcome"].isna() + one_sided["outcome"].isin(OUT_OF_REACH)
    return one_sided.iloc[np.argsort(severity, kind="stable")].reset_index(drop=True)


def _count_arms(common: int, one_sided: pd.DataFrame) -> str:
    """Return how many arms both sides have, and how many only one side has."""
    counts = {when: int((one_sided["side"] == when).sum()) for when in ("before", "after")}
    alone = [f"{plural(count, 'arm')} only {when}" for when, count in counts.items() if count]
    return ", ".join([f"{plural(common, 'arm')} on both sides", *alone])


def _doubt_machine(parts: TimeParts, machine: pd.DataFrame) -> Iterator[str]:
    """Yield what a few workloads cannot tell of the machine."""
    if parts.workloads.empty:
        return
    few = f"fewer than {MIN_WORKLOADS} workloads"
    if machine.empty:
        yield f"With {few} nothing is known of the machine, so what changed counts as the workloads' own"
    elif len(parts.workloads) < MIN_WORKLOADS:
        yield f"With {few}, what they have in common may be theirs and not the machine's"
