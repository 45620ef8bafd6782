"""A worker process from the parent's side: its start, its messages, the pickling of user code, and its loss."""

from __future__ import annotations

import getpass
import os
import pickle
import queue
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import cloudpickle

from accelbench.core import Host, OnProgress, Trial
from accelbench.errors import AccelbenchError
from accelbench.measuring.applicable import Applicable
from accelbench.measuring.workers.interpreter import STARTING_S, find_interpreter
from accelbench.measuring.workers.unpicklable import why_unpicklable
from accelbench.schema.reasons import Reason, reason
from accelbench.schema.result import Outcome
from accelbench.text import name_signal

LOOK_S = 1.0  # a silent worker is looked for this often
ENDING_S = 60.0  # a worker whose pipe is closed has ended, or ends within this time; a GPU takes seconds
_FIRST_STAGES = {"applicable": "preparing", "call": "running"}  # of orders, until they report one
_LENGTH = struct.Struct(">Q")


def send(pipe: BinaryIO, message: Any) -> None:
    """Write one message.

    Raises:
        OSError: the other end is gone.
    """
    _write(pipe, cloudpickle.dumps(message))


def _write(pipe: BinaryIO, body: bytes) -> None:
    pipe.write(_LENGTH.pack(len(body)) + body)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """Read one message.

    Raises:
        EOFError: the other end closed the pipe, perhaps in mid-message.
    """
    (length,) = _LENGTH.unpack(_read_exactly(pipe, _LENGTH.size))
    return pickle.loads(_read_exactly(pipe, length))


def _read_exactly(pipe: BinaryIO, length: int) -> bytes:
    body = pipe.read(length)
    if len(body) < length:
        raise EOFError
    return body


OWN_PACKAGE = __name__.partition(".")[0]
CATALOGUE = (f"{OWN_PACKAGE}.techniques", f"{OWN_PACKAGE}.workloads")  # which every worker imports


def is_user_code(function: Callable[..., Any]) -> bool:
    """Return whether a function, or one that is bound to it, is not part of the catalogue that every worker has."""
    return not all(module.startswith(CATALOGUE) for module in modules_of(function))


def send_by_value(trial: Trial) -> None:
    """Pickle the modules in which a user defined the trial's workload and techniques by value from now on.

    Python's own modules are everywhere, and cannot be pickled.
    """
    builders = [] if isinstance(trial.workload, str) else [trial.workload.builder]
    for function in (*builders, *(technique.apply for technique in trial.techniques)):
        for name in modules_of(function):
            package = name.partition(".")[0]
            is_everywhere = package == OWN_PACKAGE or package in sys.stdlib_module_names
            if not is_everywhere and (module := sys.modules.get(name)) is not None:
                cloudpickle.register_pickle_by_value(module)


def ask_applicable(worker: Worker, trial: Trial, host: Host) -> list[Applicable]:
    """Return the techniques that apply to the trial's workload, as its worker finds them.

    Raises:
        Unavailable: the framework is not installed.
        BadInput: the workload is a user's program that cannot be built.
        UnsendableError: the workload cannot be sent to the worker.
        WorkerLostError: the worker was lost.
    """
    send_by_value(trial)
    found: list[Applicable] | AccelbenchError = worker.ask("applicable", trial, host)
    if isinstance(found, AccelbenchError):
        raise found
    return found


def modules_of(value: Any) -> Iterator[str]:
    """Yield the names of the modules in which a function, and those that are bound to it, were defined."""
    if isinstance(value, partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            yield from modules_of(part)
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from modules_of(part)
    elif callable(value):
        yield value.__module__ or ""  # a method of an array has none


# PyTorch's profiler stays attached to CUPTI unless it is told to leave before PyTorch is imported, and slows down what
# follows (https://github.com/pytorch/pytorch/issues/144455). A program that is measured may profile itself.
_ENVIRONMENT = {"TEARDOWN_CUPTI": "1"}
# Lines of abseil's log that are no errors, which TensorFlow writes at any log level.
_INFORMATION = re.compile(r"I\d{4} \d\d:|WARNING: All log messages before absl::InitializeLog")


class WorkerLostError(AccelbenchError):
    """A worker crashed, hung or was killed; ``outcome`` says which, and the message says how."""

    def __init__(self, outcome: Outcome, why: Reason) -> None:
        super().__init__(why)
        self.outcome: Outcome = outcome


class UnsendableError(AccelbenchError):
    """A user's code cannot be sent to a worker; the message names the value that keeps it here."""


class Worker:
    """A running worker process of a framework, its interpreter, and the variables with which it was started.

    It has a temporary folder of its own, which goes with it: a killed process removes nothing that it wrote there, as
    TensorFlow does for every function that it traces.

    Raises:
        BadInput: the user names an interpreter for the framework that cannot serve.
    """

    def __init__(self, framework: str, environment: Mapping[str, str]) -> None:
        self.framework = framework
        self.environment = dict(environment)
        self.interpreter = find_interpreter(framework)
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the worker
        from accelbench.frameworks.protocol import KERNEL_CACHES  # here: NumPy, which most pytest sessions do without

        self._folder = tempfile.TemporaryDirectory(prefix="accelbench-", ignore_cleanup_errors=True)
        caches = {name: str(Path(self._folder.name, name.lower())) for name in KERNEL_CACHES.get(framework, ())}
        self._kills_before = _memory_kills()
        # In a session of its own, so that Ctrl-C reaches the parent only, which then closes its workers.
        self._process = subprocess.Popen(
            [self.interpreter.path, "-m", "accelbench.measuring.workers.worker", framework, self._folder.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={
                **_ENVIRONMENT,
                "TORCHINDUCTOR_CACHE_DIR": _compiled_by_torch(),
                **os.environ,
                "PYTHONPATH": os.pathsep.join(self.interpreter.import_path),
                "TMPDIR": self._folder.name,
                **caches,
                **environment,
            },
            start_new_session=True,
        )
        self._replies: queue.Queue[tuple[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process has neither ended nor been killed."""
        return self._process.poll() is None

    def ask(self, *order: Any, silence_s: float = STARTING_S, on_progress: OnProgress = lambda _: None) -> Any:
        """Send an order and return the reply; ``on_progress`` receives what it reports meanwhile.

        Raises:
            UnsendableError: the order cannot be pickled; the worker did not notice.
            WorkerLostError: the worker died, or was silent for ``silence_s`` seconds and was killed.
        """
        try:
            body = cloudpickle.dumps(order)
        except Exception as error:  # pickling runs the code of any object
            raise UnsendableError(why_unpicklable(order, error)) from None
        try:
            _write(cast(BinaryIO, self._process.stdin), body)
        except OSError:
            raise self._loss("before it took the order") from None
        last = _FIRST_STAGES.get(order[0], "starting")
        while True:
            try:
                reply = self._next_reply(silence_s)
            except queue.Empty:
                self.close()
                raise WorkerLostError("hung", reason("worker-silent", silence_s=silence_s, during=repr(last))) from None
            if reply is None:
                raise self._loss(f"during {last!r}")
            kind, content = reply
            if kind == "done":
                return content
            last = content
            on_progress(content)

    def call(self, function: Callable[..., Any], *arguments: Any, silence_s: float = STARTING_S) -> Any:
        """Call a function in the worker, and return its result.

        Raises:
            WorkerLostError: the worker died, or was silent for too long and was killed.
            Exception: whatever the function raised.
        """
        reply = self.ask("call", function, arguments, silence_s=silence_s)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def stderr_lines(self) -> list[str]:
        """Return what the worker wrote to standard error, line by line.

        The worker must be idle or ended, since both sides share one position in the file.
        """
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").split("\n")
        return [line.strip() for line in lines if line.strip()]

    def close(self) -> None:
        """End the worker and every process it started."""
        if self.is_running:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except (AttributeError, ProcessLookupError):  # no process groups here, or it has just ended
                self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            _close_quietly(pipe)
        self._stderr.close()
        self._folder.cleanup()

    def _next_reply(self, silence_s: float) -> tuple[str, Any] | None:
        """Return what the worker sends next, None if it is gone.

        Time in which this process was stopped, as by Ctrl-Z, counts as one look at most: the clock goes on meanwhile,
        and so does the worker, but nobody listens to it.

        Raises:
            queue.Empty: it was silent for so long.
        """
        left_s = silence_s
        while True:
            try:
                return self._replies.get(timeout=min(LOOK_S, left_s))
            except queue.Empty:
                left_s -= LOOK_S
                if left_s <= 0:
                    raise

    def _listen(self, pipe: BinaryIO) -> None:
        try:
            while True:
                self._replies.put(receive(pipe))
        except Exception:  # the pipe was closed, or holds what this process cannot unpickle
            self._replies.put(None)

    def _loss(self, when: str) -> WorkerLostError:
        try:
            code = self._process.wait(timeout=ENDING_S)
        except subprocess.TimeoutExpired:
            self.close()
            return WorkerLostError("crashed", reason("worker-unreadable", when=when))
        last_line = next((line for line in reversed(self.stderr_lines()) if not _INFORMATION.match(line)), "")[:300]
        details: dict[str, Any] = {"when": when} | ({"stderr": last_line} if last_line else {})
        self.close()
        if code == -signal.SIGKILL and _memory_kills() > self._kills_before:
            return WorkerLostError("out-of-memory", reason("worker-out-of-memory", **details))
        if code < 0:
            return WorkerLostError("crashed", reason("worker-killed", signal=name_signal(-code), **details))
        return WorkerLostError("crashed", reason("worker-exited", status=code, **details))


def _compiled_by_torch() -> str:
    """Return where PyTorch keeps compiled code from process to process: by default, in the temporary folder.

    Source: `torch._inductor.runtime.cache_dir_utils.default_cache_dir`.
    """
    try:
        user = getpass.getuser()
    except (KeyError, ModuleNotFoundError, OSError):  # a user without a name, as in a container
        user = f"uid_{os.getuid()}"
    return str(Path(tempfile.gettempdir(), "torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", user)))


def _close_quietly(pipe: Any) -> None:
    with suppress(OSError):  # the other end is gone, and unsent bytes with it
        pipe.close()


def _memory_kills() -> int:
    """Return how many processes the kernel has killed for lack of memory; 0 if it does not count them."""
    try:
        fields = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    except OSError:
        return 0
    return int(fields.get("oom_kill", 0))
