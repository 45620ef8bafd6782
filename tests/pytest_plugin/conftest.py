"""Let the tests of a module share what one of them measures. A project cannot be shared: each test gets a new one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def once() -> Callable[[Callable[[], Any]], Any]:
    """Return a function that calls its argument the first time, and returns that result every time."""
    results: list[Any] = []

    def call(measure: Callable[[], Any]) -> Any:
        if not results:
            results.append(measure())
        return results[0]

    return call


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which tests share measured files; it exists once the first test has copied them there."""
    return tmp_path_factory.mktemp("shelf") / "measured"
