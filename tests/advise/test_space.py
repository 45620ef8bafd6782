"""The space of configurations."""

from random import Random

import pytest
from surfaces import axis

import accelbench.techniques  # noqa: F401  fills the catalogue
from accelbench.advise.space import SearchSpace, build_space
from accelbench.errors import Unavailable
from accelbench.measuring.applicable import Applicable

SPACE = SearchSpace(
    (
        axis("amp", "fp32", "bf16"),
        axis("batch_size", "1", "8", computes_other=True),
        axis("threads", "1", "all"),
    )
)


def test_what_is_compared_computes_the_same_with_as_little_switched_as_possible():
    assert SPACE.reference(("bf16", "8", "all")) == ("fp32", "8", "1")
    assert SPACE.references() == [("fp32", "1", "1"), ("fp32", "8", "1")]


def test_neighbours_differ_in_one_technique_or_in_two():
    near = SPACE.neighbours(SPACE.baseline)
    assert {len(SPACE.changes(each)) for each in near} == {1, 2}
    assert len(near) == len(set(near)) == 6
    assert ("bf16", "1", "all") in near


def test_a_sample_holds_every_level_about_equally_often_and_nothing_known():
    known = [SPACE.baseline]
    sample = SPACE.sample(4, Random(0), known)
    assert len(set(sample)) == len(sample) >= 3
    assert SPACE.baseline not in sample
    assert {each[0] for each in sample} == {"fp32", "bf16"}


def test_a_configuration_is_named_by_what_is_switched():
    assert SPACE.label(("bf16", "8", "1")) == "amp bf16, batch-size 8"
    assert SPACE.label(SPACE.baseline) == "nothing switched"


FOUND = [
    Applicable(technique="amp", levels=("as-is", "bf16")),
    Applicable(technique="workers", levels=("as-is",), refused={"1": "nothing waits for batches"}),
]


def test_of_several_techniques_that_are_wished_for_those_that_are_refused_are_left_out():
    assert [axis.technique for axis in build_space("torch", FOUND, ("workers", "amp")).axes] == ["amp"]


def test_techniques_that_are_wished_for_have_their_place_among_the_wishes():
    found = [Applicable(technique=name, levels=("as-is", "other")) for name in ("amp", "attention", "workers")]
    asked_at = {axis.technique: axis.asked_at for axis in build_space("torch", found, ("attention", "amp")).axes}
    assert asked_at == {"attention": 0, "amp": 1}
    assert {axis.asked_at for axis in build_space("torch", found, ()).axes} == {None}


def test_the_batch_size_of_a_program_is_known_although_only_something_else_is_searched():
    found = [
        Applicable(technique="amp", levels=("as-is", "bf16")),
        Applicable(technique="batch_size", levels=("as-is", "64"), present=("32",)),
    ]
    workers = Applicable(technique="workers", levels=("as-is", "1"), options=frozenset({"workers"}))
    assert build_space("torch", [*found, workers], ("amp",)).batch_size == 32
    assert build_space("torch", found, ("amp",)).batch_size is None  # nothing about loading, which an iteration shows


@pytest.mark.parametrize(
    ("only", "why"),
    [
        (("workers",), "workers cannot be switched here: nothing waits for batches; what can: amp$"),
        (("amp", "threads"), "threads cannot be switched here; what can: amp$"),
    ],
)
def test_a_wish_that_leaves_nothing_or_means_nothing_is_refused_in_one_line(only, why):
    with pytest.raises(Unavailable, match=f"^--only: {why}"):
        build_space("torch", FOUND, only)
