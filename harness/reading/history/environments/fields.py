"""The fields of an environment: what they are called, what they belong to, and which follow from which."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from harness import units
from harness.untrusted import shown

Group = Literal["hardware", "driver", "framework", "settings"]
Facts = dict[str, str]
IDENTITY, SETTINGS, VARIABLES = "identity.", "settings.", "env."  # how names of fields begin
UNSET = "unset"
_LONGEST = 80  # characters of a name or value that a sentence quotes
# What concerns all arms; NumPy's arrays reach every framework.
_SYSTEM = re.compile(r"cpu|memory|driver|numpy|identity|settings|gpu\d+", re.ASCII)
_GPU = re.compile(r"^gpu(\d+)\b", re.ASCII)
_TOLD_BY = {  # whose adapter tells of a package
    "transformers": "torch",
    "pillow": "torch",
    "keras": "tensorflow",
    "numba": "numpy",
    "numexpr": "numpy",
}
_READ_BY = {"TF": "tensorflow", "PYTORCH": "torch", "TORCH": "torch", "CUPY": "cupy"}  # how a variable's name begins
_DRIVER = {"os", "kernel", "libc"}
_FRAMEWORK = {"python", "accelbench"}
_BUILD = {"version", "built_for", "cudnn", "architectures", "nvrtc", "simd", "blas", "cpu_capability", "unavailable"}
_CORES = ("cpu.available_cores", "cpu.quota_cores", "cpu.logical_cores", "identity.cpu_cores")
_PROCESSOR = ("identity.cpu_model", "identity.cpu_signature")
_KERNELS = (*_PROCESSOR, "cpu.instructions")  # what is chosen by
_THREADS = ("env.OMP_NUM_THREADS", "env.MKL_NUM_THREADS", *_CORES)
# What changes along with another field and is then no change of its own: a wheel brings its cuDNN, a driver its CUDA.
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
# Settings that say how long and how often was measured, or which levels: they move no median on their own.
_EFFORT = {"budget_s", "alpha", "noise", "half_width", "builds", "workers", "max_batch", "max_workers"}
_WORDS = {  # what stands before a value and after it, where the name alone does not read well
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
_WRITTEN = {  # words whose letters are not all small
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

    ``name`` is short and in words, ``before`` and ``after`` stand around its values. ``framework`` is whose arms alone
    it concerns, "" where it concerns all. ``follows`` are the fields along with which it changes; ``effort`` says that
    it is about how hard was measured.
    """

    key: str
    group: Group
    name: str
    before: str
    after: str
    framework: str
    follows: tuple[str, ...]
    effort: bool

    def concerns(self, framework: str) -> bool:
        """Say whether the field concerns the arms of a framework; without one, whether it concerns any."""
        return not framework or self.framework in ("", framework)

    def with_value(self, value: str) -> str:
        """Return the field with a value, such as ``torch 2.13.0`` or ``4 cores``."""
        return f"{self.before}{self.written(value)}{self.after}"

    def changed(self, before: str, after: str) -> str:
        """Return a change, such as ``torch 2.11.0 → 2.13.0`` or ``2 → 4 cores``."""
        return f"{self.before}{self.written(before)} → {self.written(after)}{self.after}"

    def written(self, value: str) -> str:
        """Return a value in the unit that the field's name ends in, as one line of bounded length."""
        if units.without_unit(self.key) != self.key.replace("_", " "):
            try:
                return units.named(self.key, float(value))
            except ValueError:
                pass
        return _clipped(value) or "none"


@lru_cache(maxsize=4096)
def field(key: str) -> Field:
    """Return what is known about a field; one that nobody knows is named as it is written."""
    begin, dot, rest = key.partition(".")
    name = _NAMES.get(key) or _name(key, begin, rest)
    before, after = _WORDS.get(key, (f"{name} ", ""))
    return Field(
        key=key,
        group=_group(key, begin, rest),
        name=name,
        before=before,
        after=after,
        framework=_framework(begin, rest) if dot else "",
        follows=_FOLLOWS.get(key, ()),
        effort=begin == "settings" and rest in _EFFORT,
    )


def configured(run: Mapping[str, Any]) -> Facts:
    """Return how the machine of a run was set up, by the names of fields. ``run`` is a row of a history's runs."""
    return dict(_parsed(run["configuration"]))


def identified(run: Mapping[str, Any]) -> Facts:
    """Return what the machine of a run is, by the names of fields, whatever the order in which its GPUs are told."""
    return dict(_identity(run["identity"]))


def facts(run: Mapping[str, Any]) -> Facts:
    """Return all that a run tells of its environment, by the names of fields: identity, configuration and settings."""
    settings = {f"{SETTINGS}{name}": value for name, value in _parsed(run["settings"]).items()}
    return configured(run) | identified(run) | settings


def tells_of_configuration(told: Facts) -> bool:
    """Say whether facts hold more than identity and settings, as those of another project's file do not."""
    return any(not name.startswith((IDENTITY, SETTINGS)) for name in told)


@lru_cache(maxsize=4096)  # a thousand runs share a few environments
def _parsed(text: str) -> Facts:
    stored = _object(text)
    return {name: _text(value) for name, value in sorted(stored.items())}


@lru_cache(maxsize=4096)
def _identity(text: str) -> Facts:
    stored = _object(text)
    gpus = [gpu for gpu in stored.pop("gpus", None) or [] if isinstance(gpu, dict)]
    told = {f"{IDENTITY}{name}": _text(value) for name, value in sorted(stored.items())}
    counted = Counter(f"{gpu.get('name', 'unknown')} ({gpu.get('memory_gib', '?')} GiB)" for gpu in gpus)
    each = [f"{count} × {name}" if count > 1 else name for name, count in sorted(counted.items())]
    ids = ", ".join(sorted(str(gpu["uuid_hash"]) for gpu in gpus if gpu.get("uuid_hash")))
    return told | {f"{IDENTITY}gpus": ", ".join(each) or "none"} | ({f"{IDENTITY}gpu_ids": ids} if ids else {})


def _object(text: str) -> dict[str, Any]:
    stored = json.loads(text)
    return dict(stored) if isinstance(stored, dict) else {}


def _text(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _group(key: str, begin: str, rest: str) -> Group:
    if begin == "identity":
        return "hardware"
    if begin == "driver" or key in _DRIVER:
        return "driver"
    return "framework" if key in _FRAMEWORK or rest in _BUILD else "settings"


def _framework(begin: str, rest: str) -> str:
    if begin == "env":
        return _READ_BY.get(rest.partition("_")[0], "")
    return "" if _SYSTEM.fullmatch(begin) else _TOLD_BY.get(begin, begin)


def _name(key: str, begin: str, rest: str) -> str:
    if begin == "env" and rest:
        return _clipped(rest)
    words = units.without_unit(key.removeprefix(SETTINGS)).removesuffix(".version").replace(".", " ")
    written = " ".join(_WRITTEN.get(word, word) for word in _GPU.sub(r"GPU \1", words).split(" "))
    return _clipped(f"the run's {written}" if begin == "settings" else written)


def _clipped(text: str) -> str:
    text = shown(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
