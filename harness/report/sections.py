"""A section for each technique: its finding, its figures, its effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from harness.reading.table import by_technique
from harness.report.anchors import Anchors
from harness.report.figures.drawing import Drawn
from harness.report.tables import Table, compared


@dataclass(frozen=True, kw_only=True)
class TechniqueSection:
    """One technique in one framework."""

    anchor: str
    framework: str
    technique: str
    finding: str
    figures: list[Drawn]
    effects: Table


def technique_sections(effects: pd.DataFrame, figures: Sequence[Drawn], anchors: Anchors) -> list[TechniqueSection]:
    """Return a section for each technique with an effect, framework by framework."""
    return [
        TechniqueSection(
            anchor=anchors.technique(framework, technique),
            framework=framework,
            technique=technique,
            finding="",
            figures=[figure for figure in figures if figure.about == (framework, technique)],
            effects=compared(found),
        )
        for framework, technique, found in by_technique(effects)
    ]
