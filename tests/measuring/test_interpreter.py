"""An interpreter that the user names for one framework: its workers run there, and what cannot serve is one line."""

import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from environments import make_environment, make_program, pretend_installed

from accelbench.core import Arm, Plan, Setting, Trial, Workload
from accelbench.errors import BadInput
from accelbench.measuring.workers.interpreter import find_interpreter
from accelbench.measuring.workers.pool import Pool
from accelbench.measuring.workers.process import Worker

PLAN = Plan(budget_s=0.1, builds=1, min_span_s=0.02)


def _prefix(_: Setting) -> Arm:
    """Return whether this runs in the environment that the variable names."""
    named = Path(os.environ["ACCELBENCH_PYTHON_NUMPY"]).parents[1]
    return Arm(step=lambda: float(Path(sys.prefix) == named))


PREFIX = Workload(name="prefix", frameworks=("numpy",), unit="look", summary="Look where this runs.", builder=_prefix)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment without PyTorch, with another release of NumExpr."""
    python = make_environment(tmp_path_factory.mktemp("second"), without="torch")
    pretend_installed(python, "numexpr", "0.0.7")
    return python


@pytest.fixture
def pool() -> Iterator[Pool]:
    pool = Pool(PLAN)
    yield pool
    pool.close()


def refusal(monkeypatch: pytest.MonkeyPatch, named: object) -> str:
    """Return why an interpreter of NumPy's cannot serve; one line, which begins with what the user wrote."""
    monkeypatch.setenv("ACCELBENCH_PYTHON_NUMPY", str(named))
    with pytest.raises(BadInput) as refused:
        Worker("numpy", {})
    given = f"ACCELBENCH_PYTHON_NUMPY={str(named)!r}: "
    text = str(refused.value)
    assert "\n" not in text
    assert text.startswith(given)
    return text.removeprefix(given)


@pytest.mark.slow
def test_the_workers_of_a_framework_run_in_the_environment_that_is_named_for_it(
    monkeypatch: pytest.MonkeyPatch, pool: Pool, python: Path
) -> None:
    monkeypatch.setenv("ACCELBENCH_PYTHON_NUMPY", str(python))
    (arm,) = pool.measure(
        Trial(framework="numpy", workload=PREFIX, arms=({"threads": "1"},), plan=Plan(rehearse=True))
    ).arms
    assert arm.outcome == "measured"
    monkeypatch.delenv("ACCELBENCH_PYTHON_NUMPY")
    worker = Worker("numpy", {})
    try:
        assert worker.call(eval, "__import__('sys').prefix") == sys.prefix
    finally:
        worker.close()


@pytest.mark.slow
def test_a_framework_that_is_missing_there_is_missing_although_this_process_has_it(
    monkeypatch: pytest.MonkeyPatch, pool: Pool, python: Path
) -> None:
    assert find_interpreter("torch").has_framework
    monkeypatch.setenv("ACCELBENCH_PYTHON_TORCH", str(python))
    assert not find_interpreter("torch").has_framework
    (arm,) = pool.measure(Trial(framework="torch", workload="mlp-train", arms=({"amp": "fp32"},), plan=PLAN)).arms
    assert (arm.outcome, str(arm.reason)) == (
        "unavailable",
        "torch is not installed: pip install 'accelbench[torch]'",
    )


@pytest.mark.slow
def test_the_environment_that_is_recorded_is_that_of_the_interpreter(
    monkeypatch: pytest.MonkeyPatch, pool: Pool, python: Path
) -> None:
    monkeypatch.setenv("ACCELBENCH_PYTHON_NUMPY", str(python))
    monkeypatch.setenv("ACCELBENCH_PYTHON_CUPY", str(python))
    for framework in ("numpy", "cupy"):
        pool.accelerators(framework)
    recorded = pool.configuration()
    assert recorded["numexpr.version"] == "0.0.7" != version("numexpr")
    assert recorded["numpy.python"] == recorded["cupy.python"]
    assert recorded["cupy.numpy.version"] == recorded["numpy.version"] == version("numpy")
    assert recorded["cupy.numpy.simd"] == recorded["numpy.simd"]
    assert not any(str(python.parent) in text for text in recorded.values())  # no paths: results are published


def test_without_a_variable_nothing_more_is_recorded(pool: Pool) -> None:
    pool.accelerators("numpy")
    assert "numpy.python" not in pool.configuration()


def test_a_program_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert refusal(monkeypatch, tmp_path / "python") == (
        "no such program; name the Python interpreter of an environment that has accelbench"
    )


def test_a_program_that_is_no_interpreter_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = make_program(tmp_path / "other", "echo what is this >&2; exit 3")
    assert refusal(monkeypatch, other).startswith("cannot import accelbench (what is this); install it there: ")
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    assert refusal(monkeypatch, broken) == "cannot be started (Exec format error); name a Python interpreter"


def test_an_environment_without_what_accelbench_needs_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without = make_environment(tmp_path / "without", without="msgspec")
    said = refusal(monkeypatch, without)
    assert "cannot import accelbench (ModuleNotFoundError: No module named 'msgspec')" in said
    assert said.endswith(f"{without} -m pip install accelbench=={version('accelbench')}")


def test_another_release_of_accelbench_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = make_environment(tmp_path / "older", without="accelbench")
    pretend_installed(python, "accelbench", "0.0.1")
    older = next(python.parents[1].glob("lib/python*/site-packages")) / "accelbench"
    older.mkdir()
    (older / "__init__.py").write_text("")
    package = Path(sys.modules["accelbench"].__path__[0])
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if Path(folder) != package.parent])
    assert refusal(monkeypatch, python).startswith(
        f"has accelbench 0.0.1, but this process has accelbench {version('accelbench')}; install it there: "
    )


def test_another_python_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer = f'{{"python": "CPython 3.9.2", "numpy": "", "accelbench": "{version("accelbench")}", "place": "",'
    old = make_program(tmp_path / "old", f"""echo '{answer} "has_framework": true}}'""")
    here = ".".join(map(str, sys.version_info[:2]))
    assert refusal(monkeypatch, old).startswith(f"runs Python 3.9, but this process runs Python {here} and sends")
