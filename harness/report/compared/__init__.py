"""Two sets of runs compared, in words: for a terminal, for Markdown, as a page and as JSON."""

from harness.report.compared.outputs import written

__all__ = ["written"]
