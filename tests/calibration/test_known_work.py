"""Work of known truth does what its name claims."""

import pytest

from harness.calibration.known_work import KNOWN, KnownWork, find_work, slow_once
from harness.calibration.measurements import duel


@pytest.mark.parametrize("name", [work.name for work in KNOWN if work.divisible])
@pytest.mark.parametrize("per_cent", [1, 2, 3, 5, 10])
def test_a_dose_is_exactly_so_much_more_work(name, per_cent):
    asked = []
    work = KnownWork(name=name, framework="numpy", build=asked.append, usual=find_work(name).usual)
    work.step(per_cent / 100)
    assert 100 * asked[0] == (100 + per_cent) * work.usual


def test_the_slow_call_comes_once():
    calls, waited = [], []
    step = slow_once(lambda: calls.append("step"), 2, wait=lambda: waited.append(len(calls)))
    for _ in range(4):
        step()
    assert (len(calls), waited) == (4, [1])


def test_a_real_duel_says_what_met_and_how_it_ended():
    found = duel("short Python loop", 0.1, 0, 0.1)
    assert (found.through, found.work, found.dose, found.neighbours) == ("compare", "short Python loop", 0.1, 0)
    assert found.low <= found.speedup
    assert found.spent_s > 0
