"""Every rung of the array ladder computes the same formula."""

from typing import Any

import numpy as np
import pytest

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, find_technique, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import Unavailable
from accelbench.frameworks import load

framework = load("numpy")
LADDER = find_technique("numpy", "ladder")


def build(**options: Any) -> Arm:
    return find_workload("ladder-chain").build(Setting(), **options)


@pytest.mark.parametrize("level", LADDER.levels)
def test_every_rung_computes_the_formula(level: str) -> None:
    try:
        arm = LADDER.apply(build, level)
    except Unavailable as error:
        pytest.skip(str(error))  # one core
    arm.reset()
    output = arm.step()
    a, b, c = (operand.astype(float) for operand in arm.inputs()[0])
    expected = np.sqrt(a**2 + b**2) * np.exp(-(c**2)) + np.sin(a)
    assert output.dtype == np.float32
    assert relative_error([output.astype(float)], [expected]) < 1e-6
    arm.close()


def test_a_loop_takes_nothing_that_arrays_need() -> None:
    with pytest.raises(Unavailable, match="holds back all other threads"):
        build(form="loop", workers=2)
