"""Why an arm has no speed, what is doubtful about one that has, and what disturbed a trial: codes with their wording.

A result file stores a reason as a code with values. People read its wording, which exists only here.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from accelbench import units
from accelbench.errors import place_of
from accelbench.schema.safe_json import printable


@dataclass(frozen=True, kw_only=True)
class Reason:
    """A code of :data:`WORDINGS`, and the values that its wording needs; one of them may be another reason."""

    code: str
    values: dict[str, str | int | float | Reason] = field(default_factory=dict)

    def __str__(self) -> str:
        return describe([self])

    def __hash__(self) -> int:
        return hash((self.code, frozenset(self.values.items())))

    @property
    def brief(self) -> str:
        """The wording without its details."""
        return describe([self], brief=True)


Value = str | int | float | Reason


@dataclass(frozen=True, kw_only=True)
class Wording:
    """The sentence of a code, its value names in braces, each with a formatter after a colon.

    ``details`` go on from the sentence, and are left out where there is little room. ``causes`` are clauses for values
    that a reason may have or lack; those that it has stand in the sentence where ``{causes}`` does.
    """

    text: str
    details: str = ""
    causes: Mapping[str, str] = field(default_factory=dict)

    def template(self, *, brief: bool) -> str:
        """Return the sentence with or without details."""
        return self.text if brief else self.text + self.details

    def formats(self, *, brief: bool) -> dict[str, str]:
        """Return the names of the values that the sentence needs or may have, each with its formatter."""
        parsed = string.Formatter().parse(self.template(brief=brief))
        named = {name: spec or "" for _, name, spec, _ in parsed if name}
        if named.pop("causes", None) is not None:
            named |= dict.fromkeys(self.causes, "")
        return named


def _two_digits(value: float) -> str:
    return units.significant(value, 2)


_FORMATTERS: dict[str, Callable[[Any], str]] = {
    "": str,
    "brief": str,  # another reason without its details
    "count": units.count,
    "minutes": units.minutes,
    "percent": units.percent,
    "seconds": units.seconds,
    "share": lambda value: units.percent(min(1.0, value)),  # a file may hold more, from a counter ahead of the clock
    "significant": units.significant,
    "size": units.size,
    "times": lambda value: f"{value:.0f}",
    "total": units.count,  # of several reasons the sum, not the range
    "two": _two_digits,
    "visits": partial(units.plural, noun="visit"),  # a total
}

# Codes of the remarks that other work ran beside a trial.
OTHER_WORK = frozenset({"other-processes", "stolen-cores", "shared-cores", "gpu-shared"})
_LONGEST_MESSAGE = 300  # characters
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_HEADING = re.compile(r":\s*$|^Exception encountered when calling .*\.$")
_OF_TRACEBACK = re.compile(r"""\s*(?:File "|<stack|\[\[|[~^]+$)""")
_INSPECT = "look for a missing synchronise, for work that was skipped, or for a cached output"
_TOO_FAR = "the output differs from {expected} by {error:significant} relative, and {tolerance:significant} is allowed"
_STDERR = {"stderr": ": {stderr}"}
_LABEL = "the label says {label}, but "
_NO_KERNEL = _LABEL + "no kernel was started on an accelerator"
_EASY_DATA = ": hardware computes faster with such data than with a program's own"
_DURING = " during the trial"
_OTHER_SETTINGS = {"others": " (and {others:count} more)"}
_SLOWER = "the processor was {cpu_slowdown:two} times slower"
_SLOWER_MEMORY = "memory was {memory_slowdown:two} times slower"
_SLOWER_GPU = "a GPU's clock was {gpu_slowdown:two} times slower"
_SLOWDOWNS = {"cpu_slowdown": _SLOWER, "memory_slowdown": _SLOWER_MEMORY, "gpu_slowdown": _SLOWER_GPU}

WORDINGS: dict[str, Wording] = {
    # An arm that cannot run here, or did not get to run.
    "message": Wording(text="{message}"),  # what a workload, a technique or a library said
    "error": Wording(text="{type}{causes}", causes={"message": ": {message}"}),
    "error-at": Wording(text="{type}{causes} ({place})", causes={"message": ": {message}"}),
    "raised-in-close": Wording(text="disposing of the arm failed: {type}: {message}"),
    "ends-program": Wording(
        text="the arm raised {type}, which ends a program, instead of returning or raising an error{causes}",
        causes={"message": ": {message}"},
    ),
    "no-arm": Wording(text="{maker} returned {made}, and an Arm was expected: {remedy}"),
    "not-callable": Wording(text="Arm({field}=...) was given {given}; expected a function"),
    "no-contexts": Wording(
        text="Arm(contexts=...) was given {given}; expected a tuple of functions that return context managers"
    ),
    "cannot-be-sent": Wording(
        text="{function} uses {name} of type {type}, which cannot be sent to a worker process; make it inside the "
        "function that builds the arm"
    ),
    "no-baseline": Wording(text="there is no baseline to compare with: {cause}"),
    "not-installed": Wording(text="{package} is not installed: pip install {install}"),
    "no-accelerator": Wording(text="{library} {version} sees no {device}"),
    "needs-streams": Wording(
        text="copying and computing at once needs CUDA streams, and {library} {version} computes on {device} here"
    ),
    "needs-cuda-graphs": Wording(text="{mode} stands for CUDA graphs, and the model computes on {device} here"),
    "no-products": Wording(
        text="{mode} compiles this model for a CPU as default does, since it has no products to search for"
    ),
    "one-core": Wording(text="this process has one core, so nothing can run at once"),
    "one-thread": Wording(
        text="{level} of this process's cores is one core, so there are no more threads to compare with"
    ),
    "too-few-cores": Wording(text="{workers:count} workers need as many cores; this process may use {cores:count}"),
    "no-option": Wording(text="workload {workload} has no option {option}, so this technique does not apply to it"),
    "program-has-this": Wording(text="the program has this already"),
    "already-resident": Wording(
        text="training runs on the CPU, where a decoded batch is resident already: nothing is sent"
    ),
    "needs-full-size": Wording(text="{elements:count} elements need a run of full size: --accel-size=full"),
    "too-few-items": Wording(text="an epoch has {items:count} {unit}s here, too few for a batch of {batch:count}"),
    "usual-batch": Wording(
        text="the batch has its usual size of {batch:count}, for which the learning rate is chosen: nothing to scale"
    ),
    "not-elementwise": Wording(text="only elementwise operations can be fused, and this workload has others"),
    "larger-than-out-of-memory": Wording(text="larger than {arm}, which ran out of memory"),
    "arrays-too-large": Wording(
        text="a kernel cannot count the elements of arrays of this size", details=": {type}: {message}"
    ),
    "larger-than-arrays-too-large": Wording(
        text="larger than {arm}, whose arrays have more elements than a kernel counts"
    ),
    "step-too-slow": Wording(
        text="one step takes {step_s:seconds}, so the {pairs:count} pairs that a verdict needs would take "
        "{needed_s:seconds}, far over the budget of {budget_s:seconds} per arm"
    ),
    "time-is-up": Wording(text="left for the next part of the run, since the time of this one is up"),
    # An arm that reported something which no result file can hold.
    "unstorable": Wording(text="{what} is {given}; expected {expected}"),
    "unstorable-report": Wording(text="what the arm reported does not fit into a result file: {message}"),
    # A worker that was lost.
    "worker-out-of-memory": Wording(
        text="the kernel killed the worker for lack of memory {when}{causes}", causes=_STDERR
    ),
    "worker-killed": Wording(text="{signal} killed the worker {when}{causes}", causes=_STDERR),
    "worker-exited": Wording(text="the worker ended with exit status {status} {when}{causes}", causes=_STDERR),
    "worker-unreadable": Wording(
        text="what the worker sent {when} cannot be read, or it closed its pipe; it was stopped"
    ),
    "worker-silent": Wording(
        text="the worker gave no sign of life for {silence_s:minutes} during {during}; it was stopped"
    ),
    # Wrong output.
    "no-output": Wording(text="the step returned no output, so nothing can be checked"),
    "empty-output": Wording(text="the output is empty"),
    "not-finite": Wording(text="the output holds NaN or infinity"),
    "zero-output": Wording(text="the output is zero everywhere"),
    "too-far": Wording(text=_TOO_FAR),
    "too-far-like-rounding": Wording(
        text=_TOO_FAR + "; rounding to {precision} causes errors of about this size, here or in the baseline"
    ),
    "timed-output": Wording(text="a timed step gave a wrong output, unlike the checked ones: {cause}"),
    "later-output": Wording(
        text="after {steps:count} timed steps the output differs from the baseline's by {error:significant} relative, "
        "and {tolerance:significant} is allowed"
    ),
    "parameters-too-far": Wording(
        text="after {steps:count} steps the parameters differ from the baseline's by {error:significant} relative, and "
        "{tolerance:significant} is allowed"
    ),
    "parameters-unchanged": Wording(
        text="{steps:count} steps leave the parameters as they were, and the baseline's steps change them"
    ),
    "learns-otherwise": Wording(
        text="{steps:count} steps change the parameters otherwise than the baseline's do: the changes differ by "
        "{error:significant} relative"
    ),
    "slice-too-far": Wording(
        text="{place} differs from {expected} by {error:significant} relative, and {tolerance:significant} is allowed "
        "there",
        details=": the error over all, {over_all:significant}, hides it",
    ),
    "not-conserved": Wording(
        text="{quantity} is not conserved: it changed by {change:significant} relative, and {tolerance:significant} is "
        "allowed"
    ),
    "not-restored": Wording(text="the restored model differs from the saved one in {tensor}"),
    "target-missed": Wording(
        text="{epochs:count} epochs end at a test accuracy of {accuracy:percent}, and {target:percent} must be reached"
    ),
    # Wrong work.
    "other-dtype": Wording(text="the output is {dtypes}, the baseline's is {expected}"),
    "zero-inputs": Wording(text="the inputs are zero everywhere" + _EASY_DATA),
    "constant-inputs": Wording(text="the inputs hold one value everywhere" + _EASY_DATA),
    "inputs-changed": Wording(
        text="the step changes its inputs, so later iterations compute on other data than the first"
    ),
    "left-changed": Wording(
        text="it left {setting} changed from {before} to {after}{causes} for the other arms",
        details="; set it in a context, which puts it back",
        causes=_OTHER_SETTINGS,
    ),
    "output-ignores-inputs": Wording(
        text="the output does not change when the inputs do: it was cached, or computed beforehand"
    ),
    "item-skipped": Wording(
        text="the output does not change when {item} of the inputs does, only when another one does: the step skips it"
    ),
    "remembers-answers": Wording(
        text="a step takes {times:two} times as long where {what} had changed since the step before: it keeps answers "
        "to earlier inputs, or begins with them"
    ),
    "ignores-inputs-when-timed": Wording(
        text="the output of timed steps does not change when the inputs do, and that of checked steps does"
    ),
    "idle-without-reset": Wording(
        text="timed steps no longer do their work: a step takes {late_s:seconds}, and {fresh_s:seconds} after a reset; "
        "an iterator is exhausted, or the work ended early"
    ),
    "stopped-learning": Wording(
        text="timed steps no longer change the parameters: a step takes {late_s:seconds}, and after a reset, when it "
        "changes them, {fresh_s:seconds}"
    ),
    "work-outside-step": Wording(
        text="work was moved out of the step: {place} takes {outside_s:seconds} longer than the baseline's, and a step "
        "takes {saved_s:seconds} less"
    ),
    "output-computed-late": Wording(
        text="the output is computed from the inputs when it is read, after the step has ended"
    ),
    "comparison-ignores-output": Wording(
        text="compare_by returns the same whatever the output is, so nothing would be compared"
    ),
    "output-late": Wording(
        text="the output was not there when the block ended: reading it took {late_s:seconds} longer than reading it "
        "again, as where a synchronise is missing or another thread or stream still works"
    ),
    "output-written-late": Wording(
        text="the output changes after the block has ended: another thread or stream still writes it"
    ),
    "background-work": Wording(text="{worker} went on working after the block had ended"),
    "other-items": Wording(
        text="it claims {items:count} items an iteration, and an arm that must compute the same claims {expected:count}"
    ),
    "items-changed": Wording(
        text="it claims {items:count} items an iteration, and claimed {expected:count} when it was first built"
    ),
    # Work in the wrong place.
    "parameters-elsewhere": Wording(text=_LABEL + "parameters lie on {devices}"),
    "arrays-elsewhere": Wording(text=_LABEL + "arrays lie on {devices}"),
    "no-kernels": Wording(text=_NO_KERNEL),
    "no-kernels-arrays-elsewhere": Wording(text=_NO_KERNEL + ", and the arrays lie on {devices}"),
    "kernels-on-accelerator": Wording(text=_LABEL + "one iteration started {kernels:count} kernels on an accelerator"),
    "placement-unproven": Wording(
        text=_LABEL + "nothing shows that the work ran there",
        details=": no array was seen on it, and no allocation",
    ),
    # Impossible speeds.
    "memory-below-parameters": Wording(
        text="the device's memory peaked at {peak_bytes:size}, but the parameters alone take {parameters_bytes:size}"
    ),
    "no-time": Wording(text=f"it takes no time: {_INSPECT}"),
    "above-ceiling": Wording(
        text="its samples imply {per_s:rate}, {times:significant} times the {ceiling_per_s:rate} that is the fastest "
        f"seen here ({{ceiling}}): {_INSPECT}"
    ),
    # Doubts about an arm that was measured.
    "costs-outside-step": Wording(
        text="what surrounds the step costs more than the step saves",
        details=": {place} takes {outside_s:seconds} longer than the baseline's, and a step takes {saved_s:seconds} "
        "less",
    ),
    "faster-without-reset": Wording(
        text="a step takes {times:two} times as long after a reset",
        details=": {fresh_s:seconds}, and {late_s:seconds} in timed blocks, which follow no reset; the work may have "
        "ended early",
    ),
    "not-finite-when-timed": Wording(
        text="timed steps gave NaN or infinity", details=", as the baseline's do after as many steps"
    ),
    "clocks-disagree": Wording(
        text="its two clocks disagree",
        details=": an iteration takes {device_s:seconds} on the device and {wall_s:seconds} by the wall clock; a "
        "synchronise is missing, or iterations overlap",
    ),
    "host-bound": Wording(text="host-bound", details=": the device was busy for {device_busy:percent} of the time"),
    "handicapped-baseline": Wording(
        text="the baseline reaches {share:percent} of {ceiling}",
        details=": a speedup over it may say more about the baseline than about the technique",
    ),
    "idle-baseline": Wording(
        text="the baseline computes for {busy:percent} of its time",
        details=" and waits for the rest, with no disk, child process or accelerator at work meanwhile: a speedup over "
        "it may be nothing but a shorter wait",
    ),
    "items-unlike-baseline": Wording(
        text="it claims more items for what its inputs show than the baseline does",
        details=": {items:count} for a first axis of {length:count}, the baseline {expected:count} for "
        "{expected_length:count}",
    ),
    "unearned-items": Wording(
        text="it claims {items:count} items an iteration where the baseline claims {expected:count}",
        details=", and returns the same as the baseline in no more time",
    ),
    "more-than-linear": Wording(
        text="at least {speedup:significant} times as fast with {cores:significant} times the cores",
        details=": caches that grow with them can do that, and so can a baseline that is held back or work that was "
        "skipped",
    ),
    "changed-while-timed": Wording(
        text="{setting} changed from {before} to {after}{causes} while the arms were timed", causes=_OTHER_SETTINGS
    ),
    "compiled-while-timed": Wording(
        text="compiled during the timed blocks of this trial", details="; graphs: {graphs:count}"
    ),
    "stalled-block": Wording(
        text="one block took {block_s:seconds}, {times:times} times the median",
        details=", while nothing disturbed the machine: something was compiled or loaded inside it",
    ),
    "slow-first-call": Wording(
        text="the first call after each build takes {times:times} times as long as later ones, which are timed",
        details=": it compiles, remembers its answer, or comes to the end of an iterator",
    ),
    "events-cost": Wording(
        text="the device's clock itself takes {share:percent} of what it shows for an iteration",
        details=": {events_s:seconds} of {device_s:seconds}",
    ),
    "repeats-within": Wording(
        text="repeats itself within {spread:significant} relative",
        details=", not bit for bit: its output may differ by {allowed:significant}",
    ),
    "other-random-numbers": Wording(
        text="draws other random numbers than the baseline does, as for dropout",
        details=": with other seeds its own output differs by up to {spread:significant}, and by {allowed:significant} "
        "it may differ from the baseline's",
    ),
    "output-insensitive": Wording(
        text="changing the inputs moves the output by {moved:percent}, less than the tolerance of {tolerance:percent}",
        details=": a comparison of outputs cannot see whether it was computed from them",
    ),
    "slow-reading": Wording(
        text="reading the output takes {read_s:seconds}, {times:two} times as long as the step",
        details=": what is computed while it is read is not timed",
    ),
    "works-beside-stream": Wording(
        text="other streams go on after the current one has ended",
        details=", for {beyond_s:seconds}: whoever uses the output next may read it before it is there",
    ),
    # What sets a visit apart, and what follows for its trial.
    "cores-far-apart": Wording(
        text="the cores lay far apart",
        details=": a cache line took {latency_s:seconds} from one to another, {best_s:seconds} at best on this machine",
    ),
    "slower-than-ever": Wording(
        text="the machine was slower than at its best", details=": reference work took {times:two} times as long"
    ),
    "many-page-faults": Wording(
        text="there were many page faults",
        details=": {faults:count} in an iteration of {arm}, {usual:count} in the other visits",
    ),
    "odd-visits-left-out": Wording(
        text="some visits are left out of the intervals", details=", {odd:total} of {visits:total}: {cause:brief}"
    ),
    "odd-visits": Wording(
        text="the machine was in an unusual state", details=" in {odd:total} of {visits:visits}: {cause:brief}"
    ),
    "visits-cut-short": Wording(
        text="there was no time to narrow its intervals by another visit",
        details=" than these {visits:count} (--accel-within)",
    ),
    "interrupted": Wording(text="the run was interrupted before this trial was measured"),
    # What disturbed a trial, or cannot be seen in it.
    "data-never-repeat": Wording(
        text="outputs are not compared, since the program's data differ from epoch to epoch",
        details=": its loader draws random numbers that no seed from outside reaches, or goes on where it stopped",
    ),
    "other-batches": Wording(
        text="outputs are not compared where loader processes divide a stream of data otherwise",
        details=": with {workers:count} of them, batches hold other items than with {own:count}",
    ),
    "items-seeded": Wording(
        text="the program's data draw random numbers, and every item has a seed of its own",
        details=": setting it takes {seed_s:seconds} an item, in every arm",
    ),
    "program-differs": Wording(
        text="outputs are not compared, since the program's own differs by {spread:percent} from run to run",
        details=": no seed from outside reaches its random numbers, parallel calls draw them in any order, or a step "
        "changes what no reset knows of",
    ),
    "late-first-batch": Wording(
        text="the program's first batch takes {share:share} of an iteration",
        details=": every iteration begins the data set anew and fills its buffers; more batches make the share smaller",
    ),
    "output-unmoved": Wording(
        text="one value stands everywhere in an output, whatever the inputs: nothing tells whether it was computed"
    ),
    "other-processes": Wording(text="other processes used {used:two} of {cores:count} cores", details=_DURING),
    "stolen-cores": Wording(text="the hypervisor took {stolen:two} of {cores:count} cores away", details=_DURING),
    "waited-for-core": Wording(text="work waited for a free core during {share:share} of the time"),
    "shared-cores": Wording(
        text="{asked:count} cores at once did {worth:two} times the work of one",
        details=" before and after the trial: the host may run them on fewer cores of its own",
    ),
    "gpu-clock-fell": Wording(
        text="the clock of GPU {gpu} fell to {share:percent} of its {clock_mhz:count} MHz", details=_DURING
    ),
    "gpu-slice": Wording(
        text="energy and utilisation of a slice of GPU {gpu} (MIG) are not measured",
        details=", and its clock may fall with work on other slices",
    ),
    "gpu-throttled": Wording(text="GPU {gpu} was held below its clock", details=_DURING + " ({throttle_reasons})"),
    "gpu-shared": Wording(text="other processes had GPU {gpu} too", details=_DURING + ": {processes:count}"),
    "slower-than-before": Wording(text="{causes} throughout, compared with an earlier trial", causes=_SLOWDOWNS),
    "timing-disturbed": Wording(
        text="{share:percent} of the timing was disturbed",
        details=" ({causes}); a verdict had to hold without it too",
        causes={
            "most_other_cores": "other processes took up to {most_other_cores:two} cores",
            "most_stolen_cores": "the hypervisor took up to {most_stolen_cores:two} cores away",
            "most_cpu_waiting_share": "work waited for a core for up to {most_cpu_waiting_share:share} of the time",
            **_SLOWDOWNS,
        },
    ),
    "process-changed": Wording(
        text="the arms left {setting} changed from {before} to {after}{causes}",
        details=", so the next trial gets a fresh process",
        causes=_OTHER_SETTINGS,
    ),
    "measured-twice": Wording(text="measured twice, since the first worker was lost: {cause}"),
}


def reason(code: str, **values: Value) -> Reason:
    """Return the reason of that code with these values.

    Raises:
        KeyError: there is no such code, or its wording needs a value that is missing.
    """
    made = Reason(code=code, values=values)
    _fill(WORDINGS[code].template(brief=False), WORDINGS[code], [made])
    return made


def reason_of(error: BaseException) -> Reason:
    """Return the reason with which an error was raised; one raised with a text becomes a ``message``."""
    if error.args and isinstance(error.args[0], Reason):
        return error.args[0]
    return reason("message", message=message_line(error))


def message_line(error: BaseException) -> str:
    """Return one line of an error's message that says what is wrong, safe to print, and cut where it is very long.

    It is the first line, to which one below is added where it is only a heading, as those of TensorFlow and Keras are.
    """
    try:
        message = str(error)
    except Exception:  # of a stranger's class
        message = ""
    return printable_line(_join_heading(_COLOUR.sub("", message)))


def _join_heading(message: str) -> str:
    """Return a message's first line, and with a heading the line below that is indented least.

    Left out are further headings, and the lines of a traceback and of a graph.
    """
    first, *others = [line for line in message.splitlines() if line.strip()] or [""]
    if not _HEADING.search(first):
        return first
    telling = [line for line in others if not (_HEADING.search(line) or _OF_TRACEBACK.match(line))]
    return " ".join([first, *(line.strip() for line in sorted(telling, key=_indentation)[:1])])


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def message_or_type(error: BaseException) -> str:
    """Return an error's message as one line, its type if it has no message."""
    return message_line(error) or type(error).__name__


def describe_error(error: BaseException) -> str:
    """Return an error's type, and its message as one line if it has one."""
    return ": ".join(filter(None, (type(error).__name__, message_line(error))))


def describe_error_at(error: BaseException) -> str:
    """Return an error's type and message, and the last line of the user's own files that led to it."""
    place = place_of(error)
    return f"{describe_error(error)}{f' ({place})' if place else ''}"


def printable_line(text: str) -> str:
    """Return the first line of a text, safe to print, and cut where it is very long."""
    return printable((text.splitlines() or [""])[0][:_LONGEST_MESSAGE])


def describe(reasons: Sequence[Reason], *, brief: bool = False) -> str:
    """Return the wording of reasons of one code; where a value differs, the sentence gives its range.

    A code that this version does not know, as in a file of a later one, reads as the code with its values.
    """
    wording = WORDINGS.get(reasons[0].code, Wording(text=""))
    try:
        written = _fill(wording.template(brief=brief), wording, reasons)
    except (KeyError, ValueError, TypeError, OverflowError):  # a file may lack a value, or hold a wrong one
        written = ""
    values = ", ".join(f"{name} {value}" for name, value in reasons[0].values.items())
    return written or reasons[0].code.replace("-", " ") + (f" ({values})" if values else "")


def kind_of(reason: Reason, *, brief: bool = False) -> tuple[str, ...]:
    """Return what reasons have in common that differ only in numbers, in their whole or in their brief wording."""
    wording = WORDINGS.get(reason.code)
    used = wording.formats(brief=brief) if wording else dict.fromkeys(reason.values, "")
    return reason.code, *(_kind(name, reason.values[name], used[name]) for name in sorted(used.keys() & reason.values))


def group(reasons: Iterable[Reason], *, brief: bool = False) -> list[list[Reason]]:
    """Return the reasons in groups that differ only in numbers, the largest group first."""
    groups: dict[tuple[str, ...], list[Reason]] = {}
    for each in reasons:
        groups.setdefault(kind_of(each, brief=brief), []).append(each)
    return sorted(groups.values(), key=len, reverse=True)


def _kind(name: str, value: Value, spec: str) -> str:
    if isinstance(value, Reason):
        return " ".join((name, *kind_of(value, brief=spec == "brief")))
    return f"{name}={value}" if isinstance(value, str) else name


def _fill(template: str, wording: Wording, reasons: Sequence[Reason]) -> str:
    parts = []
    for literal, name, spec, _ in string.Formatter().parse(template):
        parts.append(literal)
        if name == "causes":
            clauses = [clause for value, clause in wording.causes.items() if value in reasons[0].values]
            parts.append(", ".join(_fill(clause, wording, reasons) for clause in clauses))
        elif name is not None:
            # Only a rate needs a second value.
            is_rate = spec == "rate"
            formatter = partial(units.rate, unit=str(reasons[0].values["unit"])) if is_rate else _FORMATTERS[spec or ""]
            values = [each.values[name] for each in reasons]
            if spec in ("total", "visits"):
                values = [sum(value for value in values if isinstance(value, int | float))]
            parts.append(_format_range(values, formatter, brief=spec == "brief"))
    return "".join(parts)


def _format_range(values: Sequence[Value], written: Callable[[Any], str], *, brief: bool) -> str:
    """Return one value, or the range of several."""
    if causes := [value for value in values if isinstance(value, Reason)]:
        return describe(causes, brief=brief)
    if any(isinstance(value, str) for value in values):
        return ", ".join(dict.fromkeys(map(str, values)))
    numbers = [value for value in values if isinstance(value, int | float)]
    low, high = written(min(numbers)), written(max(numbers))
    if low == high:
        return low
    (least, _, unit), (_, _, other_unit) = low.partition(" "), high.partition(" ")
    return f"{least}–{high}" if unit == other_unit and not re.search(r"\d", unit) else f"{low}–{high}"
