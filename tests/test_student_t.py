"""Student's t in closed form, beside SciPy's."""

import math

import pytest
from scipy import stats

from accelbench.student_t import p_value, quantile

FREEDOMS = [1, 2, 3, 4, 7, 9, 10, 19, 40, 199]


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("t", [0.0, 0.1, 1.0, -2.5, 8.0])
def test_p_values_are_those_of_scipy(freedom: int, t: float) -> None:
    assert p_value(t, freedom) == pytest.approx(2 * stats.t.sf(abs(t), freedom), abs=1e-13)


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.01, 0.01 / 11, 1e-5])
def test_quantiles_are_those_of_scipy(freedom: int, alpha: float) -> None:
    assert quantile(freedom, alpha) == pytest.approx(stats.t.isf(alpha / 2, freedom), rel=1e-9)


def test_an_infinite_value_has_no_probability() -> None:
    assert p_value(math.inf, 9) == 0.0
