"""The machine and its configuration, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from harness import units
from harness.record import Identity, Run

Facts = list[tuple[str, str]]
_HEADINGS = {
    "": "System",
    "cpu": "Processor",
    "cupy": "CuPy",
    "env": "Environment variables",
    "memory": "Memory",
    "numpy": "NumPy",
    "torch": "PyTorch",
}


def machine_in_words(identity: Identity) -> str:
    """Say what the machine is."""
    gpus = Counter((gpu.name, gpu.memory_gib) for gpu in identity.gpus)
    each = [f"{f'{count} × ' if count > 1 else ''}{name} ({gib} GiB)" for (name, gib), count in gpus.items()]
    cores = units.plural(identity.cpu_cores, "core")
    return f"{identity.cpu_model}, {cores}, {identity.memory_gib} GiB of memory, {' and '.join(each) or 'no GPU'}"


def configuration_in_words(run: Run) -> list[tuple[str, Facts]]:
    """Return the configuration by what it belongs to, the run's settings and the last readings."""
    groups: dict[str, Facts] = {}
    for key, value in sorted(run.environment.configuration.items(), key=lambda item: ("." in item[0], item)):
        group, dot, name = key.partition(".")
        group, name = (group, name) if dot else ("", key)
        groups.setdefault(_HEADINGS.get(group, group), []).append(
            (name, value) if group == "env" else _fact(name, value)
        )
    groups["Settings of the run"] = _facts(run.settings.items())
    groups["Readings at the end"] = _facts(sorted(run.environment.readings.items()), measured=True)
    return [(heading, facts) for heading, facts in groups.items() if facts]


def _facts(items: Iterable[tuple[str, object]], *, measured: bool = False) -> Facts:
    return [_fact(name, value, measured=measured) for name, value in items if value is not None]


def _fact(name: str, value: object, *, measured: bool = False) -> tuple[str, str]:
    """Return a fact in words: in the unit that its name ends in, and in three digits where it was measured."""
    words = units.without_unit(name)
    try:
        number = float(str(value))
    except ValueError:
        return name.replace("_", " ").replace(".", " "), str(value)
    if not measured and words == name.replace("_", " "):
        return words.replace(".", " "), str(value)  # it may be a version
    return words.replace(".", " "), units.named(name, number)
