"""What one call of ``measure`` asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import BadInput
from harness.experiment import Levels, Technique, Workload, find_technique, find_workload, is_technique
from harness.hosting.collecting import Collected
from harness.hosting.factorials import LevelsOf
from harness.measuring.travel import is_foreign


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A workload, the techniques held at one level in every arm, and the workload's options."""

    workload: Workload
    fixed: dict[str, str]
    problem: dict[str, str | int | float | bool]

    @property
    def question(self) -> str:
        """What all tests of a trial ask for, such as ``matrix-product elements=1000``."""
        return question(self.workload.name, self.problem, self.fixed)

    @property
    def sent(self) -> str | Workload:
        """What a worker is told: a name where it has the catalogue's workload, else the workload itself."""
        return self.workload if is_foreign(self.workload.builder) else self.workload.name


def question(workload: str, problem: Mapping[str, Any], fixed: Mapping[str, str]) -> str:
    """Return a workload with its options and the techniques that are held at a level."""
    return " ".join([workload, *(f"{name}={value}" for name, value in {**problem, **fixed}.items())])


def understand(
    trial: Collected, own: Levels, workload: str | Workload, keywords: Mapping[str, Any], levels_of: LevelsOf
) -> Asked:
    """Return what a test asks for, ``own`` being the levels that it was given.

    Raises:
        BadInput: the call cannot be measured; the message says what was expected.
    """
    _passed_on(own, keywords)
    found = find_workload(workload) if isinstance(workload, str) else workload
    if trial.framework not in found.frameworks:
        raise BadInput(
            f"workload {found.name} runs in {', '.join(found.frameworks)}, but the test toggles techniques of "
            f"{trial.framework}"
        )
    others = {name: value for name, value in keywords.items() if name not in own}
    fixed = {name: str(value) for name, value in others.items() if is_technique(trial.framework, name)}
    problem = {name: value for name, value in others.items() if name not in fixed}
    for name, level in fixed.items():
        _offered(find_technique(trial.framework, name), level, levels_of)
    for name, value in problem.items():
        _plain(name, value)
    return Asked(workload=found, fixed=fixed, problem=problem)


def _passed_on(own: Levels, keywords: Mapping[str, Any]) -> None:
    for name, level in own.items():
        if name not in keywords:
            raise BadInput(f"measure was not given the toggled technique: pass it on as measure(..., {name}={name})")
        if keywords[name] != level:
            raise BadInput(
                f"measure was given {name}={keywords[name]!r} in the test of {name}={level!r}: "
                f"pass the argument on unchanged, as measure(..., {name}={name})"
            )


def _offered(technique: Technique, level: str, levels_of: LevelsOf) -> None:
    levels = levels_of(technique)
    # The limit of a sweep does not bind a number that is held; whether this machine has so many, the arm will say.
    is_number = callable(technique.levels) and level.isdigit()
    if level not in levels and not is_number:
        raise BadInput(f"technique {technique.name} has no level {level!r} here; expected one of: {', '.join(levels)}")


def _plain(name: str, value: Any) -> None:
    if not isinstance(value, str | int | float | bool):
        raise BadInput(
            f"option {name} is a {type(value).__name__}; give a string, a number or a truth value, "
            "which a result file can keep"
        )
