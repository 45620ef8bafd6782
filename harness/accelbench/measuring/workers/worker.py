"""A worker process: it serves orders for one framework from standard input until that closes.

It is started as ``python -m accelbench.measuring.workers.worker FRAMEWORK FOLDER``, where the folder is for temporary
files. Frameworks print to standard error.
"""

from __future__ import annotations

import gc
import os
import queue
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import accelbench.techniques
import accelbench.workloads  # noqa: F401  importing fills the catalogue
from accelbench.core import Host, OnProgress, Trial
from accelbench.errors import AccelbenchError, BadInput, Unavailable
from accelbench.frameworks import Framework, load
from accelbench.measuring import interference, malloc
from accelbench.measuring.applicable import Applicable, applicable
from accelbench.measuring.checks.process_state import ProcessSettings
from accelbench.measuring.interference import InterferenceMonitor
from accelbench.measuring.referee import Stopwatch
from accelbench.measuring.trial_result import TrialResult
from accelbench.measuring.trial_run import TrialRun
from accelbench.measuring.workers.process import receive, send
from accelbench.roofline.ceilings import measure_peaks
from accelbench.roofline.probes import find_probes
from accelbench.schema.reasons import describe_error_at, message_line, reason_of
from accelbench.schema.result import Ceiling
from accelbench.sigint import leave_ctrl_c_to_the_parent

_QUIETEST: dict[str, float] = {}  # the times of reference work in this worker's quietest moments


def main() -> None:
    """Serve orders: ``("describe",)``, ``("devices",)``, ``("ceilings", name)`` and ``("measure", trial)``.

    ``("prove", trial, places)`` returns the records of the arms at these places with the kernels that each starts.
    ``("applicable", trial, host)`` returns the techniques that apply to a workload, ``("import",)`` the seconds that
    the import of the framework took, ``("call", function, arguments)`` the result of the function or its exception.
    """
    leave_ctrl_c_to_the_parent()
    replies, incoming = _claim_pipes()
    malloc.raise_thresholds()
    start = time.perf_counter()
    try:
        framework: Framework | Unavailable = load(sys.argv[1])
    except Unavailable as error:
        framework = error
    import_s = time.perf_counter() - start
    gc.freeze()  # the framework and all else, so that the first order does not search them
    orders: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_listen, args=(incoming, orders, sys.argv[2]), daemon=True).start()
    while True:
        order = orders.get()
        reply = import_s if order == ("import",) else _obey(order, framework, replies)
        del order  # frees the trial before the reply, after which this process may be killed
        send(replies, ("done", reply))


def _claim_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes of replies and orders; redirect standard output to standard error, and input to nothing.

    Without that, a forked process that closes its ``sys.stdin`` would wait for ever on a lock that the listening thread
    held at the fork.
    """
    replies, incoming = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    sys.stdin = Path(os.devnull).open()  # noqa: SIM115  stays open like the one it replaces
    os.dup2(sys.stdin.fileno(), 0)
    return replies, incoming


def _listen(pipe: BinaryIO, orders: queue.Queue[Any], temporary: str) -> None:
    """Pass orders on; exit at once when the other side is gone, even in the middle of a block.

    Then nobody else is left to remove the temporary files.
    """
    while True:
        try:
            orders.put(receive(pipe))
        except EOFError:
            shutil.rmtree(temporary, ignore_errors=True)
            os._exit(0)
        except BaseException as error:  # an order that this process cannot unpickle; importing a module may end it
            sys.stderr.write(f"cannot take the order: {type(error).__name__}({message_line(error)})\n")
            os._exit(1)


def _obey(order: tuple[Any, ...], framework: Framework | Unavailable, replies: BinaryIO) -> Any:
    def on_progress(text: str) -> None:
        send(replies, ("progress", text))

    if order[0] == "describe":
        if isinstance(framework, Unavailable):
            return (), {}, False
        with framework.disable_tf32():
            return framework.accelerators(), framework.describe(), framework.profiles
    if order[0] == "devices":
        if isinstance(framework, Unavailable):
            raise framework
        return framework.devices()
    if order[0] == "applicable":
        return framework if isinstance(framework, Unavailable) else _applicable(framework, *order[1:])
    if order[0] == "call":
        return _call(*order[1:])
    if order[0] == "ceilings":
        return [] if isinstance(framework, Unavailable) else _ceilings(framework, order[1], on_progress)
    trial: Trial = order[1]
    if isinstance(framework, Unavailable):
        return TrialResult.nothing(trial, "unavailable", reason_of(framework))
    _load(trial)
    _freeze_imports()
    if order[0] == "prove":
        with _precision(trial, framework):
            return TrialRun(trial, framework, on_progress=on_progress).prove(order[2])
    try:
        windows = InterferenceMonitor(time.perf_counter, interference.glance, _QUIETEST)
        run = TrialRun(trial, framework, on_progress=on_progress, windows=windows)
        with _precision(trial, framework):
            measured = run.run()
        return run.shared_state.conclude(measured)
    except AccelbenchError as error:
        return TrialResult.nothing(trial, "failed", reason_of(error))


def _load(trial: Trial) -> None:
    """Import what the trial's workload needs; what fails there is reported where an arm is built."""
    if not isinstance(trial.workload, str) and trial.workload.load is not None:
        with suppress(AccelbenchError):
            trial.workload.load()


def _freeze_imports() -> None:
    """Keep the garbage collector from searching the thousands of objects of the imports around every arm."""
    gc.collect()
    gc.freeze()


def _applicable(framework: Framework, trial: Trial, host: Host) -> list[Applicable] | AccelbenchError:
    """Return the techniques that apply, and take back what their declarations set in this process meanwhile.

    An error is returned: a user's program that cannot be built, or whose model cannot be called.
    """
    _load(trial)
    settings = ProcessSettings(framework)
    before = settings.read()
    try:
        return applicable(trial, host)
    except AccelbenchError as error:
        return error
    except (Exception, SystemExit) as error:
        return BadInput(f"the program cannot be prepared: {describe_error_at(error)}")
    finally:
        settings.write(before)


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the function's result, or the exception that it raised."""
    _freeze_imports()
    try:
        return function(*arguments)
    except Exception as error:
        return error


def _precision(trial: Trial, framework: Framework) -> AbstractContextManager[None]:
    """Return a context in which the suite's workloads compute float32 without TF32, and those of users as they set it.

    The next trial finds the switches as this one did.
    """
    return framework.disable_tf32() if isinstance(trial.workload, str) else framework.precision_restored()


def _ceilings(framework: Framework, name: str, on_progress: OnProgress) -> list[Ceiling]:
    """Return the rates of a framework's probes, or of the probe of the ceiling that is named."""
    probes = [probe for probe in find_probes(framework.name) if name in ("", probe.ceiling)]
    stopwatch = Stopwatch(time.perf_counter, framework.synchronize)
    return measure_peaks(probes, stopwatch, on_progress=on_progress, empty_cache=framework.empty_cache)


if __name__ == "__main__":
    main()
