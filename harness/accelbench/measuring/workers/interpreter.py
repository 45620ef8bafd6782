"""The Python interpreter of a framework's workers: that of this process, or the one of an environment of its own.

Releases of two frameworks may need different versions of CUDA's libraries, and so environments of their own. The user
then names one framework's interpreter in a variable, such as ``ACCELBENCH_PYTHON_TENSORFLOW=/opt/tf/bin/python``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import msgspec

from accelbench.errors import BadInput
from accelbench.user_code import is_library

_PLACE = str(Path(__file__).parents[2] / "__init__.py")
STARTING_S = 120.0  # importing a framework from a cold disk
# What another interpreter is asked: first what it has, then to import all that a worker imports before its framework.
_QUESTION = """
import json, platform, sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import accelbench

def version_of(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return ""

answer = {
    "python": f"{platform.python_implementation()} {platform.python_version()}",
    "numpy": version_of("numpy"),
    "accelbench": version_of("accelbench"),
    "place": accelbench.__file__,
    "has_framework": find_spec(sys.argv[1]) is not None,
}
print(json.dumps(answer), flush=True)
import accelbench.measuring.workers.worker
"""


def variable_of(framework: str) -> str:
    """Return the name of the variable that names a framework's interpreter."""
    return f"ACCELBENCH_PYTHON_{framework.upper()}"


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """The interpreter of a framework's workers.

    ``import_path`` are the folders that its PYTHONPATH names. ``has_framework`` says whether the framework is installed
    there. ``facts`` are its versions, by the names of the environment's fields; an interpreter that the user did not
    name has none, since the environment of this process has them.
    """

    path: str
    import_path: tuple[str, ...]
    has_framework: bool
    facts: dict[str, str]

    def describe(self, framework: str, description: dict[str, str]) -> dict[str, str]:
        """Return a framework's own description with that of the interpreter.

        Versions that stand for all frameworks elsewhere, such as that of NumPy, are this framework's alone.
        """
        if not self.facts:
            return description
        found = self.facts | description
        shared = {name for name in found if name in self.facts or name.startswith("numpy.")}
        own = {name: f"{framework}.{name.removeprefix(f'{framework}.')}" for name in shared}
        return {own.get(name, name): text for name, text in found.items()}


def is_named(framework: str) -> bool:
    """Return whether the user names an interpreter for this framework."""
    return bool(os.environ.get(variable_of(framework)))


def find_interpreter(framework: str) -> Interpreter:
    """Return the interpreter of a framework's workers.

    Raises:
        BadInput: the one that the user names does not exist, cannot import accelbench, or would not understand this
            process.
    """
    if named := os.environ.get(variable_of(framework)):
        return _ask(framework, named)
    return Interpreter(
        path=sys.executable,
        import_path=tuple(filter(None, sys.path)),
        has_framework=find_spec(framework) is not None,
        facts={},
    )


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """What another interpreter answers.

    ``numpy`` and ``accelbench`` are versions, empty where they are not installed; ``place`` is the file of accelbench.
    """

    python: str
    numpy: str
    accelbench: str
    place: str
    has_framework: bool


@cache
def _ask(framework: str, named: str) -> Interpreter:
    """Return the interpreter that the user names, after asking it whether it can serve this process."""
    given = f"{variable_of(framework)}={named!r}"
    install = f"install it there: {named} -m pip install accelbench=={_own_version() or 'VERSION'}"
    folders = tuple(_folders_for_others())
    path = shutil.which(named)
    if path is None:
        raise BadInput(f"{given}: no such program; name the Python interpreter of an environment that has accelbench")
    try:
        asked = subprocess.run(
            [path, "-c", _QUESTION, framework],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=STARTING_S,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
            check=False,
        )
    except OSError as error:
        raise BadInput(f"{given}: cannot be started ({error.strerror}); name a Python interpreter") from None
    except subprocess.TimeoutExpired:
        raise BadInput(f"{given}: did not import accelbench within {STARTING_S:.0f} s; name another one") from None
    try:
        answer = msgspec.json.decode(asked.stdout, type=_Answer)
    except msgspec.DecodeError:
        answer = None
    if answer is not None:
        _require_same(given, answer, install)
    if answer is None or asked.returncode:
        said = (asked.stderr.strip().splitlines() or [f"exit status {asked.returncode}"])[-1][:200]
        raise BadInput(f"{given}: cannot import accelbench ({said}); {install}")
    facts = {"python": answer.python, "numpy.version": answer.numpy}
    return Interpreter(path=path, import_path=folders, has_framework=answer.has_framework, facts=facts)


def _require_same(given: str, answer: _Answer, install: str) -> None:
    """Check that another interpreter unpickles what this process sends."""
    here = ".".join(map(str, sys.version_info[:2]))
    there = ".".join(answer.python.split()[-1].split(".")[:2])
    if there != here:
        raise BadInput(
            f"{given}: runs Python {there}, but this process runs Python {here} and sends it functions as bytecode; "
            f"make that environment with Python {here}"
        )
    if answer.place != _PLACE and answer.accelbench != _own_version():
        theirs, ours = answer.accelbench or "of unknown version", _own_version() or "of unknown version"
        raise BadInput(f"{given}: has accelbench {theirs}, but this process has accelbench {ours}; {install}")


def _own_version() -> str:
    """Return the version of accelbench, empty where it is not installed, as in a checkout."""
    try:
        return version("accelbench")
    except PackageNotFoundError:
        return ""


def _folders_for_others() -> Iterator[str]:
    """Yield the folders from which this process imports, but for those of its own environment and library."""
    for folder in filter(None, sys.path):
        if Path(folder).is_dir() and not is_library(Path(folder)):
            yield folder
