"""The parent's side of a worker process: start it, ask it, and say truly how it was lost."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from harness.errors import HarnessError
from harness.measuring.wire import receive, send
from harness.record import Outcome
from harness.units import minutes

Heard = Callable[[str], None]
STARTING_S = 120.0  # importing a framework from a cold disk
# Lines of abseil's log in which TensorFlow reports no trouble, whatever its log level.
_INFORMATION = re.compile(r"I\d{4} \d\d:|WARNING: All log messages before absl::InitializeLog")


class WorkerLostError(HarnessError):
    """A worker crashed, hung or was killed; ``outcome`` says which and the message how."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome: Outcome = outcome


class Worker:
    """One running worker process of a framework, with the environment variables it was started with."""

    def __init__(self, framework: str, environment: Mapping[str, str]) -> None:
        self.framework = framework
        self.environment = dict(environment)
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the worker
        self._kills_before = _memory_kills()
        # A session of its own: Ctrl-C reaches the parent only, which then closes its workers.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "harness.measuring.worker", framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
            start_new_session=True,
        )
        self._replies: queue.Queue[tuple[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._process.pid

    def ask(self, *order: Any, silence_s: float = STARTING_S, heard: Heard = lambda _: None) -> Any:
        """Send an order and return the reply; ``heard`` receives the worker's signs of life.

        Raises:
            WorkerLostError: the worker died, or was silent for ``silence_s`` seconds and was killed.
        """
        try:
            send(cast(BinaryIO, self._process.stdin), order)
        except OSError:
            raise self._lost("before it took the order") from None
        last = "starting"
        while True:
            try:
                reply = self._replies.get(timeout=silence_s)
            except queue.Empty:
                self.close()
                raise WorkerLostError(
                    "hung", f"no sign of life for {minutes(silence_s)} during {last!r}; the worker was stopped"
                ) from None
            if reply is None:
                raise self._lost(f"during {last!r}")
            kind, content = reply
            if kind == "done":
                return content
            last = content
            heard(content)

    def complaints(self) -> list[str]:
        """Return what the worker wrote to standard error, line by line.

        For an idle or ended worker: both sides share one place in the file.
        """
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").split("\n")
        return [line.strip() for line in lines if line.strip()]

    def close(self) -> None:
        """End the worker and every process it started."""
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except (AttributeError, ProcessLookupError):  # no process groups here, or it has just ended
                self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            _close_quietly(pipe)
        self._complaints.close()

    def _listen(self, pipe: BinaryIO) -> None:
        try:
            while True:
                self._replies.put(receive(pipe))
        except (EOFError, OSError, ValueError):  # ValueError: closed while it was being read
            self._replies.put(None)

    def _lost(self, when: str) -> WorkerLostError:
        code = self._process.wait()
        if code == -signal.SIGKILL and _memory_kills() > self._kills_before:
            outcome: Outcome = "out-of-memory"
            reason = f"the kernel killed the worker for lack of memory {when}"
        elif code < 0:
            outcome, reason = "crashed", f"the worker was killed by {signal.Signals(-code).name} {when}"
        else:
            outcome, reason = "crashed", f"the worker ended with exit status {code} {when}"
        complaint = next((line for line in reversed(self.complaints()) if not _INFORMATION.match(line)), "")[:300]
        self.close()
        return WorkerLostError(outcome, f"{reason}: {complaint}" if complaint else reason)


def _close_quietly(pipe: Any) -> None:
    with suppress(OSError):  # the other end is gone, and unsent bytes with it
        pipe.close()


def _memory_kills() -> int:
    """Return how many processes the kernel has killed for lack of memory, where it says so."""
    try:
        fields = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    except OSError:
        return 0
    return int(fields.get("oom_kill", 0))
