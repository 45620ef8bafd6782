"""The vocabulary as types: workload, technique, arm, trial."""

from accelbench.core.arm import Arm, DeferredOutput, Work
from accelbench.core.ladder import Ladder, ladder, techniques_of
from accelbench.core.technique import (
    MAX_BATCH,
    ROUNDING,
    Build,
    Host,
    Technique,
    apply_all,
    declared_for,
    find_technique,
    is_technique,
    load_builtins,
    place_of_caller,
    register_techniques,
    technique,
)
from accelbench.core.trial import Contrast, Levels, OnProgress, Plan, Trial, against_baseline
from accelbench.core.workload import (
    Program,
    Setting,
    Workload,
    declared_workloads,
    find_workload,
    register_workload,
    workload,
)

__all__ = [
    "MAX_BATCH",
    "ROUNDING",
    "Arm",
    "Build",
    "Contrast",
    "DeferredOutput",
    "Host",
    "Ladder",
    "Levels",
    "OnProgress",
    "Plan",
    "Program",
    "Setting",
    "Technique",
    "Trial",
    "Work",
    "Workload",
    "against_baseline",
    "apply_all",
    "declared_for",
    "declared_workloads",
    "find_technique",
    "find_workload",
    "is_technique",
    "ladder",
    "load_builtins",
    "place_of_caller",
    "register_techniques",
    "register_workload",
    "technique",
    "techniques_of",
    "workload",
]
