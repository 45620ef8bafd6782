"""Workloads of a user's own: a function that builds a program becomes what the suite's techniques switch."""

from harness.workloads.own.file import own_workload
from harness.workloads.own.program import program

__all__ = ["own_workload", "program"]
