"""A program in a file is found by its place, and whatever is wrong with the place or the file is one sentence."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import Setting
from harness.errors import BadInput
from harness.workloads.own import own_workload

EXAMPLE = Path(__file__).parents[3] / "examples" / "my_train.py"


@pytest.fixture(autouse=True)
def _imports_put_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("my_", "broken_", "json_")):
            del sys.modules[name]


@pytest.mark.usefixtures("one_thread")
def test_the_example_runs() -> None:
    mine, _ = own_workload(f"{EXAMPLE}:build")
    assert mine.name == "my_train.py:build"
    arm = mine.build(Setting(), device="cpu")
    assert len(arm.step()) == 8


def test_a_workload_and_a_test_of_versions_are_found_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "my_versions.py").write_text(
        "import harness\ntest_sum = harness.versions('total', {'a': int, 'b': float})\n"
        "mine = harness.program(int)\nx = 1"
    )
    compared, (technique,) = own_workload(f"{tmp_path}/my_versions.py:test_sum")
    assert (compared.name, technique.levels) == ("total", ("a", "b"))
    assert own_workload(f"{tmp_path}/my_versions.py:mine")[0].name == "builtins:int"
    with pytest.raises(BadInput, match=r"my_versions\.py has no program 'x'"):
        own_workload(f"{tmp_path}/my_versions.py:x")


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("my_train.py", "names no program: there is no file 'my_train.py'; expected FILE.py:FUNCTION"),
        ("nowhere.py:build", "there is no file 'nowhere.py'"),
        (f"{EXAMPLE}:make", "has no program 'make'; expected a function that builds one, .*functions there: build"),
    ],
)
def test_a_place_without_a_program_is_refused(place: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        own_workload(place)


def test_a_file_that_is_no_python_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "broken_prose.py").write_text("to train or not to train")
    with pytest.raises(BadInput, match="is no Python program: invalid syntax"):
        own_workload(f"{tmp_path}/broken_prose.py:build")


def test_a_file_that_fails_when_it_is_imported_says_why(tmp_path: Path) -> None:
    (tmp_path / "broken_import.py").write_text("import no_such_package\ndef build(): ...")
    mine, _ = own_workload(f"{tmp_path}/broken_import.py:build")
    with pytest.raises(BadInput, match=r"broken_import\.py cannot be imported: ModuleNotFoundError: No module named"):
        mine.build(Setting())


def test_a_file_that_is_called_like_a_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("def build(): ...")
    with pytest.raises(BadInput, match=r"json\.py has the name of the module .*: give it another name"):
        own_workload(f"{tmp_path}/json.py:build")[0].build(Setting())
