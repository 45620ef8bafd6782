"""Factorial designs: which combinations are measured, and from rounds to effects, their intervals and their product."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from accelbench.attribution import Attribution, FactorialEffect, Row, batches_for, combine, design, fit, is_full
from accelbench.errors import BadInput
from accelbench.measuring.statistics import STRETCHES, in_order

NOISE = 0.03
NAMES = ("amp", "memory_format", "compile", "tf32")


def taken_apart(
    techniques: int,
    speedup: Callable[[Row], float],
    *,
    rng: np.random.Generator,
    kind: str = "independent",
    rounds: int = 200,
) -> Attribution:
    """Return the attribution of simulated rounds; ``speedup`` gives each arm's true one."""
    arms = design(techniques)
    log_s = _noise(kind, rounds, len(arms), rng) - np.log([speedup(arm) for arm in arms])
    labels = {name: f"{name} on" for name in NAMES[:techniques]}
    return fit(labels, arms, stretches(log_s[:, :1] - log_s), rounds=rounds, alpha=0.05)


def stretches(log_speedups: np.ndarray) -> np.ndarray:
    """Return the medians of stretches of rounds for all arms at once, as ``in_order`` gives them for one."""
    rounds, arms = log_speedups.shape
    middles: np.ndarray = np.median(log_speedups.reshape(min(rounds, STRETCHES), -1, arms), axis=1)
    return middles


def product_of(*each: float) -> Callable[[Row], float]:
    """Return speedups that multiply."""
    return lambda arm: math.prod(ratio for ratio, on in zip(each, arm, strict=True) if on)


def interacting(together: float, *each: float) -> Callable[[Row], float]:
    """Return speedups that multiply, but that the first two techniques are so many times as fast together."""
    multiplying: Callable[[Row], float] = product_of(*each)
    return lambda arm: multiplying(arm) * (together if arm[0] and arm[1] else 1.0)


def _noise(kind: str, rounds: int, arms: int, rng: np.random.Generator) -> np.ndarray:
    own = rng.normal(scale=NOISE, size=(rounds, arms))
    if kind == "spiky":
        own += (rng.random((rounds, arms)) < 0.02) * rng.exponential(2.0, size=(rounds, arms))
    if kind == "builds":  # each of which differs by an accident of its own
        builds = batches_for(arms)
        own += np.repeat(rng.normal(scale=NOISE, size=(builds, arms)), rounds // builds, axis=0)
    if kind == "drifting":  # the machine becomes slower, and once all at once
        own += (np.linspace(0, 1, rounds) + 0.3 * (np.arange(rounds) > rounds / 3))[:, None]
    if kind == "common weather":
        own += _remembering(0.98, rng.normal(scale=0.05, size=(rounds, 1)))
    if kind == "weather of each arm":
        own = _remembering(0.8, own)
    return own


def _remembering(share: float, shocks: np.ndarray) -> np.ndarray:
    """Return first-order autoregressive noise."""
    course = [shocks[0] / math.sqrt(1 - share**2)]
    for shock in shocks[1:]:
        course.append(share * course[-1] + shock)
    return np.array(course)


@pytest.mark.parametrize("rounds", [20, 40, 200])
def test_the_stretches_of_all_arms_are_those_that_a_result_keeps_of_each(rounds, rng):
    log_speedups = rng.normal(scale=NOISE, size=(rounds, 4))
    kept = np.column_stack([in_order(arm) for arm in log_speedups.T])
    assert stretches(log_speedups) == pytest.approx(kept, rel=5.1e-4)  # which has four significant digits


@pytest.mark.parametrize("techniques", [2, 3, 4])
def test_every_combination_is_measured_from_all_off_to_all_on(techniques):
    rows = design(techniques)
    assert set(rows) == set(product((False, True), repeat=techniques))
    assert is_full(rows)
    assert not any(rows[0])
    assert all(rows[-1])


@pytest.mark.parametrize(
    "rows",
    [
        (),
        ((False,), (True,)),
        ((False, False), (True, False), (True, True)),
        ((False, False), (True, False), (True, False), (True, True)),
    ],
    ids=["no-arms", "one-technique", "one-missing", "one-twice"],
)
def test_other_arms_are_no_full_design(rows):
    assert not is_full(rows)


@pytest.mark.parametrize("techniques", [0, 1, 5])
def test_too_few_or_too_many_techniques_are_refused_in_one_line(techniques):
    with pytest.raises(BadInput, match=rf"bundle of {techniques} techniques? cannot be taken apart; give 2 to 4"):
        design(techniques)


KINDS = ["independent", "spiky", "drifting", "common weather", "weather of each arm", "builds"]


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def near(value):
    return pytest.approx(value, rel=0.02)


def test_layout_that_pays_only_with_precision_is_told_alone_on_average_and_on_top(rng):
    found = taken_apart(2, interacting(2.8, 1.8, 0.6), rng=rng)
    assert found.bundle.ratio == near(1.8 * 0.6 * 2.8)
    assert found.alone["memory_format"].ratio == near(0.6)
    assert found.alone["memory_format"].verdict == "slower"
    assert found.average["memory_format"].ratio == near(0.6 * math.sqrt(2.8))
    assert found.on_top["memory_format"].ratio == near(0.6 * 2.8)
    assert found.on_top["memory_format"].verdict == "faster"
    assert found.interactions["amp", "memory_format"].ratio == near(2.8)


@pytest.mark.parametrize("techniques", [2, 3, 4])
def test_what_each_brings_alone_times_all_interactions_is_the_bundle(techniques, rng):
    found = taken_apart(techniques, interacting(1.5, *[1.2] * techniques), rng=rng)
    shares = [*found.alone.values(), *found.interactions.values()]
    assert math.prod(share.ratio for share in shares) == pytest.approx(found.bundle.ratio)
    assert len(shares) == 2**techniques - 1
    assert found.all_interactions.ratio == near(1.5)


def test_with_two_techniques_what_they_bring_on_average_multiplies_to_the_bundle(rng):
    found = taken_apart(2, interacting(2.8, 1.8, 0.6), rng=rng)
    assert math.prod(share.ratio for share in found.average.values()) == pytest.approx(found.bundle.ratio)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_the_truth_as_often_as_they_say(kind, rng):
    truth, times, held = interacting(1.3, 1.8, 0.6), 250, 0
    for _ in range(times):
        share = taken_apart(2, truth, rng=rng, kind=kind).interactions["amp", "memory_format"]
        held += share.low <= 1.3 <= share.high
    assert 0.90 <= held / times <= 0.99  # of 95 %; 250 repetitions tell it to 1.4 %


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_effects_that_multiply_are_seldom_said_to_interact(kind, rng):
    found = [taken_apart(3, product_of(1.8, 0.6, 1.1), rng=rng, kind=kind).additive for _ in range(100)]
    assert sum(each.verdict == "interact" for each in found) <= 12  # of 5 in 100


def test_an_interaction_is_found_and_bounded(rng):
    additive = taken_apart(3, interacting(1.2, 1.8, 0.6, 1.1), rng=rng).additive
    assert additive.verdict == "interact"
    assert additive.p_value < 0.001
    assert additive.within > 0.15


def test_effects_multiply_where_every_interaction_lies_within_the_noise_zone(rng):
    found = taken_apart(2, product_of(1.8, 0.6), rng=rng, rounds=20_000)
    assert found.additive.verdict == "multiply"
    assert found.additive.within < 0.01
    assert "they multiply within 0." in found.sentence


def test_the_sentence_names_the_bundle_each_share_and_the_test(rng):
    found = taken_apart(2, interacting(2.8, 1.8, 0.6), rng=rng)
    said = found.sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert said.startswith("Of the bundle's 3.0")
    for part in (
        "amp on alone 1.",
        "memory_format on alone 0.",
        "their interaction 2.",
        "not simply multiply (p < 0.001)",
    ):
        assert part in said


def test_what_is_left_open_is_said_with_the_room_that_there_is(rng):
    found = taken_apart(3, product_of(1.8, 0.6, 1.1), rng=rng, rounds=20)
    assert found.additive.verdict == "undecided"
    assert "it is undecided whether they multiply, interactions may reach " in found.sentence
    assert "most surely" not in found.sentence


def test_of_several_interactions_the_surest_is_named(rng):
    found = taken_apart(3, interacting(1.5, 1.8, 0.6, 1.1), rng=rng)
    assert "their interactions 1." in found.sentence
    assert ", most surely amp × memory-format 1." in found.sentence


def test_what_is_no_design_and_what_has_too_few_rounds_is_refused():
    labels = {"amp": "amp bf16", "tf32": "tf32 high"}
    with pytest.raises(BadInput, match="3 arms of 2 techniques are no factorial design"):
        fit(labels, ((False, False), (True, False), (True, True)), np.zeros((9, 3)), rounds=9)
    with pytest.raises(BadInput, match="3 rounds cannot take a bundle apart"):
        fit(labels, ((False, False), (True, False), (False, True), (True, True)), np.zeros((3, 4)), rounds=3)


def combined(log_speedups: dict[Row, float], reaches: dict[Row, float]) -> Attribution:
    """Return what is combined from arms of two techniques, with intervals that reach so far on the log scale."""
    effects = {
        row: FactorialEffect(
            ratio=math.exp(middle),
            low=math.exp(middle - reaches[row]),
            high=math.exp(middle + reaches[row]),
            verdict="undecided",
        )
        for row, middle in log_speedups.items()
    }
    return combine({"amp": "amp bf16", "tf32": "tf32 high"}, effects, rounds=9)


AMP, TF32, BOTH = (True, False), (False, True), (True, True)


def test_what_is_combined_has_the_arms_own_effects_and_multiplies_to_the_bundle():
    found = combined({AMP: 0.5, TF32: 0.3, BOTH: 1.0}, {AMP: 0.1, TF32: 0.3, BOTH: 0.2})
    assert found.alone["amp"].ratio == pytest.approx(math.exp(0.5))
    assert (found.alone["tf32"].low, found.bundle.high) == pytest.approx((1.0, math.exp(1.2)))
    product_of_shares = math.prod(each.ratio for each in found.alone.values()) * found.all_interactions.ratio
    assert product_of_shares == pytest.approx(found.bundle.ratio)
    assert found.on_top["amp"].ratio == pytest.approx(math.exp(0.7))
    assert found.average["amp"].ratio == pytest.approx(math.exp((0.5 + 0.7) / 2))


def test_combined_intervals_hold_the_truth_as_often_as_they_say(rng):
    """The runs of every arm scatter, those of the arm with none on too, by as much as the arms' intervals say."""
    deviations = {(False, False): 0.02, AMP: 0.02, TF32: 0.05, BOTH: 0.03}
    at_99 = 2.576
    missed = dict.fromkeys(("average", "on top", "interaction"), 0)
    for _ in range(2000):
        seen = {row: rng.normal(0, deviation) for row, deviation in deviations.items()}
        own = {row: seen[row] - seen[False, False] for row in (AMP, TF32, BOTH)}
        found = combined(own, {row: at_99 * math.hypot(deviations[row], 0.02) for row in own})
        shares = found.average["amp"], found.on_top["tf32"], found.interactions["amp", "tf32"]
        for name, share in zip(missed, shares, strict=True):
            missed[name] += not share.low <= 1 <= share.high
    assert all(5 <= count <= 40 for count in missed.values()), missed


def test_an_arm_without_an_interval_leaves_open_only_what_rests_on_it():
    found = combined({AMP: 0.5, TF32: 0.3, BOTH: 1.0}, {AMP: math.inf, TF32: 0.1, BOTH: 0.1})
    assert found.on_top["amp"].verdict == "faster"
    assert found.on_top["tf32"].verdict == found.all_interactions.verdict == "undecided"
    assert found.additive.verdict == "undecided"


def test_arms_that_are_missing_cannot_be_combined():
    with pytest.raises(BadInput, match="3 arms of 2 techniques are no factorial design"):
        combined({AMP: 0.5, BOTH: 1.0}, {AMP: 0.1, BOTH: 0.1})


def test_the_sentence_begins_with_a_capital_and_its_clause_goes_on_from_a_place(rng):
    found = taken_apart(2, product_of(1.8, 0.6), rng=rng)
    assert found.sentence.startswith("Of the bundle's ")
    assert found.clause == found.sentence.replace("Of the", "of the")
