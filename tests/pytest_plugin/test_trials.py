"""From toggling tests to trials, and from a trial's samples to pytest-benchmark's rounds."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from project import Project

STACKED = """
@pytest.mark.parametrize("hills", [1, 2])
@toggles("numpy", "stride")
@toggles("numpy", "pace")
def test_walk(measure, hills):
    measure("walk", hills=hills)
"""


def measured(project: Project, *arguments: object) -> dict[str, Any]:
    """Return the JSON of a run whose tests all passed."""
    result = project.run("--benchmark-json=out.json", *arguments)
    assert result.ret == 0
    document: dict[str, Any] = json.loads((project.path / "out.json").read_text())
    return document


@pytest.fixture
def document(project: Project, once: Callable[[Callable[[], Any]], Any]) -> Any:
    """The JSON of a run of the project as it is, which is measured once for all tests."""
    return once(lambda: measured(project))


def levels(trial: dict[str, Any]) -> list[dict[str, str]]:
    return [arm["levels"] for arm in trial["arms"]]


def test_every_level_becomes_a_test_with_an_id_that_k_can_select(project: Project) -> None:
    project.benchmark("slow", "cuda:0", "two words=1")
    lines = project.run("--collect-only", "-q").outlines
    assert [line for line in lines if "::" in line] == [
        "test_pace.py::test_walk[pace-slow]",
        "test_pace.py::test_walk[pace-cuda0]",
        "test_pace.py::test_walk[pace-two-words-1]",
    ]


@pytest.mark.slow
def test_stacked_toggles_are_combined_within_one_trial_per_problem(project: Project) -> None:
    project.benchmark("slow", "quick", tests=STACKED)
    trials = measured(project, "--benchmark-disable-gc")["accelbench"]["trials"]
    assert [trial["id"] for trial in trials] == ["test_pace.py::test_walk[1]", "test_pace.py::test_walk[2]"]
    assert trials[0]["techniques"] == ["stride", "pace"]
    assert trials[0]["problem"] == {"hills": 1}
    assert levels(trials[0]) == [
        {"stride": "short", "pace": "slow"},
        {"stride": "short", "pace": "quick"},
        {"stride": "long", "pace": "slow"},
        {"stride": "long", "pace": "quick"},
    ]


CHOSEN = """
@toggles("numpy", "pace", levels={levels})
def test_walk(measure):
    measure("walk")
"""


def test_a_test_chooses_which_levels_to_compare_and_their_baseline(project: Project) -> None:
    project.benchmark("slow", "quick", "brisk", tests=CHOSEN.format(levels='("brisk", "slow")'))
    (trial,) = measured(project)["accelbench"]["trials"]
    assert levels(trial) == [{"pace": "brisk"}, {"pace": "slow"}]


def test_a_level_that_the_technique_lacks_is_refused_with_those_that_it_has(project: Project) -> None:
    project.benchmark("slow", "quick", tests=CHOSEN.format(levels='("slow", "hasty")'))
    result = project.run()
    assert result.ret != 0
    assert "pace has no level 'hasty'; expected some of: slow, quick" in result.stdout.str() + result.stderr.str()


def test_a_text_in_place_of_levels_is_refused(project: Project) -> None:
    project.benchmark("slow", "quick", tests=CHOSEN.format(levels='"slow"'))
    result = project.run()
    assert result.ret != 0
    said = "test_walk: the levels of pace are the text 'slow'; expected a tuple of texts"
    assert said in result.stdout.str() + result.stderr.str()


@pytest.mark.slow
@pytest.mark.parametrize("selection", [["-k", "quick"], ["test_pace.py::test_walk[pace-quick]"]])
def test_selecting_one_candidate_measures_its_baseline_too(project: Project, selection: list[str]) -> None:
    project.benchmark("slow", "quick", "brisk")
    document = measured(project, *selection)
    (trial,) = document["accelbench"]["trials"]
    assert levels(trial) == [{"pace": "slow"}, {"pace": "quick"}]
    assert [arm["outcome"] for arm in trial["arms"]] == ["measured", "measured"]
    assert [benchmark["name"] for benchmark in document["benchmarks"]] == ["test_walk[pace-quick]"]


@pytest.mark.slow
def test_a_test_that_is_marked_to_be_skipped_is_not_measured_for_its_siblings(project: Project) -> None:
    project.write(
        "conftest.py",
        """
import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "quick" in item.name:
            item.add_marker(pytest.mark.skip(reason="not today"))
""",
    )
    project.benchmark("slow", "quick", "brisk")
    (trial,) = measured(project)["accelbench"]["trials"]
    assert levels(trial) == [{"pace": "slow"}, {"pace": "brisk"}]


@pytest.mark.slow
def test_rounds_and_iterations_are_the_measured_blocks(document: dict[str, Any]) -> None:
    (trial,) = document["accelbench"]["trials"]
    for benchmark, arm in zip(document["benchmarks"], trial["arms"], strict=True):
        assert benchmark["stats"]["rounds"] == arm["timing"]["blocks"]
        assert benchmark["stats"]["iterations"] == arm["timing"]["iterations_per_block"]
        assert benchmark["stats"]["median"] == pytest.approx(arm["timing"]["median_s"], rel=1e-3)


@pytest.mark.slow
def test_a_benchmark_entry_carries_its_verdict_and_little_else(document: dict[str, Any]) -> None:
    quick = document["benchmarks"][1]
    assert quick["group"] == "test_pace.py::test_walk"
    assert quick["params"] == {"pace": "quick"}
    facts = quick["extra_info"]
    assert set(facts) == {"levels", "unit", "items", "verdict", "speedup", "low", "high"}
    assert (facts["levels"], facts["unit"], facts["items"]) == ({"pace": "quick"}, "step", 1)
    (effect,) = document["accelbench"]["trials"][0]["arms"][1]["effects"]
    assert facts.items() >= {name: effect[name] for name in ("verdict", "speedup", "low")}.items()


@pytest.mark.slow
def test_a_marker_of_the_users_own_keeps_its_group(project: Project) -> None:
    marked = """
@pytest.mark.benchmark(group="walks")
@toggles("numpy", "pace")
def test_walk(benchmark, measure):
    measure("walk")
"""
    project.benchmark("slow", "quick", tests=marked)
    document = measured(project)
    assert {benchmark["group"] for benchmark in document["benchmarks"]} == {"walks"}
    assert document["benchmarks"][1]["stats"]["median"] < 1e-4  # the samples, although benchmark was requested first


SWEPT = """
@technique("numpy", levels=lambda host: ("1", "2"))
def load(build, level):
    return build(hills=int(level))


@toggles("numpy", "pace")
def test_walk(measure):
    measure("walk", load="64")
"""


@pytest.mark.slow
def test_a_number_can_be_held_beyond_the_limit_of_its_sweep(project: Project) -> None:
    project.benchmark("slow", "quick", tests=SWEPT)
    (trial,) = measured(project)["accelbench"]["trials"]
    assert trial["fixed"] == {"load": "64"}


@pytest.mark.slow
def test_another_technique_can_be_held_at_a_level(project: Project) -> None:
    held = """
@toggles("numpy", "pace")
def test_walk(measure):
    measure("walk", stride="long", hills=3)
"""
    project.benchmark("slow", "quick", tests=held)
    (trial,) = measured(project)["accelbench"]["trials"]
    assert (trial["fixed"], trial["problem"]) == ({"stride": "long"}, {"hills": 3})


@pytest.mark.slow
def test_techniques_and_workloads_of_a_module_that_no_worker_can_import_travel_to_it(project: Project) -> None:
    project.write("deep/below/test_deep.py", (project.path / "test_pace.py").read_text())
    (trial,) = measured(project, "deep")["accelbench"]["trials"]
    assert trial["id"] == "deep/below/test_deep.py::test_walk"
    assert [arm["outcome"] for arm in trial["arms"]] == ["measured", "measured"]


@pytest.mark.slow
def test_measure_takes_a_workload_that_is_handed_over_and_returns_what_became_of_the_arm(project: Project) -> None:
    handed = """
@toggles("numpy", "pace")
def test_walk(measure, pace):
    arm = measure(walk)
    assert arm.outcome == "measured"
    assert (arm.effect is None) == (pace == "slow")
"""
    project.benchmark("slow", "quick", tests=handed)
    project.run().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        ('measure("walk", pace="brisk")', "*given pace='brisk' in the test of pace='slow': the test toggles pace, so*"),
        ('measure("run")', "*unknown workload 'run'; expected one of: *walk*"),
        ('measure("walk", stride="huge")', "*stride has no level 'huge' here; expected one of: short, long"),
        (
            'measure("walk", hill=1)',
            "*'hill', which is neither a technique of numpy nor an option of walk; its options are: hills, *",
        ),
        ('measure("walk", strid="long")', "*'strid', *; did you mean stride[?]"),
        (
            "measure(17)",
            "*the workload is an int; give measure a workload or the name of one, such as 'cnn-train'",
        ),
        ('measure("walk", hills=[1])', "*option hills is a list; give a string, a number or a Boolean*"),
    ],
)
def test_a_call_that_cannot_be_measured_fails_its_test_in_one_line_and_ends_with_status_two(
    project: Project, call: str, complaint: str
) -> None:
    project.benchmark("slow", "quick", tests=WRONG_CALL.format(call=call))
    result = project.run()
    result.assert_outcomes(failed=2)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["____* test_walk* ____*", complaint])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_test_may_take_its_level_and_pass_it_on(project: Project) -> None:
    passed_on = """
@toggles("numpy", "stride")
@toggles("numpy", "pace")
def test_walk(measure, pace):
    assert measure("walk", pace=pace).levels["pace"] == pace
"""
    project.benchmark("slow", "quick", tests=passed_on)
    project.run("--benchmark-disable").assert_outcomes(passed=4)


WRONG_CALL = """
@toggles("numpy", "pace")
def test_walk(measure, pace):
    {call}
"""


def test_measuring_twice_in_one_test_is_refused(project: Project) -> None:
    project.benchmark("slow", "quick", tests=WRONG_CALL.format(call='measure("walk")\n    measure("walk")'))
    result = project.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["measure was called twice in one test; make it two tests, or parametrize"])


@pytest.mark.parametrize("options", [(), ("--benchmark-disable",)])
@pytest.mark.parametrize(
    "calls", [("benchmark(sum, [1])", 'measure("walk")'), ('measure("walk")', "benchmark(sum, [1])")]
)
def test_a_test_that_calls_benchmark_and_measure_is_refused(
    project: Project, calls: tuple[str, str], options: tuple[str, ...]
) -> None:
    test = WRONG_CALL.format(call="\n    ".join(calls)).replace("pace)", "benchmark)")
    project.benchmark("slow", "quick", tests=test)
    result = project.run(*options)
    result.assert_outcomes(failed=2)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["the test calls benchmark and measure, which measures by itself; call one of them*"])
    result.stdout.no_fnmatch_line("*FixtureAlreadyUsed*")


def test_without_pytest_benchmark_every_test_that_measures_fails_in_one_line(project: Project) -> None:
    result = project.run("-p", "no:benchmark")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["measure needs pytest-benchmark, which is switched off; leave out -p no:benchmark"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_measuring_without_toggles_is_refused(project: Project) -> None:
    project.benchmark("slow", "quick", tests='\ndef test_walk(measure):\n    measure("walk")\n')
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*put @toggles(framework, technique) on the test, and take measure as an argument"])


@pytest.mark.slow
def test_arms_that_ask_for_different_problems_are_no_trial(project: Project) -> None:
    project.benchmark("slow", "quick", tests=WRONG_CALL.format(call='measure("walk", hills=len(pace))'))
    result = project.run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*this one asks for 'walk, hills 5', the first one asked for 'walk, hills 4'"])


OWN_OPTION = '''
@technique("numpy", levels=("off", "on"))
def gait(build, level):
    """A technique that sets an option of another name."""
    return build(hills=3) if level == "on" else build()


@toggles("numpy", "gait")
def test_walk(measure):
    measure("walk", hills=7)
'''


def test_an_option_that_the_technique_sets_too_fails_its_arm_in_one_line(project: Project) -> None:
    project.benchmark("slow", "quick", tests=OWN_OPTION)
    result = project.run()
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        ["failed: the test gives hills=7, and a technique of this arm sets hills, too; leave it out of *"]
    )


def test_a_test_that_passes_without_a_call_of_measure_fails_in_one_line(project: Project) -> None:
    tests = """
@toggles("numpy", "pace")
def test_walk(measure): pass

@toggles("numpy", "pace")
def test_skip(measure): pytest.skip("no way")

@toggles("numpy", "pace")
def test_fail(measure): raise ValueError("lost")
"""
    project.benchmark("slow", "quick", tests=tests)
    result = project.run("-W", "default")
    result.assert_outcomes(failed=4, skipped=2, warnings=2)  # pytest-benchmark's of test_fail, as in any session
    assert result.ret == 2
    complaint = (
        "the test takes measure and does not call it, so nothing was measured; call it, as in measure('cnn-train')"
    )
    result.stdout.fnmatch_lines(["___* test_walk* ___*", complaint, "*ValueError: lost"])


def test_a_test_that_switches_techniques_and_does_not_take_measure_is_named(project: Project) -> None:
    project.benchmark("slow", "quick", tests='\n@toggles("numpy", "pace")\ndef test_walk(): ...\n')
    result = project.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        ["!*accelbench: test_pace.py::test_walk: switches techniques and does not take measure*"]
    )


def test_a_test_that_is_skipped_need_not_take_measure(project: Project) -> None:
    project.benchmark("slow", "quick", tests='\n@pytest.mark.skip\n@toggles("numpy", "pace")\ndef test_walk(): ...\n')
    project.run().assert_outcomes(skipped=2)


@pytest.mark.parametrize("mark", ['toggles("jax", "glide")', 'accelbench.factorial("jax", glide="on", other="on")'])
def test_a_technique_of_something_that_is_no_framework_is_refused_with_those_that_are(
    project: Project, mark: str
) -> None:
    tests = f'''
import accelbench

@technique("jax", levels=("off", "on"))
def glide(build, level):
    """What no framework here can do."""
    return build()

@{mark}
def test_walk(measure):
    measure("walk")
'''
    project.benchmark("slow", "quick", tests=tests)
    result = project.run()
    assert result.ret == 2
    complaint = (
        "technique glide is declared for 'jax' (*test_pace.py:*), which is no framework; expected one of: numpy, *"
    )
    result.stdout.fnmatch_lines([f"!*accelbench: test_pace.py::test_walk: {complaint}!"])
