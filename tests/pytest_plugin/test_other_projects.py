"""A repository that does not use accelbench: installing it changes nothing there."""

import json

import pytest

LISTING = """
import json
import pathlib
import sys
import warnings


def pytest_unconfigure(config):
    storage = type(config.pluginmanager.get_plugin("pytest-benchmark").storage).__module__
    loaded = sorted(name for name in sys.modules if name.startswith("accelbench."))
    pathlib.Path("seen.json").write_text(json.dumps({"storage": storage, "loaded": loaded}))


def pytest_sessionfinish(session):
    ours = [str(each) for each in warnings.filters if "Not saving" in str(each)]
    pathlib.Path("filters.json").write_text(json.dumps(ours))
"""


@pytest.mark.parametrize("option", ["--resume", "--data-dir"])
def test_an_option_of_its_own_with_a_former_name_of_ours(pytester: pytest.Pytester, option: str) -> None:
    pytester.makeconftest(
        f"def pytest_addoption(parser):\n    parser.addoption({option!r}, default='nothing', help='own')\n"
    )
    name = option.strip("-").replace("-", "_")
    pytester.makepyfile(f"def test_own(pytestconfig):\n    assert pytestconfig.getoption({name!r}) == 'mine'\n")
    pytester.runpytest_inprocess(f"{option}=mine").assert_outcomes(passed=1)


def test_a_fixture_measure_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("import pytest\n\n\n@pytest.fixture\ndef measure():\n    return lambda length: length * 2\n")
    pytester.makepyfile("def test_own(measure):\n    assert measure(3) == 6\n")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_marks_of_its_own_with_the_names_of_ours(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmarkers =\n    factorial: of n\n    toggles: a flag")
    pytester.makepyfile(
        "import pytest\n\n\n@pytest.mark.factorial(5)\n@pytest.mark.toggles('flag')\ndef test_own(): ...\n"
    )
    pytester.runpytest_inprocess("--strict-markers", "-m", "factorial").assert_outcomes(passed=1)


@pytest.mark.slow
def test_its_runs_are_saved_and_compared_by_pytest_benchmark_alone(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(LISTING)
    pytester.makepyfile("def test_own(benchmark): benchmark(sum, [1, 2])\n")
    pytester.runpytest_inprocess("--benchmark-save=own", "-W", "default").assert_outcomes(passed=1)
    result = pytester.runpytest_subprocess("--benchmark-save=own", "--benchmark-compare", "-W", "default")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*accelbench*report*")
    seen = json.loads((pytester.path / "seen.json").read_text())
    assert seen["storage"] == "pytest_benchmark.storage.file"
    assert json.loads((pytester.path / "filters.json").read_text()) == []
    assert {"accelbench.measuring.workers.pool", "accelbench.machine_lock", "accelbench.techniques"}.isdisjoint(
        seen["loaded"]
    )
    first, second = sorted((pytester.path / ".benchmarks").rglob("*.json"))
    assert "node" in json.loads(second.read_text())["machine_info"]
    assert "accelbench" not in json.loads(first.read_text())


def test_its_warning_that_nothing_was_saved_is_still_an_error_where_warnings_are(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_own(): ...\n")
    result = pytester.runpytest_subprocess("--benchmark-save=own", "-W", "error")
    assert result.ret != 0
    assert "Not saving anything" in result.stdout.str() + result.stderr.str()
