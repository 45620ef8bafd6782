"""Figures, tables and the page, from runs. No framework, no pytest, no network."""

from harness.report.certificate import certificate_page, in_brief
from harness.report.page import report_as_text, write_report

__all__ = ["certificate_page", "in_brief", "report_as_text", "write_report"]
