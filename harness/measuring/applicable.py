"""Which techniques apply to a workload: asked of their declarations, in a worker, without building anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.errors import Unavailable
from harness.experiment import Arm, Host, Technique, Trial, Workload, adopt, declared_for, find_technique, find_workload
from harness.experiment.arm import nothing


@dataclass(frozen=True, kw_only=True)
class Applicable:
    """A technique that a workload takes: the levels that can be set here, the baseline first.

    ``options`` are those of the workload that it sets. ``refused`` maps levels, or ``"*"`` for the whole technique, to
    the sentence that says why they are left out.
    """

    technique: str
    levels: tuple[str, ...]
    options: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)


def applicable(trial: Trial, host: Host) -> list[Applicable]:
    """Return the techniques that the trial's workload takes and that the trial does not hold fixed.

    What has no recipe is refused with the declared reason, and left out where none is declared. Those that are set when
    a process starts are left out, since only arms of one process can race. Where two set the same option, the one that
    was declared first stays.
    """
    adopt(*trial.techniques)
    workload = find_workload(trial.workload) if isinstance(trial.workload, str) else trial.workload
    taken = dict.fromkeys(trial.problem, "the workload's own setting")
    for name, level in trial.fixed.items():
        options, _ = _tried(find_technique(trial.framework, name), level, workload)
        taken |= dict.fromkeys(options, name)
    found: list[Applicable] = []
    for technique in declared_for(trial.framework):
        written = technique.recipe or technique.unadvised
        if written and technique.scope == "arm" and technique.name not in trial.fixed:
            found += _asked(technique, workload, host, taken)
    return found


def _asked(technique: Technique, workload: Workload, host: Host, taken: dict[str, str]) -> Iterator[Applicable]:
    """Yield the technique where the workload takes its baseline, and enter its options into those that are taken."""
    baseline, *candidates = technique.levels_on(host)
    options, objection = _tried(technique, baseline, workload)
    if objection:
        return
    refused = {}
    for level in candidates:
        more, objection = _tried(technique, level, workload)
        options |= more
        if isinstance(technique.same_output, tuple) and not technique.compared_at(level):
            objection = "it computes something else"
        if objection := technique.unadvised_at(level) or objection:
            refused[level] = objection
    if not technique.recipe:
        refused = {"*": technique.unadvised_at("*")}
    elif double := sorted(options & taken.keys()):
        refused = {"*": f"{taken[double[0]]} sets {double[0]} already"}
    levels = () if "*" in refused else (baseline, *(level for level in candidates if level not in refused))
    if len(levels) > 1:
        taken |= dict.fromkeys(options, technique.name)
    yield Applicable(technique=technique.name, levels=levels, options=options, refused=refused)


def _tried(technique: Technique, level: str, workload: Workload) -> tuple[frozenset[str], str]:
    """Return the options that a level sets, and why it cannot be had, "" where nothing speaks against it."""
    options: set[str] = set()

    def build(**given: Any) -> Arm:
        options.update(given)
        if unknown := sorted(given.keys() - workload.options):
            raise Unavailable(f"{workload.name} has no option {unknown[0]!r}")
        return Arm(step=nothing)

    try:
        technique.apply(build, level)
    except Unavailable as error:
        return frozenset(options), str(error)
    except Exception:  # it needs the real arm: measuring will tell
        return frozenset(options), ""
    return frozenset(options), ""
