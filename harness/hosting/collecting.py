"""From collected tests to trials."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from harness.errors import BadInput
from harness.experiment import Ladder, Levels, Technique, find_technique
from harness.hosting.factorials import LevelsOf, arms_of, bundled, is_factorial
from harness.hosting.toggling import MARKER


@dataclass(frozen=True, kw_only=True)
class Collected:
    """A trial as the collected tests ask for it: one test function at one set of its other parameters.

    ``arms`` starts with the baseline, whether or not its test was selected. ``factorial`` says that they are to be
    taken apart together.
    """

    id: str
    module: str
    techniques: tuple[Technique, ...]
    arms: tuple[Levels, ...]
    factorial: bool = False

    @property
    def framework(self) -> str:
        """The framework whose techniques are toggled."""
        return self.techniques[0].framework


def fill_catalogue() -> None:
    """Import the techniques and workloads that accelbench brings."""
    import harness.techniques
    import harness.workloads  # noqa: F401  importing declares them


def toggled(node: pytest.Item | Any) -> tuple[Technique, ...]:
    """Return the techniques that a test switches, in the order in which the decorators are written.

    Raises:
        BadInput: a technique is unknown, or the decorators name several frameworks.
    """
    if is_factorial(node):
        return bundled(node)
    marks = [mark.kwargs for mark in node.iter_markers(MARKER)][::-1]
    if any(mark.keys() != {"framework", "technique"} for mark in marks):
        raise BadInput(
            f"{node.nodeid}: the mark names no framework and technique; use harness.toggles: @toggles('torch', 'amp')"
        )
    frameworks = sorted({mark["framework"] for mark in marks})
    if len(frameworks) > 1:
        raise BadInput(
            f"{node.nodeid}: toggles techniques of {' and '.join(frameworks)}; a trial runs in one framework"
        )
    return tuple(find_technique(mark["framework"], mark["technique"]) for mark in marks)


def parametrize(metafunc: pytest.Metafunc, techniques: Iterable[Technique], levels_of: LevelsOf) -> None:
    """Give the test one argument per technique, its levels as values."""
    techniques = list(techniques)
    if is_factorial(metafunc.definition):
        arms = arms_of(metafunc.definition, techniques, levels_of)
        ids = [_joined_id(levels) for levels in arms]
        metafunc.parametrize(list(arms[0]), [tuple(levels.values()) for levels in arms], ids=ids)
        return
    for technique in techniques:
        levels = levels_of(technique)
        ids = [_test_id(technique.name, level) for level in levels]
        metafunc.parametrize(technique.name, levels, ids=ids)


def gather(items: Iterable[pytest.Item], levels_of: LevelsOf) -> dict[str, Collected]:
    """Return the trial that each selected test belongs to, by node id."""
    trials: dict[str, Collected] = {}
    belongs: dict[str, str] = {}
    for item in items:
        techniques = toggled(item)
        if not techniques or not _will_measure(item):
            continue
        trial_id = _trial_id(item, techniques)
        if trial_id not in trials:
            baseline = _baseline(item, techniques, levels_of)
            trials[trial_id] = Collected(
                id=trial_id,
                module=item.path.stem,
                techniques=techniques,
                arms=(baseline,),
                factorial=is_factorial(item),
            )
        trial, levels = trials[trial_id], levels_in(item, techniques)
        if levels not in trial.arms:
            trials[trial_id] = replace(trial, arms=(*trial.arms, levels))
        belongs[item.nodeid] = trial_id
    whole = {trial_id: replace(trial, arms=_with_rungs_below(trial, levels_of)) for trial_id, trial in trials.items()}
    return {nodeid: whole[trial_id] for nodeid, trial_id in belongs.items()}


def _baseline(item: pytest.Item, techniques: Sequence[Technique], levels_of: LevelsOf) -> Levels:
    if is_factorial(item):
        return arms_of(item, techniques, levels_of)[0]
    return {technique.name: levels_of(technique)[0] for technique in techniques}


def _with_rungs_below(trial: Collected, levels_of: LevelsOf) -> tuple[Levels, ...]:
    """Return the arms with all rungs below those of a ladder: what a rung adds is told by what it is added to."""
    arms = list(trial.arms)
    for technique in trial.techniques:
        if isinstance(technique, Ladder):
            rungs = list(levels_of(technique))
            asked = [(arm, rungs.index(arm[technique.name])) for arm in arms]
            arms = [{**arm, technique.name: rung} for arm, highest in asked for rung in rungs[: highest + 1]]
    return tuple(arm for place, arm in enumerate(arms) if arm not in arms[:place])


def levels_in(item: pytest.Item, techniques: Iterable[Technique]) -> Levels:
    """Return the levels at which this test holds its techniques."""
    params = item.callspec.params  # type: ignore[attr-defined]  # every parametrised function has one
    return {technique.name: params[technique.name] for technique in techniques}


def _will_measure(item: pytest.Item) -> bool:
    skipped = item.get_closest_marker("skip") is not None or any(
        mark.args and not isinstance(mark.args[0], str) and bool(mark.args[0]) for mark in item.iter_markers("skipif")
    )
    return "measure" in getattr(item, "fixturenames", ()) and not skipped


def _trial_id(item: pytest.Item, techniques: Iterable[Technique]) -> str:
    """Return the node id without the levels: what is stable from run to run and machine to machine."""
    own: str = item.callspec.id  # type: ignore[attr-defined]  # every parametrised function has one
    toggles = _joined_id(levels_in(item, techniques))
    before, _, after = own.rpartition(toggles)
    rest = "-".join(part for part in (before.removesuffix("-"), after.removeprefix("-")) if part)
    return item.nodeid.removesuffix(f"[{own}]") + (f"[{rest}]" if rest else "")


def _joined_id(levels: Levels) -> str:
    return "-".join(_test_id(name, level) for name, level in levels.items())


def _test_id(technique: str, level: str) -> str:
    """Return an id that -k can select, such as ``amp-bf16`` or ``device-cuda0``."""
    return re.sub(r"[^A-Za-z0-9.+]+", "-", f"{technique}-{level.replace(':', '')}")
