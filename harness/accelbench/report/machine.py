"""Describe a machine, its configuration and what disturbed a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from accelbench import units
from accelbench.schema.reasons import describe, group
from accelbench.schema.result import ArmRecord, Environment, Identity, Run, rank_spending
from accelbench.text import FRAMEWORK_NAMES, join_names

Facts = list[tuple[str, str]]
_HEADINGS = FRAMEWORK_NAMES | {
    "": "System",
    "cpu": "Processor",
    "env": "Environment variables",
    "keras": "Keras",
    "memory": "Memory",
    "numba": "Numba",
    "numexpr": "NumExpr",
    "pillow": "Pillow",
}
_LONGEST = 4  # kinds of time that a sentence names


def describe_machine(identity: Identity) -> str:
    """Return the machine's processor, memory and GPUs."""
    cores = units.plural(identity.cpu_cores, "core")
    return f"{identity.cpu_model}, {cores}, {identity.memory_gib} GiB of memory, {_describe_gpus(identity)}"


def _describe_gpus(identity: Identity) -> str:
    gpus = Counter((gpu.name, gpu.memory_gib) for gpu in identity.gpus)
    each = [f"{f'{count} × ' if count > 1 else ''}{name} ({gib} GiB)" for (name, gib), count in gpus.items()]
    return join_names(each) or "no GPU"


def describe_card(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the machine and what measured it, as names with short texts."""
    identity, configuration = run.environment.identity, run.environment.configuration
    yield "Processor", f"{identity.cpu_model}, {units.plural(identity.cpu_cores, 'core')}"
    yield "Accelerator", _describe_gpus(identity)
    yield "Memory", f"{identity.memory_gib} GiB"
    libraries = {name: name.removesuffix(".version") for name in configuration if name.endswith(".version")}
    frameworks = [
        f"{_HEADINGS.get(library, library)} {configuration[name]}"
        for name, library in libraries.items()
        if library in {trial.framework for trial in run.trials}
    ]
    for name, text in (
        ("System", ", ".join(filter(None, (configuration.get("os"), configuration.get("python"))))),
        ("Frameworks", ", ".join(frameworks)),
        ("Measuring took", units.minutes(sum(run.spent_s.values())) if run.spent_s else ""),
    ):
        if text:
            yield name, text


def describe_software(environment: Environment) -> str:
    """Return in one sentence the system, Python, and every library with its build."""
    configuration = environment.configuration
    system = [configuration[name] for name in ("os", "python") if name in configuration]
    libraries = [name.removesuffix(".version") for name in configuration if name.endswith(".version")]
    return "; ".join(filter(None, (", ".join(system), ", ".join(_library(name, configuration) for name in libraries))))


def _library(name: str, configuration: Mapping[str, str]) -> str:
    build, threads = configuration.get(f"{name}.built_for"), configuration.get(f"{name}.threads")
    details = [
        f"built for {build}" if build else "",
        f"{threads} threads" if threads else "",
        configuration.get(f"{name}.unavailable", ""),
    ]
    said = ", ".join(filter(None, details))
    return f"{_HEADINGS.get(name, name)} {configuration[f'{name}.version']}{f' ({said})' if said else ''}"


def describe_time(run: Run) -> str:
    """Return how long a run took and what took most of that time; empty where the file does not record it."""
    if not run.spent_s:
        return ""
    most = ", ".join(f"{kind} {units.percent(share)}" for kind, _, share in rank_spending(run.spent_s)[:_LONGEST])
    return f"The run took {units.minutes(sum(run.spent_s.values()))}: {most}"


def describe_configuration(run: Run) -> list[tuple[str, Facts]]:
    """Return the configuration by component, the run's settings, the last readings and where the time went."""
    went = [
        (kind, f"{units.minutes(spent)}, {units.percent(share)}") for kind, spent, share in rank_spending(run.spent_s)
    ]
    last = (
        ("Settings of the run", _facts(run.settings.items())),
        ("Readings at the end", describe_readings(run.environment)),
        ("Where the time went", went),
    )
    return [*describe_setup(run.environment), *((heading, facts) for heading, facts in last if facts)]


def describe_setup(environment: Environment) -> list[tuple[str, Facts]]:
    """Return how a machine is set up, by component."""
    groups: dict[str, Facts] = {}
    for key, value in sorted(environment.configuration.items(), key=lambda item: ("." in item[0], item)):
        group, dot, name = key.partition(".")
        group, name = (group, name) if dot else ("", key)
        groups.setdefault(_HEADINGS.get(group, group), []).append(
            (name, value) if group == "env" else _fact(name, value)
        )
    return list(groups.items())


def describe_readings(environment: Environment) -> Facts:
    """Return how a machine was at one moment."""
    return _facts(sorted(environment.readings.items()), measured=True)


def describe_ceilings(run: Run) -> list[tuple[str, Facts]]:
    """Return the machine's measured peak rates; those of memory by working set."""
    facts = [
        (
            f"{each.name}, from {units.size(each.working_set_bytes)}" if each.working_set_bytes else each.name,
            units.rate(each.per_s, each.unit),
        )
        for each in run.ceilings
    ]
    return [("Ceilings: the fastest seen here", facts)] if facts else []


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
    return words.replace(".", " "), units.with_unit(name, number)


def describe_disturbance(run: Run) -> Iterator[str]:
    """Yield how many trials carry a remark, and of which kinds, the most frequent first; nothing where none does."""
    trials = units.plural(len(run.trials), "trial")
    if remarked := sum(bool(trial.remarks) for trial in run.trials):
        yield f"{units.count(remarked)} of {trials} carry a remark on what may have disturbed them"
    of_trials = (alike[0] for trial in run.trials for alike in group(trial.remarks, brief=True))
    for alike in group(of_trials, brief=True):
        said = describe(alike, brief=True)
        yield f"{said[:1].upper()}{said[1:]} ({units.plural(len(alike), 'trial')})"
    if unsettled := sum(_has_unsettled_arm(trial.arms) for trial in run.trials):
        yield f"In {units.count(unsettled)} of {trials}, times had not settled when an arm’s warm-up ended"


def _has_unsettled_arm(arms: Sequence[ArmRecord]) -> bool:
    return any(arm.timing is not None and not arm.timing.warmup_settled for arm in arms)
