"""Marked tests become parametrised tests, and collected tests become trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest

from accelbench.core import Host, Ladder, Levels, Technique, find_technique
from accelbench.errors import BadInput
from accelbench.pytest_plugin.markers import FACTORIAL, TOGGLES, SwitchedOn
from accelbench.text import format_test_id

FIXTURES = frozenset(("benchmark", "measure", "request"))  # which a test or the fixture measure takes


@dataclass(frozen=True, kw_only=True)
class ToggledTest:
    """A test function's techniques, and its arms on this machine, the baseline first.

    ``factorial`` is true if the test estimates the effect of each technique.
    """

    techniques: tuple[Technique, ...]
    arms: tuple[Levels, ...]
    factorial: bool

    def arms_below(self, arm: Levels) -> list[Levels]:
        """Return an arm, preceded by the rungs below it on a ladder, with which it is compared."""
        arms = [arm]
        for technique in self.techniques:
            if isinstance(technique, Ladder):
                rungs = list(dict.fromkeys(each[technique.name] for each in self.arms))
                arms = [
                    {**each, technique.name: rung}
                    for each in arms
                    for rung in rungs[: rungs.index(each[technique.name]) + 1]
                ]
        return arms


@dataclass(frozen=True, kw_only=True)
class TrialSpec:
    """A trial as the collected tests request it: one test function at one set of its other parameters.

    ``arms`` begins with the baseline, even if its test was not selected.
    """

    id: str
    module: str
    techniques: tuple[Technique, ...]
    arms: tuple[Levels, ...]
    factorial: bool

    @property
    def framework(self) -> str:
        """The framework whose techniques are toggled."""
        return self.techniques[0].framework


def techniques_of_test(node: Any) -> tuple[Technique, ...]:
    """Return the techniques that a test switches, in the order in which the decorators are written.

    Raises:
        BadInput: a technique or its framework is unknown, a technique has the name of a fixture, the marks cannot be
            combined, or the test does not take ``measure``.
    """
    if "measure" not in node.fixturenames and not _is_skipped(node):
        raise BadInput(
            f"{node.nodeid}: switches techniques and does not take measure, so nothing would be measured; take measure "
            "as an argument and call it, as in measure('cnn-train')"
        )
    factorial = node.get_closest_marker(FACTORIAL) is not None
    techniques = _techniques_of_factorial(node) if factorial else _techniques_of_toggles(node)
    if taken := sorted(FIXTURES.intersection(each.name for each in techniques)):
        raise BadInput(
            f"{node.nodeid}: a test that switches the technique {taken[0]!r} cannot take the fixture of that name; "
            "give the technique another name"
        )
    return techniques


def _techniques_of_toggles(node: Any) -> tuple[Technique, ...]:
    marks = [mark.kwargs for mark in node.iter_markers(TOGGLES)][::-1]
    if any(mark.keys() - {"levels"} != {"framework", "technique"} for mark in marks):
        raise BadInput(f"{node.nodeid}: the mark names no framework and technique; use @toggles('torch', 'amp')")
    frameworks = sorted({mark["framework"] for mark in marks})
    if len(frameworks) > 1:
        raise BadInput(
            f"{node.nodeid}: toggles techniques of {' and '.join(frameworks)}; a trial runs in one framework"
        )
    return tuple(_find_technique(node, mark["framework"], mark["technique"]) for mark in marks)


def _techniques_of_factorial(node: Any) -> tuple[Technique, ...]:
    mark = node.get_closest_marker(FACTORIAL).kwargs
    if mark.keys() != {"framework", "on"} or not mark["on"]:
        raise BadInput(
            f"{node.nodeid}: the mark names no framework and levels; use accelbench.factorial: "
            "@factorial('torch', amp='bf16', memory_format='channels-last')"
        )
    if node.get_closest_marker(TOGGLES) is not None:
        raise BadInput(f"{node.nodeid}: a factorial has all techniques that it switches; leave out @toggles")
    return tuple(_find_technique(node, mark["framework"], name) for name in mark["on"])


def _find_technique(node: Any, framework: str, name: str) -> Technique:
    """Return a technique that a test switches.

    Raises:
        BadInput: it is not declared, or it is declared for something that is no framework; the message names the test.
    """
    from accelbench.frameworks.protocol import FRAMEWORKS  # here, since it loads NumPy, which few sessions need

    found = find_technique(framework, name, who=node.nodeid)
    if framework not in FRAMEWORKS:
        raise BadInput(
            f"{node.nodeid}: technique {name} is declared for {framework!r:.80} ({found.place}), which is no "
            f"framework; expected one of: {', '.join(FRAMEWORKS)}"
        )
    return found


def parametrize(metafunc: pytest.Metafunc, techniques: Sequence[Technique], host: Host) -> ToggledTest:
    """Parametrise a test with its arms, and return them.

    The test need not take the levels as arguments.

    Raises:
        BadLevels: the levels of a technique cannot be offered.
        BadInput: a factorial has too few or too many techniques, or a technique has no such level.
    """
    # pytest parametrises only what a test takes as an argument or through a fixture.
    metafunc.fixturenames.extend(each.name for each in techniques if each.name not in metafunc.fixturenames)
    mark = metafunc.definition.get_closest_marker(FACTORIAL)
    if mark is not None:
        arms = _factorial_arms(metafunc.definition.nodeid, techniques, mark.kwargs["on"], host)
        ids = [format_test_id(arm) for arm in arms]
        metafunc.parametrize([each.name for each in techniques], [tuple(arm.values()) for arm in arms], ids=ids)
        return ToggledTest(techniques=tuple(techniques), arms=tuple(arms), factorial=True)
    chosen = {
        kwargs["technique"]: kwargs.get("levels", ())
        for kwargs in (each.kwargs for each in metafunc.definition.iter_markers(TOGGLES))
    }
    levels = {
        technique.name: _levels_to_compare(metafunc.definition.nodeid, technique, chosen[technique.name], host)
        for technique in techniques
    }
    for name, offered in levels.items():
        metafunc.parametrize(name, offered, ids=[format_test_id({name: level}) for level in offered])
    combined = tuple(dict(zip(levels, arm, strict=True)) for arm in product(*levels.values()))
    return ToggledTest(techniques=tuple(techniques), arms=combined, factorial=False)


def _levels_to_compare(nodeid: str, technique: Technique, chosen: Sequence[str], host: Host) -> tuple[str, ...]:
    """Return the levels that a test chooses, or else all that the machine offers."""
    if not chosen:
        return technique.levels_on(host)
    if isinstance(chosen, str):
        raise BadInput(f"{nodeid}: the levels of {technique.name} are the text {chosen!r}; expected a tuple of texts")
    levels = replace(technique, levels=tuple(chosen)).levels_on(host)
    technique.require_levels(levels, nodeid)
    return levels


def parametrize_without_levels(metafunc: pytest.Metafunc, techniques: Sequence[Technique]) -> None:
    """Parametrise a test whose levels cannot be offered, so that it runs once, as a test that cannot be measured."""
    for each in techniques:
        metafunc.parametrize(each.name, [""], ids=["no-level"])


def _factorial_arms(
    nodeid: str, techniques: Sequence[Technique], on: Mapping[str, SwitchedOn], host: Host
) -> list[Levels]:
    from accelbench.attribution import design  # here, since it loads NumPy, which few sessions need

    pairs = {technique.name: _off_and_on(nodeid, technique, on[technique.name], host) for technique in techniques}
    return [
        {name: pair[switched] for (name, pair), switched in zip(pairs.items(), row, strict=True)}
        for row in design(len(techniques))
    ]


def _off_and_on(nodeid: str, technique: Technique, on: SwitchedOn, host: Host) -> tuple[str, ...]:
    """Return a technique's level when it is off, and its level when it is on."""
    pair: tuple[str, ...]
    if isinstance(on, str):
        pair, refusal = (technique.levels_on(host)[0], on), f"on at {on!r}; expected one of"
    else:
        pair = tuple(replace(technique, levels=on).levels_on(host))
        refusal = f"between {' and '.join(map(repr, pair))}; expected two of"
    # A level that depends on the machine is not refused: the arm is skipped with a reason if the machine lacks it.
    known = technique.levels if isinstance(technique.levels, tuple) else pair
    if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(known):
        others = known[1:] if isinstance(on, str) else known
        raise BadInput(f"{nodeid}: {technique.name} cannot be switched {refusal}: {', '.join(others)}")
    return pair


def collect_trials(items: Iterable[pytest.Item], tests: Mapping[str, ToggledTest]) -> dict[str, TrialSpec]:
    """Return the trial that each selected test belongs to, by node id.

    ``tests`` has the parametrised test functions by their node id.
    """
    trials: dict[str, TrialSpec] = {}
    trial_ids: dict[str, str] = {}
    for item in items:
        test = tests.get(function_id(item))
        if test is None or not _will_measure(item):
            continue
        trial_id = _trial_id(item, test.techniques)
        trial = trials.get(trial_id) or TrialSpec(
            id=trial_id,
            module=item.path.stem,
            techniques=test.techniques,
            arms=test.arms[:1],
            factorial=test.factorial,
        )
        arms = [*trial.arms, *test.arms_below(arm_of(item, test.techniques))]
        trials[trial_id] = replace(trial, arms=tuple(arm for place, arm in enumerate(arms) if arm not in arms[:place]))
        trial_ids[item.nodeid] = trial_id
    return {nodeid: trials[trial_id] for nodeid, trial_id in trial_ids.items()}


def arm_of(item: pytest.Item, techniques: Iterable[Technique]) -> Levels:
    """Return the levels of the techniques in this test."""
    params = item.callspec.params  # type: ignore[attr-defined]  # every parametrised function has one
    return {technique.name: params[technique.name] for technique in techniques}


def _will_measure(item: pytest.Item) -> bool:
    return "measure" in getattr(item, "fixturenames", ()) and not _is_skipped(item)


def _is_skipped(node: Any) -> bool:
    """Return whether a mark skips a test, as far as that is known before it runs."""
    return node.get_closest_marker("skip") is not None or any(
        mark.args and not isinstance(mark.args[0], str) and bool(mark.args[0]) for mark in node.iter_markers("skipif")
    )


def function_id(item: pytest.Item) -> str:
    """Return the node id of a test's function, without its parameters."""
    callspec = getattr(item, "callspec", None)
    return item.nodeid.removesuffix(f"[{callspec.id}]") if callspec else item.nodeid


def _trial_id(item: pytest.Item, techniques: Iterable[Technique]) -> str:
    """Return the node id without the levels, which stays the same from run to run and machine to machine."""
    own: str = item.callspec.id  # type: ignore[attr-defined]  # every parametrised function has one
    before, _, after = own.rpartition(format_test_id(arm_of(item, techniques)))
    rest = "-".join(part for part in (before.removesuffix("-"), after.removeprefix("-")) if part)
    return function_id(item) + (f"[{rest}]" if rest else "")
