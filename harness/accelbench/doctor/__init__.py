"""What this machine can accelerate and what is misconfigured."""

from accelbench.doctor.facts import Facts, collect, read_facts
from accelbench.doctor.render import as_json, as_text
from accelbench.doctor.rules import Finding, find_notes, find_problems

__all__ = ["Facts", "Finding", "as_json", "as_text", "collect", "find_notes", "find_problems", "read_facts"]
