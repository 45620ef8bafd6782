"""accelbench: which acceleration techniques pay on this machine, by how much, at what price.

Names are loaded when they are first used, so that importing the package stays light. `find_results`, `tabulate_arms`
and `effects` read saved runs and need the extra `report`; they are not part of ``from accelbench import *``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accelbench.attribution import Attribution, FactorialEffect
    from accelbench.core.arm import Arm, DeferredOutput, Work
    from accelbench.core.ladder import Ladder, ladder
    from accelbench.core.technique import Build, Host, Technique, technique
    from accelbench.core.workload import ArrayProgram, KerasProgram, Program, Setting, Workload, workload
    from accelbench.errors import AccelbenchError, BadInput, Unavailable
    from accelbench.measuring.attribute import attribute
    from accelbench.measuring.compare import CandidateResult, Comparison, compare
    from accelbench.pytest_plugin.markers import factorial, toggles
    from accelbench.pytest_plugin.versions import versions
    from accelbench.results import effects as effects
    from accelbench.results import find_results as find_results
    from accelbench.results import tabulate_arms as tabulate_arms
    from accelbench.workloads.arrays.user_program import array_program
    from accelbench.workloads.tensorflow.user_program import keras_program
    from accelbench.workloads.torch.training_libraries import from_accelerate, from_lightning, from_trainer
    from accelbench.workloads.torch.user_program import program

__all__ = [
    "AccelbenchError",
    "Arm",
    "ArrayProgram",
    "Attribution",
    "BadInput",
    "Build",
    "CandidateResult",
    "Comparison",
    "DeferredOutput",
    "FactorialEffect",
    "Host",
    "KerasProgram",
    "Ladder",
    "Program",
    "Setting",
    "Technique",
    "Unavailable",
    "Work",
    "Workload",
    "array_program",
    "attribute",
    "compare",
    "factorial",
    "from_accelerate",
    "from_lightning",
    "from_trainer",
    "keras_program",
    "ladder",
    "program",
    "technique",
    "toggles",
    "versions",
    "workload",
]

_READING = ("effects", "find_results", "tabulate_arms")
_MODULES = {
    "core": (
        *("Arm", "ArrayProgram", "Build", "DeferredOutput", "Host", "KerasProgram", "Ladder", "Program", "Setting"),
        *("Technique", "Work", "Workload", "ladder", "technique", "workload"),
    ),
    "errors": ("AccelbenchError", "BadInput", "Unavailable"),
    "attribution": ("Attribution", "FactorialEffect"),
    "measuring.attribute": ("attribute",),
    "measuring.compare": ("CandidateResult", "Comparison", "compare"),
    "pytest_plugin.markers": ("factorial", "toggles"),
    "pytest_plugin.versions": ("versions",),
    "results": _READING,
    "workloads.arrays.user_program": ("array_program",),
    "workloads.tensorflow.user_program": ("keras_program",),
    "workloads.torch.training_libraries": ("from_accelerate", "from_lightning", "from_trainer"),
    "workloads.torch.user_program": ("program",),
}
_MODULE_OF = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}

if not TYPE_CHECKING:  # or a type checker would accept every name

    def __getattr__(name: str) -> Any:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return getattr(import_module(_MODULE_OF[name]), name)
        except ModuleNotFoundError as error:
            if name not in _READING:
                raise
            from accelbench.errors import Unavailable

            raise Unavailable(
                f"accelbench.{name} needs {error.name}, which is not installed; install it: "
                "pip install 'accelbench[report]'"
            ) from None


def __dir__() -> list[str]:
    return sorted(__all__)
