"""Tests in a process of their own, because the pytest process already holds another framework.

Mark such a test, or its module in ``pytestmark``, with ``pytest.mark.isolated_framework("tensorflow")``, and import the
framework inside its functions. All tests of a framework share one process, which imports it once: also where
pytest-xdist spreads the files, since one of its workers gets them all.
"""

import gc
import inspect
import pickle
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from accelbench.frameworks import load

PROCESSES = pytest.StashKey[dict[str, ProcessPoolExecutor]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "isolated_framework(name): run the test in this framework's own process")
    config.stash[PROCESSES] = {}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark these tests as slow, since the first of them waits for the import."""
    for item in items:
        if item.get_closest_marker("isolated_framework"):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Spread files, those with tests of one framework together."""
    from xdist.scheduler import LoadFileScheduling

    @cache
    def isolated_in(file: Path) -> str:
        marked = re.search(r'isolated_framework\("(\w+)"\)', file.read_text())
        return marked[1] if marked else ""

    class OneWorkerPerFramework(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return isolated_in(config.rootpath / file) or file

    return OneWorkerPerFramework(config, log) if config.option.dist == "loadfile" else None


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    marker = pyfuncitem.get_closest_marker("isolated_framework")
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
    import accelbench.techniques
    import accelbench.workloads  # noqa: F401

    load(framework)


def run(test: bytes) -> None:
    """Run a test where it was sent to.

    What it leaves is deleted at once. Whoever deletes an iterator of tf.data may wait for as long as it has lived: in a
    later test, for minutes.
    """
    function, arguments = pickle.loads(test)
    try:
        function(**arguments)
    finally:
        for argument in arguments.values():
            if isinstance(argument, pytest.MonkeyPatch):  # a copy, which the fixture in the other process cannot undo
                argument.undo()
        gc.collect()
        gc.freeze()  # what is left, so that the next collection is quick


@pytest.hookimpl(wrapper=True)
def pytest_unconfigure(config: pytest.Config) -> Iterator[None]:
    for process in config.stash[PROCESSES].values():
        process.shutdown()
    yield
