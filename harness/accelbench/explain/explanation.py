"""The explanation: what holds a program back, where its time goes and what to do; as text, as Markdown, as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from accelbench.core import find_technique
from accelbench.explain.causes import Cause, interval_of_shares, rate
from accelbench.explain.parts import TOO_LATE, Part
from accelbench.explain.profile import Profile, Share
from accelbench.schema.result import Ceiling
from accelbench.text import format_table, join_names
from accelbench.units import count, minutes, percent, plural, ratio, seconds, significant, size

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
    "float64": "float64 in place of float32",
    "compiled": "torch.compile",
    "batch": "what a larger batch saves",
    "threads": "cores that are not used",
    "restarts": "restarting loader processes",
    "loop": "the optimizer's loop over tensors",
}
# Techniques that touch one part alone, and so save no more than it takes.
TOUCHES = {
    "input": ("workers", "prefetch_factor", "persistent_workers", "loading"),
    "update": ("optimizer",),
    "readings": ("log_interval",),
    "batch": ("batch_size",),
}


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What holds a program back.

    ``parts`` were taken off, ``remedies`` tried; each is measured in pairs with the program as it stands. ``item_s`` is
    the time per item there.
    """

    workload: str
    unit: str
    profile: Profile
    parts: tuple[Part, ...]
    remedies: tuple[Part, ...]
    causes: tuple[Cause, ...]
    ceilings: tuple[Ceiling, ...]
    item_s: float | None
    price_per_hour: float | None
    spent_s: float

    @property
    def epoch_s(self) -> float | None:
        """Seconds of an epoch, None where its length is unknown."""
        most = self.profile.most
        return self.item_s * most if self.item_s and most else None


def as_json(explanation: Explanation) -> dict[str, Any]:
    """Return everything as plain data; unbounded ends are null."""
    return asdict(explanation, dict_factory=without_infinity) | {"epoch_s": explanation.epoch_s}


def without_infinity(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return items as a dictionary in which unbounded numbers are None."""
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in items}


def as_text(explanation: Explanation) -> str:
    """Return the explanation for a terminal."""
    return "\n".join(_lines(explanation, heading=lambda text: text))


def as_markdown(explanation: Explanation) -> str:
    """Return the explanation to paste into an issue or a page."""
    return "\n".join(_lines(explanation, heading=lambda text: f"**{text}**", fence="```"))


def _lines(explanation: Explanation, heading: Any, fence: str = "") -> Iterator[str]:
    yield _speed(explanation)
    yield ""
    yield _paragraph(explanation)
    if recipes := [*_recipes(explanation)]:
        yield ""
        yield heading("What to write")
        yield from [fence] if fence else []
        yield from recipes
        yield from [fence] if fence else []
    for title, rows in (
        ("What a part of it takes, by taking it off in pairs (99 % intervals)", _part_rows(explanation)),
        ("What was tried", _remedy_rows(explanation)),
        ("Where the time goes, by a profile in a process of its own", _operator_rows(explanation)),
    ):
        if len(rows) > 1:
            yield ""
            yield heading(title)
            yield from [fence] if fence else []
            yield format_table(rows[1:], rows[0])
            yield from [fence] if fence else []
    yield ""
    yield _spent(explanation)


def _speed(explanation: Explanation) -> str:
    profile = explanation.profile
    item_s = explanation.item_s or profile.seconds / profile.items
    batch = f" in batches of {profile.batch_size}" if profile.batch_size else ""
    text = f"{explanation.workload}: {seconds(item_s)} per {explanation.unit}{batch}"
    if (epoch_s := explanation.epoch_s) is not None:
        text += f"; an epoch of {count(profile.most or 0)} takes {seconds(epoch_s)}"
        if explanation.price_per_hour:
            text += f" and costs {significant(epoch_s / 3600 * explanation.price_per_hour)} at your price per hour"
    return f"{text}."


def _paragraph(explanation: Explanation) -> str:
    sentences = [
        *_state_causes(explanation),
        *_far(explanation),
        *_helped(explanation),
        *_in_vain(explanation),
        *_open(explanation),
    ]
    return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)


def _state_causes(explanation: Explanation) -> Iterator[str]:
    causes = explanation.causes
    if explanation.parts and all(part.share is None for part in explanation.parts):
        yield "nothing could be taken off the program, for the reasons below, so the pairs do not tell what binds"
    elif not causes and any(part.is_open for part in explanation.parts):
        yield "the pairs do not tell what binds; a longer --budget, or a quieter machine, may"
    elif not causes:
        yield (
            "nothing that was taken off takes a share of the time worth naming: the program computes, and most of it "
            "lies in the operators below"
        )
    for cause in causes:
        yield f"{cause.what}; {cause.advice}"


def _far(explanation: Explanation) -> Iterator[str]:
    """Yield the operators that take much of the time, far from every ceiling of the machine."""
    for each in explanation.profile.operators[:OPERATORS]:
        near = rate(each, explanation.ceilings, explanation.profile.device).of_ceiling
        if each.share.low >= MUCH and near is not None and near < FAR:
            yield (
                f"by profile, {each.name} takes {percent(each.share.share)} of the time, at {percent(near)} of the "
                "ceiling that it is nearest to: look at what calls it"
            )


def _helped(explanation: Explanation) -> Iterator[str]:
    for each in explanation.remedies:
        if each.effect is None:
            continue
        name = "what was taken off" if each.name == "together" else each.name
        speed = ratio(each.effect.speedup, each.effect.low, each.effect.upper)
        if each.name == "together":
            yield f"without all of it at once, the program is {speed} as fast"
        elif each.effect.low > 1:
            yield f"{name} makes it {speed} as fast{_saving(explanation, each)}"


def _saving(explanation: Explanation, part: Part) -> str:
    """Return what a remedy saves per epoch."""
    epoch_s = explanation.epoch_s
    if epoch_s is None or part.share is None:
        return ""
    saved = f"{seconds(epoch_s * part.share.share)} per epoch"
    if explanation.price_per_hour:
        hourly = explanation.price_per_hour / 3600 * epoch_s
        low, high = (significant(hourly * max(0.0, bound)) for bound in (part.share.low, part.share.high))
        saved += f", {significant(hourly * part.share.share)} ({low} to {high}) of money"
    return f", which saves {saved}"


def _in_vain(explanation: Explanation) -> Iterator[str]:
    """Yield what will not help, and why."""
    for part in explanation.parts:
        if part.share and part.is_negligible and part.name in TOUCHES:
            names = join_names([name.replace("_", " ") for name in TOUCHES[part.name]])
            most = max(part.share.high, 0.0)
            yield (
                f"{names} will not help: {PARTS[part.name]} takes at most {percent(most)} of the time"
                if most > 0
                else f"{names} will not help: {PARTS[part.name]} takes no time that the pairs can tell"
            )
    if explanation.profile.device == "cpu" and explanation.profile.framework == "torch":
        yield "pinned memory and copies ahead of time mean nothing here: nothing is sent to a device"
    for each in explanation.remedies:
        if each.effect is not None and each.effect.low <= 1 and each.name != "together":
            ends = "is slower" if each.effect.upper < 1 else "does not surely help"
            yield f"{each.name} {ends}: {ratio(each.effect.speedup, each.effect.low, each.effect.upper)} as fast"


def _open(explanation: Explanation) -> Iterator[str]:
    names = [PARTS[part.name] for part in explanation.parts if part.is_open and part.name != "compiled"]
    if names:
        yield f"the pairs do not tell what {join_names(names)} {'takes' if len(names) == 1 else 'take'}"
    if explanation.profile.blind:
        yield f"the profiler does not see all: {explanation.profile.blind}"


def _recipes(explanation: Explanation) -> Iterator[str]:
    yield from dict.fromkeys(cause.recipe for cause in explanation.causes if cause.recipe)
    for each in explanation.remedies:
        if each.effect is not None and each.effect.low > 1 + SURELY_LESS:
            for name, level in each.levels.items():
                if name != "taken_off" and (
                    recipe := find_technique(explanation.profile.framework, name).snippet_at(level)
                ):
                    yield recipe

    tried = {each.name for each in explanation.remedies if each.reason != TOO_LATE}
    for name, level in dict.fromkeys(pair for cause in explanation.causes for pair in cause.techniques):
        recipe = find_technique(explanation.profile.framework, name).snippet_at(level)
        if f"{name} {level}" not in tried and recipe:
            yield f"{recipe}  # may help; the time did not suffice to try it"


def _part_rows(explanation: Explanation) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("part", "share of the time", "", "")]
    for part in sorted(explanation.parts, key=lambda each: each.share.share if each.share else -1.0, reverse=True):
        if part.share is None:
            rows.append((PARTS[part.name], "not measured", "", part.reason))
        else:
            rows.append((PARTS[part.name], percent(part.share.share), _interval(part.share), _bar(part.share)))
    return rows


def _remedy_rows(explanation: Explanation) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("tried", "speed", "")]
    for each in explanation.remedies:
        if each.effect is None:
            rows.append((each.name, "not measured", each.reason))
        else:
            rows.append(
                (each.name, ratio(each.effect.speedup, each.effect.low, each.effect.upper), each.effect.verdict)
            )
    return rows


def _operator_rows(explanation: Explanation) -> list[tuple[str, ...]]:
    profile = explanation.profile
    rows: list[tuple[str, ...]] = [("operator", "share", "", "calls", "operations", "bytes", "near")]
    listed: list[tuple[str, Share | None]] = [
        ("(loading)", profile.loading),
        ("(outside of operators)", profile.outside),
    ]
    rows += [(name, percent(share.share), _interval(share), "", "", "", "") for name, share in listed if share]
    for each in profile.operators[:OPERATORS]:
        found = rate(each, explanation.ceilings, profile.device)
        near = "" if found.of_ceiling is None else f"{percent(found.of_ceiling)} of a ceiling"
        if found.bound in ("memory", "arithmetic"):
            near = f"{found.bound}: {percent(found.of_ceiling or 0.0)} of the ceiling"
        operations = f"{each.operations:.3g}" if each.operations else ""
        moved = size(each.moved_bytes) if each.moved_bytes else ""
        calls = count(round(each.calls))
        rows.append((each.name, percent(each.share.share), _interval(each.share), calls, operations, moved, near))
    return rows


def _interval(share: Share) -> str:
    return interval_of_shares(share) if math.isfinite(share.low) else "too few pairs"


def _bar(share: Share) -> str:
    return "█" * round(BAR * min(1.0, max(0.0, share.share)))


def _spent(explanation: Explanation) -> str:
    parts = plural(sum(part.share is not None for part in explanation.parts), "part")
    return f"{parts} taken off in {minutes(explanation.spent_s)}; shares overlap, so they do not add up to 100 %."
