"""What each technique of a bundle brings: full factorial designs, and the effects that they estimate.

In such a design, every technique is switched on or off in every combination with the others.

Interactions count from the arm with every technique off: the bundle is exactly the product of what each technique
brings alone and of all interactions. On the log scale that is the Möbius inversion of the arms over the subsets of
techniques (treatment coding; Montgomery 2017, *Design and Analysis of Experiments*, chapter 6).

All arms of a round run under the same conditions, so effects are taken within rounds. Consecutive rounds may resemble
each other; the means of consecutive batches hardly do, and Student's t over these gives the intervals (Schmeiser 1982,
"Batch size effects in the analysis of simulation output", *Operations Research* 30). Where each batch is a build of its
own, the intervals include the differences between builds. The input is medians over stretches of rounds, so that single
disturbed blocks have no influence.

Rounds say little of the next visit or run. Where the intervals of the arms cover what differs between these, the
effects of the bundle are combined from those of the arms, and so are their intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations, product
from typing import Literal

import numpy as np

from accelbench import student_t, units
from accelbench.errors import BadInput
from accelbench.schema.result import Verdict
from accelbench.schema.verdict import log_ratio, ratio_of, verdict
from accelbench.text import cross, format_table, format_table_html

MAX_TECHNIQUES = 4  # of a design, which then has 16 arms
ALPHA = 0.01  # the default of a trial's verdicts, too
MIN_STRETCHES = 4  # fewer give no useful interval
_MANY = 1000  # degrees of freedom, with which Student's t is the normal distribution
_MAX_AS_PERCENT = 0.5  # a larger bound is written as a factor
_MAX_AS_FACTOR = 100.0  # a larger factor only means that nothing is known
_HEADERS = ("", "alone", "on average", "on top of the others")

Names = tuple[str, ...]
Row = tuple[bool, ...]  # for each technique, whether it is switched on


def design(techniques: int) -> tuple[Row, ...]:
    """Return every combination of that many techniques, all of them off first, all of them on last.

    Raises:
        BadInput: there are fewer than two techniques, or more than four.
    """
    if not 2 <= techniques <= MAX_TECHNIQUES:
        bundle = f"a bundle of {units.plural(techniques, 'technique')}"
        raise BadInput(f"{bundle} cannot be taken apart; give 2 to {MAX_TECHNIQUES}")
    return tuple(product((False, True), repeat=techniques))


def is_full(rows: tuple[Row, ...]) -> bool:
    """Return whether arms are every combination of two or more techniques, each of them once."""
    return bool(rows) and len(rows[0]) >= 2 and len(set(rows)) == len(rows) == 1 << len(rows[0])


def batches_for(arms: int) -> int:
    """Return the number of batches into which the rounds of a design with ``arms`` arms are divided."""
    return 10 if arms <= 8 else 20


@dataclass(frozen=True, kw_only=True)
class FactorialEffect:
    """An effect of some techniques, as a speedup.

    ``ratio`` is that of the times per item, above 1 where it is faster. The interval from ``low`` to ``high`` has
    confidence ``1 - alpha``, and ``verdict`` rests on it.
    """

    ratio: float
    low: float
    high: float
    verdict: Verdict

    def __str__(self) -> str:
        return units.ratio(self.ratio, self.low, self.high)


@dataclass(frozen=True, kw_only=True)
class Additivity:
    """Whether log speedups add up, so that speedups multiply.

    ``p_value`` is the smallest p-value of an interaction, times their number (Bonferroni). ``within`` bounds every
    interaction at once, as a fraction, at confidence ``1 - alpha``.

    - multiply: every interaction lies within the noise zone
    - interact: some interaction is not 1
    - undecided: neither is shown
    """

    verdict: Literal["multiply", "interact", "undecided"]
    p_value: float
    within: float

    @property
    def sentence(self) -> str:
        """Whether the effects multiply, in a clause."""
        tested = f"({units.p_value(self.p_value)})"
        within = units.percent(self.within) if self.within < _MAX_AS_PERCENT else _factor(1 + self.within)
        if self.verdict == "interact":
            return f"the effects do not simply multiply {tested}"
        if self.verdict == "multiply":
            return f"they multiply within {within} {tested}"
        return f"it is undecided whether they multiply, interactions may reach {within} {tested}"


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """The effects of a bundle of techniques.

    Attributes:
        labels: each technique with its level, such as ``amp bf16``.
        bundle: all techniques on over all off.
        alone: each technique switched on while all others are off.
        average: each technique on over off, on average over both levels of all others.
        on_top: each technique added last, to all others.
        interactions: for each group of techniques, how much faster they are together than the effects of fewer of
            them promise.
        all_interactions: the product of all interactions, which is the bundle over the product of ``alone``.
        additive: whether the effects multiply.
        rounds: how many times every arm was timed.
        warnings: sentences on what may be wrong with the numbers, such as outputs that could not be compared.
    """

    labels: Mapping[str, str]
    bundle: FactorialEffect
    alone: Mapping[str, FactorialEffect]
    average: Mapping[str, FactorialEffect]
    on_top: Mapping[str, FactorialEffect]
    interactions: Mapping[Names, FactorialEffect]
    all_interactions: FactorialEffect
    additive: Additivity
    rounds: int
    warnings: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What each technique brings, what only several bring together, and whether the effects multiply."""
        return f"{self.clause[0].upper()}{self.clause[1:]}"

    @property
    def clause(self) -> str:
        """The sentence as it goes on from a place and a colon."""
        alone = ", ".join(f"{self.labels[name]} alone {_ratio(effect)}" for name, effect in self.alone.items())
        if len(self.interactions) == 1:
            interactions = f"their interaction {_ratio(self.all_interactions)}"
        else:
            interactions = f"their interactions {_ratio(self.all_interactions)}{self._clearest_interaction()}"
        return f"of the bundle's {_ratio(self.bundle)}, {alone}, {interactions}: {self.additive.sentence}"

    def _clearest_interaction(self) -> str:
        """Name the interaction whose interval lies furthest from 1, if any interval excludes 1."""
        names, effect = max(self.interactions.items(), key=lambda item: _distance_from_1(item[1]))
        return f", most surely {cross(names)} {_ratio(effect)}" if _distance_from_1(effect) > 1 else ""

    def _rows(self) -> list[tuple[str, ...]]:
        kinds = (self.alone, self.average, self.on_top)
        rows = [(label, *(str(effects[name]) for effects in kinds)) for name, label in self.labels.items()]
        rows += [(cross(names), str(effect), "", "") for names, effect in self.interactions.items()]
        return [*rows, ("all together", str(self.bundle), "", "")]

    def __str__(self) -> str:
        table = f"{format_table(self._rows(), _HEADERS)}\n\n{self.sentence}"
        return "\n".join([table, *(f"Warning: {warning}." for warning in self.warnings)])

    def _repr_html_(self) -> str:
        tables = format_table_html(self._rows(), _HEADERS) + format_table_html([(self.sentence,)])
        return tables + "".join(f"<p>Warning: {escape(warning)}.</p>" for warning in self.warnings)


def fit(
    labels: Mapping[str, str],
    arms: tuple[Row, ...],
    log_speedups: np.ndarray,
    *,
    rounds: int,
    batches: int | None = None,
    alpha: float = ALPHA,
    noise: float = 0.01,
) -> Attribution:
    """Estimate the effects of a bundle from its rounds.

    Args:
        labels: each technique with its level, in the order of the rows of ``arms``.
        arms: for each arm, which techniques are on.
        log_speedups: medians over stretches of rounds, shape ``(stretches, arms)``, over the arm with none on.
        rounds: how many rounds the stretches cover.
        batches: into how many batches of equal length the stretches are divided, best one for each build of the arms;
            by default as many as the design asks for.
        alpha: error rate of each interval, and of the test whether the effects multiply.
        noise: ratios within this fraction of 1 count as the same.

    Raises:
        BadInput: the arms are no full factorial, or there are too few stretches.
    """
    if len(log_speedups) < MIN_STRETCHES:
        raise BadInput(f"{units.plural(rounds, 'round')} cannot take a bundle apart; expected {MIN_STRETCHES} at least")
    means = _batch_means(log_speedups, batches or batches_for(len(arms)))

    def estimate(weights: np.ndarray) -> _Estimate:
        values = means @ weights
        error = float(values.std(ddof=1)) / math.sqrt(len(values))
        return _Estimate(mean=float(values.mean()), error=error, freedom=len(values) - 1)

    return _attribute(labels, arms, estimate, rounds=rounds, alpha=alpha, noise=noise)


def combine(
    labels: Mapping[str, str],
    arms: Mapping[Row, FactorialEffect],
    *,
    rounds: int,
    noise: float = 0.01,
) -> Attribution:
    """Combine the effects of a bundle from those of its arms, whose intervals cover more than the rounds show.

    What the intervals cover is taken to be independent from arm to arm, and half of the narrowest one to be due to the
    arm with none on.

    Args:
        labels: each technique with its level, in the order of the rows.
        arms: the effect of every arm over the arm with none on, by which techniques are on in it.
        rounds: in how many rounds all arms were timed.
        noise: ratios within this fraction of 1 count as the same.

    Raises:
        BadInput: the arms, and the one with none on, are no full factorial.
    """
    off = (False,) * len(labels)
    log_speedups = np.array([0.0, *(log_ratio(effect.ratio) for effect in arms.values())])
    squares = np.array([((log_ratio(effect.high) - log_ratio(effect.low)) / 2) ** 2 for effect in arms.values()])
    of_off = squares.min(initial=math.inf) / 2
    squares = np.array([of_off, *np.where(np.isinf(squares), math.inf, squares - of_off)])

    def estimate(weights: np.ndarray) -> _Estimate:
        used = weights != 0
        reach = math.sqrt(float(weights[used] ** 2 @ squares[used]))
        return _Estimate(
            mean=float(weights @ log_speedups), error=reach / student_t.quantile(_MANY, ALPHA), freedom=_MANY
        )

    found = _attribute(labels, (off, *arms), estimate, rounds=rounds, alpha=ALPHA, noise=noise)
    alone = {name: arms[tuple(other == name for other in labels)] for name in labels}
    return replace(found, alone=alone, bundle=arms[(True,) * len(labels)])


@dataclass(frozen=True, kw_only=True)
class _Estimate:
    """An estimated log ratio, with its standard error and the degrees of freedom of that."""

    mean: float
    error: float
    freedom: int

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the interval by Student's t."""
        reach = student_t.quantile(self.freedom, alpha) * self.error
        return self.mean - reach, self.mean + reach

    @property
    def p_value(self) -> float:
        """The chance of an estimate at least as far from 0 if the log ratio is 0."""
        if not self.error:
            return 0.0 if self.mean else 1.0
        return student_t.p_value(self.mean / self.error, self.freedom)


def _attribute(
    labels: Mapping[str, str],
    arms: tuple[Row, ...],
    estimate: Callable[[np.ndarray], _Estimate],
    *,
    rounds: int,
    alpha: float,
    noise: float,
) -> Attribution:
    """Return every effect of a bundle; ``estimate`` is given the weights with which the arms' log speedups enter it."""
    if not is_full(arms) or len(arms[0]) != len(labels):
        raise BadInput(f"{len(arms)} arms of {len(labels)} techniques are no factorial design")
    names = tuple(labels)
    sets = [frozenset(name for name, on in zip(names, row, strict=True) if on) for row in arms]
    unit = dict(zip(sets, np.eye(len(arms)), strict=True))
    nothing: frozenset[str] = frozenset()
    everything = frozenset(names)

    def effect(weights: np.ndarray) -> FactorialEffect:
        found = estimate(weights)
        low, high = found.interval(alpha)
        return FactorialEffect(
            ratio=ratio_of(found.mean), low=ratio_of(low), high=ratio_of(high), verdict=verdict(low, high, noise)
        )

    average = {name: np.mean([unit[on | {name}] - unit[on] for on in unit if name not in on], axis=0) for name in names}
    groups = (chosen for size in range(2, len(names) + 1) for chosen in combinations(names, size))
    interactions = {chosen: _interaction(unit, chosen) for chosen in groups}
    return Attribution(
        labels=labels,
        bundle=effect(unit[everything] - unit[nothing]),
        alone={name: effect(unit[frozenset({name})] - unit[nothing]) for name in names},
        average={name: effect(weights) for name, weights in average.items()},
        on_top={name: effect(unit[everything] - unit[everything - {name}]) for name in names},
        interactions={chosen: effect(weights) for chosen, weights in interactions.items()},
        all_interactions=effect(np.sum(list(interactions.values()), axis=0)),
        additive=_test_additivity([estimate(weights) for weights in interactions.values()], alpha, noise),
        rounds=rounds,
    )


def _interaction(unit: Mapping[frozenset[str], np.ndarray], chosen: Names) -> np.ndarray:
    """Return the weights of an interaction: the alternating sum over the sets of its techniques that are on."""
    subsets = [subset for size in range(len(chosen) + 1) for subset in combinations(chosen, size)]
    signed = [(-1.0) ** (len(chosen) - len(subset)) * unit[frozenset(subset)] for subset in subsets]
    total: np.ndarray = np.sum(signed, axis=0)
    return total


def _batch_means(log_speedups: np.ndarray, count: int) -> np.ndarray:
    """Return the means of consecutive batches, spread further apart to make up for the stretches' autocorrelation.

    The variance of batch means underestimates that of the whole mean. The correction assumes a first-order
    autoregression (Priestley 1981, *Spectral Analysis and Time Series*, chapter 5) that all arms share.
    """
    count = min(count, len(log_speedups))
    means = np.array([batch.mean(axis=0) for batch in np.array_split(log_speedups, count)])
    each, r = len(log_speedups) / count, _autocorrelation(log_speedups)
    missed = 2 * r * (1 - r**each) / (each * (1 - r * r))
    centre = means.mean(axis=0)
    spread: np.ndarray = centre + (means - centre) / math.sqrt(1 - missed)
    return spread


def _autocorrelation(log_speedups: np.ndarray) -> float:
    """Return the first-order autocorrelation of stretches over all arms, from 0 to 0.9."""
    centred = log_speedups - log_speedups.mean(axis=0)
    whole = float((centred**2).sum())
    return min(max(float((centred[1:] * centred[:-1]).sum()) / whole, 0.0), 0.9) if whole else 0.0


def _test_additivity(interactions: list[_Estimate], alpha: float, noise: float) -> Additivity:
    """Test whether all interactions are 0 on the log scale, and bound them all at once, by Bonferroni."""
    furthest = max(abs(bound) for found in interactions for bound in found.interval(alpha / len(interactions)))
    p_value = min(1.0, len(interactions) * min(found.p_value for found in interactions))
    if furthest < math.log1p(noise):
        return Additivity(verdict="multiply", p_value=p_value, within=math.expm1(furthest))
    return Additivity(
        verdict="interact" if p_value < alpha else "undecided", p_value=p_value, within=ratio_of(furthest) - 1
    )


def _factor(ratio: float) -> str:
    return units.speedup(ratio) if ratio < _MAX_AS_FACTOR else f"more than {units.speedup(_MAX_AS_FACTOR)}"


def _distance_from_1(effect: FactorialEffect) -> float:
    """Return the factor between 1 and the nearer end of an interval, 1 where the interval includes it."""
    return max(effect.low, 1 / effect.high, 1.0)


def _ratio(effect: FactorialEffect) -> str:
    return units.speedup(effect.ratio)
