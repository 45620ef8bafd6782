"""What two environments differ in, in words, and what of it may be named as the cause of a change.

`differences` compares two runs or two sets of runs, given as rows of a history's runs. What it returns is told by
`grouped` (all of it, by what it belongs to), `in_words` (what may have changed the numbers, for the end of a sentence),
`named` (the one thing that may be named, or what is confounded) and `what_would_separate` (the runs that would tell
confounded things apart). Readings, such as clocks and temperatures, are never compared.

What a run does not tell is no difference: one that used no TensorFlow says nothing about TensorFlow. A variable of the
environment is the exception, for all of those that matter are recorded, so that one that is missing was not set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import pandas as pd

from harness import units
from harness.reading.history.environments.fields import (
    UNSET,
    VARIABLES,
    Facts,
    Field,
    Group,
    facts,
    field,
    tells_of_configuration,
)

Runs = pd.DataFrame | pd.Series | Mapping[str, Any]  # rows of a history's runs, or one of them
Kind = Literal["changed", "mixed", "varied", "added", "removed"]
_FEW = 3  # values, fields or runs that a sentence names


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A field in which two sides differ, with the values that the runs of either side tell.

    ``kind`` is one of these:

    - changed: one value before, another one after
    - mixed: the runs of a side do not share one value, and the sides differ
    - varied: the runs of both sides have the same several values
    - added, removed: only one side tells it

    ``weighs`` says whether it may be what changed the numbers: so not where only one side tells it, where it says no
    more than how hard was measured, or where it follows from another difference, as a wheel's cuDNN from its version.
    """

    field: Field
    kind: Kind
    before: tuple[str, ...]
    after: tuple[str, ...]
    weighs: bool

    @property
    def group(self) -> Group:
        """What the field belongs to: hardware, driver, framework or settings."""
        return self.field.group

    @property
    def words(self) -> str:
        """The difference as one line, such as ``torch 2.11.0 → 2.13.0``."""
        if self.kind == "changed":
            return self.field.changed(self.before[0], self.after[0])
        if self.kind == "varied":
            return f"{self._several(self.before)} on both sides"
        if self.kind == "mixed":
            return f"{self._several(self.before)} before, {self._several(self.after, again=True)} after"
        when = "after" if self.kind == "added" else "before"
        return f"{self._several(self.after or self.before)} (told only {when})"

    def _several(self, values: Sequence[str], *, again: bool = False) -> str:
        more = [f"{units.count(len(values) - _FEW)} more"] if len(values) > _FEW else []
        listed = _listed([*map(self.field.written, values[:_FEW]), *more])
        return f"{'' if again else self.field.before}{listed}{self.field.after}"


def rows(runs: Runs) -> list[Mapping[str, Any]]:
    """Return rows of a history's runs as mappings, in their order."""
    if isinstance(runs, pd.DataFrame):
        return [dict(zip(runs.columns, row, strict=True)) for row in runs.itertuples(index=False)]
    return [runs]  # type: ignore[list-item]  # a row of a table is read like a mapping


def differences(before: Runs, after: Runs, framework: str = "") -> tuple[Difference, ...]:
    """Return what two runs or sets of runs differ in, hardware first.

    With a framework, fields that concern the arms of another one alone are left out.
    """
    sides = [facts(run) for run in rows(before)], [facts(run) for run in rows(after)]
    keys = sorted({key for side in sides for told in side for key in told})
    found = [each for key in keys if (each := _difference(field(key), *sides, framework)) is not None]
    moved = {each.field.key for each in found if each.kind in ("changed", "mixed")}
    weighed = [replace(each, weighs=each.weighs and moved.isdisjoint(each.field.follows)) for each in found]
    return tuple(sorted(weighed, key=lambda each: get_args(Group).index(each.group)))


def causes(found: Sequence[Difference]) -> list[Difference]:
    """Return the differences that may be what changed the numbers."""
    return [each for each in found if each.weighs]


def grouped(found: Sequence[Difference]) -> dict[Group, list[str]]:
    """Return all differences in words, by what they belong to; what has none is left out."""
    groups: dict[Group, list[str]] = {}
    for each in found:
        groups.setdefault(each.group, []).append(each.words)
    return groups


def in_words(found: Sequence[Difference]) -> str:
    """Return what may have changed the numbers, such as ``NVIDIA driver 570.124 → 580.65``."""
    said = [each.words for each in causes(found)]
    more = len(said) - _FEW
    return "; ".join([*said[:_FEW], *([f"{more} more"] if more > 0 else [])]) or "nothing known changed"


def named(found: Sequence[Difference]) -> str:
    """Return what may be named: exactly one changed field, such as ``since driver 580.65``; else that none may."""
    blamed = causes(found)
    if not blamed:
        return "nothing known changed"
    if len(blamed) > 1:
        names = list(dict.fromkeys(each.field.name for each in blamed))
        more = [f"{len(names) - _FEW} more"] if len(names) > _FEW else []
        return f"confounded: {_listed([*names[:_FEW], *more])} changed together"
    (only,) = blamed
    return f"since {_named(only.field, only.after[0])}" if only.kind == "changed" else f"unclear: {only.words}"


def what_would_separate(before: Runs, after: Runs, framework: str = "") -> str:
    """Return the runs that would tell confounded changes apart, "" where nothing is confounded.

    They go from one side to the other, one change at a time: n changes need n - 1 runs. What the runs of a side do not
    share is left out. Hardware is taken as one, for nobody can exchange a processor and keep its cores.
    """
    changed = [each for each in causes(differences(before, after, framework)) if each.kind == "changed"]
    hardware = [each for each in changed if each.group == "hardware"]
    steps = [*([hardware] if hardware else []), *([each] for each in changed if each not in hardware)]
    runs = [
        _listed([*_held(steps[:place], "after"), *_held(steps[place:], "before")]) for place in range(1, len(steps))
    ]
    if not runs:
        return ""
    more = f", and {units.count(len(runs) - _FEW)} more, one change at a time" if len(runs) > _FEW else ""
    return f"{', '.join(f'a run with {run}' for run in runs[:_FEW])}{more}"


def _difference(each: Field, before: list[Facts], after: list[Facts], framework: str) -> Difference | None:
    """Return the difference in one field, None where there is none."""
    if not each.concerns(framework):
        return None
    sides = [_values(each, side) for side in (before, after)]
    if not (sides[0] and sides[1]) and not (_tells(each, before) and _tells(each, after)):
        return None
    kind = _kind(*sides)
    if kind is None:
        return None
    weighs = kind in ("changed", "mixed") and not each.effort
    return Difference(field=each, kind=kind, before=sides[0], after=sides[1], weighs=weighs)


def _kind(before: tuple[str, ...], after: tuple[str, ...]) -> Kind | None:
    if not (before and after):
        if not any(before + after):  # that there is none is no news
            return None
        return "removed" if before else "added"
    if before == after:
        return "varied" if len(before) > 1 else None
    return "changed" if len(before) == len(after) == 1 else "mixed"


def _values(each: Field, side: list[Facts]) -> tuple[str, ...]:
    """Return the values that the runs of a side tell, each once."""
    variable = each.key.startswith(VARIABLES)
    told = [found for found in side if each.key in found or (variable and tells_of_configuration(found))]
    return tuple(sorted({found.get(each.key, UNSET) for found in told}))


def _tells(each: Field, side: list[Facts]) -> bool:
    """Say whether any run of a side tells of the framework that a field belongs to."""
    return not each.framework or any(field(key).framework == each.framework for told in side for key in told)


def _held(steps: Sequence[Sequence[Difference]], side: Literal["before", "after"]) -> Iterator[str]:
    for step in steps:
        if step[0].group == "hardware" and len(step) > 1:
            yield f"the hardware of {side}"
        else:
            yield from (_named(each.field, getattr(each, side)[0]) for each in step)


def _named(each: Field, value: str) -> str:
    """Return a field with its value, under its short name, such as ``driver 580.65``."""
    return f"{each.name} {each.written(value)}" if each.before else each.with_value(value)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
