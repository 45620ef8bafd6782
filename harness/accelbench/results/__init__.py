"""Result files -> one tidy table -> the findings of a run. No framework, no pytest, no GPU."""

from accelbench.results.arm_table import effects, tabulate_arms
from accelbench.results.findings import Findings
from accelbench.results.load import Result, find_explanation, find_newest, find_results
from accelbench.results.sweeps import LevelSweep, SizeSweep

__all__ = [
    "Findings",
    "LevelSweep",
    "Result",
    "SizeSweep",
    "effects",
    "find_explanation",
    "find_newest",
    "find_results",
    "tabulate_arms",
]
