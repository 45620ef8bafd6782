"""What would decide an effect that is undecided."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelbench.certainty import times_the_pairs

LOGS = st.floats(-2, 2)
REACH = st.floats(1e-3, 2)


def interval(centre, below, above):
    return math.exp(centre), math.exp(centre - below), math.exp(centre + above)


def undecided(low, high, noise):
    zone = math.log1p(noise)
    return not (math.log(low) > zone or math.log(high) < -zone or (-zone < math.log(low) and math.log(high) < zone))


def test_half_the_width_takes_four_times_the_pairs() -> None:
    speedup, low, high = interval(math.log(1.01) + 0.1, 0.2, 0.2)
    assert times_the_pairs(speedup, low, high, 0.01) == pytest.approx(4)


def test_only_the_side_that_reaches_over_the_border_must_shrink() -> None:
    speedup, low, _ = interval(math.log(1.01) + 0.1, 0.2, 0.0)
    assert times_the_pairs(speedup, low, 50.0, 0.01) == pytest.approx(4)


def test_what_seems_the_same_needs_an_interval_inside_the_zone() -> None:
    zone = math.log1p(0.05)
    speedup, low, high = interval(0.0, 3 * zone, zone)
    assert times_the_pairs(speedup, low, high, 0.05) == pytest.approx(9)


def test_no_number_of_pairs_moves_an_estimate_off_the_border() -> None:
    assert times_the_pairs(1.0, 0.9, 1.1, 0.0) == math.inf


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.5), (0.5, math.inf), (0.0, math.inf)])
def test_an_interval_without_an_end_tells_nothing(low: float, high: float) -> None:
    assert times_the_pairs(1.2, low, high, 0.01) is None


@given(LOGS, REACH, REACH, st.floats(0.001, 0.2))
def test_so_many_times_the_pairs_would_decide(centre: float, below: float, above: float, noise: float) -> None:
    speedup, low, high = interval(centre, below, above)
    times = times_the_pairs(speedup, low, high, noise)
    assert times is not None
    assert times >= 1
    if math.isfinite(times) and undecided(low, high, noise):
        narrower = math.sqrt(1.001 * times)
        _, low, high = interval(centre, below / narrower, above / narrower)
        assert not undecided(low, high, noise)
