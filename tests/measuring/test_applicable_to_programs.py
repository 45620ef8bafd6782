"""Which techniques apply to a user's program, over the program as it stands."""

import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from accelbench.core import AS_IS, Arm, Host, Setting, Technique, Trial, Workload, apply_all
from accelbench.errors import BadInput
from accelbench.measuring.applicable import applicable


def _built(setting: Setting, *, gait: str = "slow", reach: str = "short") -> Arm:  # noqa: ARG001  as builders are called
    return Arm(step=lambda: (gait, reach))


WALK = Workload(
    name="walk.py:build", frameworks=("numpy",), unit="step", summary="Walk.", builder=_built, is_program=True
)


def _switch(name: str, *levels: str, **declared) -> Technique:
    def apply(build, level):
        return build(**{name: level})

    usual = {"snippet": dict.fromkeys(levels[1:], f"{name} = '{{level}}'")}
    return Technique(name=name, framework="numpy", levels=levels, summary="", apply=apply, **usual | declared)


@pytest.fixture(autouse=True)
def own_catalogue(monkeypatch):
    monkeypatch.setattr(sys.modules["accelbench.core.technique"], "_TECHNIQUES", {})


def found(*techniques: Technique, workload: Workload = WALK):
    trial = Trial(framework="numpy", workload=workload, arms=({},), techniques=techniques)
    return {each.technique: each for each in applicable(trial, Host())}


def test_the_first_level_is_the_program_as_it_stands_and_what_it_has_already_is_left_out():
    gait = found(_switch("gait", "slow", "quick", "quicker"))["gait"]
    assert gait.levels == (AS_IS, "quick", "quicker")
    assert gait.present == ("slow",)
    assert gait.refused == {}


def test_a_level_that_a_process_has_by_itself_is_what_the_program_has():
    gait = found(_switch("gait", "quick", "slow", "brisk", is_usual=lambda level: level == "brisk"))["gait"]
    assert gait.present == ("slow", "brisk")


def test_a_level_without_anything_to_write_is_no_advice_and_the_first_one_needs_no_excuse():
    gait = found(_switch("gait", "lame", "slow", "quick", "odd", snippet={"quick": "hurry()"}))["gait"]
    assert gait.levels == (AS_IS, "quick")
    assert gait.refused == {"odd": "its declaration does not say what to write for it"}


@dataclass(frozen=True, kw_only=True)
class Gait:
    """The one option of a program that says what to write."""

    gait: str = "slow"


def _with_recipes(name: str) -> Workload:
    arm = Arm(step=lambda: None, recipes={name: {"quick": "run()"}})
    return replace(WALK, shared=Gait, builder=lambda _, __: arm)


def test_what_a_program_says_to_write_comes_with_the_technique():
    gait = found(_switch("gait", "slow", "quick"), workload=_with_recipes("gait"))["gait"]
    assert gait.recipes == {"quick": "run()"}


def test_a_number_of_the_programs_own_that_is_no_level_is_what_it_has():
    arm = Arm(step=lambda: None, own_numbers={"gait": 24})
    walk = replace(WALK, shared=Gait, builder=lambda _, __: arm)
    gait = found(_switch("gait", "8", "16", "32"), workload=walk)["gait"]
    assert (gait.levels, gait.present) == ((AS_IS, "16", "32"), ("24",))


def test_a_recipe_for_something_that_is_no_technique_is_refused():
    with pytest.raises(BadInput, match="unknown technique 'gate'"):
        found(_switch("gait", "slow", "quick"), workload=_with_recipes("gate"))


def test_a_technique_that_the_program_has_no_option_for_is_not_mentioned():
    assert found(_switch("flight", "off", "on")) == {}


def test_a_suite_workload_keeps_the_declared_baseline():
    own = Workload(name="walk", frameworks=("numpy",), unit="step", summary="", builder=_built)
    assert found(_switch("gait", "slow", "quick"), workload=own)["gait"].levels == ("slow", "quick")


def test_at_the_level_as_is_no_technique_is_applied():
    gait, reach = _switch("gait", "slow", "quick"), _switch("reach", "short", "long")
    arm = apply_all([(gait, AS_IS), (reach, "long")], lambda **options: _built(Setting(), **options))
    assert arm.step() == ("slow", "long")


def test_a_program_that_cannot_be_built_says_so_before_any_technique_is_tried():
    def fail(_, __):
        raise BadInput("train.py:build raised ValueError: no data (train.py, line 3)")

    broken = Workload(
        name="train.py:build",
        frameworks=("numpy",),
        unit="item",
        summary="",
        builder=fail,
        shared=Host,
        is_program=True,
    )
    with pytest.raises(BadInput, match="no data"):
        found(_switch("gait", "slow", "quick"), workload=broken)


@dataclass(frozen=True, kw_only=True)
class Gaits:
    """Options of which one stands for another technique."""

    superseded: ClassVar[dict[str, str]] = {"gait": "reach sets the gait"}
    gait: str = "slow"
    reach: str = "short"


def test_a_technique_for_which_another_one_stands_is_left_out_with_the_reason():
    walk = replace(WALK, shared=Gaits, builder=lambda setting, gaits: Arm(step=lambda: (setting, gaits)))
    techniques = found(_switch("gait", "slow", "quick"), _switch("reach", "short", "long"), workload=walk)
    assert (techniques["gait"].levels, techniques["gait"].refused) == ((), {"*": "reach sets the gait"})
    assert techniques["reach"].levels == (AS_IS, "long")
