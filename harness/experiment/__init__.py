"""The vocabulary as types: workload, technique, arm, trial."""

from harness.experiment.arm import Arm
from harness.experiment.ladder import Ladder, ladder, techniques_of
from harness.experiment.look import Look
from harness.experiment.program import Program
from harness.experiment.technique import (
    ROUNDING,
    Build,
    Host,
    Technique,
    adopt,
    declared_for,
    find_technique,
    is_technique,
    stack,
    technique,
)
from harness.experiment.trial import Levels, Plan, Trial, named
from harness.experiment.work import Work
from harness.experiment.workload import Setting, Workload, declared_workloads, find_workload, register, workload

__all__ = [
    "ROUNDING",
    "Arm",
    "Build",
    "Host",
    "Ladder",
    "Levels",
    "Look",
    "Plan",
    "Program",
    "Setting",
    "Technique",
    "Trial",
    "Work",
    "Workload",
    "adopt",
    "declared_for",
    "declared_workloads",
    "find_technique",
    "find_workload",
    "is_technique",
    "ladder",
    "named",
    "register",
    "stack",
    "technique",
    "techniques_of",
    "workload",
]
