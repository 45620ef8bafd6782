"""Fixtures and settings of all tests."""

import gc
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import hypothesis
import pytest
from project import Project, WarmWorker

pytest_plugins = ["pytester", "isolated_framework"]

# The user's cache stays as it is. Every pytest-xdist worker has a cache of its own, and with it a lock of its own:
# otherwise one worker's sessions would wait for those of another.
_CACHE = TemporaryDirectory(prefix="accelbench-tests-")
os.environ["ACCELBENCH_CACHE"] = _CACHE.name

# The ceilings of this machine take seconds to measure, and are the same for all workers, whose parent removes them.
_IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ
_CEILINGS = Path(gettempdir(), f"accelbench-ceilings-{os.getppid() if _IS_WORKER else os.getpid()}")
_CEILINGS.mkdir(exist_ok=True)
Path(_CACHE.name, "ceilings").symlink_to(_CEILINGS)

# pytest-benchmark measures nothing where it sees xdist, and the sessions that tests start would inherit this.
for variable in [name for name in os.environ if name.startswith("PYTEST_XDIST_")]:
    del os.environ[variable]

# Whoever starts the tests in the background may have had Ctrl-C ignored, which processes started from here inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says more about a shared machine than about the code.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")


@pytest.fixture(autouse=True, scope="module")
def _no_idle_workers() -> Iterator[None]:
    """Leave no worker to the next module, whose tests may count processes."""
    yield
    WarmWorker.close_idle()


@pytest.fixture(autouse=True)
def _few_objects(request: pytest.FixtureRequest) -> None:
    """Exempt from garbage collection what was imported so far.

    The engine collects garbage before it measures, and would look through all of PyTorch and pytest every time.
    """
    _freeze(request.path, len(sys.modules))


@cache
def _freeze(_: Path, __: int) -> None:
    """Exempt all objects, once for each file of tests and each number of modules that were imported."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files in which much is slow: at the end, no process waits long for the last file of the other."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (-slow[item.path], -tests[item.path]))


def pytest_unconfigure() -> None:
    """Remove the cache."""
    _CACHE.cleanup()
    if not _IS_WORKER:
        shutil.rmtree(_CEILINGS)


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A project whose benchmark compares a quick pace with a slow one."""
    project = Project(pytester)
    project.configure()
    project.benchmark("slow", "quick")
    return project
