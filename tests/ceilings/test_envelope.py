"""From rates that were seen at some sizes to ceilings for every working set."""

from hypothesis import given
from hypothesis import strategies as st

from harness.ceilings.envelope import envelope, find, highest
from harness.record import Ceiling

sizes = st.integers(min_value=1, max_value=2**34)
rates = st.floats(min_value=1e6, max_value=1e13)
seen = st.dictionaries(sizes, rates, min_size=1, max_size=12)


def memory(rates_by_size: dict[int, float]) -> list[Ceiling]:
    return [
        Ceiling(name="cpu memory", per_s=per_s, unit="byte", working_set_bytes=size)
        for size, per_s in rates_by_size.items()
    ]


def ceiling(ceilings: list[Ceiling], working_set_bytes: float) -> float:
    found = find(ceilings, "cpu memory", working_set_bytes)
    assert found is not None
    return found.per_s


@given(seen, sizes)
def test_a_working_set_may_run_as_fast_as_anything_larger_than_half_of_it_did(
    rates_by_size: dict[int, float], working_set: int
) -> None:
    larger = [per_s for size, per_s in rates_by_size.items() if size > working_set / 2]
    expected = max(larger) if larger else rates_by_size[max(rates_by_size)]
    assert ceiling(envelope(memory(rates_by_size)), working_set) == expected


@given(seen, sizes, sizes)
def test_a_larger_working_set_never_has_a_higher_ceiling(
    rates_by_size: dict[int, float], first: int, second: int
) -> None:
    ceilings = envelope(memory(rates_by_size))
    assert ceiling(ceilings, max(first, second)) <= ceiling(ceilings, min(first, second))


@given(seen, seen, sizes)
def test_of_two_frameworks_the_faster_one_counts_at_every_working_set(
    one: dict[int, float], other: dict[int, float], working_set: int
) -> None:
    both = envelope(memory(one)), envelope(memory(other))
    assert ceiling(highest(*both), working_set) == max(ceiling(each, working_set) for each in both)


def test_names_are_kept_apart() -> None:
    matrix = Ceiling(name="cpu matrix fp32", per_s=2e11, unit="operation")
    ceilings = highest(envelope([matrix, *memory({1024: 1e11})]), envelope(memory({1024: 2e11})))
    assert find(ceilings, "cpu matrix fp32", 10**9) == matrix
    assert ceiling(ceilings, 0) == 2e11
    assert find(ceilings, "cuda:0 memory") is None
