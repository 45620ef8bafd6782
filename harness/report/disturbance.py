"""What disturbed a run, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness import units
from harness.record import ArmRecord, Run
from harness.report.answer.alike import pattern, together
from harness.report.answer.undecided import in_brief


def disturbance_in_words(run: Run) -> Iterator[str]:
    """Yield how many trials carry a remark, and of which kinds, the most frequent first; nothing where none does."""
    trials = units.plural(len(run.trials), "trial")
    if remarked := sum(bool(trial.remarks) for trial in run.trials):
        yield f"{units.count(remarked)} of {trials} carry a remark on what may have disturbed them"
    kinds: dict[str, list[str]] = {}
    for trial in run.trials:
        for remark in dict.fromkeys(map(in_brief, trial.remarks)):
            kinds.setdefault(pattern(remark), []).append(remark)
    for alike in sorted(kinds.values(), key=len, reverse=True):
        said = together(alike)
        yield f"{said[:1].upper()}{said[1:]} ({units.plural(len(alike), 'trial')})"
    if unsettled := sum(_unsettled(trial.arms) for trial in run.trials):
        yield f"In {units.count(unsettled)} of {trials}, times had not settled when an arm’s warm-up ended"


def _unsettled(arms: Sequence[ArmRecord]) -> bool:
    return any(arm.timing is not None and not arm.timing.warmup_settled for arm in arms)
