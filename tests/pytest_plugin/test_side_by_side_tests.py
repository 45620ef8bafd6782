"""pytest-xdist: benchmarks are not measured beside other tests, and tests of other kinds run as they would."""

import json

import pytest
from project import Project

pytest.importorskip("xdist")

SENTENCE = "*accelbench: tests that pytest-xdist runs side by side disturb each other's measurements; leave out its -n*"


@pytest.mark.slow
def test_benchmarks_side_by_side_are_refused_and_none_of_them_runs(project: Project) -> None:
    project.write("test_other.py", "def test_other(): pass\n")
    result = project.run("-n2", "-W", "default")
    result.stdout.fnmatch_lines([SENTENCE])
    result.stdout.no_fnmatch_line("*passed*")
    assert result.ret == pytest.ExitCode.INTERRUPTED


@pytest.mark.slow
def test_other_tests_of_the_repository_run_side_by_side(project: Project) -> None:
    project.write("test_other.py", "def test_one(): pass\ndef test_two(): pass\n")
    result = project.run("-n2", "test_other.py")
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.slow
def test_a_rehearsal_measures_nothing_and_may_run_side_by_side(project: Project) -> None:
    project.run("-n2", "--benchmark-disable").assert_outcomes(passed=2)


@pytest.mark.slow
@pytest.mark.parametrize("options", [("-n0",), ("-p", "xdist"), ("-p", "xdist", "-n", "0")])
def test_without_processes_of_its_own_xdist_changes_nothing(project: Project, options: tuple[str, ...]) -> None:
    project.run(*options, "--benchmark-json=out.json").assert_outcomes(passed=2)
    (trial,) = json.loads((project.path / "out.json").read_text())["accelbench"]["trials"]
    assert [arm["timing"]["blocks"] > 0 for arm in trial["arms"]] == [True, True]


def test_a_session_that_a_test_of_xdist_starts_is_refused_in_one_line(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    result = project.run("-W", "default")
    result.stdout.fnmatch_lines([SENTENCE])
    assert result.ret == 2
