"""Workers that live on, but cannot be understood any more."""

import os
import sys
import time
from collections.abc import Iterator

import pytest

from accelbench.measuring.workers.process import Worker, WorkerLostError


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker("numpy", {})
    yield worker
    worker.close()


def close_every_pipe() -> None:
    time.sleep(1)  # until the thread that listens waits for the next order: from then on nothing wakes it
    os.closerange(3, 256)
    time.sleep(600)


class Incomprehensible:
    """An answer that only the worker can read."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, (f"if __import__('os').getpid() == {os.getppid()}: raise AttributeError('no such class here')",)


def answer() -> Incomprehensible:
    return Incomprehensible()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="its pipes are no numbers from 3 on")
@pytest.mark.parametrize("deed", [close_every_pipe, answer])
def test_a_worker_that_cannot_be_understood_is_stopped_and_not_waited_for(
    worker: Worker, deed: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accelbench.measuring.workers.process.ENDING_S", 0.5)
    with pytest.raises(WorkerLostError, match="cannot be read, or it closed its pipe; it was stopped"):
        worker.ask("call", deed, (), silence_s=60)
