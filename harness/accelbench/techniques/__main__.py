"""Print the catalogue of techniques: ``python -m accelbench.techniques``."""

from __future__ import annotations

from collections.abc import Iterator

import accelbench.techniques  # noqa: F401  importing declares them
from accelbench.core import Technique, declared_for

FRAMEWORKS = {"torch": "PyTorch", "tensorflow": "TensorFlow", "numpy": "NumPy", "cupy": "CuPy"}


def catalogue() -> str:
    """Return a table of techniques for every framework, in the order of their declaration."""
    return "\n".join(line for framework in FRAMEWORKS for line in _table(framework)).lstrip() + "\n"


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


if __name__ == "__main__":
    print(catalogue(), end="")  # noqa: T201  the command's output
