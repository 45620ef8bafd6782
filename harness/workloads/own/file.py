"""What is to be measured, in a file of a user's own and named as in ``my_train.py:build``."""

from __future__ import annotations

import ast
import importlib
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.errors import BadInput
from harness.experiment import Technique, Workload
from harness.workloads.torch.own_training import own_training


@dataclass(frozen=True)
class InFile:
    """A function of a file, which is imported only where it is called: in a worker."""

    path: Path
    function: str

    def __call__(self) -> Any:
        """Call the function.

        Raises:
            BadInput: the file cannot be imported; the message names the reason.
        """
        return getattr(_imported(self.path), self.function)()


def own_workload(place: str) -> tuple[Workload, tuple[Technique, ...]]:
    """Return the workload at a place such as ``my_train.py:build``, and the techniques that come with it.

    The place names a function that builds a program, a workload, or a test that ``harness.versions`` made. A file in
    which it names a function is not run here.

    Raises:
        BadInput: there is no such file, or nothing of the kind in it.
    """
    name, _, wanted = place.rpartition(":")
    file = Path(name)
    if not file.is_file():
        raise BadInput(f"{place} names no program: there is no file {name or place!r}; expected FILE.py:FUNCTION")
    body = _parsed(file).body
    functions = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    if wanted in functions:
        return _program(file, wanted), ()
    assigned = [target.id for node in body for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)]
    found: Any = getattr(_imported(file.resolve()), wanted) if wanted in assigned else None
    if isinstance(found, Workload):
        return found, ()
    if isinstance(compared := getattr(found, "compared", None), Workload):
        return compared, found.techniques
    raise BadInput(
        f"{name} has no program {wanted!r}; expected a function that builds one, a workload, or a test of "
        f"harness.versions; functions there: {', '.join(functions) or 'none'}"
    )


def _program(file: Path, function: str) -> Workload:
    return Workload(
        name=f"{file.name}:{function}",
        frameworks=("torch",),
        unit="item",
        summary=f"{function} of {file.name}",
        builder=partial(own_training, InFile(file.resolve(), function)),
    )


def _imported(file: Path) -> ModuleType:
    """Import a file as Python imports a script's neighbours.

    Raises:
        BadInput: it cannot be imported, or another module has its name.
    """
    if (folder := str(file.parent)) not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(file.stem)
    except Exception as error:
        raise BadInput(f"{file.name} cannot be imported: {type(error).__name__}: {error}") from error
    if Path(str(module.__file__)).resolve() != file:
        raise BadInput(f"{file.name} has the name of the module {module.__file__}: give it another name")
    return module


def _parsed(file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise BadInput(f"{file} is no Python program: {error}") from None
