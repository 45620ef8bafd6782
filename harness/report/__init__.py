"""Figures, tables and the page, from one run. No framework, no pytest, no network."""

from harness.report.certificate import certificate_page
from harness.report.certified import in_brief
from harness.report.page import write_report

__all__ = ["certificate_page", "in_brief", "write_report"]
