"""Figures, tables and the page, from one run. No framework, no pytest, no network."""

from harness.report.page import write_report

__all__ = ["write_report"]
