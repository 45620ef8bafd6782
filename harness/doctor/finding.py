"""A finding: one sentence, reached by a function from the facts alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from harness.doctor.facts import Facts

Rule = Callable[[Facts], Iterator[str]]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found: the rule's name, such as ``hidden-gpus``, and the sentence."""

    name: str
    sentence: str


def follow(rules: Sequence[Rule], facts: Facts) -> list[Finding]:
    """Return what the rules find, in their order."""
    return [
        Finding(name=rule.__name__.replace("_", "-"), sentence=sentence) for rule in rules for sentence in rule(facts)
    ]
