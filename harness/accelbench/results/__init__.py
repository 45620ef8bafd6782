"""Result files -> one tidy table -> the findings of a run. No framework, no pytest, no GPU."""

from accelbench.results.arm_table import effects, tabulate_arms
from accelbench.results.bottleneck import Bottleneck, bottlenecks
from accelbench.results.findings import Findings
from accelbench.results.load import Found, Result, find_explanation, find_newest, find_results
from accelbench.results.sweeps import LevelSweep, SizeSweep, level_sweeps, size_sweeps

__all__ = [
    "Bottleneck",
    "Findings",
    "Found",
    "LevelSweep",
    "Result",
    "SizeSweep",
    "bottlenecks",
    "effects",
    "find_explanation",
    "find_newest",
    "find_results",
    "level_sweeps",
    "size_sweeps",
    "tabulate_arms",
]
