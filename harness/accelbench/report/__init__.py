"""Figures, tables and pages from runs. No framework, no pytest, no network."""
