"""What is asked of CuPy by name, CuPy has: tested wherever it is installed, with a GPU or without."""

import ast
import re
from importlib import import_module
from inspect import signature
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import accelbench

HARNESS = Path(accelbench.__file__).parent
ARRAYS = sorted(path.name for path in (HARNESS / "workloads" / "arrays").glob("*.py"))


def asked_of(root: str, source: Path) -> set[str]:
    """Return the dotted names that a source asks of ``root``, a variable or a call."""
    attributes = (node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Attribute))
    found = (re.fullmatch(rf"{re.escape(root)}\.([\w.]+)", ast.unparse(node)) for node in attributes)
    return {match[1] for match in found if match}


def missing_in(module: Any, names: set[str]) -> list[str]:
    def has(name: str) -> bool:
        try:
            attrgetter(name)(module)
        except AttributeError:
            return False
        return True

    return sorted(name for name in names if not has(name))


@pytest.mark.parametrize(
    ("source", "root"),
    [
        ("frameworks/cupy.py", "cupy"),
        ("roofline/probes/cupy.py", "cupy"),
        ("frameworks/cupy.py", "namespace()"),
        ("workloads/arrays/computations.py", "cupy"),
        ("workloads/arrays/libraries.py", "cupy"),
        ("workloads/arrays/libraries.py", "namespace()"),
    ],
)
def test_cupy_has_what_is_asked_of_it(source: str, root: str) -> None:
    cupy = pytest.importorskip("cupy")
    names = asked_of(root, HARNESS / source)
    assert names
    assert missing_in(cupy, names) == []


def test_its_namespace_of_the_array_api_has_what_the_formulas_take_from_it() -> None:
    pytest.importorskip("cupy")
    names = {name for file in ARRAYS for name in asked_of("xp", HARNESS / "workloads" / "arrays" / file)}
    assert len(names) > 20
    assert missing_in(import_module("array_api_compat.cupy"), names) == []


def test_its_image_functions_take_the_options_that_scipys_take() -> None:
    images = pytest.importorskip("cupyx.scipy.ndimage")
    signature(images.gaussian_filter).bind("planes", 2.0, axes=(1, 2), mode="nearest")
    signature(images.zoom).bind("planes", (1, 0.5, 0.5), order=1, mode="nearest", grid_mode=True)
