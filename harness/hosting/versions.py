"""A test made of callables: the shortest way to have the suite compare code of one's own."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

from harness.errors import BadInput
from harness.experiment import ROUNDING, Arm, Build, Setting, Technique, Workload, adopt
from harness.frameworks.protocol import FRAMEWORKS
from harness.hosting.toggling import toggles


def versions(
    name: str,
    callables: Mapping[str, Callable[[], Any]],
    *,
    framework: str = "numpy",
    items: float = 1,
    unit: str = "call",
    tolerance: float = ROUNDING,
    rebuild: bool = False,
) -> Callable[..., None]:
    """Return a test in which pytest compares callables without arguments, the first of which is the baseline.

    ``test_square = harness.versions("square", {"power": lambda: x**2, "product": lambda: x * x})`` in a test module
    is all that there is to write. The callables must give the same output.

    Args:
        name: what is computed, a Python name; reports call the comparison by it.
        callables: what is compared, by names as they shall stand in reports.
        framework: whose arrays they compute with: ``"numpy"``, ``"torch"``, ``"tensorflow"`` or ``"cupy"``.
        items: how many items one call processes.
        unit: what an item is, in the singular.
        tolerance: the relative error that a candidate's output may have.
        rebuild: the callables prepare their data and return what is to be timed, as in ``harness.compare``.

    Raises:
        BadInput: the name is no Python name, or there is nothing to compare.
    """
    if not name.isidentifier():
        raise BadInput(f"versions was given the name {name!r}; expected a Python name, such as 'square'")
    if len(callables) < 2:
        raise BadInput(f"versions of {name} has {len(callables)} callables; expected two or more, by their names")
    if wrong := [version for version, given in callables.items() if not callable(given)]:
        raise BadInput(f"versions of {name}: {wrong[0]!r} is not callable; give a function without arguments")
    if framework not in FRAMEWORKS:
        raise BadInput(f"versions of {name}: unknown framework {framework!r}; expected one of: {', '.join(FRAMEWORKS)}")

    def builder(setting: Setting, *, version: str) -> Arm:  # noqa: ARG001  every builder is given the setting
        given = callables[version]
        return Arm.prepared(version, given, items) if rebuild else Arm(step=given, items=items)

    def apply(build: Build, level: str) -> Arm:
        return build(version=level)

    def test(**fixtures: Any) -> None:
        fixtures["measure"](compared, **{name: fixtures[name]})

    home = sys._getframe(1).f_globals["__name__"]  # noqa: SLF001  as namedtuple does: where they are written down, with which they travel
    builder.__module__ = apply.__module__ = test.__module__ = home
    summary = f"{name}: {' or '.join(callables)}"
    compared = Workload(
        name=name.replace("_", "-"), frameworks=(framework,), unit=unit, summary=summary, builder=builder
    )
    technique = Technique(
        name=name,
        framework=framework,
        levels=tuple(callables),
        summary=summary,
        apply=apply,
        tolerance={"*": tolerance},
        recipe={version: f"call {version}" for version in callables},
    )
    adopt(technique)
    vars(test).update(compared=compared, techniques=(technique,))  # for those who want no test, such as advice
    arguments = [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in ("measure", name)]
    test.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]  # pytest reads it
    toggling: Callable[..., None] = toggles(framework, name)(test)
    return toggling
