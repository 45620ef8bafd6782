"""What a user writes for a technique, and what else people call it, for those who read what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from accelbench.core.ladder import Ladder
from accelbench.core.technique import Technique, find_technique, is_technique, plain_words
from accelbench.schema.result import AS_IS, ArmRecord, TrialRecord
from accelbench.text import hyphenate


def annotate(trial: TrialRecord) -> TrialRecord:
    """Return a trial with the recipe of each candidate, and with the other names and the groups of its techniques.

    What the record has already stays, and so does a trial of techniques that are not declared here.
    """
    declared = [
        find_technique(trial.framework, name) for name in trial.techniques if is_technique(trial.framework, name)
    ]
    aliases = {each.name: [*each.aliases] for each in declared if each.aliases}
    groups = {each.name: each.group for each in declared}
    arms = [arm if arm.recipe else replace(arm, recipe=recipe(trial, arm)) for arm in trial.arms]
    return replace(
        trial,
        arms=arms,
        technique_aliases=aliases | trial.technique_aliases,
        technique_groups=groups | trial.technique_groups,
    )


def recipe(trial: TrialRecord, arm: ArmRecord) -> list[str]:
    """Return the lines of code that a user writes to have an arm instead of its baseline.

    There are none for the baseline, where a technique is not declared here, and where one has nothing to be written.
    """
    baseline, lines = trial.arms[0].levels, []
    for name, level in arm.levels.items():
        if level == baseline.get(name):
            continue
        if not is_technique(trial.framework, name):
            return []
        technique = find_technique(trial.framework, name)
        if isinstance(technique, Ladder):  # rungs that could not run here are left out of those above them
            technique = technique.without({each.levels[name] for each in trial.arms if each.outcome != "measured"})
        written = technique.snippet_at(level, _device(trial, arm))
        if not written and technique.why_not_recommended(level):
            return []
        lines += written.splitlines()
    return lines


def _device(trial: TrialRecord, arm: ArmRecord) -> str:
    """Return the kind of device on which an arm ran, as its framework names it, such as ``cuda``."""
    switched = [
        level
        for name, level in {**trial.fixed, **arm.levels}.items()
        if level != AS_IS
        and is_technique(trial.framework, name)
        and find_technique(trial.framework, name).kind == "device"
    ]
    placed = [*arm.placement.outputs, *arm.placement.parameters, *arm.placement.inputs] if arm.placement else []
    accelerators = [place for place in placed if not place.startswith("cpu")]
    return [*switched, *accelerators, "cpu"][0].partition(":")[0]


def keywords(techniques: Iterable[Technique]) -> Iterator[str]:
    """Yield the aliases of techniques as pytest's ``-k`` can be given them, which takes no spaces."""
    for alias in (alias for each in techniques for alias in each.aliases):
        yield from {separator.join(alias.split()) for separator in "_-"}


def matches(words: str, *texts: str) -> bool:
    """Return whether each of some words, in whatever spelling, stands in the texts."""
    text = " ".join(map(plain_words, texts))
    return all(plain_words(word) in text for word in words.split())


def searched_texts(technique: Technique) -> tuple[str, ...]:
    """Return the texts by which a technique is found: its names, its levels, what it is and what a user writes."""
    levels = () if callable(technique.levels) else technique.levels
    return (
        technique.name,
        hyphenate(technique.name),
        *technique.aliases,
        *levels,
        technique.summary,
        *technique.snippet.values(),
    )
