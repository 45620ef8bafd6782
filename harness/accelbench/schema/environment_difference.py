"""The difference of two environments: which recorded facts changed, in words, and which of them may be a cause.

This is the one place that compares environments. `compare_environments` takes the facts of the runs on both sides.
`group_by_kind` words all differences and `summarize` those that may have changed the numbers. `name_cause` names the
single possible cause or says what is confounded, and `runs_to_separate` lists the runs that would separate confounded
changes. `differing_facts` is the plain form for any number of sides. Readings, such as clocks and temperatures, are
never compared.

A fact that a run does not record is no difference: a run without TensorFlow says nothing about TensorFlow. Environment
variables are the exception. All relevant ones are recorded, so a variable that is missing was not set.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from accelbench import units
from accelbench.schema.result import Environment
from accelbench.schema.safe_json import printable
from accelbench.text import join_names, list_some, name_some

Group = Literal["hardware", "driver", "framework", "settings"]
Kind = Literal["changed", "mixed", "varied", "added", "removed"]
Facts = dict[str, str]
_IDENTITY, _SETTINGS, _VARIABLES = "identity.", "settings.", "env."  # prefixes of field names
UNSET = "unset"
_MAX_CHARACTERS = 80  # of a name or value that a sentence quotes
_MAX_NAMED = 3  # values, fields or runs that a sentence names
# Fields that concern all arms; NumPy's arrays reach every framework.
_SYSTEM = re.compile(r"cpu|memory|driver|numpy|identity|settings|gpu\d+", re.ASCII)
_GPU = re.compile(r"^gpu(\d+)\b", re.ASCII)
_RECORDED_BY = {  # the framework whose adapter records a package
    "transformers": "torch",
    "pillow": "torch",
    "keras": "tensorflow",
    "numba": "numpy",
    "numexpr": "numpy",
}
_READ_BY = {"TF": "tensorflow", "PYTORCH": "torch", "TORCH": "torch", "CUPY": "cupy"}  # by the prefix of a variable
_DRIVER = {"os", "kernel", "libc"}
_FRAMEWORK = {"python", "accelbench"}
_BUILD = {"version", "built_for", "cudnn", "architectures", "nvrtc", "simd", "blas", "cpu_capability", "unavailable"}
_CORES = ("cpu.available_cores", "cpu.quota_cores", "cpu.logical_cores", "identity.cpu_cores")
_PROCESSOR = ("identity.cpu_model", "identity.cpu_signature")
_KERNELS = (*_PROCESSOR, "cpu.instructions")  # by which libraries choose their kernels
_THREADS = ("env.OMP_NUM_THREADS", "env.MKL_NUM_THREADS", *_CORES)
# Fields that follow from others, such as the cuDNN of a wheel or the CUDA of a driver. If one of those others changed,
# the field is not a change of its own.
_FOLLOWS = {
    "identity.cpu_signature": ("identity.cpu_model",),
    "identity.gpu_ids": ("identity.gpus",),
    "cpu.instructions": _PROCESSOR,
    "cpu.logical_cores": ("identity.cpu_cores",),
    "cpu.available_cores": _CORES[1:],
    "settings.cores": _CORES,
    "libc": ("os",),
    "driver.cuda": ("driver.nvidia",),
    "numpy.simd": ("numpy.version", *_KERNELS, "env.NPY_DISABLE_CPU_FEATURES"),
    "numpy.blas": ("numpy.version", *_KERNELS, "env.OPENBLAS_CORETYPE"),
    "numpy.blas_threads": ("env.OPENBLAS_NUM_THREADS", *_THREADS),
    "torch.built_for": ("torch.version",),
    "torch.cudnn": ("torch.version",),
    "torch.architectures": ("torch.version",),
    "torch.cpu_capability": ("torch.version", *_KERNELS, "env.ATEN_CPU_CAPABILITY"),
    "torch.threads": _THREADS,
    "torch.interop_threads": _CORES,
    "tensorflow.built_for": ("tensorflow.version",),
    "tensorflow.cudnn": ("tensorflow.version",),
    "tensorflow.architectures": ("tensorflow.version",),
    "tensorflow.intra_op_threads": ("env.TF_NUM_INTRAOP_THREADS",),
    "tensorflow.inter_op_threads": ("env.TF_NUM_INTEROP_THREADS",),
    "cupy.built_for": ("cupy.version",),
    "cupy.cuda_driver": ("driver.nvidia",),
    "cupy.unavailable": ("cupy.version", "driver.nvidia", "identity.gpus"),
}
# Settings of how long and how often to measure, or at which levels: alone they move no median.
_EFFORT = {"budget_s", "alpha", "noise", "half_width", "builds", "workers", "visits", "max_batch", "max_workers"}
_WORDS = {  # the text before and after a value, if the name alone does not read well
    "identity.cpu_model": ("CPU ", ""),
    "identity.cpu_signature": ("CPU with the signature ", ""),
    "identity.cpu_cores": ("", " cores"),
    "identity.memory_gib": ("", " GiB of memory"),
    "identity.gpus": ("GPU ", ""),
    "identity.gpu_ids": ("GPU with the id ", ""),
    "cpu.logical_cores": ("", " logical cores"),
    "cpu.available_cores": ("", " available cores"),
    "driver.nvidia": ("NVIDIA driver ", ""),
    "driver.cuda": ("newest CUDA of the driver ", ""),
    "os": ("", ""),
    "python": ("", ""),
    "libc": ("", ""),
}
_NAMES = {
    "identity.cpu_model": "CPU",
    "identity.cpu_signature": "CPU signature",
    "identity.cpu_cores": "cores",
    "identity.memory_gib": "memory",
    "identity.gpus": "GPU",
    "identity.gpu_ids": "GPU id",
    "cpu.quota_cores": "CPU quota",
    "driver.nvidia": "driver",
    "os": "operating system",
    "python": "Python",
    "libc": "C library",
}
_SPELLING = {  # words that are not all lower case
    "architectures": "GPU architectures",
    "blas": "BLAS",
    "cpu": "CPU",
    "cudnn": "cuDNN",
    "nvrtc": "NVRTC",
    "onednn": "oneDNN",
    "simd": "SIMD",
    "tf32": "TF32",
    "xla": "XLA",
}


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of an environment, such as ``torch.version``.

    ``name`` is short and in words; ``before`` and ``after`` surround its values. ``framework`` is the only framework
    whose arms the field concerns, "" if it concerns all. ``follows`` are the fields that change this one with them.
    ``is_effort`` is true for settings that only decide how long to measure.
    """

    key: str
    group: Group
    name: str
    before: str
    after: str
    framework: str
    follows: tuple[str, ...]
    is_effort: bool

    def concerns(self, framework: str) -> bool:
        """Return whether the field concerns the arms of a framework; true if the framework is ""."""
        return not framework or self.framework in ("", framework)

    def format_with_name(self, value: str) -> str:
        """Return the field with a value, such as ``torch 2.13.0`` or ``4 cores``."""
        return f"{self.before}{self.format(value)}{self.after}"

    def format_with_short_name(self, value: str) -> str:
        """Return the field with a value under its short name, such as ``driver 580.65``."""
        return f"{self.name} {self.format(value)}" if self.before else self.format_with_name(value)

    def format_change(self, before: str, after: str) -> str:
        """Return a change, such as ``torch 2.11.0 → 2.13.0`` or ``2 → 4 cores``."""
        return f"{self.before}{self.format(before)} → {self.format(after)}{self.after}"

    def format(self, value: str) -> str:
        """Return a value in the unit that the field's name ends in, as one line of bounded length."""
        if units.without_unit(self.key) != self.key.replace("_", " "):
            try:
                return units.with_unit(self.key, float(value))
            except ValueError:
                pass
        return _clip(value) or "none"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A field in which two sides differ, with the values that the runs of each side record.

    ``kind`` is one of these:

    - changed: one value before, another one after
    - mixed: the runs of a side do not share one value, and the sides differ
    - varied: the runs of both sides have the same several values
    - added, removed: only one side records it

    ``may_be_cause`` is false if only one side records the field, if the field only decides how long to measure, or if
    the difference follows from another one, as a wheel's cuDNN follows from its version.
    """

    field: Field
    kind: Kind
    before: tuple[str, ...]
    after: tuple[str, ...]
    may_be_cause: bool

    @property
    def group(self) -> Group:
        """What the field belongs to: hardware, driver, framework or settings."""
        return self.field.group

    def __str__(self) -> str:
        """Return the difference as one line, such as ``torch 2.11.0 → 2.13.0``."""
        if self.kind == "changed":
            return self.field.format_change(self.before[0], self.after[0])
        if self.kind == "varied":
            return f"{self._format_values(self.before)} on both sides"
        if self.kind == "mixed":
            after = self._format_values(self.after, repeat_name=False)
            return f"{self._format_values(self.before)} before, {after} after"
        when = "after" if self.kind == "added" else "before"
        return f"{self._format_values(self.after or self.before)} (recorded only {when})"

    def _format_values(self, values: Sequence[str], *, repeat_name: bool = True) -> str:
        listed = name_some([*map(self.field.format, values)], _MAX_NAMED)
        return f"{self.field.before if repeat_name else ''}{listed}{self.field.after}"


def facts_of_run(environment: Environment, settings: Mapping[str, Any]) -> Facts:
    """Return all recorded facts of a run by field name: identity, configuration and settings."""
    return facts_of_row(
        {
            "identity": json.dumps(asdict(environment.identity), sort_keys=True),
            "configuration": json.dumps(environment.configuration, sort_keys=True),
            "settings": json.dumps(dict(settings), sort_keys=True),
        }
    )


def facts_of_row(row: Mapping[str, Any]) -> Facts:
    """Return all recorded facts of a run, given as a row with ``identity``, ``configuration``, ``settings`` as JSON."""
    settings = {f"{_SETTINGS}{name}": value for name, value in _parse(row["settings"]).items()}
    return configuration_of(row) | identity_of(row) | settings


def configuration_of(row: Mapping[str, Any]) -> Facts:
    """Return how a run's machine was set up, by field name."""
    return dict(_parse(row["configuration"]))


def identity_of(row: Mapping[str, Any]) -> Facts:
    """Return what a run's machine is, by field name, independent of the order in which its GPUs are listed."""
    return dict(_parse_identity(row["identity"]))


def differing_facts(sides: Sequence[Mapping[str, Any]], *, missing: bool = False) -> dict[str, list[Any]]:
    """Return the facts that differ between any number of sides: by name, one value per side, None if not recorded.

    A fact that one side does not record is a difference only with ``missing``.
    """
    found = {}
    for name in dict.fromkeys(name for side in sides for name in side):
        values = [side.get(name) for side in sides]
        recorded = values if missing else [side[name] for side in sides if name in side]
        if any(value != recorded[0] for value in recorded[1:]):
            found[name] = values
    return found


def is_same_configuration(then: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Return whether two configurations are the same, as far as both record them; variables must be set in both."""
    variables = ({name for name in side if name.startswith(_VARIABLES)} for side in (then, now))
    return not differing_facts([then, now]) and len(set(map(frozenset, variables))) == 1


def compare_environments(
    before: Sequence[Facts], after: Sequence[Facts], framework: str = ""
) -> tuple[Difference, ...]:
    """Return the differences of two sides, each given by the facts of its runs, hardware first.

    With a framework, fields that only concern another one are left out.
    """
    keys = sorted({key for facts in (*before, *after) for key in facts})
    found = [each for key in keys if (each := _difference(describe_field(key), before, after, framework)) is not None]
    moved = {each.field.key for each in found if each.kind in ("changed", "mixed")}
    weighed = [replace(each, may_be_cause=each.may_be_cause and moved.isdisjoint(each.field.follows)) for each in found]
    return tuple(sorted(weighed, key=lambda each: get_args(Group).index(each.group)))


def possible_causes(differences: Sequence[Difference]) -> list[Difference]:
    """Return the differences that may have changed the numbers."""
    return [each for each in differences if each.may_be_cause]


def group_by_kind(differences: Sequence[Difference]) -> dict[Group, list[str]]:
    """Return all differences in words, by hardware, driver, framework and settings; empty groups are left out."""
    groups: dict[Group, list[str]] = {}
    for each in differences:
        groups.setdefault(each.group, []).append(str(each))
    return groups


def summarize(differences: Sequence[Difference]) -> str:
    """Return what may have changed the numbers, such as ``NVIDIA driver 570.124 → 580.65``."""
    lines = map(str, possible_causes(differences))
    return list_some(lines, _MAX_NAMED, separator="; ") or "nothing known changed"


def name_cause(differences: Sequence[Difference]) -> str:
    """Return the one changed field that may be the cause, such as ``since driver 580.65``, or why none can be named."""
    causes = possible_causes(differences)
    if not causes:
        return "nothing known changed"
    if len(causes) > 1:
        names = list(dict.fromkeys(each.field.name for each in causes))
        return f"confounded: {name_some(names, _MAX_NAMED)} changed together"
    (only,) = causes
    return f"since {only.field.format_with_short_name(only.after[0])}" if only.kind == "changed" else f"unclear: {only}"


def runs_to_separate(differences: Sequence[Difference]) -> str:
    """Return the runs that would separate confounded changes, "" if nothing is confounded.

    The runs lead from one side to the other, one change at a time: n changes need n - 1 runs. Fields that vary within a
    side are left out. Hardware counts as one change, since nobody can replace a processor and keep its cores.
    """
    changed = [each for each in possible_causes(differences) if each.kind == "changed"]
    hardware = [each for each in changed if each.group == "hardware"]
    steps = [*([hardware] if hardware else []), *([each] for each in changed if each not in hardware)]
    runs = [
        join_names([*_setup_of(steps[:place], "after"), *_setup_of(steps[place:], "before")])
        for place in range(1, len(steps))
    ]
    if not runs:
        return ""
    listed = list_some((f"a run with {run}" for run in runs), _MAX_NAMED)
    return f"{listed}, one change at a time" if len(runs) > _MAX_NAMED else listed


@lru_cache(maxsize=4096)
def describe_field(key: str) -> Field:
    """Return what is known about a field; an unknown field is named by its key."""
    begin, dot, rest = key.partition(".")
    name = _NAMES.get(key) or _name(key, begin, rest)
    before, after = _WORDS.get(key, (f"{name} ", ""))
    return Field(
        key=key,
        group=_group(key, begin),
        name=name,
        before=before,
        after=after,
        framework=_framework(begin, rest) if dot else "",
        follows=_FOLLOWS.get(key, ()),
        is_effort=begin == "settings" and rest in _EFFORT,
    )


def _difference(field: Field, before: Sequence[Facts], after: Sequence[Facts], framework: str) -> Difference | None:
    if not field.concerns(framework):
        return None
    sides = [_values(field, side) for side in (before, after)]
    if not (sides[0] and sides[1]) and not (_records_framework(field, before) and _records_framework(field, after)):
        return None
    kind = _kind(*sides)
    if kind is None:
        return None
    may_be_cause = kind in ("changed", "mixed") and not field.is_effort
    return Difference(field=field, kind=kind, before=sides[0], after=sides[1], may_be_cause=may_be_cause)


def _kind(before: tuple[str, ...], after: tuple[str, ...]) -> Kind | None:
    if not (before and after):
        if not any(before + after):  # an empty value on one side only is no difference
            return None
        return "removed" if before else "added"
    if before == after:
        return "varied" if len(before) > 1 else None
    return "changed" if len(before) == len(after) == 1 else "mixed"


def _values(field: Field, side: Sequence[Facts]) -> tuple[str, ...]:
    """Return the distinct values that the runs of a side record."""
    variable = field.key.startswith(_VARIABLES)
    recorded = [facts for facts in side if field.key in facts or (variable and _has_configuration(facts))]
    return tuple(sorted({facts.get(field.key, UNSET) for facts in recorded}))


def _has_configuration(facts: Facts) -> bool:
    """Return whether facts hold more than identity and settings."""
    return any(not name.startswith((_IDENTITY, _SETTINGS)) for name in facts)


def _records_framework(field: Field, side: Sequence[Facts]) -> bool:
    """Return whether any run of a side records something about the field's framework."""
    return not field.framework or any(
        describe_field(key).framework == field.framework for facts in side for key in facts
    )


def _setup_of(steps: Sequence[Sequence[Difference]], side: Literal["before", "after"]) -> Iterator[str]:
    for step in steps:
        if step[0].group == "hardware" and len(step) > 1:
            yield f"the hardware of {side}"
        else:
            yield from (each.field.format_with_short_name(getattr(each, side)[0]) for each in step)


@lru_cache(maxsize=4096)  # a thousand runs share a few environments
def _parse(text: str) -> Facts:
    return {name: _as_text(value) for name, value in sorted(_parse_object(text).items())}


@lru_cache(maxsize=4096)
def _parse_identity(text: str) -> Facts:
    stored = _parse_object(text)
    gpus = [gpu for gpu in stored.pop("gpus", None) or [] if isinstance(gpu, dict)]
    facts = {f"{_IDENTITY}{name}": _as_text(value) for name, value in sorted(stored.items())}
    models = Counter(f"{gpu.get('name', 'unknown')} ({_describe_size(gpu)})" for gpu in gpus)
    listed = [f"{count} × {name}" if count > 1 else name for name, count in sorted(models.items())]
    ids = ", ".join(sorted(str(gpu["uuid_hash"]) for gpu in gpus if gpu.get("uuid_hash")))
    return facts | {f"{_IDENTITY}gpus": ", ".join(listed) or "none"} | ({f"{_IDENTITY}gpu_ids": ids} if ids else {})


def _describe_size(gpu: Mapping[str, Any]) -> str:
    slice_of = f", {gpu['multiprocessors']} multiprocessors" if gpu.get("multiprocessors") else ""
    return f"{gpu.get('memory_gib', '?')} GiB{slice_of}"


def _parse_object(text: str) -> dict[str, Any]:
    stored = json.loads(text)
    return dict(stored) if isinstance(stored, dict) else {}


def _as_text(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _group(key: str, begin: str) -> Group:
    if begin == "identity":
        return "hardware"
    if begin == "driver" or key in _DRIVER:
        return "driver"
    return "framework" if key.rpartition(".")[2] in _FRAMEWORK | _BUILD else "settings"


def _framework(begin: str, rest: str) -> str:
    if begin == "env":
        return _READ_BY.get(rest.partition("_")[0], "")
    return "" if _SYSTEM.fullmatch(begin) else _RECORDED_BY.get(begin, begin)


def _name(key: str, begin: str, rest: str) -> str:
    if begin == "env" and rest:
        return _clip(rest)
    words = units.without_unit(key.removeprefix(_SETTINGS)).removesuffix(".version").replace(".", " ")
    spelled = " ".join(_SPELLING.get(word, word) for word in _GPU.sub(r"GPU \1", words).split(" "))
    return _clip(f"the run's {spelled}" if begin == "settings" else spelled)


def _clip(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 1]}…"
