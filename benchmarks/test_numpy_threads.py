"""From which size on do all cores pay in NumPy's linear algebra, and is everything else as fast on one?"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize(
    ("workload", "elements"),
    [
        ("matrix-product", 10**4),
        ("matrix-product", 10**5),
        ("matrix-product", 10**6),
        ("elementwise-chain", 10**6),
    ],
)
@toggles("numpy", "threads")
def test_numpy_threads(measure, workload, elements):
    measure(workload, elements=elements)
