"""Commands as arms: an iteration starts a process and waits for its end, as hyperfine does.

Every process finds its memory, its caches and its hash seed afresh, so a run is to a command what a fresh build is to
other arms: each run counts as a build. Runs of two commands come in pairs, and a coin decides which goes first.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import zip_longest
from tempfile import TemporaryFile
from time import perf_counter
from typing import IO, Any, TypeVar
from weakref import finalize

from accelbench import units
from accelbench.core import Arm, DeferredOutput, Plan
from accelbench.errors import BadInput
from accelbench.frameworks import load
from accelbench.measuring.arm_run import ArmRun
from accelbench.measuring.compare import MIN_BLOCK_S, Comparison, comparison_of, measure_arms
from accelbench.measuring.first_calls import FirstCalls
from accelbench.measuring.many_builds import ManyBuildsReferee, ManyBuildsRun
from accelbench.measuring.referee import Examination, Referee, StoppedError, Warmup
from accelbench.schema.reasons import Reason, reason
from accelbench.schema.result import Outcome
from accelbench.text import join_names, name_signal

T = TypeVar("T")

BUDGET_S = 10.0
USUAL_RUNS = 18  # of each command, at least, where the user names no budget
LEAST_RUNS = 10
LONGEST = 60  # characters of an output that a message shows
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# Of a word without quotes and backslashes: a sign of its own, a variable, a home folder, or a pattern of file names.
_FOR_SHELLS = re.compile(r"""\||\|\||&&?|;|\d?>>?|<<?|\d?>&\d|[^'"\\]*(?:\$[\w{(]|[*?])[^'"\\]*|~(?:/[^'"\\]*)?""")
_HINT = "; --ignore-output compares the times alone"

# Runs a command and writes its peak memory and its own to a file. The kernel counts to a process the memory of the one
# that started it, so this is a small one. What takes no more than it, about 10 MiB, remains unknown.
_MEMORY_OF = """
import os, sys
_, status, used = os.wait4(os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ), 0)
try:
    own = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
except OSError:
    own = 0
os.write(int(sys.argv[1]), f"{used.ru_maxrss} {own}".encode())
code = os.waitstatus_to_exitcode(status)
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""
_OWN_TIMES = 1.1  # as much as its own at least, since the kernel counts pages in batches


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command line, and how it is run: by itself or by a shell, with a command before each timed run.

    A command that fails raises an error unless its failure is to be ignored. Standard input is empty. Standard output
    is thrown away if ``ignore_output``.

    Raises:
        BadInput: the text is no command line.
    """

    name: str
    text: str
    shell: bool = False
    prepare: str = ""
    ignore_failure: bool = False
    ignore_output: bool = False
    arguments: tuple[str, ...] = field(init=False, repr=False)
    variables: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Read the text."""
        variables, arguments = _parse(self.text, shell=self.shell)
        object.__setattr__(self, "arguments", arguments)
        object.__setattr__(self, "variables", variables)

    def run(self) -> DeferredOutput:
        """Run the command to its end; return a digest of its standard output.

        Raises:
            BadInput: it cannot be started, or failed.
        """
        output = TemporaryFile()  # noqa: SIM115  it is read later
        deferred = DeferredOutput(lambda: {"standard output": blake2b(_content(output)).hexdigest()})
        finalize(deferred, output.close)
        self._run(self.arguments, output)
        return deferred

    def output(self) -> bytes:
        """Run the command and return its standard output."""
        with TemporaryFile() as output:
            self._run(self.arguments, output)
            return _content(output)

    def output_and_memory(self) -> tuple[bytes, int | None]:
        """Run the command and return its standard output and the peak memory of its largest process, in bytes.

        The memory is None where the system does not tell it, or if it is no more than that of a bare interpreter.
        """
        if not hasattr(os, "wait4") or not hasattr(os, "posix_spawnp"):
            return self.output(), None
        with TemporaryFile() as output, TemporaryFile() as memory:
            number = memory.fileno()
            before = [sys.executable, "-I", "-S", "-c", _MEMORY_OF, str(number)]
            self._run([*before, *self.arguments], output, (number,))
            peak, own = map(int, _content(memory).split() or (0, 0))
            unit = 1 if sys.platform == "darwin" else 1024
            return _content(output), unit * peak if peak > _OWN_TIMES * own else None

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Run the command that comes before each timed run."""
        if self.prepare:
            Command(name=self.prepare, text=self.prepare, shell=self.shell).output()
        yield

    def arm(self) -> Arm:
        """Return the arm of which a step is a run."""
        return Arm(step=self.run, contexts=(self.prepared,) if self.prepare else ())

    def _run(self, arguments: Sequence[str], output: IO[bytes], files: Collection[int] = ()) -> None:
        with TemporaryFile() as errors:
            try:
                process = subprocess.Popen(
                    arguments,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL if self.ignore_output else output,
                    stderr=errors,
                    env={**os.environ, **self.variables} if self.variables else None,
                    pass_fds=tuple(files),
                    process_group=0 if hasattr(os, "killpg") else None,
                )
            except FileNotFoundError:
                raise BadInput(f"{self.name!r} was not run: there is no command {self.arguments[0]!r}") from None
            except OSError as error:
                raise BadInput(f"{self.name!r} was not run: {self.arguments[0]}: {error.strerror}") from None
            try:
                status = process.wait()
            except BaseException:
                _kill(process)
                raise
            if status and not self.ignore_failure:
                said = _last_line(_content(errors))
                raise BadInput(f"{self.name!r} {_ending(status)}" + (f": {said}" if said else ""))


@dataclass(frozen=True, kw_only=True)
class TimedCommands:
    """The comparison of commands, and the peak memory of the largest process of each, where the system tells it."""

    comparison: Comparison
    memory_bytes: Mapping[str, int]


def time_commands(
    commands: Sequence[Command],
    *,
    budget_s: float | None = None,
    warmup: int = 0,
    on_progress: Callable[[str], None] = lambda _: None,
) -> TimedCommands:
    """Compare commands, the first of which is the baseline.

    Each is run twice before it is timed, to see what it writes, and ``warmup`` times more. A command whose standard
    output is not the baseline's has no speed. Outputs that change from run to run are not compared, and a warning says
    so. ``on_progress`` receives the phase of the measurement.

    Raises:
        BadInput: there is a single command, two have one name, one cannot be run or fails, or the budget is too short.
    """
    names = [command.name for command in commands]
    if len(names) < 2:
        raise BadInput(f"got {len(names)} command; expected two or more, of which the first is the baseline")
    if len({*names}) < len(names):
        raise BadInput(f"two commands are named {max(names, key=names.count)!r}; give each a name of its own by -n")
    looks, start_s, pair_s = {}, perf_counter(), 0.0
    for seen, command in enumerate(commands, 1):
        on_progress(f"first runs of {command.name}")
        looks[command.name] = _FirstRuns(command, warmup)
        pair_s += looks[command.name].run_s
        if budget_s is not None and budget_s < LEAST_RUNS * pair_s:
            all_s = pair_s * len(commands) / seen  # as if those that were not run yet took as long
            raise BadInput(
                f"--budget: {units.seconds(budget_s)} is too short for {LEAST_RUNS} runs of each command, which take "
                f"{units.seconds(LEAST_RUNS * all_s)}; pass --budget {math.ceil(USUAL_RUNS * all_s)}s"
            )
    if budget_s is None:
        budget_s = max(BUDGET_S, USUAL_RUNS * pair_s)
    first, *others = commands
    ignored = all(command.ignore_output for command in commands)
    known, warnings = _compare_outputs(looks, first.name, [command.name for command in others], ignored=ignored)
    measured, remarks = measure_arms(
        {command.name: command.arm for command in commands},
        Plan(
            budget_s=budget_s / len(names),
            min_block_s=MIN_BLOCK_S,
            builds=1,
            prices=False,
        ),
        known,
        None,
        None,
        seeded=False,
        trial_run=partial(
            _CommandsRun,
            can_rebuild=False,
            began_s=start_s,
            on_progress=lambda _: on_progress(f"{perf_counter() - start_s:.0f} s of about {budget_s:.0f} s"),
        ),
    )
    return TimedCommands(
        comparison=comparison_of(measured.arms, dict.fromkeys(names, _HINT), (*warnings, *remarks)),
        memory_bytes={name: look.memory_bytes for name, look in looks.items() if look.memory_bytes},
    )


class _FirstRuns:
    """What a command does in its first runs: what it writes, how long it takes, and how much memory."""

    def __init__(self, command: Command, warmup: int) -> None:
        self.run_s = math.inf
        for _ in range(1 + warmup):
            self.output = self._time(command, command.output)
        again, self.memory_bytes = self._time(command, command.output_and_memory)
        self.change = OutputDifference.between(self.output, again)

    def _time(self, command: Command, run: Callable[[], T]) -> T:
        """Return what a run returns; keep the shortest time, preparation included: the first may wait for a disk."""
        start_s = perf_counter()
        with command.prepared():
            result = run()
        self.run_s = min(self.run_s, perf_counter() - start_s)
        return result


def _compare_outputs(
    looks: Mapping[str, _FirstRuns], baseline: str, others: Sequence[str], *, ignored: bool
) -> tuple[FirstCalls, list[str]]:
    """Return which outputs the trial checks and which commands have no speed, and warnings."""
    warnings, expected = [], looks[baseline]
    for name, look in looks.items():
        if look.change:
            lines = f"line {look.change.line}: {look.change.expected}, then {look.change.found}"
            what = "outputs were" if name == baseline else f"the output of {name!r} was"
            warnings.append(f"{what} not compared, since that of {name!r} changes from run to run, first in {lines}")
    if not (ignored or any(look.output for look in looks.values())):
        warnings.append("the commands wrote nothing to standard output, so nothing shows that they computed the same")
    failures: dict[str, tuple[Outcome, Reason]] = {}
    checked = set() if ignored or expected.change else {name for name, look in looks.items() if not look.change}
    for name in others:
        difference = OutputDifference.between(expected.output, looks[name].output)
        if name in checked and difference:
            lines = f"line {difference.line}: {difference.found} instead of {difference.expected}"
            message = f"its standard output is not that of {baseline!r}, first in {lines}{_HINT}"
            failures[name] = "wrong-output", reason("message", message=message)
    known = FirstCalls(
        adapter=load("numpy"),
        items=dict.fromkeys(looks, 1),
        checked=checked,
        varying=(),
        failures=failures,
        copies=False,
        baseline_error=None,
        warnings=(),
    )
    return known, warnings


class _CommandsReferee(ManyBuildsReferee):
    """Times single runs, which need no other run before them: a process finds no caches of its own."""

    def _prepare(self, arms: Sequence[Arm]) -> None:
        """Run each command once more, as it was run several times when it was checked."""
        self.iterations = [1] * len(arms)
        self.warmups = []
        for place, arm in enumerate(arms):
            with StoppedError.naming(place):
                self.warmups.append(Warmup(blocks_s=(self.stopwatch.block_s(arm, 1),), settled=True))


class _CommandsRun(ManyBuildsRun):
    """A trial of commands, whose processes have ended when a step has: they leave nothing to look for in this one."""

    referee_kind = _CommandsReferee

    def _examine(self, *_: Any) -> Examination:
        """Ask for no runs: a process has no state that others have left."""
        yield from ()

    def _check_step_time(self, _: ArmRun) -> None:
        """Give nothing up: whether the budget suffices is known from the first runs."""

    def _flag_idle_baseline(self, referee: Referee) -> None:
        """Say nothing: a command may wait for a disk, a network or a clock."""

    def _price(self, arm_run: ArmRun) -> None:
        """Measure nothing: what this process uses is not what the command uses."""


@dataclass(frozen=True, kw_only=True)
class OutputDifference:
    """The first line in which two outputs differ, counted from 1, and what stands there in each, as it is shown."""

    line: int
    expected: str
    found: str

    @classmethod
    def between(cls, expected: bytes, found: bytes) -> OutputDifference | None:
        """Return the first difference of two outputs; None if they are equal."""
        if expected == found:
            return None
        lines = (text.decode(errors="backslashreplace").splitlines(keepends=True) for text in (expected, found))
        number, (one, other) = next(each for each in enumerate(zip_longest(*lines), 1) if each[1][0] != each[1][1])
        return cls(line=number, expected=_show(one, other), found=_show(other, one))


def _show(line: str | None, other: str | None) -> str:
    if line is None:
        return "nothing"
    ends_alike = other is None or line[-1:] == other[-1:]
    return repr(_around(line, other or "").rstrip("\n" if ends_alike else ""))


def _around(line: str, other: str) -> str:
    """Return the part of a line around the first character that is not the other line's."""
    place = next((at for at, pair in enumerate(zip(line, other, strict=False)) if pair[0] != pair[1]), len(other))
    start = max(0, place - LONGEST // 2) if len(line) > LONGEST else 0
    part = line[start : start + LONGEST]
    return f"{'…' if start else ''}{part}{'…' if start + LONGEST < len(line) else ''}"


def _parse(text: str, *, shell: bool) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the variables that a command line sets, and the program with its arguments.

    Raises:
        BadInput: it names no program, has an open quotation, or needs a shell.
    """
    if shell:
        return {}, ("/bin/sh", "-c", text)
    try:
        words = shlex.split(text)
        signs = {word for word in shlex.split(text, posix=False) if _FOR_SHELLS.fullmatch(word)}
    except ValueError as error:
        raise BadInput(f"{text!r} is no command line: {str(error).lower()}") from None
    if signs:
        raise BadInput(
            f"{text!r} contains {join_names(sorted(signs))}, which only a shell understands; pass --shell, or quote it"
        )
    variables: dict[str, str] = {}
    while words and _ASSIGNMENT.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    if not words:
        raise BadInput(f"{text!r} names no program; expected a command line such as 'python a.py'")
    return variables, tuple(words)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a command and what it has started."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _last_line(text: bytes) -> str:
    lines = [line for line in text.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def _ending(status: int) -> str:
    return f"ended with exit status {status}" if status > 0 else f"was killed by {name_signal(-status)}"
