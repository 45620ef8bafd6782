"""The name of a machine, which is the same for every run on it and safe as the name of a folder."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from accelbench.schema.result import Identity

_NOISE = re.compile(r"\((?:r|tm|c)\)|\b(?:cpu|processor|[\d]+-core|with .* graphics)\b|@.*", re.IGNORECASE)
_SIGNATURES = (  # fields that distinguish processors of one name, on x86 and on Arm
    ("family", "model", "stepping"),
    ("implementer", "part", "variant"),
)


def machine_key(identity: Identity) -> str:
    """Return the name of the machine's folder, such as ``amd-epyc-2c-24g-1f3a9c``: hardware and a hash of it."""
    counts = Counter(gpu.name for gpu in identity.gpus)
    gpus = [f"{_slug(name)}-x{count}" for name, count in counts.items()]
    content = msgspec.to_builtins(identity)
    if not identity.cpu_signature:
        del content["cpu_signature"]
    for gpu in content["gpus"]:
        if not gpu["multiprocessors"]:
            del gpu["multiprocessors"]
    cpu = f"{_slug(identity.cpu_model)}-{identity.cpu_cores}c-{identity.memory_gib}g"
    hashed = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return "-".join([cpu, *gpus])[:100].strip("-") + "-" + hashed[:6]


def cpu_signature(fields: Mapping[str, Any]) -> str:
    """Return a processor's signature, such as ``25-17-1``, or "" if its description lacks the fields for it.

    Virtual machines of every generation may call their processor ``AMD EPYC``; the signature distinguishes them.
    """
    for names in _SIGNATURES:
        if all(isinstance(fields.get(name), int | str) for name in names):
            return "-".join(str(fields[name]) for name in names)
    return ""


def _slug(name: str) -> str:
    words = _NOISE.sub(" ", name).lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:40].strip("-") or "unknown"
