"""Ladders: techniques stacked in a stated order, and what follows from theirs."""

import pytest

from accelbench.core import Arm, Trial, find_technique, ladder, technique
from accelbench.errors import BadInput, Unavailable


@technique("fake", levels=("1", "8"), same_output=False)
def bulk(build, level):
    """How much at once."""
    return build(bulk=int(level))


@technique("fake", levels=("exact", "rough"), tolerance={"rough": 0.02})
def coarseness(build, level):
    """How exactly."""
    return build(coarseness=level)


@technique("fake", levels=("off", "on"))
def other_chip(build, level):
    """Another chip."""
    if level == "on":
        raise Unavailable("there is no other chip")
    return build(other_chip=False)


@technique("fake", levels=("none", "compiled"), compiles=("compiled",))
def translation(build, level):
    """Into another language."""
    return build(translation=level)


@technique("fake", levels=("off", "on"), environment={"on": {"CHIP": "1"}})
def apart(build, level):
    """Something of a whole process."""
    return build(apart=level)


@technique("fake", levels=lambda host: tuple(map(str, range(1, host.cores + 1))))
def crew(build, level):
    """How many work."""
    return build(crew=int(level))


STEPS = [("coarseness", "rough"), ("bulk", "8"), ("other_chip", "on")]
CLIMB = ladder("fake", "climb", start={"bulk": "1", "coarseness": "exact", "other_chip": "off"}, steps=STEPS)


def built(made, level):
    options = {}
    made.apply(lambda **given: (options.update(given), Arm(step=lambda: 1))[1], level)
    return options


def test_a_ladder_is_a_technique_whose_levels_say_what_they_add():
    assert find_technique("fake", "climb") is CLIMB
    assert CLIMB.levels == ("start", "+coarseness rough", "+bulk 8", "+other-chip on")
    assert CLIMB.summary == "One technique after another: coarseness rough, bulk 8, other-chip on."


def test_each_rung_keeps_what_those_below_it_switched():
    assert built(CLIMB, "start") == {"bulk": 1, "coarseness": "exact", "other_chip": False}
    assert built(CLIMB, "+bulk 8") == {"bulk": 8, "coarseness": "rough", "other_chip": False}


def test_a_rung_that_cannot_run_is_left_out_of_those_above_it():
    with pytest.raises(Unavailable, match="no other chip"):
        built(CLIMB, "+other-chip on")
    steps = [("other_chip", "on"), ("bulk", "8")]
    above = ladder("fake", "other_climb", start={"other_chip": "off"}, steps=steps).without(["+other-chip on"])
    assert built(above, "+bulk 8") == {"other_chip": False, "bulk": 8}


def test_numeric_errors_add_up_and_rungs_above_a_change_of_the_problem_compute_what_it_computes():
    assert [CLIMB.tolerance_at(level) for level in CLIMB.levels] == [1e-4, 0.02, 0.02, 0.02]
    assert [CLIMB.computes(level) for level in CLIMB.levels] == ["", "", "+bulk 8", "+bulk 8"]


def test_a_rung_compiles_if_one_that_it_holds_does_or_the_start_did():
    steps = [("bulk", "8"), ("translation", "compiled"), ("coarseness", "rough"), ("translation", "none")]
    start = {"bulk": "1", "translation": "none", "coarseness": "exact"}
    climb = ladder("fake", "climb_to_a_compiler", start=start, steps=steps)
    assert climb.compiles == ("+translation compiled", "+coarseness rough")
    assert ladder("fake", "climb_from_a_compiler", start={**start, "translation": "compiled"}, steps=steps[:1]).compiles


def test_what_needs_a_process_of_its_own_is_no_rung():
    with pytest.raises(BadInput, match="apart is compared between processes, so it cannot be a rung of wrong"):
        ladder("fake", "wrong", start={}, steps=[("apart", "on")])


@pytest.mark.parametrize(
    ("name", "start", "steps", "sentence"),
    [
        (
            "wrong",
            {},
            [("coarseness", "ruogh")],
            "ladder wrong: coarseness has no level 'ruogh'; expected some of: exact",
        ),
        ("wrong", {"bulk": "2"}, STEPS, "ladder wrong: bulk has no level '2'; expected some of: 1, 8"),
        ("wrong", {}, [("bulkk", "8")], "^ladder wrong: unknown technique 'bulkk' for fake; expected one of: "),
        ("wrong", {"bulk": "1"}, [], "ladder wrong has no steps; expected one or more"),
        ("wrong", {}, [("bulk", "8"), ("bulk", "1"), ("bulk", "8")], "ladder wrong switches bulk to '8' twice"),
        ("two words", {}, STEPS, "ladder was given the name 'two words'; expected a Python name"),
    ],
)
def test_a_ladder_that_cannot_be_climbed_is_refused_in_one_line(name, start, steps, sentence):
    with pytest.raises(BadInput, match=sentence):
        ladder("fake", name, start=start, steps=steps)


def test_a_level_that_depends_on_the_machine_may_be_a_rung():
    assert ladder("fake", "crew_climb", start={"crew": "1"}, steps=[("crew", "64")]).levels == ("start", "+crew 64")


def test_the_rungs_below_an_arm_are_those_that_differ_in_the_ladder_alone():
    rungs = CLIMB.levels[:3]
    arms = tuple({"climb": rung, "other_chip": level} for level in ("off", "on") for rung in rungs)
    trial = Trial(framework="fake", workload="walk", arms=arms)
    assert [trial.rungs_below(place) for place in range(6)] == [(), (0,), (0, 1), (), (3,), (3, 4)]
