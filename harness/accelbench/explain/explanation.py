"""The explanation: what holds a program back, where its time goes and what to do; as text, as Markdown, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from accelbench.explain.causes import (
    BOUND,
    LAUNCH_BOUND,
    MOSTLY,
    Cause,
    find_nearest_ceiling,
    find_recipes,
    format_share,
    format_share_interval,
)
from accelbench.explain.parts import INTERRUPTED, NEGLIGIBLE, PHASES, TOO_LATE, StepPart
from accelbench.explain.profile import Profile, StepShare
from accelbench.schema.result import Ceiling, Effect
from accelbench.text import format_levels, format_table, hyphenate, join_names, join_sentences
from accelbench.units import count, finite_or_none, joules, minutes, percent, plural, ratio, seconds, significant, size

OPERATORS = 10
BAR = 30  # characters of the whole time
MUCH, FAR = 0.1, 0.1  # a share of the time, and a share of a ceiling
SURELY_LESS = 0.02  # a gain below it is none

PARTS = {
    "input": "loading a batch",
    "transfer": "loading a batch and sending it",
    "update": "updating the weights",
    "backward+update": "backward pass and update",
    "readings": "reading numbers out of tensors",
    "copies": "copying tensors",
    "anomaly": "anomaly mode",
    "interpreter": "Python between operations",
    "float64": "float64 in place of float32",
    "compiled": "torch.compile",
    "batch": "what a larger batch saves",
    "threads": "cores that are not used",
    "restarts": "restarting loader processes",
    "loop": "the optimizer's loop over tensors",
}
# Techniques that touch one part alone, and so save no more than it takes, by framework and part.
TOUCHES: dict[str, dict[str, tuple[str, ...]]] = {
    "torch": {
        "input": ("workers", "prefetch_factor", "persistent_workers", "loading"),
        "update": ("optimizer",),
        "readings": ("log_interval",),
        "batch": ("batch_size",),
    },
    "tensorflow": {"input": ("prefetch", "data_threads"), "batch": ("batch_size", "steps_per_execution")},
}


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What holds a program back.

    ``parts`` were taken off, ``remedies`` tried; each is measured in pairs with the program as it stands. ``item_s`` is
    the time per item there, ``item_j`` its energy where that was counted. ``interrupted`` says whether Ctrl-C ended it,
    ``other_work`` what other work took from the machine meanwhile.
    """

    workload: str
    unit: str
    profile: Profile
    parts: tuple[StepPart, ...]
    remedies: tuple[StepPart, ...]
    causes: tuple[Cause, ...]
    ceilings: tuple[Ceiling, ...]
    item_s: float | None
    item_j: float | None = None
    price_per_hour: float | None
    spent_s: float
    interrupted: bool = False
    other_work: str = ""

    @property
    def epoch_s(self) -> float | None:
        """Seconds of an epoch, None where its length is unknown."""
        most = self.profile.most
        return self.item_s * most if self.item_s and most else None


def as_json(explanation: Explanation) -> dict[str, Any]:
    """Return everything as plain data: seconds, bytes, shares between 0 and 1; unbounded ends are None."""
    return asdict(explanation, dict_factory=without_infinity) | {"epoch_s": explanation.epoch_s}


def without_infinity(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return items as a dictionary in which unbounded numbers are None."""
    return {name: finite_or_none(value) for name, value in items}


def as_text(explanation: Explanation) -> str:
    """Return the explanation for a terminal."""
    return "\n".join(_write_lines(explanation, heading=lambda text: text))


def as_markdown(explanation: Explanation) -> str:
    """Return the explanation to paste into an issue or a page."""
    return "\n".join(_write_lines(explanation, heading=lambda text: f"**{text}**", fence=("```",)))


def format_speedup(effect: Effect) -> str:
    """Return a measured speedup with its interval, such as ``1.83× (1.79–1.88)``."""
    return ratio(effect.speedup, effect.low, effect.upper)


def _write_lines(explanation: Explanation, heading: Callable[[str], str], fence: tuple[str, ...] = ()) -> Iterator[str]:
    yield _state_speed(explanation)
    yield ""
    yield join_sentences(_write_sentences(explanation))
    sections = [("What to write", [*dict.fromkeys(_list_recipes(explanation))])]
    for title, rows in (
        ("What a part of it takes, by taking it off in pairs (99 % intervals)", _make_part_rows(explanation)),
        ("What was tried", _make_remedy_rows(explanation)),
        ("Where the time goes, by a profile in a process of its own", _make_operator_rows(explanation)),
    ):
        sections.append((title, [format_table(rows[1:], rows[0])] if len(rows) > 1 else []))
    for title, lines in sections:
        if lines:
            yield from ("", heading(title), *fence, *lines, *fence)
    yield ""
    if explanation.other_work:
        yield explanation.other_work
    if explanation.interrupted:
        yield "Interrupted: what was not measured by then is left out."
    if not explanation.parts:
        yield f"No part was taken off; all of this took {minutes(explanation.spent_s)}."
        return
    parts = plural(sum(part.share is not None for part in explanation.parts), "part")
    yield f"{parts} taken off in {minutes(explanation.spent_s)}; shares overlap, so they do not add up to 100 %."


def _state_speed(explanation: Explanation) -> str:
    profile = explanation.profile
    item_s = explanation.item_s or profile.seconds / profile.items
    batch = f" in batches of {profile.batch_size}" if profile.batch_size else ""
    text = f"{explanation.workload}: {seconds(item_s)} per {explanation.unit}{batch}"
    if (epoch_s := explanation.epoch_s) is not None:
        text += f"; an epoch of {count(profile.most or 0)} takes {seconds(epoch_s)}"
        if explanation.price_per_hour:
            text += f" and costs {significant(epoch_s / 3600 * explanation.price_per_hour)} at your price per hour"
    if explanation.item_j is not None:
        text += f"; {joules(explanation.item_j)} of energy per {explanation.unit}"
        text += f", {joules(explanation.item_j * profile.most)} per epoch" if profile.most else ""
    return f"{text}."


def _write_sentences(explanation: Explanation) -> Iterator[str]:
    yield from _state_causes(explanation)
    yield from _say_how_busy_the_accelerator_is(explanation)
    yield from _name_inefficient_operators(explanation)
    yield from _say_what_helps(explanation)
    yield from _say_what_does_not_help(explanation)
    yield from _say_what_is_open(explanation)


def _state_causes(explanation: Explanation) -> Iterator[str]:
    causes = explanation.causes
    if explanation.parts and all(part.share is None for part in explanation.parts):
        yield "nothing could be taken off the program, for the reasons below, so the pairs do not tell what binds"
    elif not causes and any(part.is_open for part in explanation.parts):
        yield "the pairs do not tell what binds; a longer --budget, or a quieter machine, may"
    elif not causes and not _has_unseen_operations(explanation.profile):
        taken_off = "nothing that was taken off takes a share of the time worth naming"
        if is_partial := any(map(_is_missing, explanation.parts)):
            taken_off = _say_what_alone_was_taken_off(explanation.parts)
        if outside := _find_much_outside(explanation):
            yield (
                f"{f'{taken_off}; by' if explanation.parts else 'by'} profile, {format_share(outside)} of the time "
                "passes outside of operators: in Python, or in what the profiler does not see"
            )
        elif is_partial:
            yield taken_off
        else:
            taken_off = f"{taken_off}: the program computes, and" if explanation.parts else "by profile,"
            yield f"{taken_off} most of the time lies in the operators below"
    for cause in causes:
        yield f"{cause.what}; {cause.advice}"
    outside = explanation.profile.outside
    if outside and _has_unseen_operations(explanation.profile):
        yield (
            f"{format_share(outside)} of the time lies outside of the array operations that were recorded, by profile: "
            "in Python, or in functions that no array records, such as those of numpy.random"
        )


def _is_missing(part: StepPart) -> bool:
    """Return whether a part may be a cause, and was not measured."""
    return part.share is None and part.name not in PHASES


def _say_what_alone_was_taken_off(parts: Sequence[StepPart]) -> str:
    """Return what was taken off, that this is not what binds, and what else may tell."""
    names = [PARTS[part.name] for part in parts if part.share is not None and part.name not in PHASES]
    late = any(_is_missing(part) and part.reason == TOO_LATE for part in parts)
    way_out = "; a longer --budget takes off the rest" if late else ", for the reasons below"
    if not names:
        return f"nothing that may bind the program was taken off: what binds is open{way_out}"
    verb, takes = ("was", "it takes") if len(names) == 1 else ("were", "they take")
    return f"only {join_names(names)} {verb} taken off, and {takes} no share worth naming: what binds is open{way_out}"


def _say_how_busy_the_accelerator_is(explanation: Explanation) -> Iterator[str]:
    """Yield for which share of the time it is busy, unless a cause says that it waits."""
    profile = explanation.profile
    if profile.busy is None or _starts_slowly(explanation):
        return
    kernels = plural(round(profile.kernels or 0), "kernel")
    text = f"by profile, the accelerator is busy for {percent(profile.busy)} of the time, with {kernels} per iteration"
    yield f"{text}, and waits for the host otherwise" if 1 - profile.busy > MOSTLY else text


def _has_unseen_operations(profile: Profile) -> bool:
    """Return whether much of the time may lie in array operations that the profile does not see."""
    return profile.outside is not None and profile.outside.low >= BOUND and not profile.outside_is_python


def _find_much_outside(explanation: Explanation) -> StepShare | None:
    """Return the share of the time outside of operators, None where it is small, or where the pairs show Python's."""
    outside = explanation.profile.outside
    is_in_pairs = any(part.name == "interpreter" and part.share for part in explanation.parts)
    return None if outside is None or outside.low < BOUND or is_in_pairs else outside


def _name_inefficient_operators(explanation: Explanation) -> Iterator[str]:
    """Yield the operators that take much of the time, far from every ceiling of the machine.

    Where much of the time passes outside of operators, those that take less than that are left out. Where starting
    them takes much of the time, that is why they are far from every ceiling.
    """
    if _starts_slowly(explanation):
        return
    outside = _find_much_outside(explanation)
    least = outside.share if outside else 0.0
    for each in explanation.profile.operators[:OPERATORS]:
        near = find_nearest_ceiling(each, explanation.profile, explanation.ceilings).of_ceiling
        if each.share.low >= MUCH and each.share.share >= least and near is not None and near < FAR:
            yield (
                f"by profile, {each.name} takes {percent(each.share.share)} of the time, at {percent(near)} of the "
                "ceiling that it is nearest to: look at what calls it"
            )


def _starts_slowly(explanation: Explanation) -> bool:
    """Return whether starting operators or kernels is named as a cause."""
    return any(cause.code == LAUNCH_BOUND for cause in explanation.causes)


def _say_what_helps(explanation: Explanation) -> Iterator[str]:
    for each in explanation.remedies:
        if each.effect is None:
            continue
        speed = format_speedup(each.effect)
        if each.name == "together":
            yield f"without all of it at once, the program is {speed} as fast"
        elif each.effect.low > 1:
            yield f"{each.name} makes it {speed} as fast{_state_saving(explanation, each)}"
            if each.item_j is not None and explanation.item_j is not None:
                yield (
                    f"{each.name} takes {joules(each.item_j)} of energy per {explanation.unit}, in place of "
                    f"{joules(explanation.item_j)}"
                )


def _state_saving(explanation: Explanation, remedy: StepPart) -> str:
    """Return what a remedy saves per epoch, "" if that is unknown."""
    epoch_s = explanation.epoch_s
    if epoch_s is None or remedy.share is None:
        return ""
    saved = f"{seconds(epoch_s * remedy.share.share)} per epoch"
    if explanation.price_per_hour:
        hourly = explanation.price_per_hour / 3600 * epoch_s
        low, high = (significant(hourly * max(0.0, bound)) for bound in (remedy.share.low, remedy.share.high))
        saved += f", {significant(hourly * remedy.share.share)} ({low} to {high}) of money"
    return f", which saves {saved}"


def _say_what_does_not_help(explanation: Explanation) -> Iterator[str]:
    """Yield what will not help, and why."""
    touches = TOUCHES.get(explanation.profile.framework, {})
    for part in explanation.parts:
        if part.share and part.is_negligible and part.name in touches:
            names = join_names([hyphenate(name) for name in touches[part.name]])
            yield f"{names} will not help: {_say_how_little(part, part.share)}"
    if explanation.profile.device == "cpu" and explanation.profile.framework == "torch":
        yield "pinned memory and copies ahead of time mean nothing here: nothing is sent to a device"
    for each in explanation.remedies:
        if each.effect is not None and each.effect.low <= 1 and each.name != "together":
            ends = f"is {_judge(each.effect)}" if each.effect.upper < 1 else "does not surely help"
            yield f"{each.name} {ends}: {format_speedup(each.effect)} as fast"


def _say_how_little(part: StepPart, share: StepShare) -> str:
    """Return how little time a part takes, or how much longer the program takes without it."""
    if share.high > 0:
        return f"{PARTS[part.name]} takes at most {percent(share.high)} of the time"
    if part.is_done_twice or share.share > -NEGLIGIBLE:
        return f"{PARTS[part.name]} takes no time that the pairs can tell"
    longer = format_share(StepShare(share=-share.share, low=-share.high, high=-share.low))
    return f"{_say_how_changed(part)}, the program takes {longer} longer per item"


def _say_how_changed(part: StepPart) -> str:
    if part.name == "batch":
        return "with larger batches"
    return f"with {PARTS[part.name]} twice" if part.is_done_twice else f"without {PARTS[part.name]}"


def _judge(effect: Effect) -> str:
    """Return the verdict, or that it is not faster where the interval shows only that."""
    return "not faster" if effect.upper < 1 and effect.verdict != "slower" else effect.verdict


def _say_what_is_open(explanation: Explanation) -> Iterator[str]:
    for part in explanation.parts:
        if part.is_disturbed and part.effect:
            yield (
                f"the pairs of {PARTS[part.name]} were disturbed: {_say_how_changed(part)}, the program seemed to take "
                f"{significant(1 / part.effect.speedup, 2)} times as long per item"
            )
    names = [PARTS[part.name] for part in explanation.parts if part.is_open and part.name != "compiled"]
    if names:
        yield f"the pairs leave open: {join_names(names)}"
    if caveat := explanation.profile.caveat:
        yield caveat


def _list_recipes(explanation: Explanation) -> Iterator[str]:
    profile = explanation.profile
    yield from (cause.recipe for cause in explanation.causes if cause.recipe)
    for each in explanation.remedies:
        if each.effect is not None and each.effect.low > 1 + SURELY_LESS:
            yield from find_recipes(profile, each.levels)
    tried = {each.name for each in explanation.remedies if each.reason not in (TOO_LATE, INTERRUPTED)}
    for name, level in dict.fromkeys(pair for cause in explanation.causes for pair in cause.techniques):
        if format_levels({name: level}) not in tried:
            for recipe in find_recipes(profile, {name: level}):
                untried = "may help, but the time did not suffice to try it"
                yield f"{recipe}; {untried}" if "  # " in recipe.splitlines()[-1] else f"{recipe}  # {untried}"


def _make_part_rows(explanation: Explanation) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("part", "share of the time", "", "")]
    for part in sorted(explanation.parts, key=lambda each: each.share.share if each.share else -1.0, reverse=True):
        if part.share is None:
            rows.append((PARTS[part.name], "not measured", "", part.reason))
        else:
            bar = "█" * round(BAR * min(1.0, max(0.0, part.share.share)))
            rows.append((PARTS[part.name], *_format_cells(part.share), bar))
    return rows


def _make_remedy_rows(explanation: Explanation) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("tried", "speed", "")]
    for each in explanation.remedies:
        if each.effect is None:
            rows.append((each.name, "not measured", each.reason))
        else:
            rows.append((each.name, format_speedup(each.effect), _judge(each.effect)))
    return rows


def _make_operator_rows(explanation: Explanation) -> list[tuple[str, ...]]:
    profile = explanation.profile
    rows: list[tuple[str, ...]] = [("operator", "share", "", "calls", "operations", "bytes", "near")]
    for name, share in (("(loading)", profile.loading), ("(outside of operators)", profile.outside)):
        if share and share.share > 0:
            rows.append((name, *_format_cells(share), "", "", "", ""))
    for each in profile.operators[:OPERATORS]:
        nearest = find_nearest_ceiling(each, profile, explanation.ceilings)
        near = "" if nearest.of_ceiling is None else f"{percent(nearest.of_ceiling)} of a ceiling"
        if nearest.bound in ("memory", "arithmetic"):
            near = f"{nearest.bound}: {percent(nearest.of_ceiling or 0.0)} of the ceiling"
        operations = f"{each.operations:.3g}" if each.operations else ""
        moved = size(each.moved_bytes) if each.moved_bytes else ""
        rows.append((each.name, *_format_cells(each.share), count(round(each.calls)), operations, moved, near))
    return rows


def _format_cells(share: StepShare) -> tuple[str, str]:
    """Return the cells of a share and its interval."""
    return percent(share.share), format_share_interval(share)
