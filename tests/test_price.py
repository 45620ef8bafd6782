"""The price of a speedup: what is worth a word, and which memory two arms are compared in."""

import pytest
from runs import arm, effect, memory, run, trial

from accelbench import price
from accelbench.results import Findings
from accelbench.results.load import as_result
from accelbench.schema.result import Price

MIB = 2**20


def candidate(paid, **fields):
    return arm({"amp": "bf16"}, 0.005, effect=effect(2.0, 1.9, 2.1, "faster"), price=paid, **fields)


def described(paid, before):
    measured = run(trial(arm({"amp": "fp32"}, 0.01, price=before), candidate(paid)))
    (row,) = Findings(as_result("0001_a.json", None, measured)).effect_rows
    return price.describe_price(row)


@pytest.mark.parametrize(
    ("after", "before", "said"),
    [
        (300 * MIB, 100 * MIB, "200 MiB more memory"),
        (100 * MIB, 300 * MIB, "200 MiB less memory"),
        (2 * MIB, 1 * MIB, "1.00 MiB more memory"),
        (MIB + 1000, MIB, ""),
        (101 * MIB, 100 * MIB, ""),
        (103 * MIB, 100 * MIB, "3.00 MiB more memory"),
        (None, 100 * MIB, ""),
    ],
)
def test_memory_is_worth_a_word_from_one_mebibyte_and_two_per_cent_on(after, before, said):
    assert price.describe_memory(after, before) == said


def test_two_arms_are_compared_by_their_allocators_peaks_where_both_have_one():
    assert described(memory(9 * MIB, allocator=4 * MIB), memory(1 * MIB, allocator=2 * MIB)) == "2.00 MiB more memory"


def test_a_candidate_on_a_device_is_compared_with_a_baseline_on_the_host_by_resident_memory():
    assert described(memory(9 * MIB, allocator=900 * MIB), memory(4 * MIB)) == "5.00 MiB more memory"


def test_error_and_energy_stand_beside_the_memory():
    paid = Price(error=0.0042, energy_j_per_item=0.5, energy_of="GPU", peak_rss_bytes=0)
    before = Price(energy_j_per_item=1.0, energy_of="GPU", peak_rss_bytes=5 * MIB)
    assert described(paid, before) == "numeric error 0.42 %, 5.00 MiB less memory, 50 % less energy per image"


def test_energies_of_different_devices_are_not_compared():
    paid = Price(energy_j_per_item=0.5, energy_of="GPU")
    assert described(paid, Price(energy_j_per_item=1.0, energy_of="CPU")) == ""


def test_a_first_call_is_worth_a_word_from_a_tenth_of_a_second_and_three_iterations_on():
    said = [price.describe_first_call(*seconds) for seconds in ((1.0, 0.1), (0.05, 0.001), (1.0, 0.5))]
    assert said == ["first call 1.00 s", "", ""]
