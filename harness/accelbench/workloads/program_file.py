"""A program of a user's own, found by its place: ``my_train.py:build`` or ``package.module:build``.

The place is read, not run: a file is imported only in a worker, and a function is called there only if the file shows
that it builds a program.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from accelbench.core import Technique, Workload
from accelbench.errors import AccelbenchError, BadInput
from accelbench.schema.reasons import describe_error_at
from accelbench.text import join_names


@dataclass(frozen=True, kw_only=True)
class ProgramKind:
    """A kind of program: the names by which a function that makes one is recognised, and where its workload is built.

    ``builder`` and ``options`` are names in ``module``, which is imported only for a program of this kind.
    """

    names: tuple[str, ...]
    frameworks: tuple[str, ...]
    module: str
    builder: str
    options: str = ""


KINDS = (
    ProgramKind(
        names=("Program", "from_trainer", "from_accelerate", "from_lightning"),
        frameworks=("torch",),
        module="accelbench.workloads.torch.user_program",
        builder="train_program",
        options="TrainOptions",
    ),
    ProgramKind(
        names=("KerasProgram",),
        frameworks=("tensorflow",),
        module="accelbench.workloads.tensorflow.user_program",
        builder="train_program",
        options="FitOptions",
    ),
    ProgramKind(
        names=("ArrayProgram",),
        frameworks=("numpy", "cupy", "torch"),
        module="accelbench.workloads.arrays.user_program",
        builder="build_array_program",
    ),
)
EXAMPLE = "def build(): return accelbench.Program(model=..., loader=..., step=..., optimizer=...)"

IN_CUPY = "; give an ArrayProgram NumPy's arrays, and accelbench brings them to CuPy's memory where there is a GPU"


def is_place(text: str) -> bool:
    """Return whether a text names a place rather than a workload."""
    return ":" in text or text.endswith(".py")


def find_user_workload(place: str) -> tuple[Workload, tuple[Technique, ...]]:
    """Return the workload at a place such as ``my_train.py:build``, and the techniques that come with it.

    The place names a function that builds a program, a workload, or a test that ``accelbench.versions`` made. A file
    with a single function that builds one without arguments needs no more than its name. A file in which the place
    names a function is not run here.

    Raises:
        BadInput: there is no such file, or nothing of the kind in it.
    """
    name, _, wanted = place.rpartition(":") if ":" in place else (place, "", "")
    file = _find_file(name)
    parsed = ParsedFile(file)
    builders = parsed.builders
    if not wanted and len(ready := [each for each in builders if not parsed.arguments_of(each)]) == 1:
        (wanted,) = ready
    if wanted in builders:
        if needed := parsed.arguments_of(wanted):
            raise BadInput(f"{name}:{wanted} needs {join_names(needed)}; expected a function without arguments")
        return _program(file, wanted, builders[wanted]), ()
    if wanted in parsed.functions:
        first, *others = (kind.names[0] for kind in KINDS)
        raise BadInput(
            f"{name}:{wanted} returns no {first}; expected a function that makes and returns an accelbench.{first} "
            f"({join_names(others)} likewise), or one that says so: `def {wanted}() -> {first}`{_describe(builders)}"
        )
    found: Any = getattr(_import(file.resolve()), wanted) if wanted in parsed.assigned else None
    if isinstance(found, Workload):
        return found, ()
    if isinstance(compared := getattr(found, "compared", None), Workload):
        return compared, found.techniques
    missing = f"has no program {wanted!r}" if wanted else "names a file, and no function in it"
    example = "" if builders else f", such as `{EXAMPLE}`"
    raise BadInput(
        f"{place} {missing}; expected FILE.py:FUNCTION, where the function builds a program{example}, or a workload, "
        f"or a test of accelbench.versions{_describe(builders)}"
    )


def _describe(builders: Mapping[str, ProgramKind]) -> str:
    return f"; functions there that build one: {join_names([*builders])}" if builders else ""


class ParsedFile:
    """A file as it is written: its functions, and those of them that build programs. Nothing in it is run."""

    def __init__(self, file: Path) -> None:
        body = _parse(file).body
        self.functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        self.assigned = {
            target.id for node in body for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)
        }
        self._partials = dict(filter(None, map(_find_partial, body)))
        imported = (alias for node in body if isinstance(node, ast.ImportFrom) for alias in node.names)
        self._imported_as = {alias.asname: alias.name for alias in imported if alias.asname}

    @property
    def builders(self) -> dict[str, ProgramKind]:
        """The functions that make a program, say that they return one, or call another one that does, and its kind.

        One that returns nothing, as a script's ``main`` does, is none of them. A ``functools.partial`` of one is.
        """
        kinds = {name: self._find_kind(name, frozenset()) for name in self.functions}
        kinds |= {name: kinds.get(function) for name, function in self._partials.items()}
        return {name: kind for name, kind in kinds.items() if kind is not None}

    def arguments_of(self, function: str) -> list[str]:
        """Return the names of the arguments without which a function cannot be called; a partial has what it needs."""
        if function in self._partials:
            return []
        given = self.functions[function].args
        positional = [*given.posonlyargs, *given.args]
        named = [each for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default is None]
        return [each.arg for each in [*positional[: len(positional) - len(given.defaults)], *named]]

    def _find_kind(self, function: str, seen: frozenset[str]) -> ProgramKind | None:
        node = self.functions[function]
        returned = re.findall(r"\w+", ast.unparse(node.returns)) if node.returns is not None else []
        if node.returns is None and not _returns_something(node):
            return None
        called = [_name_of(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)]
        names = [self._imported_as.get(name, name) for name in (*returned, *called)]
        if kind := next((kind for name in names for kind in KINDS if name in kind.names), None):
            return kind
        seen |= {function}
        others = dict.fromkeys(name for name in called if name in self.functions and name not in seen)
        return next(filter(None, (self._find_kind(other, seen) for other in others)), None)


def _find_partial(node: ast.stmt) -> tuple[str, str] | None:
    """Return the name that a ``functools.partial`` of a function is assigned to, and that function; None for others."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(func=made_by, args=[ast.Name(id=function), *_])
        ) if _name_of(made_by) == "partial":
            return name, function
    return None


def _returns_something(function: ast.AST) -> bool:
    """Return whether a function has a return statement with anything but a constant, besides those of inner ones."""
    for part in ast.iter_child_nodes(function):
        if isinstance(part, ast.Return) and not isinstance(part.value, ast.Constant | None):
            return True
        if not isinstance(part, ast.FunctionDef | ast.Lambda | ast.ClassDef) and _returns_something(part):
            return True
    return False


def _name_of(function: ast.expr) -> str:
    """Return the last part of the name of a called function, "" if it has none."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


@dataclass(frozen=True)
class InFile:
    """A function of a file, which is imported only where it is called: in a worker."""

    path: Path
    function: str

    def load(self) -> Any:
        """Return the function.

        Raises:
            BadInput: the file cannot be imported.
        """
        return getattr(_import(self.path), self.function)

    def __call__(self) -> Any:
        """Call the function.

        Raises:
            BadInput: the file cannot be imported, or the function raises; the message has the reason and its line.
        """
        function = self.load()
        try:
            with _without_arguments(self.path):
                return function()
        except AccelbenchError:
            raise
        except (Exception, SystemExit) as error:
            hint = IN_CUPY if type(error).__module__.startswith("cupy") else ""
            why = f"{describe_error_at(error)}{hint}"
            raise BadInput(f"{self.path.name}:{self.function} raised {why}") from error


def _program(file: Path, function: str, kind: ProgramKind) -> Workload:
    module, build = importlib.import_module(kind.module), InFile(file.resolve(), function)
    return Workload(
        name=f"{file.name}:{function}",
        frameworks=kind.frameworks,
        unit="item",
        summary=f"{function} of {file.name}",
        builder=partial(getattr(module, kind.builder), build),
        shared=getattr(module, kind.options) if kind.options else None,
        is_program=True,
        load=build.load,
    )


@contextmanager
def _without_arguments(file: Path) -> Iterator[None]:
    """Let a file find the command line that it has if it is run without arguments."""
    given, sys.argv = sys.argv, [str(file)]
    try:
        yield
    finally:
        sys.argv = given


def _find_file(name: str) -> Path:
    """Return the file of this path, or of the module of this name, which is not imported.

    Raises:
        BadInput: there is none.
    """
    if name.endswith(".py"):
        if not _is_file(file := Path(name)):
            raise BadInput(f"there is no file {name!r}; expected FILE.py:FUNCTION or package.module:FUNCTION")
        return file
    parts = name.split(".")
    for folder in dict.fromkeys([str(Path.cwd()), *sys.path]):
        module = Path(folder, *parts)
        for file in (module.with_name(f"{module.name}.py"), module / "__init__.py"):
            if _is_file(file):
                return file
    raise BadInput(
        f"there is no module {name!r} here or on Python's path; expected FILE.py:FUNCTION or package.module:FUNCTION"
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have
        return False


def _import(file: Path) -> ModuleType:
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
        with _without_arguments(file):
            module = importlib.import_module(".".join(parts))
    except SystemExit as error:
        raise BadInput(
            f"{file.name} ends when it is imported: {describe_error_at(error)}; if it reads its options from the "
            f"command line, do so in a function, or under `if __name__ == '__main__':`"
        ) from error
    except Exception as error:
        why = describe_error_at(error)
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        install = f"; install it for {sys.executable}, or import it elsewhere" if missing else ""
        raise BadInput(f"{file.name} cannot be imported: {why}{install}") from error
    if Path(str(module.__file__)).resolve() != file:
        raise BadInput(f"{file.name} has the name of the module {module.__file__}: give it another name")
    return module


def _parse(file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise BadInput(f"{file} is no Python program: {error}") from None
