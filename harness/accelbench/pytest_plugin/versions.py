"""A test made from callables: the shortest way to compare your own code in the suite."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from accelbench.core import ROUNDING, Arm, Build, Setting, Technique, Workload, place_of_caller, register_techniques
from accelbench.errors import BadInput, check_positive, is_real
from accelbench.frameworks.protocol import FRAMEWORKS
from accelbench.measuring.callables import require_callable, require_mapping
from accelbench.pytest_plugin.markers import toggles
from accelbench.text import hyphenate
from accelbench.units import plural


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

    ``test_square = accelbench.versions("square", {"power": lambda: x**2, "product": lambda: x * x})`` in a test module
    is the whole test. The callables must return the same values.

    Args:
        name: a Python name for the comparison, as it appears in reports.
        callables: the callables to compare, by the names that reports show.
        framework: the framework whose arrays they use: ``"numpy"``, ``"torch"``, ``"tensorflow"`` or ``"cupy"``.
        items: how many items one call processes.
        unit: what an item is, in the singular.
        tolerance: the relative error that a candidate's output may have.
        rebuild: the callables prepare their data and return the function to time, as in ``accelbench.compare``.

    Raises:
        BadInput: the name is not a Python name or is taken by another technique, there is nothing to compare, or a
            number is out of its range.
    """
    if not name.isidentifier():
        raise BadInput(f"versions was given the name {name!r}; expected a Python name, such as 'square'")
    require_mapping(callables, f"versions of {name}", f"versions({name!r}, …)")
    if len(callables) < 2:
        raise BadInput(f"versions of {name} has {plural(len(callables), 'callable')}; expected two or more, by name")
    if unnamed := [version for version in callables if not isinstance(version, str) or not version]:
        raise BadInput(
            f"versions of {name}: the name {unnamed[0]!r} is no text; name each callable by a text, such as 'product'"
        )
    for version, given in callables.items():
        require_callable(given, f"versions of {name}: {version!r}", is_builder=rebuild)
    if framework not in FRAMEWORKS:
        raise BadInput(f"versions of {name}: unknown framework {framework!r}; expected one of: {', '.join(FRAMEWORKS)}")
    check_positive(items, f"versions of {name}: items")
    if not (is_real(tolerance) and 0 <= tolerance < math.inf):
        raise BadInput(f"versions of {name}: tolerance must be a number from 0, and finite, got {tolerance!r}")

    def build_version(steps: Mapping[str, Callable[[], Any]], setting: Setting, *, version: str) -> Arm:  # noqa: ARG001  every builder is given the setting
        step = steps[version]
        return Arm.prepared(version, step, items) if rebuild else Arm(step=step, items=items)

    def apply(build: Build, level: str) -> Arm:
        return build(version=level)

    def test(measure: Callable[..., object]) -> None:
        measure(compared)

    summary = f"{name}: {' or '.join(callables)}"
    compared = Workload(
        name=hyphenate(name),
        frameworks=(framework,),
        unit=unit,
        summary=summary,
        builder=partial(build_version, callables),  # bound, so that their modules travel to the worker with it
    )
    technique = Technique(
        name=name,
        framework=framework,
        levels=tuple(callables),
        summary=summary,
        apply=apply,
        tolerance={"*": tolerance},
        snippet={version: f"call {version}" for version in callables},
        place=place_of_caller(),
    )
    register_techniques(technique)
    vars(test).update(compared=compared, techniques=(technique,))  # for callers that need no test, such as advice
    toggling: Callable[..., None] = toggles(framework, name)(test)
    return toggling
