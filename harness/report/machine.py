"""The machine and its configuration, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from harness import units
from harness.record import Environment, Identity, Run

Facts = list[tuple[str, str]]
_HEADINGS = {
    "": "System",
    "cpu": "Processor",
    "cupy": "CuPy",
    "env": "Environment variables",
    "keras": "Keras",
    "memory": "Memory",
    "numba": "Numba",
    "numexpr": "NumExpr",
    "numpy": "NumPy",
    "pillow": "Pillow",
    "tensorflow": "TensorFlow",
    "torch": "PyTorch",
}
_LONGEST = 4  # kinds of time that a sentence names


def machine_in_words(identity: Identity) -> str:
    """Say what the machine is."""
    gpus = Counter((gpu.name, gpu.memory_gib) for gpu in identity.gpus)
    each = [f"{f'{count} × ' if count > 1 else ''}{name} ({gib} GiB)" for (name, gib), count in gpus.items()]
    cores = units.plural(identity.cpu_cores, "core")
    return f"{identity.cpu_model}, {cores}, {identity.memory_gib} GiB of memory, {' and '.join(each) or 'no GPU'}"


def software_in_words(environment: Environment) -> str:
    """Say in one sentence what ran: the system, Python and every library that was asked, with its build."""
    told = environment.configuration
    system = [told[name] for name in ("os", "python") if name in told]
    libraries = [name.removesuffix(".version") for name in told if name.endswith(".version")]
    return "; ".join(filter(None, (", ".join(system), ", ".join(_library(name, told) for name in libraries))))


def _library(name: str, told: Mapping[str, str]) -> str:
    build, threads = told.get(f"{name}.built_for"), told.get(f"{name}.threads")
    details = [
        f"built for {build}" if build else "",
        f"{threads} threads" if threads else "",
        told.get(f"{name}.unavailable", ""),
    ]
    said = ", ".join(filter(None, details))
    return f"{_HEADINGS.get(name, name)} {told[f'{name}.version']}{f' ({said})' if said else ''}"


def time_in_words(run: Run) -> str:
    """Say how long a run took, and for what it took most; empty where it does not tell."""
    if not run.spent_s:
        return ""
    most = ", ".join(f"{kind} {said.rpartition(', ')[2]}" for kind, said in _shares(run.spent_s)[:_LONGEST])
    return f"The run took {units.minutes(sum(run.spent_s.values()))}: {most}"


def configuration_in_words(run: Run) -> list[tuple[str, Facts]]:
    """Return the configuration by what it belongs to, the run's settings, the last readings and where the time went."""
    last = (
        ("Settings of the run", _facts(run.settings.items())),
        ("Readings at the end", readings_in_words(run.environment)),
        ("Where the time went", _shares(run.spent_s)),
    )
    return [*setup_in_words(run.environment), *((heading, facts) for heading, facts in last if facts)]


def setup_in_words(environment: Environment) -> list[tuple[str, Facts]]:
    """Return how a machine is set up, by what each setting belongs to."""
    groups: dict[str, Facts] = {}
    for key, value in sorted(environment.configuration.items(), key=lambda item: ("." in item[0], item)):
        group, dot, name = key.partition(".")
        group, name = (group, name) if dot else ("", key)
        groups.setdefault(_HEADINGS.get(group, group), []).append(
            (name, value) if group == "env" else _fact(name, value)
        )
    return list(groups.items())


def readings_in_words(environment: Environment) -> Facts:
    """Return how a machine was at one moment."""
    return _facts(sorted(environment.readings.items()), measured=True)


def ceilings_in_words(run: Run) -> list[tuple[str, Facts]]:
    """Return the fastest that the machine was seen to do each thing, memory by working set."""
    facts = [
        (
            f"{each.name}, from {units.size(each.working_set_bytes)}" if each.working_set_bytes else each.name,
            units.rate(each.per_s, each.unit),
        )
        for each in run.ceilings
    ]
    return [("Ceilings: the fastest seen here", facts)] if facts else []


def _shares(spent_s: Mapping[str, float]) -> Facts:
    """Return where the time of a run went, what took most first."""
    total_s = sum(spent_s.values()) or 1.0
    ordered = sorted(spent_s.items(), key=lambda item: item[1], reverse=True)
    return [(kind, f"{units.minutes(spent)}, {units.percent(spent / total_s)}") for kind, spent in ordered]


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
