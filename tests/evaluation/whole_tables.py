"""What is counted over whole histories of 300 cases: whether the machine and the techniques are told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import rules
from generators import HELD_OUT, STATIONARY, Series, with_rounds
from rules import Alarm
from scoring import Rate
from whole_histories import CASES, Planted, until, whole_history

from harness.reading.history.changes.search import changes
from harness.reading.history.gate.check import check
from harness.reading.history.observations import History

Planting = tuple[History, frozenset[str]]  # a history, and the cases that lost
Raised = Callable[[History], frozenset[str]]  # the cases that a rule raises at the newest run

NOISES = STATIONARY | HELD_OUT
LOSES = "10 techniques lose 10 %"
MASKED = "masked: 10 lose 10 %, machine 9 % faster"
SCENARIOS = {
    "nothing happens": Planted(),
    "machine 40 % faster": Planted(machine=1 / 1.4 - 1),
    "power cap: machine 15 % slower": Planted(machine=0.15),
    "10 techniques lose 5 %": Planted(technique=0.05, losers=10),
    LOSES: Planted(technique=0.10, losers=10),
    MASKED: Planted(machine=1 / 1.09 - 1, technique=0.10, losers=10),
}
LATER = 5  # runs within which a change shall be found
LENGTHS = (3, 5, 10, 20, 50)  # of histories, in runs
_SEED = 20260501
_SERIES_PER_HISTORY = 20  # of the other tables


@dataclass(frozen=True)
class Rule:
    """A rule that raises cases at the newest run; what is ours stands in bold."""

    name: str
    raised: Raised
    ours: bool = False

    def __str__(self) -> str:
        """Return the name as Markdown."""
        return f"**{self.name}**" if self.ours else self.name


def by_check(history: History) -> frozenset[str]:
    """Return the effects that `accelbench check` raises, to the better or the worse."""
    raised = (finding for finding in check(history).of("slower", "faster") if finding.subject.kind == "technique")
    return frozenset(finding.subject.key for finding in raised)


def by_times(rule: Callable[[Series], list[Alarm]], back: int, history: History) -> frozenset[str]:
    """Return the cases whose times a rule raises at the newest run, when it looks at so many runs."""
    seen = history.observations
    rng = np.random.default_rng(_SEED)
    times = seen["log_s"].to_numpy().reshape(-1, CASES)[-back:].T
    made = (with_rounds(rng, values, None) for values in times)
    newest = len(times[0]) - 1
    raised = [any(alarm.at == newest for alarm in rule(each)) for each in made]
    return frozenset(seen["case"].iloc[:CASES][np.array(raised)])


RULES = (
    Rule("accelbench check", by_check, ours=True),
    Rule("Bencher's t-test, 0.99", partial(by_times, rules.bencher, 100)),
    Rule("LNT's rule", partial(by_times, rules.lnt, 2)),
    Rule("criterion's rule", partial(by_times, rules.criterion, 2)),
    Rule("pytest-benchmark, mean:5%", partial(by_times, partial(rules.previous_run, threshold=0.05), 2)),
    Rule("pytest-benchmark, mean:10%", partial(by_times, partial(rules.previous_run, threshold=0.10), 2)),
)


def histories(number: int) -> int:
    """Return how many whole histories stand beside so many series."""
    return max(1, number // _SERIES_PER_HISTORY)


def plantings(scenario: str, number: int, **fields: object) -> Iterator[Planting]:
    """Yield histories of a scenario, one for every 20 series of the other tables."""
    rng = np.random.default_rng([_SEED, list(SCENARIOS).index(scenario)])
    for _ in range(histories(number)):
        yield whole_history(rng, replace(SCENARIOS[scenario], **fields))  # type: ignore[arg-type]


def cells_of_newest(rule: Rule, number: int) -> list[str]:
    """Return what a rule raises at the first run after something happened, per 100 cases."""
    cells = []
    for scenario in ("nothing happens", "machine 40 % faster", "power cap: machine 15 % slower"):
        raised = [len(rule.raised(history)) for history, _ in plantings(scenario, number)]
        cells.append(Rate(sum(raised), CASES * len(raised)).per_hundred())
    for scenario in (LOSES, MASKED):
        cells += _found(plantings(scenario, number), rule.raised)
    return cells


def cells_of_checks(noise: str, number: int) -> list[str]:
    """Return what the gate raises in five runs where nothing happens, and in five after some cases lost 5 %."""
    begin = Planted().runs - LATER
    quiet = list(plantings("nothing happens", number, noise=NOISES[noise]))
    raised = [by_check(history) for whole, _ in quiet for history in _grown(whole, begin)]
    moved = plantings("10 techniques lose 5 %", number, noise=NOISES[noise], at=begin)
    return [
        Rate(sum(map(len, raised)), CASES * len(raised)).per_hundred(),
        Rate(sum(map(bool, raised)), len(raised)).per_hundred(),
        *_found(moved, lambda whole: frozenset().union(*map(by_check, _grown(whole, begin)))),
    ]


def cells_of_lengths(before: int, number: int) -> list[str]:
    """Return what the gate says at the first run after so many, where nothing happens and where some lost 10 %."""
    length = {"runs": before + 1, "at": before}
    quiet = [whole for whole, _ in plantings("nothing happens", number, **length)]
    raised = sum(len(by_check(whole)) for whole in quiet)
    undecided = sum(len(check(whole).of("undecided")) for whole in quiet)
    told = sum(len(check(whole).findings) for whole in quiet)
    wrongly = Rate(raised, CASES * len(quiet)).per_hundred()
    return [Rate(undecided, told).per_hundred(), wrongly, *_found(plantings(LOSES, number, **length), by_check)]


def cells_of_changes(scenario: str, number: int) -> list[str]:
    """Return what the search for changes over whole histories of 100 runs reports."""
    seen, machine = [], Rate(0, 0)
    for history, losing in plantings(scenario, number, runs=100, at=60):
        told = [change for change in changes(history) if change.shape != "episode"]
        machine += Rate(any(change.kind == "machine" and change.shape == "step" for change in told), 1)
        seen.append((frozenset(change.case for change in told if change.kind == "technique"), losing))
    false = Rate(sum(len(raised - losing) for raised, losing in seen), CASES * len(seen))
    return [false.per_hundred(), *_scored(seen), machine.per_hundred()]


def _grown(whole: History, begin: int) -> Iterator[History]:
    """Yield a history as it was after each run from there on."""
    return (until(whole, runs) for runs in range(begin + 1, len(whole.runs) + 1))


def _found(plantings: Iterator[Planting], raised: Raised) -> list[str]:
    return _scored([(raised(history), losing) for history, losing in plantings])


def _scored(seen: list[tuple[frozenset[str], frozenset[str]]]) -> list[str]:
    """Return the share of the losing cases that was raised, and the share of the raised ones that had not lost."""
    found = Rate(sum(len(raised & losing) for raised, losing in seen), sum(len(losing) for _, losing in seen))
    false = Rate(sum(len(raised - losing) for raised, losing in seen), sum(len(raised) for raised, _ in seen))
    return [found.per_hundred(), false.per_hundred()]
