"""What `import accelbench` offers: every public name is documented, typed, and there without extras."""

import dataclasses
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import accelbench
from accelbench.cli.output import REPORT_MODULES

CHECKOUT = Path(__file__).parent.parent
FRAMEWORKS = ("torch", "tensorflow", "keras", "cupy")


def python(code: str) -> subprocess.CompletedProcess[str]:
    """Run code where neither the extra `report` nor a framework can be imported."""
    blocked = f"import sys; sys.modules.update(dict.fromkeys({(*REPORT_MODULES, *FRAMEWORKS)!r}))"
    return subprocess.run([sys.executable, "-c", f"{blocked}; {code}"], capture_output=True, text=True, check=False)


def parameters(public: object) -> list[str]:
    """Return the arguments of a function, or the fields of a dataclass."""
    if dataclasses.is_dataclass(public):
        return [field.name for field in dataclasses.fields(public)]
    return [] if inspect.isclass(public) else list(inspect.signature(public).parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", accelbench.__all__)
def test_every_public_name_is_documented_with_its_arguments(name: str) -> None:
    public = getattr(accelbench, name)
    assert public.__doc__
    assert public.__doc__.split("\n")[0].endswith((".", ":", "``"))
    bases = public.__mro__ if inspect.isclass(public) else (public,)
    documented = " ".join(base.__doc__ or "" for base in bases)
    assert [each for each in parameters(public) if not re.search(rf"\b{each}\b", documented)] == []


def test_every_public_function_that_checks_its_arguments_documents_what_it_raises() -> None:
    checking = ("attribute", "compare", "ladder", "technique", "versions", "workload")
    assert [name for name in checking if "Raises:" not in (getattr(accelbench, name).__doc__ or "")] == []


def test_the_public_names_are_all_there_without_extras() -> None:
    done = python("from accelbench import *; import accelbench; print(set(accelbench.__all__) <= set(globals()))")
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("name", ["effects", "find_results", "tabulate_arms"])
def test_a_name_that_reads_results_needs_the_extra_and_says_so_in_one_line(name: str) -> None:
    last = python(f"from accelbench import {name}").stderr.splitlines()[-1]
    assert re.fullmatch(
        rf"accelbench\.errors\.Unavailable: accelbench\.{name} needs \w+, which is not installed; "
        r"install it: pip install 'accelbench\[report\]'",
        last,
    )


def test_saved_runs_can_be_read_in_three_calls() -> None:
    found = accelbench.find_results(CHECKOUT / "tests" / "data" / "run_v1.json")
    assert {"workload", "technique", "speedup", "low", "high"} <= set(
        accelbench.effects(accelbench.tabulate_arms(found.results))
    )


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    assert not hasattr(accelbench, "quicken")


def test_type_checkers_find_the_types_in_the_wheel() -> None:
    build = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert "harness/accelbench" in build["only-include"]
    assert (CHECKOUT / "harness" / "accelbench" / "py.typed").is_file()
    assert "exclude" not in build
