"""accelbench: which acceleration techniques pay on this machine, by how much, at what price.

The names below are loaded when they are first used, so that importing the package stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.attribution.shares import Attribution
    from harness.experiment import Arm, Program, Setting, ladder, technique, workload
    from harness.hosting.toggling import factorial, toggles
    from harness.hosting.versions import versions
    from harness.measuring.attribute import attribute
    from harness.measuring.compare import Comparison, compare
    from harness.workloads.own import program

__all__ = [
    "Arm",
    "Attribution",
    "Comparison",
    "Program",
    "Setting",
    "attribute",
    "compare",
    "factorial",
    "ladder",
    "program",
    "technique",
    "toggles",
    "versions",
    "workload",
]

_HOMES = {
    "Arm": "harness.experiment",
    "Program": "harness.experiment",
    "Setting": "harness.experiment",
    "ladder": "harness.experiment",
    "technique": "harness.experiment",
    "workload": "harness.experiment",
    "Attribution": "harness.attribution.shares",
    "attribute": "harness.measuring.attribute",
    "Comparison": "harness.measuring.compare",
    "compare": "harness.measuring.compare",
    "program": "harness.workloads.own",
    "factorial": "harness.hosting.toggling",
    "toggles": "harness.hosting.toggling",
    "versions": "harness.hosting.versions",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
