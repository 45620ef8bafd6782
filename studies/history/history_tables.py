"""The tables over whole histories of 300 cases: are changes of the machine and of techniques distinguished?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from accelbench.history.changes import find_changes
from accelbench.history.observations import History
from accelbench.history.regression_check import RegressionCheck, check_regressions
from studies.history import rules
from studies.history.rules import Alarm
from studies.history.scoring import Rate, Table
from studies.history.simulated_histories import CASES, Scenario, simulate_history, truncate
from studies.history.simulated_series import MODELS, Series, with_rounds

Simulated = tuple[History, frozenset[str]]  # a history, and the cases that lost
Find = Callable[[History], frozenset[str]]  # the cases that a rule raises at the newest run

LOSES = "10 techniques lose 10 %"
MASKED = "masked: 10 lose 10 %, machine 9 % faster"
SCENARIOS = {
    "nothing happens": Scenario(),
    "machine 40 % faster": Scenario(machine=1 / 1.4 - 1),
    "power cap: machine 15 % slower": Scenario(machine=0.15),
    "10 techniques lose 5 %": Scenario(technique=0.05, losers=10),
    LOSES: Scenario(technique=0.10, losers=10),
    MASKED: Scenario(machine=1 / 1.09 - 1, technique=0.10, losers=10),
}
LATER = 5  # runs within which a change should be found
LENGTHS = (3, 5, 10, 20, 50)  # of histories, in runs
_SEED = 20260501
_SERIES_PER_HISTORY = 20  # of the other tables


@dataclass(frozen=True)
class Rule:
    """A rule that raises cases at the newest run; this project's own stands in bold."""

    name: str
    find: Find
    ours: bool = False

    def __str__(self) -> str:
        """Return the name as Markdown."""
        return f"**{self.name}**" if self.ours else self.name


def raised_by_check(history: History) -> frozenset[str]:
    """Return the effects that `accelbench check` raises, whether faster or slower."""
    return raised_techniques(check_regressions(history))


def raised_techniques(check: RegressionCheck) -> frozenset[str]:
    """Return the effects that a check raises."""
    return frozenset(each.subject.key for each in check.of("slower", "faster") if each.subject.kind == "technique")


def raised_by_times(rule: Callable[[Series], list[Alarm]], back: int, history: History) -> frozenset[str]:
    """Return the cases whose times a rule raises at the newest run, from the last ``back`` runs."""
    observed = history.observations
    rng = np.random.default_rng(_SEED)
    times = observed["log_s"].to_numpy().reshape(-1, CASES)[-back:].T
    made = (with_rounds(rng, values, None) for values in times)
    newest = len(times[0]) - 1
    raised = [any(alarm.at == newest for alarm in rule(each)) for each in made]
    return frozenset(observed["case"].iloc[:CASES][np.array(raised)])


RULES = (
    Rule("accelbench check", raised_by_check, ours=True),
    Rule("Bencher's t-test, 0.99", partial(raised_by_times, rules.bencher, 100)),
    Rule("LNT's rule", partial(raised_by_times, rules.lnt, 2)),
    Rule("criterion's rule", partial(raised_by_times, rules.criterion, 2)),
    Rule("pytest-benchmark, mean:5%", partial(raised_by_times, partial(rules.previous_run, threshold=0.05), 2)),
    Rule("pytest-benchmark, mean:10%", partial(raised_by_times, partial(rules.previous_run, threshold=0.10), 2)),
)


def count_histories(number: int) -> int:
    """Return the number of whole histories for a number of series."""
    return max(1, number // _SERIES_PER_HISTORY)


def simulate_scenario(scenario: str, number: int, **fields: object) -> Iterator[Simulated]:
    """Yield histories of a scenario, one for every 20 series of the other tables."""
    rng = np.random.default_rng([_SEED, list(SCENARIOS).index(scenario)])
    for _ in range(count_histories(number)):
        yield simulate_history(rng, replace(SCENARIOS[scenario], **fields))  # type: ignore[arg-type]


def cells_of_newest(rule: Rule, number: int) -> list[str]:
    """Return how many of 100 cases a rule raises at the first run after an event."""
    cells = []
    for scenario in ("nothing happens", "machine 40 % faster", "power cap: machine 15 % slower"):
        raised = [len(rule.find(history)) for history, _ in simulate_scenario(scenario, number)]
        cells.append(Rate(sum(raised), CASES * len(raised)).per_hundred())
    for scenario in (LOSES, MASKED):
        cells += _found(simulate_scenario(scenario, number), rule.find)
    return cells


def cells_of_checks(noise: str, number: int) -> list[str]:
    """Return what the check raises in five runs without an event, and in five after some cases lost 5 %."""
    begin = Scenario().runs - LATER
    quiet = list(simulate_scenario("nothing happens", number, noise=MODELS[noise]))
    raised = [raised_by_check(history) for whole, _ in quiet for history in _after_each_run(whole, begin)]
    moved = simulate_scenario("10 techniques lose 5 %", number, noise=MODELS[noise], at=begin)
    return [
        Rate(sum(map(len, raised)), CASES * len(raised)).per_hundred(),
        Rate(sum(map(bool, raised)), len(raised)).per_hundred(),
        *_found(moved, lambda whole: frozenset().union(*map(raised_by_check, _after_each_run(whole, begin)))),
    ]


def cells_of_lengths(before: int, number: int) -> list[str]:
    """Return what the check reports after ``before`` runs, where nothing happens and where some lost 10 %."""
    length = {"runs": before + 1, "at": before}
    quiet = [check_regressions(whole) for whole, _ in simulate_scenario("nothing happens", number, **length)]
    undecided = Rate(sum(len(each.of("undecided")) for each in quiet), sum(len(each.findings) for each in quiet))
    raised = Rate(sum(len(raised_techniques(each)) for each in quiet), CASES * len(quiet))
    found = _found(simulate_scenario(LOSES, number, **length), raised_by_check)
    return [undecided.per_hundred(), raised.per_hundred(), *found]


def cells_of_changes(scenario: str, number: int) -> list[str]:
    """Return what the search for changes over whole histories of 100 runs reports."""
    outcomes, machine = [], Rate(0, 0)
    for history, losing in simulate_scenario(scenario, number, runs=100, at=60):
        reported = [change for change in find_changes(history) if change.shape != "transient"]
        machine += Rate(any(change.kind == "machine" and change.shape == "level shift" for change in reported), 1)
        outcomes.append((frozenset(change.case for change in reported if change.kind == "technique"), losing))
    false = Rate(sum(len(raised - losing) for raised, losing in outcomes), CASES * len(outcomes))
    return [false.per_hundred(), *_score(outcomes), machine.per_hundred()]


def _after_each_run(whole: History, begin: int) -> Iterator[History]:
    """Yield a history as it was after each run from there on."""
    return (truncate(whole, runs) for runs in range(begin + 1, len(whole.runs) + 1))


def _found(simulated: Iterator[Simulated], find: Find) -> list[str]:
    return _score([(find(history), losing) for history, losing in simulated])


def _score(outcomes: list[tuple[frozenset[str], frozenset[str]]]) -> list[str]:
    """Return the share of the losing cases that was raised, and the share of the raised ones that had not lost."""
    found = Rate(sum(len(raised & losing) for raised, losing in outcomes), sum(len(losing) for _, losing in outcomes))
    false = Rate(sum(len(raised - losing) for raised, losing in outcomes), sum(len(raised) for raised, _ in outcomes))
    return [found.per_hundred(), false.per_hundred()]


TABLES = (
    Table(
        title="The gate at the first run after something happened: percent of 300 cases raised, and whether rightly",
        head=[
            *("", "nothing happens: raised", "machine 40 % faster: raised", "power cap, 15 % slower: raised"),
            *("10 lose 10 %: found", "false among the raised"),
            *("masked by a machine 9 % faster: found", "false among the raised"),
        ],
        rows=RULES,
        cells=cells_of_newest,
    ),
    Table(
        title="`accelbench check` after each of five runs, by noise of the effects at a spread of 1 %, in percent",
        head=[
            *("", "nothing happens: cases raised", "checks that raise any"),
            *("10 of 300 lose 5 %: found within five runs", "false among the raised"),
        ],
        rows=tuple(MODELS),
        cells=cells_of_checks,
    ),
    Table(
        title="`accelbench check` at the first run after a number of runs, at a spread of 1 %, in percent",
        head=[
            "runs before",
            "undecided",
            "cases raised wrongly",
            "10 of 300 lose 10 %: found",
            "false among the raised",
        ],
        rows=LENGTHS,
        cells=cells_of_lengths,
    ),
    Table(
        title="Changes over histories of 100 runs and 300 cases, in percent",
        head=["", "cases raised wrongly", "losses found", "false among the raised", "histories with a machine step"],
        rows=tuple(SCENARIOS),
        cells=cells_of_changes,
    ),
)
