"""What a technique costs, in words: a first call that is paid back says when."""

import pytest

from harness.report.answer.prices import price_in_words

SLOW_TO_START = {
    "error": None, "memory_bytes": None, "baseline_memory_bytes": None, "verdict": "faster", "unit": "image",
    "cold_s": 1.02, "baseline_cold_s": 0.02, "s_per_iteration": 0.01, "baseline_s_per_item": 0.02 / 8,
    "items": 8.0, "baseline_items": 8.0, "speedup": 2.0, "low": 2.0, "high": 2.0,
}  # fmt: skip


def test_a_slow_first_call_says_when_it_is_paid_back() -> None:
    assert price_in_words(SLOW_TO_START) == ["first call 1.02 s paid back after 101 iterations"]


@pytest.mark.parametrize("verdict", ["slower", "same", "undecided"])
def test_what_is_not_faster_pays_nothing_back(verdict: str) -> None:
    assert price_in_words(SLOW_TO_START | {"verdict": verdict}) == ["first call 1.02 s"]


def test_a_quick_first_call_is_not_worth_a_word() -> None:
    assert price_in_words(SLOW_TO_START | {"cold_s": 0.02}) == []
