"""A workload: what is computed, declared as a function that builds an arm."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from harness.errors import BadInput, Unavailable
from harness.experiment.arm import Arm

Size = Literal["small", "full"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a run hands to every workload: how large, on which data, from which seed."""

    size: Size = "small"
    seed: int = 0
    data_dir: Path | None = None
    cores: int = 1

    def choose(self, *, small: Any, full: Any) -> Any:
        """Return the value for this run's size: ``small`` fits two cores, ``full`` a data-centre GPU."""
        return full if self.size == "full" else small


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A named builder of arms. ``unit`` names the item that throughput counts, in the singular.

    It ``lacks`` what its builder offers to other workloads and means nothing to this one.
    """

    name: str
    frameworks: tuple[str, ...]
    unit: str
    summary: str
    builder: Callable[..., Arm]
    lacks: frozenset[str] = frozenset()

    @property
    def options(self) -> frozenset[str]:
        """Names of the options that it has: the keyword-only parameters of its builder, but for what it lacks."""
        parameters = inspect.signature(self.builder).parameters.values()
        return frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY) - self.lacks

    def build(self, setting: Setting, **options: Any) -> Arm:
        """Build an arm.

        Raises:
            Unavailable: an option is not one of this workload's, so the technique does not apply to it.
        """
        if unknown := sorted(options.keys() - self.options):
            raise Unavailable(
                f"workload {self.name} has no option {unknown[0]!r}, so this technique does not apply to it"
            )
        return self.builder(setting, **options)


_WORKLOADS: dict[str, Workload] = {}


def workload(
    *frameworks: str, unit: str, family: Callable[..., Arm] | None = None, lacks: Collection[str] = ()
) -> Callable[[Callable[..., Any]], Workload]:
    """Declare a workload; its name is the function's with dashes, its options are the keyword-only parameters.

    Args:
        frameworks: names of the adapters under which it runs, such as ``"torch"``.
        unit: the item that throughput counts, in the singular, such as ``"image"``.
        family: what builds the arms of several workloads, where what is declared only says in what they differ; it is
            given the declared function first, and has the options.
        lacks: those of its options that mean nothing here.
    """

    def declare(declared: Callable[..., Any]) -> Workload:
        return register(
            Workload(
                name=declared.__name__.replace("_", "-"),
                frameworks=frameworks,
                unit=unit,
                summary=(inspect.getdoc(declared) or "").split("\n")[0],
                builder=declared if family is None else partial(family, declared),
                lacks=frozenset(lacks),
            )
        )

    return declare


def register(declared: Workload) -> Workload:
    """Enter a workload into the catalogue and return it: for families of workloads that share a builder."""
    _WORKLOADS[declared.name] = declared
    return declared


def declared_workloads() -> tuple[Workload, ...]:
    """Return every declared workload, by name."""
    return tuple(_WORKLOADS[name] for name in sorted(_WORKLOADS))


def find_workload(name: str) -> Workload:
    """Return the declared workload of that name.

    Raises:
        BadInput: no workload has this name; the message lists those that exist.
    """
    try:
        return _WORKLOADS[name]
    except KeyError:
        known = ", ".join(sorted(_WORKLOADS)) or "none are declared"
        raise BadInput(f"unknown workload {name!r}; expected one of: {known}") from None
