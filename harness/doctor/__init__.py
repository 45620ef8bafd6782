"""What this machine can accelerate and what is misconfigured: facts, what follows from them, and the screen."""

from harness.doctor import builds, cores, gpus, remarks
from harness.doctor.facts import Facts, read_facts
from harness.doctor.finding import Finding, follow
from harness.doctor.gathering import gather
from harness.doctor.screen import as_json, as_text

__all__ = ["Facts", "Finding", "as_json", "as_text", "gather", "read_facts", "to_know", "to_mend"]


def to_mend(facts: Facts) -> list[Finding]:
    """Return what is misconfigured, each with the way out."""
    return follow((*gpus.RULES, *builds.RULES, *cores.RULES), facts)


def to_know(facts: Facts) -> list[Finding]:
    """Return what is worth knowing although nothing is wrong."""
    return follow(remarks.RULES, facts)
