"""Tests that take a bundle of techniques apart."""

import json

import pytest
from project import Project

BUNDLE = """
from accelbench import factorial


@factorial("numpy", pace="quick", stride="long")
def test_walk(measure):
    measure("walk")
"""


@pytest.mark.slow
def test_a_bundle_is_measured_in_every_combination_and_all_of_them_in_every_round(project: Project) -> None:
    project.benchmark("slow", "quick", "brisk", tests=BUNDLE)
    result = project.run("--benchmark-json=out.json")
    assert result.ret == 0
    (trial,) = json.loads((project.path / "out.json").read_text())["accelbench"]["trials"]
    assert trial["id"] == "test_pace.py::test_walk"
    assert [arm["levels"] for arm in trial["arms"]] == [
        {"pace": "slow", "stride": "short"},
        {"pace": "slow", "stride": "long"},
        {"pace": "quick", "stride": "short"},
        {"pace": "quick", "stride": "long"},
    ]
    assert len({arm["effects"][0]["pairs"] for arm in trial["arms"][1:]}) == 1


@pytest.mark.slow
def test_all_arms_have_the_same_stretches_of_every_build_of_every_visit(project: Project) -> None:
    project.benchmark("slow", "quick", "brisk", tests=BUNDLE)
    assert project.run("--benchmark-json=out.json", "--accel-visits=2", "--accel-budget=0.4").ret == 0
    (trial,) = json.loads((project.path / "out.json").read_text())["accelbench"]["trials"]
    effects = [arm["effects"][0] for arm in trial["arms"][1:]]
    ((builds, stretches),) = {(effect["builds"], len(effect["log_ratios_in_order"])) for effect in effects}
    assert builds > len(effects[0]["visits"]) >= 2
    assert stretches % builds == 0


def test_off_is_the_level_that_a_pair_or_a_function_of_the_machine_names(project: Project) -> None:
    tests = BUNDLE.replace('pace="quick"', 'pace=("quick", "brisk")').replace('stride="long"', "stride=by_size")
    by_size = '\n\ndef by_size(host):\n    return ("long", "short") if host.size == "small" else ("short", "long")\n'
    project.benchmark("slow", "quick", "brisk", tests=by_size + tests)
    result = project.run("--benchmark-json=out.json", "--accel-size=small", "-k", "brisk and short")
    assert result.ret == 0
    (trial,) = json.loads((project.path / "out.json").read_text())["accelbench"]["trials"]
    assert [arm["levels"] for arm in trial["arms"]] == [
        {"pace": "quick", "stride": "long"},
        {"pace": "brisk", "stride": "short"},
    ]


def test_the_ids_of_a_bundles_arms_can_be_selected(project: Project) -> None:
    project.benchmark("slow", "quick", tests=BUNDLE)
    lines = project.run("--collect-only", "-q", "-k", "quick and long").outlines
    assert [line for line in lines if "::" in line] == ["test_pace.py::test_walk[pace-quick-stride-long]"]


@pytest.mark.parametrize(
    ("decorators", "line"),
    [
        (
            '@factorial("numpy", pace="fast", stride="long")',
            "pace cannot be switched on at 'fast'; expected one of: quick",
        ),
        (
            '@factorial("numpy", pace=("quick", "fast"), stride="long")',
            "pace cannot be switched between 'quick' and 'fast'; expected two of: slow, quick",
        ),
        ('@factorial("numpy", pace="quick")', "bundle of 1 technique cannot be taken apart"),
        ('@toggles("numpy", "pace")\n@factorial("numpy", pace="quick", stride="long")', "leave out @toggles"),
        ('@pytest.mark.factorial("numpy")', "the mark names no framework and levels; use accelbench.factorial"),
    ],
)
def test_a_bundle_that_cannot_be_taken_apart_ends_the_session_in_one_line(
    project: Project, decorators: str, line: str
) -> None:
    test = f"from accelbench import factorial\n\n{decorators}\ndef test_walk(measure): ...\n"
    project.benchmark("slow", "quick", tests=test)
    result = project.run()
    assert result.ret == 2
    assert line in result.stdout.str() + result.stderr.str()


def test_a_technique_may_be_called_framework(project: Project) -> None:
    declared = """
from accelbench import factorial


@technique("numpy", levels=("none", "some"))
def framework(build, level):
    \"\"\"A name that the decorator's own argument has.\"\"\"
    return build()


@factorial("numpy", framework="some", pace="quick")
def test_walk(measure):
    measure("walk", stride="long")
"""
    project.benchmark("slow", "quick", tests=declared)
    project.run("--benchmark-disable").assert_outcomes(passed=4)


def test_a_technique_with_the_name_of_a_fixture_is_refused(project: Project) -> None:
    declared = """
@technique("numpy", levels=("none", "some"))
def benchmark(build, level):
    \"\"\"A name that a fixture has.\"\"\"
    return build()


@toggles("numpy", "benchmark")
def test_walk(measure):
    measure("walk")
"""
    project.benchmark("slow", "quick", tests=declared)
    result = project.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        ["*the technique 'benchmark' cannot take the fixture of that name; give the technique*"]
    )
