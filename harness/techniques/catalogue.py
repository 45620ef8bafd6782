"""Every technique with its levels and what it is, as Markdown, from the declarations alone."""

from __future__ import annotations

from collections.abc import Iterator

import harness.techniques  # noqa: F401  importing declares them
from harness.experiment import Technique, declared_for

FRAMEWORKS = {"torch": "PyTorch", "tensorflow": "TensorFlow", "numpy": "NumPy", "cupy": "CuPy"}
HEAD = """# Every technique

Made from the declarations in `harness/techniques` by `python -m harness.techniques > docs/techniques.md`. The first
level is the baseline; levels that depend on the machine are not named. [How a ladder is read](ladders.md)."""


def catalogue() -> str:
    """Return a table of techniques for every framework, in the order of their declaration."""
    return "\n".join([HEAD, *(line for framework in FRAMEWORKS for line in _table(framework))]) + "\n"


def _table(framework: str) -> Iterator[str]:
    yield f"\n## {FRAMEWORKS[framework]}\n"
    yield "| technique | levels | what it is |"
    yield "|---|---|---|"
    for technique in declared_for(framework):
        yield f"| `{technique.name}` | {_levels(technique)} | {technique.summary} |"


def _levels(technique: Technique) -> str:
    if callable(technique.levels):
        return "by machine"
    return ", ".join(f"`{level}`" for level in technique.levels)
