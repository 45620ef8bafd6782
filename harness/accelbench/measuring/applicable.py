"""Which techniques apply to a workload, found from their declarations in a worker, without building an arm."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from accelbench.core import (
    AS_IS,
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
from accelbench.schema.reasons import Reason, reason, reason_of
from accelbench.text import format_levels

PRESENT = "program-has-this"  # the code of a reason


@dataclass(frozen=True, kw_only=True)
class Applicable:
    """A technique that applies to a workload, with the levels that can be set here, the baseline first.

    ``options`` are the workload's options that it sets. ``refused`` maps levels, or ``"*"`` for the whole technique, to
    the reason for which they are left out. ``present`` are the levels that a user's program has already, of which the
    baseline is ``"as-is"``, or the program's own number where that is no level. ``recipes`` are what a user of the
    program writes for levels, where the technique says something else.
    """

    technique: str
    levels: tuple[str, ...]
    options: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)
    present: tuple[str, ...] = ()
    recipes: Mapping[str, str] = field(default_factory=dict)

    @property
    def left_out(self) -> dict[str, str]:
        """The reasons for what is left out, by the technique, or by technique and level."""
        name = self.technique
        return {name if level == "*" else f"{name} {level}": why for level, why in self.refused.items()}


def applicable(trial: Trial, host: Host) -> list[Applicable]:
    """Return the techniques that apply to the trial's workload and that the trial does not hold fixed.

    A technique without a snippet is refused with the declared reason, or left out if none is declared. Techniques that
    are set when a process starts are left out, since only arms of one process can be compared in a search. If two
    techniques set the same option, the one that was declared first stays. The baseline of a user's program is the
    program as it stands, and what it has already is left out.

    Raises:
        BadInput: a user's program cannot be built, or has a recipe for something that is no technique.
    """
    register_techniques(*trial.techniques)
    workload = find_workload(trial.workload) if isinstance(trial.workload, str) else trial.workload
    program = Arm(step=nothing)
    if workload.is_program and workload.shared is not None:
        program = workload.build(replace(trial.setting, only_check=True), **trial.problem)
    check = partial(_check_program, program.own_numbers) if workload.is_program else _check
    taken = dict.fromkeys(trial.problem, "the workload's own setting")
    for name, level in trial.fixed.items():
        options, _ = try_level(find_technique(trial.framework, name), level, workload, trial)
        taken |= dict.fromkeys(options, name)
    techniques: list[Applicable] = []
    for technique in declared_for(trial.framework):
        has_advice = technique.snippet or technique.not_recommended
        if has_advice and technique.scope == "arm" and technique.name not in trial.fixed:
            techniques += check(technique, workload, host, taken, trial)
    for name in program.recipes:
        find_technique(trial.framework, name)
    return [replace(each, recipes=program.recipes.get(each.technique, {})) for each in techniques]


def _check(
    technique: Technique, workload: Workload, host: Host, taken: dict[str, str], trial: Trial
) -> Iterator[Applicable]:
    """Yield the technique if the workload accepts its baseline, and add its options to ``taken``."""
    baseline, *candidates = technique.levels_on(host)
    options, objection = try_level(technique, baseline, workload, trial)
    if objection:
        return
    refused: dict[str, str] = {}
    for level in candidates:
        more, objection = try_level(technique, level, workload, trial)
        options |= more
        why = str(objection) if objection else ""
        if isinstance(technique.same_output, tuple) and not technique.compared_at(level):
            why = "it computes something else"
        if why := technique.why_not_recommended(level) or why:
            refused[level] = why
    levels = (baseline, *(level for level in candidates if level not in refused))
    yield _take(Applicable(technique=technique.name, levels=levels, options=options, refused=refused), technique, taken)


def _check_program(
    own_numbers: Mapping[str, int],
    technique: Technique,
    workload: Workload,
    host: Host,
    taken: dict[str, str],
    trial: Trial,
) -> Iterator[Applicable]:
    """Yield the technique if it means anything to a user's program; every level is compared with the program's own."""
    if not technique.snippet:
        return
    if why := workload.superseded.get(technique.name):
        yield Applicable(technique=technique.name, levels=(), refused={"*": why})
        return
    options: frozenset[str] = frozenset()
    objections: dict[str, Reason | None] = {}
    for level in technique.levels_on(host):
        more, objection = try_level(technique, level, workload, trial)
        options |= more
        is_other = isinstance(technique.same_output, tuple) and not technique.compared_at(level)
        why = "it computes something else" if is_other else technique.why_not_recommended(level)
        objections[level] = objection or (reason("message", message=why) if why else None)
    codes = {objection.code if objection else "" for objection in objections.values()}
    if codes == {"no-option"}:
        return
    first = next(iter(objections))
    refused = {level: str(why) for level, why in objections.items() if why and why.code != PRESENT}
    is_refused = len(refused) == len(objections)
    if is_refused:
        refused = {"*": next(reversed(refused.values()))}
    elif not technique.snippet_at(first):  # the first level of a technique that switches something on is no advice
        refused.pop(first, None)
    present = tuple(level for level, why in objections.items() if why and why.code == PRESENT)
    found = Applicable(
        technique=technique.name,
        levels=(AS_IS, *(level for level, why in objections.items() if why is None)),
        options=options,
        refused=refused,
        present=present or tuple(str(own_numbers[option]) for option in own_numbers if options == {option}),
    )
    yield found if is_refused else _take(found, technique, taken)


def _take(found: Applicable, technique: Technique, taken: dict[str, str]) -> Applicable:
    """Return the technique without levels if it cannot be advised, else add its options to ``taken``."""
    if not technique.snippet:
        return replace(found, levels=(), refused={"*": technique.why_not_recommended("*")})
    if conflicts := sorted(found.options & taken.keys()):
        return replace(found, levels=(), refused={"*": f"{taken[conflicts[0]]} sets {conflicts[0]} already"})
    if len(found.levels) > 1:
        taken |= dict.fromkeys(found.options, technique.name)
    return found


def describe_present(present: Mapping[str, Sequence[str]]) -> str:
    """Return in a sentence the levels that a user's program already has, by technique."""
    return f"Your program already has {format_levels({name: ', '.join(levels) for name, levels in present.items()})}."


def try_level(
    technique: Technique, level: str, workload: Workload, trial: Trial
) -> tuple[frozenset[str], Reason | None]:
    """Return the options that a level sets, and why it does not apply, None if it does."""
    options: set[str] = set()

    def build(**given: Any) -> Arm:
        options.update(given)
        if unknown := sorted(given.keys() - workload.options):
            raise Unavailable(reason("no-option", workload=workload.name, option=repr(unknown[0])))
        if workload.is_program and workload.shared is None and given and given.items() <= _defaults(workload).items():
            raise Unavailable(reason("program-has-this"))
        if workload.is_program or workload.shared is not None:
            workload.build(replace(trial.setting, only_check=True), **{**trial.problem, **given})
        return Arm(step=nothing)

    try:
        technique.apply(build, level)
        if workload.is_program and technique.is_usual and technique.is_usual(level):
            raise Unavailable(reason("program-has-this"))
    except Unavailable as error:
        return frozenset(options), reason_of(error)
    except Exception:  # it needs the real arm, so measuring decides
        return frozenset(options), None
    return frozenset(options), None


def _defaults(workload: Workload) -> dict[str, Any]:
    """Return the values that a program's builder gives to its options by itself."""
    parameters = inspect.signature(workload.builder).parameters.values()
    return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}
