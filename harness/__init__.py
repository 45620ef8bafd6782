"""accelbench: which acceleration techniques pay on this machine, by how much, at what price.

The names below are loaded when they are first used, so that importing the package stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.experiment import Arm, Setting, technique, workload
    from harness.hosting.toggling import toggles
    from harness.measuring.compare import Comparison, compare

__all__ = ["Arm", "Comparison", "Setting", "compare", "technique", "toggles", "workload"]

_HOMES = {
    "Arm": "harness.experiment",
    "Setting": "harness.experiment",
    "technique": "harness.experiment",
    "workload": "harness.experiment",
    "Comparison": "harness.measuring.compare",
    "compare": "harness.measuring.compare",
    "toggles": "harness.hosting.toggling",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
