"""Workloads of a user's own: a function that builds a program becomes what the suite's techniques switch."""

from harness.workloads.own.file import program_in
from harness.workloads.own.program import program

__all__ = ["program", "program_in"]
