"""Evaluations that take minutes or hours, each run by hand as `python -m studies.NAME`; they are no tests."""
