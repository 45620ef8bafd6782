"""A technique: one thing that a user can switch, declared once, in about ten lines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from harness.errors import BadInput
from harness.experiment.arm import Arm

Build = Callable[..., Arm]

ROUNDING = 1e-4  # relative error that a different order of the same float32 operations may cost


@dataclass(frozen=True, kw_only=True)
class Host:
    """What the levels of a technique may depend on: this machine's parts and the run's limits."""

    cores: int = 1
    accelerators: tuple[str, ...] = ()
    size: str = "small"
    max_batch: int = 64
    max_workers: int = 1


class Levels(Protocol):
    """Levels that depend on the machine."""

    def __call__(self, host: Host) -> tuple[str, ...]:
        """Return the levels on this machine, baseline first."""


@dataclass(frozen=True, kw_only=True)
class Technique:
    """A switch with named levels, the first of which is the baseline.

    ``tolerance`` maps a level, or ``"*"`` for every candidate level, to the relative numeric error, against the
    baseline, that it may cost. ``same_output`` is false where levels compute different things by design, as batch
    sizes do, or names those that compute the same; the outputs of the others are checked for themselves only.
    ``environment`` maps a level to the variables with which its worker process must start; a technique
    that has any is compared between workers. ``resources`` returns how many cores, processes or devices a level puts to
    work, where that is what the technique switches; a speedup that is larger than their growth is doubtful.
    ``recipe`` maps a level, or ``"*"`` for every one, to what a user writes for it into a program, in which
    ``{level}`` stands for the level and ``{device}`` for a device's kind; a level without one is never advised, for the
    reason that ``unadvised`` gives for it, or for ``"*"``. ``slow_start`` names levels that are compiled when they are
    first called, for seconds or minutes. ``grows`` says that levels are numbers, of which a larger one takes more
    memory: where one ran out of it, larger ones are not tried.
    """

    name: str
    framework: str
    levels: tuple[str, ...] | Levels
    summary: str
    apply: Callable[[Build, str], Arm]
    tolerance: Mapping[str, float] = field(default_factory=dict)
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    resources: Callable[[str], int] | None = None
    same_output: bool | tuple[str, ...] = True
    recipe: Mapping[str, str] = field(default_factory=dict)
    unadvised: Mapping[str, str] = field(default_factory=dict)
    slow_start: tuple[str, ...] = ()
    grows: bool = False

    def compared_at(self, level: str) -> bool:
        """Say whether this level must compute what the baseline computes."""
        return level in self.same_output if isinstance(self.same_output, tuple) else self.same_output

    def computes(self, level: str) -> str:
        """Return a name for what a candidate level computes, "" for the same as the baseline: one name, one output."""
        return "" if self.compared_at(level) else level

    def tolerance_at(self, level: str) -> float:
        """Return the relative numeric error that this level may cost."""
        return self.tolerance.get(level, self.tolerance.get("*", ROUNDING))

    def recipe_at(self, level: str, device: str = "cpu") -> str:
        """Return what a user writes for this level, "" where nothing is to be changed."""
        written = self.recipe.get(level, self.recipe.get("*", ""))
        return written.replace("{level}", level).replace("{device}", device)

    def unadvised_at(self, level: str) -> str:
        """Return why this level is never advised, "" where nothing speaks against it."""
        if level in self.recipe or "*" in self.recipe:
            return ""
        return self.unadvised.get(level, self.unadvised.get("*", "its declaration does not say what to write for it"))

    @property
    def scope(self) -> Literal["arm", "process"]:
        """Whether both levels can live in one process."""
        return "process" if self.environment else "arm"

    def levels_on(self, host: Host) -> tuple[str, ...]:
        """Return the levels offered on this machine, baseline first."""
        return self.levels(host) if callable(self.levels) else self.levels


_TECHNIQUES: dict[tuple[str, str], Technique] = {}


def technique(
    framework: str,
    *,
    levels: tuple[str, ...] | Levels,
    tolerance: Mapping[str, float] | None = None,
    environment: Mapping[str, Mapping[str, str]] | None = None,
    resources: Callable[[str], int] | None = None,
    same_output: bool | tuple[str, ...] = True,
    recipe: Mapping[str, str] | None = None,
    unadvised: Mapping[str, str] | None = None,
    slow_start: tuple[str, ...] = (),
    grows: bool = False,
) -> Callable[[Callable[[Build, str], Arm]], Technique]:
    """Declare a technique; its name is the function's, its summary the docstring's first line.

    The function receives ``build``, which takes the workload's options and returns an :class:`Arm`, and
    the level. It passes an option on, or wraps the arm it gets with :meth:`Arm.inside`.
    """

    def declare(apply: Callable[[Build, str], Arm]) -> Technique:
        declared = Technique(
            name=apply.__name__,
            framework=framework,
            levels=levels,
            summary=(inspect.getdoc(apply) or "").split("\n")[0],
            apply=apply,
            tolerance=tolerance or {},
            environment=environment or {},
            resources=resources,
            same_output=same_output,
            recipe=recipe or {},
            unadvised=unadvised or {},
            slow_start=slow_start,
            grows=grows,
        )
        adopt(declared)
        return declared

    return declare


def adopt(*declared: Technique) -> None:
    """Enter techniques into the catalogue, such as those that came to a worker with a trial."""
    for each in declared:
        _TECHNIQUES[each.framework, each.name] = each


def find_technique(framework: str, name: str) -> Technique:
    """Return the declared technique.

    Raises:
        BadInput: the framework has no technique of this name; the message lists those it has.
    """
    try:
        return _TECHNIQUES[framework, name]
    except KeyError:
        known = ", ".join(sorted(n for f, n in _TECHNIQUES if f == framework)) or "none are declared"
        raise BadInput(f"unknown technique {name!r} for {framework}; expected one of: {known}") from None


def declared_for(framework: str) -> tuple[Technique, ...]:
    """Return the framework's techniques in the order in which they were declared."""
    return tuple(each for (of, _), each in _TECHNIQUES.items() if of == framework)


def is_technique(framework: str, name: str) -> bool:
    """Say whether the framework has a technique of this name."""
    return (framework, name) in _TECHNIQUES


def stack(techniques: Iterable[tuple[Technique, str]], build: Build) -> Arm:
    """Build an arm with every technique applied at its level, the first one outermost."""
    for switch, level in reversed(list(techniques)):
        build = _wrapped(switch, level, build)
    return build()


def _wrapped(switch: Technique, level: str, build: Build) -> Build:
    def wrapped(**options: Any) -> Arm:
        def inner(**more: Any) -> Arm:
            return build(**options, **more)

        return switch.apply(inner, level)

    return wrapped
