"""The workloads that can be asked about."""

from __future__ import annotations

import harness.workloads  # noqa: F401  fills the catalogue
from harness.errors import BadInput
from harness.experiment import declared_workloads
from harness.frameworks.protocol import FRAMEWORKS


def listed(framework: str = "") -> str:
    """Return the workloads of a framework, or of all, one a line.

    Raises:
        BadInput: there is no such framework.
    """
    if framework and framework not in FRAMEWORKS:
        raise BadInput(f"--framework: {framework!r} is no framework; expected one of: {', '.join(FRAMEWORKS)}")
    shown = [work for work in declared_workloads() if not framework or framework in work.frameworks]
    width = max(len(work.name) for work in shown)
    return "\n".join(f"{work.name:<{width}}  {', '.join(work.frameworks)}: {work.summary}" for work in shown)
