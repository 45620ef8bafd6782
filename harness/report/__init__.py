"""Figures, tables and the page, from runs. No framework, no pytest, no network.

The names below are loaded when they are first used, so that what draws no figure need not load what draws them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.report.certificate import certificate_page, draw_certificate, in_brief
    from harness.report.page import publish_report, report_as_text, write_report

__all__ = ["certificate_page", "draw_certificate", "in_brief", "publish_report", "report_as_text", "write_report"]

_HOMES = {
    "certificate_page": "harness.report.certificate",
    "draw_certificate": "harness.report.certificate",
    "in_brief": "harness.report.certificate",
    "publish_report": "harness.report.page",
    "report_as_text": "harness.report.page",
    "write_report": "harness.report.page",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
