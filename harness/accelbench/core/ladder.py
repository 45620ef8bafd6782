"""A ladder: techniques applied one after another, each rung compared with the start and with the rung below."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from accelbench.core.arm import Arm
from accelbench.core.technique import (
    ROUNDING,
    Build,
    Technique,
    apply_levels,
    find_technique,
    is_builtin,
    load_builtins,
    place_of_caller,
    register_techniques,
)
from accelbench.errors import BadInput
from accelbench.schema.result import ADDS, join_groups
from accelbench.text import hyphenate

START = "start"
Step = tuple[str, str]  # a technique and the level to which it is switched


@dataclass(frozen=True, kw_only=True)
class Ladder(Technique):
    """Techniques in the order in which they are added: each level after the first switches one more of them.

    ``start`` holds the techniques' levels on the first rung, ``steps`` the technique that each further rung switches.
    ``name`` is what tests and results call the whole ladder.
    """

    start: Mapping[str, str]
    steps: Mapping[str, Step]

    def computes(self, level: str) -> str:
        """Return the lowest rung that computes the same as this one, "" for the start."""
        computed = ""
        for rung, (name, at) in _up_to(self.steps, level).items():
            computed = computed if find_technique(self.framework, name).compared_at(at) else rung
        return computed

    def snippet_at(self, level: str, device: str = "cpu") -> str:
        """Return the code that a user writes for this rung and those below it; a comment names what has no code."""
        held = dict(_up_to(self.steps, level).values())
        written = {step: find_technique(self.framework, step[0]).snippet_at(step[1], device) for step in held.items()}
        if not any(written.values()):
            return ""
        return "\n".join(text or f"# {hyphenate(name)} {at}" for (name, at), text in written.items())

    def without(self, rungs: Collection[str]) -> Ladder:
        """Return the ladder without some rungs, such as those that this machine cannot run."""
        remaining = {rung: step for rung, step in self.steps.items() if rung not in rungs}
        return _ladder(self.framework, self.name, self.start, remaining, self.summary)


def ladder(framework: str, name: str, *, start: Mapping[str, str], steps: Sequence[Step], summary: str = "") -> Ladder:
    """Declare a ladder of declared techniques; it is a technique whose levels are its rungs.

    A rung is called by what it adds, as ``+batch-size 32``. One that cannot run here is left out of those above it.
    The numeric errors that the techniques may cost add up.

    Args:
        framework: whose techniques they are.
        name: a Python name for the ladder.
        start: the levels at which the first rung has its techniques, by name.
        steps: what each further rung switches: a technique and its level.
        summary: one line for reports; without it, the order of the techniques.

    Raises:
        BadInput: the name is not a Python name, there is no step or one comes twice, a technique or a level is
            unknown, or a technique's levels are compared between processes.
    """
    if not name.isidentifier():
        raise BadInput(f"ladder was given the name {name!r}; expected a Python name, such as 'climb'")
    if not steps:
        raise BadInput(f"ladder {name} has no steps; expected one or more, such as ('batch_size', '32')")
    if not is_builtin(place := place_of_caller()):
        load_builtins()
    for switched, at in [*start.items(), *steps]:
        find_technique(framework, switched, who=f"ladder {name}").require_levels([at], f"ladder {name}")
    named = {f"{ADDS}{hyphenate(technique)} {level}": (technique, level) for technique, level in steps}
    if len(named) < len(steps):
        again, at = next(step for place, step in enumerate(steps) if step in steps[:place])
        raise BadInput(f"ladder {name} switches {again} to {at!r} twice; expected each step once, so leave one out")
    order = ", ".join(rung.removeprefix(ADDS) for rung in named)
    declared = _ladder(framework, name, start, named, summary or f"One technique after another: {order}.")
    for technique in techniques_of(declared):
        if technique.scope == "process":
            raise BadInput(f"{technique.name} is compared between processes, so it cannot be a rung of {name}")
    declared = replace(declared, place=place)
    register_techniques(declared)
    return declared


def techniques_of(ladder: Ladder) -> list[Technique]:
    """Return the techniques of a ladder."""
    names = dict.fromkeys([*ladder.start, *(name for name, _ in ladder.steps.values())])
    return [find_technique(ladder.framework, name) for name in names]


def _ladder(framework: str, name: str, start: Mapping[str, str], steps: Mapping[str, Step], summary: str) -> Ladder:
    def apply(build: Build, level: str) -> Arm:
        held = {**start, **dict(_up_to(steps, level).values())}
        return apply_levels(framework, held, build)

    def tolerance(level: str) -> float:
        added = _up_to(steps, level).values()
        return _combine(find_technique(framework, technique).tolerance_at(at) for technique, at in added)

    def compiles(level: str) -> bool:
        held = {**start, **dict(_up_to(steps, level).values())}
        return any(at in find_technique(framework, technique).compiles for technique, at in held.items())

    return Ladder(
        name=name,
        framework=framework,
        levels=(START, *steps),
        summary=summary,
        group=join_groups(find_technique(framework, technique).group for technique, _ in steps.values()),
        apply=apply,
        tolerance={rung: tolerance(rung) for rung in steps},
        same_output=False,
        compiles=tuple(rung for rung in steps if compiles(rung)),
        start=start,
        steps=steps,
    )


def _up_to(steps: Mapping[str, Step], level: str) -> dict[str, Step]:
    """Return the steps from the lowest to that of a level; none for the start."""
    rungs = list(steps)
    return {rung: steps[rung] for rung in rungs[: rungs.index(level) + 1]} if level in steps else {}


def _combine(tolerances: Iterable[float]) -> float:
    return max(ROUNDING, sum(tolerance for tolerance in tolerances if tolerance > ROUNDING))
