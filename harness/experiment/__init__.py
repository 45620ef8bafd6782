"""The vocabulary as types: workload, technique, arm, trial."""

from harness.experiment.arm import Arm
from harness.experiment.look import Look
from harness.experiment.technique import (
    ROUNDING,
    Build,
    Host,
    Technique,
    adopt,
    find_technique,
    is_technique,
    stack,
    technique,
)
from harness.experiment.trial import Levels, Plan, Trial
from harness.experiment.work import Work
from harness.experiment.workload import Setting, Workload, find_workload, register, workload

__all__ = [
    "ROUNDING",
    "Arm",
    "Build",
    "Host",
    "Levels",
    "Look",
    "Plan",
    "Setting",
    "Technique",
    "Trial",
    "Work",
    "Workload",
    "adopt",
    "find_technique",
    "find_workload",
    "is_technique",
    "register",
    "stack",
    "technique",
    "workload",
]
