"""What one test of a module measures for the others: a project is made anew for each, and cannot be shared itself."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def once() -> Callable[[Callable[[], Any]], Any]:
    """Return a function that calls the one that it is given, and from the second time on returns its first result."""
    results: list[Any] = []

    def call(measure: Callable[[], Any]) -> Any:
        if not results:
            results.append(measure())
        return results[0]

    return call


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for files that were measured; there is none until a test puts them there."""
    return tmp_path_factory.mktemp("shelf") / "measured"
