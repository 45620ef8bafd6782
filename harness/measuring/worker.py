"""A worker process: one framework, taking orders from standard input until it closes.

Started as ``python -m harness.measuring.worker FRAMEWORK``. What frameworks print goes to standard error.
"""

from __future__ import annotations

import gc
import os
import queue
import sys
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import harness.techniques
import harness.workloads  # noqa: F401  importing fills the catalogue
from harness.ceilings import probes_of
from harness.errors import HarnessError, Unavailable
from harness.experiment import Trial
from harness.frameworks import Framework, load
from harness.measuring import fastest, telemetry
from harness.measuring.applicable import applicable
from harness.measuring.conduct import Conduct
from harness.measuring.handle import Heard
from harness.measuring.measured import Measured
from harness.measuring.stopwatch import Stopwatch
from harness.measuring.windows import Windows
from harness.measuring.wire import receive, send
from harness.record import Ceiling

_QUIETEST: dict[str, float] = {}  # what reference work took in this worker's quietest moments


def main() -> None:
    """Serve orders: ``("describe",)``, ``("devices",)``, ``("ceilings",)`` and ``("measure", trial)``.

    ``("applicable", trial, host)`` asks which techniques a workload takes, ``("import",)`` how many seconds the import
    of the framework took.
    """
    replies, incoming = _claim_pipes()
    start = time.perf_counter()
    try:
        framework: Framework | Unavailable = load(sys.argv[1])
    except Unavailable as error:
        framework = error
    import_s = time.perf_counter() - start
    orders: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_listen, args=(incoming, orders), daemon=True).start()
    while True:
        order = orders.get()
        reply = import_s if order == ("import",) else _obey(order, framework, replies)
        del order  # what lives as long as a trial ends before the answer, after which this process may be killed
        send(replies, ("done", reply))


def _claim_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Take standard output and input for replies and orders; leave standard error for chatter, and nothing to read.

    A process forked from this one closes its ``sys.stdin``, which would wait for ever on a lock that the listening
    thread held at the fork.
    """
    replies, incoming = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    sys.stdin = Path(os.devnull).open()  # noqa: SIM115  stays open like the one it replaces
    os.dup2(sys.stdin.fileno(), 0)
    return replies, incoming


def _listen(pipe: BinaryIO, orders: queue.Queue[Any]) -> None:
    """Pass orders on; leave at once when the other side is gone, even in the middle of a block."""
    while True:
        try:
            orders.put(receive(pipe))
        except EOFError:
            os._exit(0)
        except Exception as error:  # an order that this process cannot unpickle
            sys.stderr.write(f"cannot take the order: {type(error).__name__}: {error}\n")
            os._exit(1)


def _obey(order: tuple[Any, ...], framework: Framework | Unavailable, replies: BinaryIO) -> Any:
    def heard(text: str) -> None:
        send(replies, ("heard", text))

    if order[0] == "describe":
        if isinstance(framework, Unavailable):
            return (), {}
        with framework.full_float32():
            return framework.accelerators(), framework.describe()
    if order[0] == "devices":
        if isinstance(framework, Unavailable):
            raise framework
        return framework.devices()
    if order[0] == "applicable":
        return framework if isinstance(framework, Unavailable) else applicable(*order[1:])
    if order[0] == "ceilings":
        return [] if isinstance(framework, Unavailable) else _ceilings(framework, heard)
    trial: Trial = order[1]
    if isinstance(framework, Unavailable):
        return Measured.nothing(trial, "unavailable", str(framework))
    gc.collect()
    gc.freeze()  # what imports left, thousands of objects, is not searched again around every arm
    try:
        windows = Windows(time.perf_counter, partial(telemetry.glance, gpus=bool(framework.accelerators())), _QUIETEST)
        with _precision(trial, framework):
            return Conduct(trial, framework, heard=heard, windows=windows).run()
    except HarnessError as error:
        return Measured.nothing(trial, "failed", str(error))


def _precision(trial: Trial, framework: Framework) -> AbstractContextManager[None]:
    """Return a context in which the suite's workloads compute float32 in full; those of users compute as written."""
    return framework.full_float32() if isinstance(trial.workload, str) else nullcontext()


def _ceilings(framework: Framework, heard: Heard) -> list[Ceiling]:
    stopwatch = Stopwatch(time.perf_counter, framework.synchronize)
    return fastest.measure(probes_of(framework.name), stopwatch, heard=heard, free=framework.free)


if __name__ == "__main__":
    main()
