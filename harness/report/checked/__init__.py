"""What a check says: in the terminal, on a pull request, to a CI service and to other programs."""

from harness.report.checked.outputs import as_json, as_text, line_of
from harness.report.checked.services import as_github, as_junit, as_markdown

__all__ = ["as_github", "as_json", "as_junit", "as_markdown", "as_text", "line_of"]
