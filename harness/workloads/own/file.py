"""A program in a file of its own, named as in ``my_train.py:build``."""

from __future__ import annotations

import ast
import importlib
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.errors import BadInput
from harness.experiment import Workload
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
        folder = str(self.path.parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)  # as Python does for a script, whose neighbours it may import
        try:
            module = importlib.import_module(self.path.stem)
        except Exception as error:
            raise BadInput(f"{self.path.name} cannot be imported: {type(error).__name__}: {error}") from error
        if Path(str(module.__file__)).resolve() != self.path:
            raise BadInput(f"{self.path.name} has the name of the module {module.__file__}: give it another name")
        return getattr(module, self.function)()


def program_in(place: str) -> Workload:
    """Return the workload of a program in a file, such as ``my_train.py:build``; the file is read but not run.

    Raises:
        BadInput: there is no such file or function in it.
    """
    path, _, function = place.rpartition(":")
    file = Path(path)
    if not file.is_file():
        raise BadInput(f"{place} names no program: there is no file {path or place!r}; expected FILE.py:FUNCTION")
    functions = [node.name for node in _parsed(file).body if isinstance(node, ast.FunctionDef)]
    if function not in functions:
        found = ", ".join(functions) or "none"
        raise BadInput(f"{path} has no function {function!r}; found: {found}")
    return Workload(
        name=f"{file.name}:{function}",
        frameworks=("torch",),
        unit="item",
        summary=f"{function} of {file.name}",
        builder=partial(own_training, InFile(file.resolve(), function)),
    )


def _parsed(file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise BadInput(f"{file} is no Python program: {error}") from None
