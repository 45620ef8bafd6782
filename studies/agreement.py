"""Count how well the intervals of several runs agree: `python -m studies.agreement RUN...` (seconds).

Every two runs of one machine are compared in every effect that both measured. Given are result files, or folders of
them. The runs that were made before trials were measured in visits stand beside them, unless --before names others. A
run in visits joins earlier ones, so intervals of neighbouring runs rest on the same data in part. Therefore the newest
six runs are also joined three and three, in every way, and halves are compared that have no run in common.
The newest four are judged again as a run is today, each with the runs before it.
A second table has the effects of the newest of these runs beside those of the newest run given. The tables are printed;
with --write they are put into studies/interval_evaluation.md.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from pathlib import Path
from statistics import fmean, median

from accelbench.certainty import noise_of
from accelbench.errors import BadInput
from accelbench.measuring.visit_statistics import VisitPairs, join_runs, judge_visits, prior_of_effects
from accelbench.pytest_plugin.earlier_runs import MOST_RUNS
from accelbench.results import Result, find_results
from accelbench.schema.result import Effect
from accelbench.text import format_levels
from accelbench.units import count, percent, plural, ratio
from studies.marked_tables import show_tables

PAGE = Path(__file__).with_name("interval_evaluation.md")
RESULTS = PAGE.parents[1] / "results"
# The files up to this number in these folders, from the time when a trial was measured in one stretch.
IN_ONE_STRETCH = {"amd-epyc-2c-24g-6aaf2b": 10, "amd-epyc-2c-24g-a1550a": 10}
NEWEST = 4  # runs that are judged again
HALF = 3  # runs that are joined, and held against as many others
ALPHA = 0.01  # of an interval
HEAD = (
    "runs", "machine", "number of runs", "pairs of intervals", "share no value", "opposite verdicts", "decided",
    "median half-width",
)  # fmt: skip


def runs_in_one_stretch() -> list[Result]:
    """Return the committed runs whose trials were measured in one stretch."""
    folders = {RESULTS / machine: last for machine, last in IN_ONE_STRETCH.items()}
    return [run for folder, last in folders.items() for run in find_results(folder).results if run.number <= last]


def find_runs(locations: Iterable[str]) -> list[Result]:
    """Return the runs in files and folders, each file once."""
    found = (run for location in locations for run in find_results(location).results)
    return list({str(Path(run.path).resolve()): run for run in found}.values())


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How well the runs of a machine agree: counts over pairs of runs and over all effects.

    ``pairs`` are the pairs of intervals of one effect in two runs, ``disjoint`` those that share no value.
    ``opposite`` counts by effect the pairs of which one is faster and the other slower. ``comparisons`` are the
    effects of all runs, ``decided`` those with a verdict. ``half_width`` is the median over the effects: the share by
    which the upper end of an interval is above its geometric middle, infinite if most intervals are unbounded.
    """

    machine: str
    runs: int
    pairs: int
    disjoint: int
    opposite: Counter[str] = field(default_factory=Counter)
    comparisons: int
    decided: int
    half_width: float


def count_agreement(results: Sequence[Result]) -> Iterator[Agreement]:
    """Yield the agreement of the runs of each machine, of which there must be two.

    Raises:
        BadInput: no machine has two runs.
    """
    machines = Counter(result.run.machine for result in results)
    if not any(number > 1 for number in machines.values()):
        raise BadInput(
            f"found runs of: {', '.join(machines) or 'no machine'}; expected at least two runs of one machine: "
            "name more result files"
        )
    for machine, number in machines.items():
        if number > 1:
            runs = [_effects(result) for result in results if result.run.machine == machine]
            yield _agreement(machine, len(runs), list(combinations(runs, 2)), runs)


def count_agreement_of_halves(results: Sequence[Result]) -> Iterator[Agreement]:
    """Yield how well halves of each machine's newest runs agree that have no run in common; none of fewer than six."""
    for machine, runs in _runs_in_visits(results).items():
        newest = runs[-2 * HALF :]
        if len(newest) == 2 * HALF:
            first = [half for half in combinations(newest, HALF) if newest[0] in half]  # the others are their rests
            halves = [(_join(half), _join([each for each in newest if each not in half])) for half in first]
            yield _agreement(machine, len(newest), halves, list(chain(*halves)))


def count_agreement_judged_again(results: Sequence[Result]) -> Iterator[Agreement]:
    """Yield how well each machine's newest four runs agree if they are judged as a run is today, with those before."""
    for machine, runs in _runs_in_visits(results).items():
        ends = range(max(MOST_RUNS + 1, len(runs) - NEWEST + 1), len(runs) + 1)
        judged = [_join(runs[end - MOST_RUNS - 1 : end]) for end in ends]
        if len(judged) > 1:
            yield _agreement(machine, len(judged), list(combinations(judged, 2)), judged)


def _runs_in_visits(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return each machine's runs whose trials were measured in visits, the oldest first."""
    found: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda result: result.number or 0):
        if any(effect.visits for effect in _effects(result).values()):
            found.setdefault(result.run.machine, []).append(result)
    return found


def _join(results: Sequence[Result]) -> dict[str, Effect]:
    """Return the effects of the last of some runs as it would have stated them with the others before it."""
    *others, last = map(_effects, results)
    visits = {case: _medians(effect) for case, effect in last.items() if _medians(effect)}
    earlier = {case: [fmean(found) for other in others if (found := _medians(other.get(case)))] for case in visits}
    pairs = {case: [VisitPairs(builds=((median,),)) for median in visits[case]] for case in visits}
    prior = prior_of_effects([(pairs[case], earlier[case]) for case in visits])
    noise = noise_of(results[-1].run)
    judged = {
        case: judge_visits(
            pairs[case],
            prior=prior,
            alpha=ALPHA,
            noise=noise,
            earlier=earlier[case],
            joined=join_runs(pairs[case], earlier[case], prior),
        )
        for case in visits
    }
    return {
        case: replace(last[case], speedup=each.speedup, low=each.low, high=each.high, verdict=each.verdict)
        for case, each in judged.items()
    }


def _medians(effect: Effect | None) -> list[float]:
    return [visit.log_speedup for visit in effect.visits if visit.in_interval] if effect else []


def _agreement(
    machine: str,
    runs: int,
    compared: Iterable[tuple[dict[str, Effect], dict[str, Effect]]],
    stated: Iterable[dict[str, Effect]],
) -> Agreement:
    pairs = [(case, one[case], other[case]) for one, other in compared for case in one if case in other]
    effects = [effect for each in stated for effect in each.values()]
    return Agreement(
        machine=machine,
        runs=runs,
        pairs=len(pairs),
        disjoint=sum(one.low > other.upper or other.low > one.upper for _, one, other in pairs),
        opposite=Counter(case for case, one, other in pairs if {one.verdict, other.verdict} == {"faster", "slower"}),
        comparisons=len(effects),
        decided=sum(effect.verdict != "undecided" for effect in effects),
        half_width=median(map(_half_width, effects)) if effects else math.inf,
    )


def _effects(result: Result) -> dict[str, Effect]:
    """Return a run's effects by what was compared: trial, levels, the other arm's levels, and what was set for all."""
    settings = result.run.settings
    size = f"{settings.get('size', '')} {settings.get('cache', 'hot')}"
    found = {}
    for trial in result.run.trials:
        name = f"{trial.id.rpartition('/')[2]}: {{}} against {{}}"
        shared = format_levels({**trial.problem, **trial.fixed})
        for arm in trial.arms:
            for effect in arm.effects if arm.outcome == "measured" else ():
                case = name.format(format_levels(arm.levels), format_levels(effect.against))
                found[f"{case}|{shared}|{size}"] = effect
    return found


def _half_width(effect: Effect) -> float:
    return math.sqrt(effect.upper / effect.low) - 1 if effect.low else math.inf


def table(groups: dict[str, list[Agreement]]) -> Iterator[str]:
    """Yield the lines of a Markdown table, and the effects with opposite verdicts below it."""
    yield f"| {' | '.join(HEAD)} |"
    yield f"|{'---|' * len(HEAD)}"
    for group, agreements in groups.items():
        for each in agreements:
            cells = (
                group, each.machine, count(each.runs), count(each.pairs), _share(each.disjoint, each.pairs),
                count(each.opposite.total()), _share(each.decided, each.comparisons),
                percent(each.half_width) if math.isfinite(each.half_width) else "unbounded",
            )  # fmt: skip
            yield f"| {' | '.join(cells)} |"
    contrary = [
        (group, each, case) for group, found in groups.items() for each in found for case in sorted(each.opposite)
    ]
    if contrary:
        yield ""
        yield "Effects that were faster in one run and slower in another, with the number of such pairs of runs:"
        yield ""
        for group, each, case in contrary:
            yield f"- {group}, {each.machine}: `{case.partition('|')[0]}`, {each.opposite[case]}"


def side_by_side(before: Sequence[Result], after: Sequence[Result]) -> Iterator[str]:
    """Yield the effects of the newest quick runs of one machine, those first whose verdicts turned."""
    new = max(after, key=lambda result: result.number or 0)
    old = max(
        (each for each in before if (each.run.machine, each.name) == (new.run.machine, new.name)),
        key=lambda result: result.number or 0,
        default=None,
    )
    if old is None:
        return
    known, found = _effects(old), _effects(new)
    rows = [(case, known[case], found[case]) for case in found if case in known]
    turned = [row for row in rows if row[1].verdict != row[2].verdict]
    opposite = sum({one.verdict, other.verdict} == {"faster", "slower"} for _, one, other in turned)
    yield (
        f"{Path(old.path).name} beside {Path(new.path).name} of {new.run.machine}: of {plural(len(rows), 'effect')} in "
        f"both, {len(turned)} have another verdict; {opposite} of these turned from faster to slower or back."
    )
    yield ""
    yield "| effect | before | verdict | after | verdict |"
    yield "|---|---:|---|---:|---|"
    for case, one, other in [*turned, *(row for row in rows if row not in turned)]:
        cells = [cell for each in (one, other) for cell in (ratio(each.speedup, each.low, each.upper), each.verdict)]
        yield f"| `{case.partition('|')[0].partition('::')[2]}` | {' | '.join(cells)} |"


def _share(part: int, whole: int) -> str:
    return f"{count(part)} ({percent(part / whole)})" if whole else "–"


def main() -> None:
    """Count, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", metavar="RUN", help="result files, or folders of them, that are judged")
    parser.add_argument("--before", nargs="+", metavar="RUN", help="runs to stand beside them (the committed ones)")
    parser.add_argument("--write", action="store_true", help="put the table into studies/interval_evaluation.md")
    options = parser.parse_args()
    try:
        before = find_runs(options.before) if options.before else runs_in_one_stretch()
        after = find_runs(options.runs)
        groups = {"before": list(count_agreement(before))}
        if after:
            groups["after"] = list(count_agreement(after))
            groups["newest, judged again"] = list(count_agreement_judged_again(after))
            groups["three joined against three others"] = list(count_agreement_of_halves(after))
    except BadInput as error:
        sys.exit(f"studies.agreement: {error}")
    tables = {"agreement": list(table(groups)), "side by side": list(side_by_side(before, after)) if after else []}
    for name, lines in tables.items():
        show_tables(PAGE, name, lines, write=options.write and bool(lines))


if __name__ == "__main__":
    main()
