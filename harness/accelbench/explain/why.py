"""Why a technique paid or not: the operators of the program with it beside those without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from accelbench.explain.causes import MOSTLY
from accelbench.explain.explanation import format_speedup, without_infinity
from accelbench.explain.parts import StepPart
from accelbench.explain.prediction import Prediction
from accelbench.explain.profile import Profile
from accelbench.explained_run import CHANGE_HEADINGS, list_change_cells
from accelbench.schema.run_explanation import OperatorChange
from accelbench.text import format_table, join_names, join_sentences, list_some
from accelbench.units import count, percent, plural, seconds, speedup

LISTED = 10  # operators
CASTS = ("_to_copy", "copy_")
NAMED_SHARE = 0.02  # of the time, from which a difference is worth a word
MANY_FAULTS, FAULTS_TIMES = 100, 2
SHOWN = 3
SLOW_START = 2.0  # times a later iteration


@dataclass(frozen=True, kw_only=True)
class TechniqueExplanation:
    """A technique's measured effect, and the profiles without and with it, of the same items.

    ``after`` is None where the budget was too short for it; ``left_out`` says what would do. ``prediction`` is what the
    baseline's profile says that it could bring at most; None if it says nothing.
    """

    workload: str
    measured: StepPart
    before: Profile
    after: Profile | None
    prediction: Prediction | None = None
    left_out: str = ""

    @property
    def scale(self) -> float:
        """By what the times with the technique are multiplied to be those of as many items as without it."""
        return self.before.items / self.after.items if self.after and self.after.items else 1.0

    @property
    def changes(self) -> list[OperatorChange]:
        """The operators, and what lies outside of them, those first whose time changes most.

        A function of the program's own that one profile alone lists is left out: the other may not have looked at it.
        """
        if self.after is None:
            return []
        scale = self.scale
        before = {each.name: each for each in self.before.operators}
        after = {each.name: each for each in self.after.operators}
        found = [
            OperatorChange(
                name=name,
                before_s=before[name].seconds if name in before else 0.0,
                after_s=scale * after[name].seconds if name in after else 0.0,
                calls_before=before[name].calls if name in before else 0.0,
                calls_after=scale * after[name].calls if name in after else 0.0,
            )
            for name in dict.fromkeys([*before, *after])
            if (name in before and name in after) or not (before.get(name) or after[name]).is_function
        ]
        return sorted(found, key=lambda each: abs(each.added_s), reverse=True)


def reasons_as_json(reasons: TechniqueExplanation) -> dict[str, Any]:
    """Return everything as plain data."""
    written = asdict(reasons, dict_factory=without_infinity)
    return written | {"changes": [asdict(each) | {"added_s": each.added_s} for each in reasons.changes]}


def reasons_as_text(reasons: TechniqueExplanation) -> str:
    """Return the reasons for a terminal."""
    paragraph = join_sentences(write_reasons(reasons))
    lines = [_state_speedup(reasons), "", paragraph]
    if reasons.after is not None:
        lines += ["", format_table(list_change_cells(reasons.changes[:LISTED]), CHANGE_HEADINGS)]
    return "\n".join(lines)


def _state_speedup(reasons: TechniqueExplanation) -> str:
    part = reasons.measured
    if part.effect is None:
        return f"{reasons.workload} with {part.name}: not measured: {part.reason}."
    speed = format_speedup(part.effect)
    return f"{reasons.workload} with {part.name}: {speed} as fast, {part.effect.verdict}."


def write_reasons(reasons: TechniqueExplanation) -> Iterator[str]:
    """Yield what the two profiles, and what the program did meanwhile, say of the effect."""
    before, after = reasons.before, reasons.after
    if after is None:
        yield f"there is no profile of the program with it: {reasons.left_out}"
    else:
        yield from _compare_profiles(reasons, before, after)
    if reasons.prediction is not None:
        yield _compare_with_prediction(reasons, reasons.prediction)
    if caveat := before.caveat or (after.caveat if after else ""):
        yield caveat


def _compare_profiles(reasons: TechniqueExplanation, before: Profile, after: Profile) -> Iterator[str]:
    """Yield what differs between the profiles without and with the technique."""
    least_s = NAMED_SHARE * before.seconds
    saving = [each for each in reasons.changes if each.added_s < -least_s and each.calls_after]
    gone = [each for each in reasons.changes if each.added_s < -least_s and not each.calls_after]
    adding = [each for each in reasons.changes if each.added_s > least_s]
    unseen = [name for name, profile in (("without it", before), ("with it", after)) if not profile.operators]
    if unseen:
        yield f"the profiler sees no operators {join_names(unseen)}"
    if reasons.measured.effect is None or reasons.measured.effect.verdict != "same":
        said = []
        if saving:
            said.append(f"by profile, it saves time in {list_some(map(_describe_change, saving), SHOWN)}")
        if adding and before.operators:
            said.append(f"by profile, it adds time in {list_some(map(_describe_change, adding), SHOWN)}")
        yield from said if sum(each.added_s for each in saving + adding) < 0 else reversed(said)
    if gone:
        names = list_some([f"{each.name} ({seconds(each.before_s)})" for each in gone], SHOWN)
        yield f"operators that no longer run, or where the profiler does not look: {names}"
    if not (unseen or saving or adding or gone):
        yield "no operator's time changes enough to name it"
    casts_s = sum(each.added_s for each in reasons.changes if each.name in CASTS)
    if casts_s > least_s:
        yield f"casts and copies between precisions take {seconds(casts_s)} more"
    yield from _compare_calls(reasons)
    yield from _compare_clocks(reasons)
    faults = reasons.scale * after.page_faults
    if faults > FAULTS_TIMES * before.page_faults + MANY_FAULTS:
        rise = f"{count(round(before.page_faults))} to {count(round(faults))}"
        yield f"page faults rise from {rise} per iteration"
    yield from _describe_compilation(after)
    if after.first_s > SLOW_START * after.seconds and after.first_s > SLOW_START * before.first_s:
        yield (
            f"the first iteration takes {seconds(after.first_s)} and a later one {seconds(after.seconds)}: starting is "
            "no part of the speedup"
        )
    if skipped := after.observed.get("skipped_steps"):
        yield f"the gradient scaler skipped {plural(round(skipped), 'step')}, which learn nothing"


def _compare_calls(reasons: TechniqueExplanation) -> Iterator[str]:
    before, after = (sum(getattr(each, name) for each in reasons.changes) for name in ("calls_before", "calls_after"))
    if before and not 0.9 < after / before < 1.1:
        yield f"operators are called {plural(round(after), 'time')} in place of {count(round(before))}"


def _compare_clocks(reasons: TechniqueExplanation) -> Iterator[str]:
    """Yield what the accelerator's own time shows beside the time of the program."""
    before, after, scale = reasons.before, reasons.after, reasons.scale
    if after is None or before.device_s is None or after.device_s is None:
        return
    device_s, wall_s = scale * after.device_s, scale * after.seconds
    change = f"{seconds(before.device_s)} → {seconds(device_s)}"
    wall = f"{seconds(before.seconds)} → {seconds(wall_s)}"
    yield f"the accelerator is busy for {change} of {wall} per iteration"
    saved_s, least_s = before.device_s - device_s, NAMED_SHARE * before.seconds
    waits = 1 - max(before.busy or 0.0, after.busy or 0.0)
    if waits > MOSTLY:
        yield f"the host binds: with and without it, the accelerator waits for more than {percent(waits)} of the time"
    elif saved_s > least_s and before.seconds - wall_s < saved_s / 2:
        yield "the host binds: it starts kernels no faster than before, so the accelerator waits for it"
    if before.kernels and after.kernels and not 0.9 < scale * after.kernels / before.kernels < 1.1:
        yield f"it starts {plural(round(scale * after.kernels), 'kernel')} in place of {count(round(before.kernels))}"


def _describe_compilation(after: Profile) -> Iterator[str]:
    compilation = after.compilation
    if compilation is None:
        return
    if compilation.seconds:
        yield f"compiling took {seconds(compilation.seconds)}"
    if compilation.breaks:
        yield f"the graph breaks at {list_some(compilation.breaks, SHOWN, separator='; ')}"
    else:
        yield "the graph does not break"
    if compilation.recompilations:
        again = plural(len(compilation.recompilations), "time")
        yield f"it compiled again {again}: {list_some(compilation.recompilations, SHOWN, separator='; ')}"


def _compare_with_prediction(reasons: TechniqueExplanation, prediction: Prediction) -> str:
    share = prediction.share.high
    if share >= 1:
        return f"the baseline's profile allows any speedup: it touches {prediction.touches}"
    most = speedup(prediction.at_most)
    text = f"the baseline's profile allows at most {most}, since it touches {prediction.touches} alone"
    effect = reasons.measured.effect
    if effect is not None and effect.low > prediction.at_most:
        text += "; it brought more, so it changes something else, too"
    return text


def _describe_change(change: OperatorChange) -> str:
    return f"{change.name} ({seconds(change.before_s)} → {seconds(change.after_s)})"
