"""Result files -> one tidy table -> effects, knees, crossovers and bottlenecks. No framework, no pytest, no GPU."""

from harness.reading.bottleneck import Bottleneck, bottlenecks, choosable
from harness.reading.certificates import KeptCertificates, find_certificates
from harness.reading.crossover import SizeSweep, size_sweeps
from harness.reading.facts import facts
from harness.reading.files import Result
from harness.reading.finding import Found, find_newest, find_results
from harness.reading.levels import LevelSweep, level_sweeps
from harness.reading.table import effects, load

__all__ = [
    "Bottleneck",
    "Found",
    "KeptCertificates",
    "LevelSweep",
    "Result",
    "SizeSweep",
    "bottlenecks",
    "choosable",
    "effects",
    "facts",
    "find_certificates",
    "find_newest",
    "find_results",
    "level_sweeps",
    "load",
    "size_sweeps",
]
