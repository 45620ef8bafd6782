"""A program in a file is found by its place, and whatever is wrong with the place or the file is one sentence."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelbench import Setting
from accelbench.core import AS_IS, Host, Plan, Trial
from accelbench.errors import BadInput
from accelbench.measuring.workers.pool import Pool
from accelbench.workloads.program_file import ParsedFile, find_user_workload, is_place

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
    mine, _ = find_user_workload(f"{EXAMPLE}:build")
    assert mine.name == "my_train.py:build"
    arm = mine.build(Setting(), device="cpu")
    assert 16 * len(arm.step()) == arm.items


def test_a_workload_and_a_test_of_versions_are_found_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "my_versions.py").write_text(
        "import accelbench\ntest_sum = accelbench.versions('tally', {'a': int, 'b': float})\n"
        "mine = accelbench.program(int)\nx = 1"
    )
    compared, (technique,) = find_user_workload(f"{tmp_path}/my_versions.py:test_sum")
    assert (compared.name, technique.levels) == ("tally", ("a", "b"))
    assert find_user_workload(f"{tmp_path}/my_versions.py:mine")[0].name == "builtins:int"
    with pytest.raises(BadInput, match=r"my_versions\.py:x has no program 'x'"):
        find_user_workload(f"{tmp_path}/my_versions.py:x")


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("my_train.py", "there is no file 'my_train.py'; expected FILE.py:FUNCTION or package.module:FUNCTION"),
        ("nowhere.py:build", "there is no file 'nowhere.py'"),
        ("no_such.module:build", "there is no module 'no_such.module' here or on Python's path"),
        pytest.param(f"{'n' * 300}.py:build", "there is no file 'nnn", id="overlong file"),
        pytest.param(f"{'n' * 300}:build", "there is no module 'nnn", id="overlong module"),
        (f"{EXAMPLE}:make", "has no program 'make'; expected .*functions there that build one: build"),
    ],
)
def test_a_place_without_a_program_is_refused(place: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        find_user_workload(place)


def test_a_file_that_is_no_python_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "broken_prose.py").write_text("to train or not to train")
    with pytest.raises(BadInput, match="is no Python program: invalid syntax"):
        find_user_workload(f"{tmp_path}/broken_prose.py:build")


def test_a_file_that_fails_when_it_is_imported_says_why(tmp_path: Path) -> None:
    (tmp_path / "broken_import.py").write_text("import no_such_package\ndef build() -> Program: ...")
    mine, _ = find_user_workload(f"{tmp_path}/broken_import.py:build")
    with pytest.raises(BadInput, match=r"broken_import\.py cannot be imported: ModuleNotFoundError: No module named"):
        mine.build(Setting())


READS_OPTIONS = """
import argparse
import numpy
from accelbench import ArrayProgram

def read():
    parser = argparse.ArgumentParser()
    assert parser.prog == "my_script.py"
    parser.add_argument("--lr", type=float, default=2.0)
    return parser.parse_args().lr

AT_IMPORT = read()

def build():
    rate = AT_IMPORT * read()
    return ArrayProgram(step=lambda xp, x: rate * x, arrays=(numpy.ones(3),))
"""


def test_options_that_a_script_reads_from_its_command_line_have_their_defaults(tmp_path: Path) -> None:
    (tmp_path / "my_script.py").write_text(READS_OPTIONS)
    mine, _ = find_user_workload(f"{tmp_path}/my_script.py:build")
    assert mine.build(Setting()).step().tolist() == [4.0, 4.0, 4.0]


def test_a_file_that_needs_a_command_line_says_where_it_reads_it(tmp_path: Path) -> None:
    reads = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--data', required=True)\n"
    (tmp_path / "needs.py").write_text(reads + "parser.parse_args()\ndef build() -> 'Program': ...")
    with pytest.raises(BadInput, match=r"needs\.py ends when it is imported: SystemExit: 2 \(needs\.py, line 4\); if"):
        find_user_workload(f"{tmp_path}/needs.py:build")[0].build(Setting())


SETTLED = """
import gc
import numpy
from accelbench import ArrayProgram

gc.disable()

def build():
    def step(xp, x):
        with open(__file__ + ".log", "a") as log:
            log.write(f"{gc.isenabled()}\\n")
        return 2 * x
    return ArrayProgram(step=step, arrays=(numpy.linspace(0.1, 0.9, 1000),))
"""


def test_what_a_file_sets_when_it_is_imported_holds_for_every_arm(tmp_path: Path) -> None:
    (tmp_path / "settled.py").write_text(SETTLED)
    mine, _ = find_user_workload(f"{tmp_path}/settled.py:build")
    arms = ({"dtype": AS_IS}, {"dtype": "float32"})
    trial = Trial(framework="numpy", workload=mine, arms=arms, plan=Plan(budget_s=0.1, min_span_s=0.02, silence_s=60))
    pool = Pool(trial.plan)
    try:
        assert pool.applicable(trial, Host())
        assert [arm.outcome for arm in pool.measure(trial).arms] == ["measured", "measured"]
    finally:
        pool.close()
    assert set((tmp_path / "settled.py.log").read_text().split()) == {"False"}


def test_a_file_that_is_called_like_a_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("def build() -> 'Program': ...")
    with pytest.raises(BadInput, match=r"json\.py has the name of the module .*: give it another name"):
        find_user_workload(f"{tmp_path}/json.py:build")[0].build(Setting())


MINE = """
from accelbench import Program
{imports}
def main():
    raise SystemExit("this was run")

def parts():
    return Program(model=None, loader=None, step=None)

def build():
    program = parts()
    return program

{more}
"""


def test_a_function_that_builds_no_program_is_refused_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "my_script.py").write_text(MINE.format(imports="", more=""))
    sentence = r"my_script\.py:main returns no Program; expected .*; functions there that build one: parts and build$"
    with pytest.raises(BadInput, match=sentence):
        find_user_workload(f"{tmp_path}/my_script.py:main")
    assert find_user_workload(f"{tmp_path}/my_script.py:build")[0].name == "my_script.py:build"


def test_a_file_in_which_nothing_builds_a_program_has_no_list_of_what_does(tmp_path: Path) -> None:
    (tmp_path / "my_script.py").write_text("def build():\n    print('trained')\n")
    with pytest.raises(BadInput) as raised:
        find_user_workload(f"{tmp_path}/my_script.py:build")
    assert str(raised.value) == (
        f"{tmp_path}/my_script.py:build returns no Program; expected a function that makes and returns an "
        "accelbench.Program (KerasProgram and ArrayProgram likewise), or one that says so: `def build() -> Program`"
    )
    with pytest.raises(BadInput, match=r"or a test of accelbench\.versions$"):
        find_user_workload(f"{tmp_path}/my_script.py:other")


def test_a_function_may_get_its_arguments_by_a_partial(tmp_path: Path) -> None:
    (tmp_path / "my_sizes.py").write_text(
        "import functools\nfrom accelbench import ArrayProgram\n"
        "def make(rows) -> ArrayProgram: return ArrayProgram(step=lambda xp: xp.ones(rows), items=rows)\n"
        "build = functools.partial(make, rows=7)\nother = functools.partial(print, 1)"
    )
    for place in ("my_sizes.py:build", "my_sizes.py"):
        mine, _ = find_user_workload(f"{tmp_path}/{place}")
        assert mine.build(Setting()).items == 7
    with pytest.raises(BadInput, match=r"my_sizes\.py:make needs rows; expected a function without arguments"):
        find_user_workload(f"{tmp_path}/my_sizes.py:make")
    with pytest.raises(BadInput, match=r"my_sizes\.py:other has no program 'other'; .*build one: make and build"):
        find_user_workload(f"{tmp_path}/my_sizes.py:other")


def test_a_script_that_trains_the_program_of_another_function_is_not_run(tmp_path: Path) -> None:
    more = "def run():\n    for batch in build().loader:\n        print(batch)\n    return 0"
    (tmp_path / "my_script.py").write_text(MINE.format(imports="", more=more))
    with pytest.raises(BadInput, match=r"run returns no Program; expected .*; .* that build one: parts and build$"):
        find_user_workload(f"{tmp_path}/my_script.py:run")


def test_arrays_of_cupy_on_a_machine_without_a_gpu_are_told_from_numpys(tmp_path: Path) -> None:
    (tmp_path / "my_port.py").write_text(
        "from accelbench import ArrayProgram\n"
        "class CUDARuntimeError(RuntimeError): __module__ = 'cupy_backends.cuda.api.runtime'\n"
        "def build() -> ArrayProgram: raise CUDARuntimeError('no driver')"
    )
    mine, _ = find_user_workload(f"{tmp_path}/my_port.py:build")
    with pytest.raises(BadInput, match=r"CUDARuntimeError: no driver .*; give an ArrayProgram NumPy's arrays, and"):
        mine.build(Setting())


FAILING = """
from accelbench import Program

def read(path):
    raise FileNotFoundError(f"no photos in {path}")

def build() -> Program:
    return read("photos")

def build_from(path) -> Program:
    return read(path)

def build_nothing() -> Program:
    print("almost")
"""


def test_a_function_that_raises_says_what_and_on_which_line(tmp_path: Path) -> None:
    (tmp_path / "my_failing.py").write_text(FAILING)
    mine, _ = find_user_workload(f"{tmp_path}/my_failing.py:build")
    with pytest.raises(BadInput) as raised:
        mine.build(Setting())
    assert str(raised.value) == (
        "my_failing.py:build raised FileNotFoundError: no photos in photos (my_failing.py, line 5)"
    )


def test_a_function_that_needs_arguments_or_returns_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "my_failing.py").write_text(FAILING)
    with pytest.raises(BadInput, match=r"my_failing\.py:build_from needs path; expected a function without arguments"):
        find_user_workload(f"{tmp_path}/my_failing.py:build_from")
    mine, _ = find_user_workload(f"{tmp_path}/my_failing.py:build_nothing")
    with pytest.raises(BadInput, match=r"returned None; expected an accelbench\.Program"):
        mine.build(Setting())


KINDS_OF_PROGRAMS = """
import accelbench as ab
from accelbench import KerasProgram as Keras
from accelbench import from_trainer

def fit(): return Keras(model=None, data=None)
def simulate() -> "ab.ArrayProgram": ...
def tune(): return from_trainer(None)
def train(): return ab.Program(model=None, loader=None)
def plot(): return ab.compare({})
"""


def test_the_kind_of_a_program_is_recognised_by_what_its_function_makes(tmp_path: Path) -> None:
    (tmp_path / "my_kinds.py").write_text(KINDS_OF_PROGRAMS)
    builders = ParsedFile(tmp_path / "my_kinds.py").builders
    assert {name: kind.frameworks[0] for name, kind in builders.items()} == {
        "fit": "tensorflow",
        "simulate": "numpy",
        "tune": "torch",
        "train": "torch",
    }


def test_a_file_without_any_builder_shows_how_one_looks(tmp_path: Path) -> None:
    (tmp_path / "my_script.py").write_text("def main(): ...")
    with pytest.raises(BadInput, match=r"names a file, and no function in it; .*such as `def build\(\): return"):
        find_user_workload(f"{tmp_path}/my_script.py")


def test_a_file_with_one_builder_needs_no_function(tmp_path: Path) -> None:
    (tmp_path / "my_one.py").write_text("from accelbench import Program\ndef make() -> Program: ...\ndef main(): ...")
    assert find_user_workload(f"{tmp_path}/my_one.py")[0].name == "my_one.py:make"
    (tmp_path / "my_two.py").write_text(MINE.format(imports="", more=""))
    with pytest.raises(BadInput, match=r"names a file, and no function in it; .*: parts and build"):
        find_user_workload(f"{tmp_path}/my_two.py")


def test_a_module_of_a_package_is_found_by_its_name_and_may_import_its_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "my_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "data.py").write_text("SIZE = 3")
    (package / "train.py").write_text(MINE.format(imports="from .data import SIZE", more="assert SIZE == 3"))
    monkeypatch.chdir(tmp_path)
    for place in ("my_package.train:build", "my_package/train.py:build"):
        mine, _ = find_user_workload(place)
        with pytest.raises(BadInput, match="loader is None"):  # so it was imported, and built
            mine.build(Setting())


@pytest.mark.parametrize("place", ["train.py", "train.py:build", "package.train:build"])
def test_a_place_is_told_from_the_name_of_a_workload(place: str) -> None:
    assert is_place(place)
    assert not is_place("cnn-train")
