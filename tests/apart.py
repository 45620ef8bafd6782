"""Tests that run in a process of their own, because the one that collects them holds another framework.

Such a test, or its module in ``pytestmark``, is marked ``pytest.mark.apart("tensorflow")``; it imports that framework
inside its functions. All tests of a framework share one process, which imports it once.
"""

import inspect
import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import cloudpickle
import pytest

from harness.frameworks import load

PROCESSES = pytest.StashKey[dict[str, ProcessPoolExecutor]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "apart(framework): run the test in the process of this framework")
    config.stash[PROCESSES] = {}


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    marker = pyfuncitem.get_closest_marker("apart")
    if marker is None:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    # By value, with its rewritten assertions; by name, the other process would import the module without them.
    cloudpickle.register_pickle_by_value(pyfuncitem.module)
    test = cloudpickle.dumps((pyfuncitem.obj, arguments))
    _process(pyfuncitem.config, *marker.args).submit(run, test).result()
    return True


def _process(config: pytest.Config, framework: str) -> ProcessPoolExecutor:
    processes = config.stash[PROCESSES]
    if framework not in processes:
        processes[framework] = ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=prepare, initargs=(framework,)
        )
    return processes[framework]


def prepare(framework: str) -> None:
    """Begin as a worker does, with the catalogue filled and the adapter loaded."""
    import harness.techniques
    import harness.workloads  # noqa: F401

    load(framework)


def run(test: bytes) -> None:
    """Run a test where it was sent to."""
    function, arguments = pickle.loads(test)
    function(**arguments)


@pytest.hookimpl(wrapper=True)
def pytest_unconfigure(config: pytest.Config) -> Iterator[None]:
    for process in config.stash[PROCESSES].values():
        process.shutdown()
    yield
