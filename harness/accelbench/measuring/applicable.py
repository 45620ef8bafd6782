"""Which techniques apply to a workload, found from their declarations in a worker, without building an arm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from accelbench.core import (
    Arm,
    Host,
    Technique,
    Trial,
    Workload,
    declared_for,
    find_technique,
    find_workload,
    register_techniques,
)
from accelbench.core.arm import nothing
from accelbench.errors import Unavailable


@dataclass(frozen=True, kw_only=True)
class Applicable:
    """A technique that applies to a workload, with the levels that can be set here, the baseline first.

    ``options`` are the workload's options that it sets. ``refused`` maps levels, or ``"*"`` for the whole technique, to
    the reason for which they are left out.
    """

    technique: str
    levels: tuple[str, ...]
    options: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)


def applicable(trial: Trial, host: Host) -> list[Applicable]:
    """Return the techniques that apply to the trial's workload and that the trial does not hold fixed.

    A technique without a snippet is refused with the declared reason, or left out if none is declared. Techniques that
    are set when a process starts are left out, since only arms of one process can be compared in a search. If two
    techniques set the same option, the one that was declared first stays.
    """
    register_techniques(*trial.techniques)
    workload = find_workload(trial.workload) if isinstance(trial.workload, str) else trial.workload
    taken = dict.fromkeys(trial.problem, "the workload's own setting")
    for name, level in trial.fixed.items():
        options, _ = _try_level(find_technique(trial.framework, name), level, workload, trial)
        taken |= dict.fromkeys(options, name)
    techniques: list[Applicable] = []
    for technique in declared_for(trial.framework):
        has_advice = technique.snippet or technique.not_recommended
        if has_advice and technique.scope == "arm" and technique.name not in trial.fixed:
            techniques += _check(technique, workload, host, taken, trial)
    return techniques


def _check(
    technique: Technique, workload: Workload, host: Host, taken: dict[str, str], trial: Trial
) -> Iterator[Applicable]:
    """Yield the technique if the workload accepts its baseline, and add its options to ``taken``."""
    baseline, *candidates = technique.levels_on(host)
    options, objection = _try_level(technique, baseline, workload, trial)
    if objection:
        return
    refused = {}
    for level in candidates:
        more, objection = _try_level(technique, level, workload, trial)
        options |= more
        if isinstance(technique.same_output, tuple) and not technique.compared_at(level):
            objection = "it computes something else"
        if objection := technique.why_not_recommended(level) or objection:
            refused[level] = objection
    if not technique.snippet:
        refused = {"*": technique.why_not_recommended("*")}
    elif conflicts := sorted(options & taken.keys()):
        refused = {"*": f"{taken[conflicts[0]]} sets {conflicts[0]} already"}
    levels = () if "*" in refused else (baseline, *(level for level in candidates if level not in refused))
    if len(levels) > 1:
        taken |= dict.fromkeys(options, technique.name)
    yield Applicable(technique=technique.name, levels=levels, options=options, refused=refused)


def _try_level(technique: Technique, level: str, workload: Workload, trial: Trial) -> tuple[frozenset[str], str]:
    """Return the options that a level sets, and why it does not apply, "" if it does."""
    options: set[str] = set()

    def build(**given: Any) -> Arm:
        options.update(given)
        if unknown := sorted(given.keys() - workload.options):
            raise Unavailable(f"{workload.name} has no option {unknown[0]!r}")
        if workload.shared is not None:
            workload.build(replace(trial.setting, only_check=True), **{**trial.problem, **given})
        return Arm(step=nothing)

    try:
        technique.apply(build, level)
    except Unavailable as error:
        return frozenset(options), str(error)
    except Exception:  # it needs the real arm, so measuring decides
        return frozenset(options), ""
    return frozenset(options), ""
