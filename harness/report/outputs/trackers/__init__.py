"""Runs as other trackers of benchmarks read them."""

from harness.report.outputs.trackers.asv import write_asv
from harness.report.outputs.trackers.one_run import as_bmf, as_github_action_benchmark

__all__ = ["as_bmf", "as_github_action_benchmark", "write_asv"]
