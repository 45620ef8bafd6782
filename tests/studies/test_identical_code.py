"""The study of identical code: its arms are what it says they are, and its counts add up."""

import pytest

import accelbench
from accelbench import CandidateResult, Comparison
from accelbench.schema.result import Verdict
from studies.identical_code import KINDS, Tally, share


def comparison(verdict: Verdict) -> Comparison:
    candidates = {"again": CandidateResult(speedup=1.0, low=0.9, high=1.1, verdict=verdict, builds=7)}
    return Comparison(baseline="once", candidates=candidates, per_item_s={"once": 1.0, "again": 1.0})


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_step_can_be_copied(kind: str) -> None:
    pytest.importorskip("torch")
    arms = {"once": KINDS[kind].make(100), "again": KINDS[kind].make(103)}
    found = accelbench.compare(arms, budget_s=0.2, tolerance=None)
    assert not any("as they are" in warning for warning in found.warnings)


def test_a_row_counts_the_verdicts_and_the_seconds_of_those_that_decide() -> None:
    tally = Tally()
    counted: list[tuple[Verdict, float]] = [("same", 0.2), ("same", 0.4), ("undecided", 1.0)]
    for verdict, took_s in counted:
        tally.add(comparison(verdict), took_s)
    assert tally.row("copy", "the same") == "| copy | the same | 3 | 2 | 0 | 0 | 1 | 7 | 0 | 0.30 |"


def test_a_share_has_the_interval_of_wilson() -> None:
    tally = Tally()
    for _ in range(10):
        tally.add(comparison("same"), 0.1)
    assert share([tally], "same") == "10 of 10 (72.2 % to 100.0 %)"
