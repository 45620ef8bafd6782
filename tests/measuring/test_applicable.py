"""Which techniques apply to a workload, by their declarations alone."""

import sys
from dataclasses import replace

import pytest

from accelbench.core import Arm, Host, Setting, Technique, Trial, Workload, register_techniques
from accelbench.errors import Unavailable
from accelbench.measuring.applicable import applicable


def _built(setting: Setting, *, pace: str = "slow", load: int = 1) -> Arm:
    raise AssertionError(f"built in {setting} at {pace} with {load}, although nothing is to be built")


WALK = Workload(name="walk", frameworks=("walking",), unit="step", summary="Walk.", builder=_built)
TRIAL = Trial(framework="walking", workload=WALK, arms=({},))


def _switch(name, apply, *levels, **more):
    more = {"snippet": {"*": f"{name}={{level}}"}} | more
    return Technique(name=name, framework="walking", levels=levels, summary="", apply=apply, **more)


def _only_uphill(build, level):
    if level == "run":
        raise Unavailable("nobody runs here")
    return build(pace=level)


@pytest.fixture(autouse=True)
def techniques(monkeypatch):
    monkeypatch.setattr(sys.modules["accelbench.core.technique"], "_TECHNIQUES", {})
    register_techniques(
        _switch("pace", _only_uphill, "slow", "quick", "run"),
        _switch("shoes", lambda build, level: build(shoes=level), "old", "new"),
        _switch("speed", lambda build, level: build(pace=level), "slow", "quick"),
        _switch("weather", lambda build, _: build(), "rain", "sun"),
        _switch("detour", lambda build, _: build(), "no", "yes", "lake", same_output=("lake",)),
        _switch("unwritten", lambda build, _: build(), "a", "b", snippet={}),
        _switch("started", lambda build, _: build(), "a", "b", environment={"b": {"X": "1"}}),
    )


def found(trial=TRIAL):
    return {each.technique: each for each in applicable(trial, Host())}


def test_what_a_workload_takes_is_found_without_building_it():
    assert {name: each.levels for name, each in found().items() if each.levels} == {
        "pace": ("slow", "quick"),
        "weather": ("rain", "sun"),
        "detour": ("no", "lake"),
    }


def test_what_is_left_out_says_why():
    assert found()["pace"].refused == {"run": "nobody runs here"}
    assert found()["detour"].refused == {"yes": "it computes something else"}
    assert found()["speed"].refused == {"*": "pace sets pace already"}


def test_what_is_held_is_not_free():
    held = found(replace(TRIAL, fixed={"speed": "quick"}))
    assert "speed" not in held
    assert held["pace"].refused == {"*": "speed sets pace already"}
    assert not found(replace(TRIAL, problem={"pace": "slow"}))["pace"].levels
