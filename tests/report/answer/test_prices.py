"""What a technique costs, in words: a first call that is paid back says when."""

import pytest

from harness.report.answer.prices import price_in_words

SLOW_TO_START = {
    "error": None, "memory_bytes": None, "baseline_memory_bytes": None, "verdict": "faster", "unit": "image",
    "energy_j_per_item": None, "baseline_energy_j_per_item": None, "energy_of": "", "baseline_energy_of": "",
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


COUNTED = SLOW_TO_START | {"cold_s": 0.02, "baseline_energy_j_per_item": 0.2, "baseline_energy_of": "GPU"}


@pytest.mark.parametrize(
    ("joules", "device", "said"),
    [
        (0.11, "GPU", ["45 % less energy per image"]),
        (0.24, "GPU", ["20 % more energy per image"]),
        (0.197, "GPU", []),
        (0.02, "CPU", []),
        (None, "", []),
    ],
    ids=["less", "more", "about-the-same", "another-device", "not-counted"],
)
def test_energy_is_compared_on_one_kind_of_device_where_it_differs_enough(
    joules: float | None, device: str, said: list[str]
) -> None:
    assert price_in_words(COUNTED | {"energy_j_per_item": joules, "energy_of": device}) == said
