"""A program of a user's own, found by its place: ``my_train.py:build`` or ``package.module:build``.

The place is read, not run: a file is imported only in a worker, and a function is called there only if the file shows
that it builds a program.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from accelbench.core import Technique, Workload
from accelbench.errors import BadInput
from accelbench.text import join_names
from accelbench.workloads.torch.training_loop import TrainOptions
from accelbench.workloads.torch.user_program import train_program

PROGRAM = "Program"  # what a builder makes or says that it returns


def is_place(text: str) -> bool:
    """Return whether a text names a place rather than a workload."""
    return ":" in text or text.endswith(".py")


def find_user_workload(place: str) -> tuple[Workload, tuple[Technique, ...]]:
    """Return the workload at a place such as ``my_train.py:build``, and the techniques that come with it.

    The place names a function that builds a program, a workload, or a test that ``accelbench.versions`` made. A file
    with a single function that builds one needs no more than its name. A file in which the place names a function is
    not run here.

    Raises:
        BadInput: there is no such file, or nothing of the kind in it.
    """
    name, _, wanted = place.rpartition(":") if ":" in place else (place, "", "")
    file = _find_file(name)
    body = _parsed(file).body
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    builders = [each for each in functions if _builds_program(each, functions)]
    if not wanted and len(builders) == 1:
        (wanted,) = builders
    if wanted in builders:
        return _program(file, wanted), ()
    if wanted in functions:
        raise BadInput(
            f"{name}:{wanted} was not run, since nothing in it makes a {PROGRAM}; expected a function that returns an "
            f"accelbench.{PROGRAM}, or says so with `-> {PROGRAM}`; {_described(builders)}"
        )
    assigned = [target.id for node in body for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)]
    found: Any = getattr(_imported(file.resolve()), wanted) if wanted in assigned else None
    if isinstance(found, Workload):
        return found, ()
    if isinstance(compared := getattr(found, "compared", None), Workload):
        return compared, found.techniques
    missing = f"has no program {wanted!r}" if wanted else "names a file, and no function in it"
    raise BadInput(
        f"{place} {missing}; expected FILE.py:FUNCTION, where the function builds a program, or a workload, or a test "
        f"of accelbench.versions; {_described(builders)}"
    )


def _described(builders: list[str]) -> str:
    return f"functions there that build one: {join_names(builders) if builders else 'none'}"


def _builds_program(name: str, functions: Mapping[str, ast.FunctionDef], seen: frozenset[str] = frozenset()) -> bool:
    """Return whether a function makes a program, says that it returns one, or calls another one that does."""
    node = functions[name]
    if node.returns is not None and PROGRAM in ast.unparse(node.returns):
        return True
    called = {_name_of(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    others = (called & functions.keys()) - seen - {name}
    return PROGRAM in called or any(_builds_program(other, functions, seen | {name}) for other in others)


def _name_of(function: ast.expr) -> str:
    """Return the last part of the name of a called function, "" if it has none."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


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


def _program(file: Path, function: str) -> Workload:
    return Workload(
        name=f"{file.name}:{function}",
        frameworks=("torch",),
        unit="item",
        summary=f"{function} of {file.name}",
        builder=partial(train_program, InFile(file.resolve(), function)),
        shared=TrainOptions,
    )


def _find_file(name: str) -> Path:
    """Return the file of this path, or of the module of this name, which is not imported.

    Raises:
        BadInput: there is none.
    """
    if name.endswith(".py"):
        if not (file := Path(name)).is_file():
            raise BadInput(f"there is no file {name!r}; expected FILE.py:FUNCTION or package.module:FUNCTION")
        return file
    parts = name.split(".")
    for folder in dict.fromkeys([str(Path.cwd()), *sys.path]):
        module = Path(folder, *parts)
        for file in (module.with_name(f"{module.name}.py"), module / "__init__.py"):
            if file.is_file():
                return file
    raise BadInput(
        f"there is no module {name!r} here or on Python's path; expected FILE.py:FUNCTION or package.module:FUNCTION"
    )


def _imported(file: Path) -> ModuleType:
    """Import a file as Python imports a script's neighbours, or as the module of the package in which it lies.

    Raises:
        BadInput: it cannot be imported, or another module has its name.
    """
    parts, folder = [] if file.stem == "__init__" else [file.stem], file.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        module = importlib.import_module(".".join(parts))
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
