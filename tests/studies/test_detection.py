"""The study of what is seen: its tables count every trial, and its arms are those of the tests."""

from pathlib import Path

import pytest

from studies.detection import HONEST, MUTANTS, PAGE, Examined, Tally, honest_table, mutants_table

SENTENCE, OTHER = list(MUTANTS)[:2]


def tally(*said: Examined) -> Tally:
    counted = Tally()
    for seed, examined in enumerate(said):
        counted.add(seed, examined)
    return counted


SEEN = Examined(codes=("not-finite", "too-far"))
UNSEEN = Examined()


def test_a_mutant_that_is_sometimes_missed_is_listed() -> None:
    lines = list(mutants_table({SENTENCE: tally(SEEN, SEEN), OTHER: tally(SEEN, UNSEEN)}))
    assert lines[0] == "1 of 2 are seen in each of 2 trials."
    assert f"| {SENTENCE} | 2 of 2 | `not-finite` |" in lines
    assert f"| {OTHER} | 1 of 2 | `not-finite` |" in lines
    assert lines[-1].startswith(f"- {OTHER}: missed in 1 of 2")


def test_nothing_is_listed_where_all_are_seen() -> None:
    assert list(mutants_table({SENTENCE: tally(SEEN)}))[-1] == "Each of them is seen each time."


def test_honest_arms_that_are_accused_are_listed() -> None:
    sentence = next(iter(HONEST))
    lines = list(honest_table({sentence: tally(UNSEEN, SEEN)}))
    assert lines == ["1 of 2 trials of 1 unusual honest arms were flagged.", "", f"- {sentence}: 1 of 2, `not-finite`."]


@pytest.mark.parametrize("name", ["mutants", "honest arms"])
def test_the_page_has_a_place_for_each_table(name: str) -> None:
    page = Path(PAGE).read_text()
    assert page.count(f"<!-- {name}: begin -->") == page.count(f"<!-- {name}: end -->") == 1
