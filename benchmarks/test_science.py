"""From which size on does science written once for any array library pay on CuPy or PyTorch?

Bodies, molecules, heat, shallow water and Monte-Carlo samples. Every arm's answer must obey physics, NumPy's too:
energy, momentum, heat and mass are conserved, and the integral is known.
"""

import pytest

from accelbench import toggles

PROBLEMS = [
    ("n-body", 256),
    ("n-body", 2048),
    ("lennard-jones", 256),
    ("lennard-jones", 2048),
    ("heat", 10**4),
    ("heat", 10**6),
    ("shallow-water", 10**4),
    ("shallow-water", 250_000),
    ("monte-carlo", 10**5),
    ("monte-carlo", 10**6),
]


@pytest.mark.parametrize(("workload", "elements"), PROBLEMS)
@toggles("torch", "array_library")
def test_science_torch(measure, workload, elements):
    measure(workload, elements=elements)


@pytest.mark.parametrize(("workload", "elements"), PROBLEMS)
@toggles("cupy", "array_library")
def test_science_cupy(measure, workload, elements):
    measure(workload, elements=elements)
