"""The findings of a run in sentences: what pays and at what price, what does not, what is undecided or unmeasured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accelbench import price, units
from accelbench.certainty import budget_of, noise_of, rank, times_the_pairs, what_would_decide
from accelbench.results.arm_table import Row, group_by_technique, label_case
from accelbench.results.tradeoffs import break_even
from accelbench.run_summary import HEADINGS
from accelbench.schema.reasons import Reason, describe, kind_of
from accelbench.schema.result import PYTHON_LOOPS, Run
from accelbench.schema.verdict import possible_verdicts
from accelbench.text import format_baseline, format_place, join_names, name_some


@dataclass(frozen=True)
class Places:
    """Where some effects were measured. ``differing`` names, for each workload, the options that are not the same."""

    differing: Mapping[str, set[str]]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Places:
        """Return the places of these effects."""
        alike: dict[str, list[Row]] = {}
        for row in rows:
            alike.setdefault(row["workload"], []).append(_case_levels(row))
        return cls({workload: _differing(held) for workload, held in alike.items()})

    def name(self, row: Row, said: str = "") -> str:
        """Return an effect's place with a text on it: ``matmul (elements 10,000; 1.91×)``."""
        differing = self.differing[row["workload"]]
        options = {name: value for name, value in _case_levels(row).items() if name in differing}
        where = label_case(row, problem=options, fixed="")
        return format_place(row["workload"], "; ".join(filter(None, (where, said))))


def format_own_level(row: Row) -> str:
    """Return a row's level without the technique's name, where it is one technique."""
    return str(row["level"]).removeprefix(f"{row['switched']} ")


def list_names(names: Sequence[str], most: int = 2) -> str:
    """Return the first few names as a sentence lists them, and how many more there are."""
    names = list(dict.fromkeys(names))
    return name_some(names, most + (len(names) == most + 1))  # a name takes no more room than "1 more"


def _case_levels(row: Row) -> Row:
    return {**row["problem"], **row["fixed"]}


def _differing(held: Sequence[Row]) -> set[str]:
    names = {name for each in held for name in each}
    return {name for name in names if any(each.get(name) != held[0].get(name) for each in held)}


_NAMES_OF_OUTCOMES = {"wrong-output": "with wrong output", "wrong-work": "with wrong work"}
_NAMED = 3  # levels and workloads of one reason; every arm stands in the table of arms


@dataclass(frozen=True, kw_only=True)
class Group:
    """Arms that have no speed, or a doubtful one, for the same reason."""

    outcome: str
    reason: str
    counted: str
    named: str


def group_unmeasured(arms: Sequence[Row]) -> list[Group]:
    """Return the arms that were not measured, by reason."""
    return _group((row, row["outcome"], row["reason"]) for row in arms if row["outcome"] != "measured")


def group_doubts(arms: Sequence[Row]) -> list[Group]:
    """Return the arms that were measured and flagged, by flag."""
    measured = (row for row in arms if row["outcome"] == "measured")
    return _group((row, "doubtful", flag) for row in measured for flag in row["flags"])


def _group(found: Iterable[tuple[Row, str, Reason | None]]) -> list[Group]:
    """Group arms by their outcomes and by reasons that differ only in numbers; the most frequent reason first."""
    groups: dict[tuple[str, ...], list[tuple[Row, str, Reason | None]]] = {}
    for row, outcome, reason in found:
        groups.setdefault((outcome, *(kind_of(reason) if reason else ())), []).append((row, outcome, reason))
    return [_name_group(alike) for alike in sorted(groups.values(), key=len, reverse=True)]


def _name_group(alike: Sequence[tuple[Row, str, Reason | None]]) -> Group:
    outcome, reasons = alike[0][1], [reason for _, _, reason in alike if reason]
    name = _NAMES_OF_OUTCOMES.get(outcome, outcome.replace("-", " "))
    return Group(
        outcome=outcome,
        reason=describe(reasons) if reasons else "",
        counted=f"{units.plural(len(alike), 'arm')} {name}",
        named=_name_arms([row for row, *_ in alike]),
    )


def _name_arms(rows: list[dict[str, Any]]) -> str:
    """Return the first few levels, workloads and frameworks of these arms; a few arms of different cases one by one."""
    arms = {row["level"]: set[str]() for row in rows}
    for row in rows:
        arms[row["level"]].add(label_case(row, row["workload"], framework=row["framework"]))
    if len({frozenset(cases) for cases in arms.values()}) > 1 and sum(map(len, arms.values())) <= _NAMED + 1:
        return join_names([f"{level} ({case})" for level, cases in arms.items() for case in sorted(cases)])
    levels, workloads, frameworks = (
        list_names([row[name] for row in rows], most=_NAMED) for name in ("level", "workload", "framework")
    )
    return f"{levels}{',' if levels.endswith(' on') else ''} on {workloads} ({frameworks})"


_NOT_FASTER = {"slower": "never", "same": "no difference", "undecided": "undecided"}


def format_break_even(row: dict[str, Any]) -> str:
    """Return when a candidate begins to pay, for a table, such as ``after 61 iterations (58–70)``."""
    if row["verdict"] != "faster":
        return _NOT_FASTER.get(row["verdict"], "")
    found = break_even(row)
    if found is None:
        return ""
    if found.high == 0:
        return "from the first call"
    low, high = _whole(found.low), _whole(found.high)
    within = f" ({low}–{high})" if low != high else ""
    return f"after {_whole(found.at)} {found.unit}s{within}"


def explain_break_even(row: dict[str, Any]) -> str:
    """Return a sentence about a candidate that pays only after it has caught up; empty for every other arm."""
    said = format_break_even(row)
    if not said.startswith("after"):
        return ""
    own, baselines = units.seconds(row["cold_s"]), units.seconds(row["baseline_cold_s"])
    then = f"from then on it is {units.speedup(row['speedup'])} as fast"
    return f"{row['level']} pays {said}: its first call takes {own}, the baseline’s {baselines}; {then}."


def _whole(number: float) -> str:
    return "∞" if math.isinf(number) else units.short(math.ceil(number))


def describe_price(row: Row) -> str:
    """Return what a candidate costs besides time, or saves, with the work that repays a slow first call."""
    repaid = format_break_even(row)
    return price.describe_price(row, repaid if repaid.startswith("after") else "")


_UNSETTLED = "the times had not settled when the warm-up ended"


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """The conditions of a run: its noise zone, its budget per arm, and the remarks on its trials by trial id."""

    noise: float
    budget_s: float | None
    remarks: Mapping[str, Sequence[Reason]]


def circumstances(run: Run) -> Circumstances:
    """Return the conditions of a run, from its settings and its trials."""
    remarks = {trial.id: trial.remarks for trial in run.trials}
    return Circumstances(noise=noise_of(run), budget_s=budget_of(run), remarks=remarks)


def describe_open_verdict(row: Row, place: str, noise: float) -> str:
    """Return the bounds of an undecided speedup, and the verdicts that they leave open."""
    pairs = units.plural(row["pairs"], "pair")
    if not row["low"] > 0 or math.isinf(row["high"]):
        return f"could not be judged on {place}: no interval after {pairs}"
    between = f"{units.speedup(row['low'])} to {units.speedup(row['high'])}"
    words = ["the same" if each == "same" else each for each in possible_verdicts(row["low"], row["high"], noise)]
    possible = " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
    return f"may be {possible} on {place}: {between} after {pairs}"


def explain_undecided(row: Row, around: Circumstances) -> list[str]:
    """Return sentences on why an effect is undecided and what would decide it."""
    why = _reasons(row, around)
    return [*([f"Why: {'; '.join(why)}"] if why else []), f"To decide: {_what_would_decide(row, around)}"]


def _reasons(row: Row, around: Circumstances) -> list[str]:
    remarks = dict.fromkeys(remark.brief for remark in around.remarks[row["trial"]])
    return [*remarks, *([_UNSETTLED] if _is_unsettled(row) else [])]


def _is_unsettled(row: Row) -> bool:
    return row["warmup_settled"] is False or row["baseline_warmup_settled"] is False


def _what_would_decide(row: Row, around: Circumstances) -> str:
    return what_would_decide(
        times_the_pairs(row["speedup"], row["low"], row["high"], around.noise),
        disturbed=bool(around.remarks[row["trial"]]),
        settled=not _is_unsettled(row),
        workers=row["workers"] if row["paired"] else 1,
        budget_s=around.budget_s,
    )


_FIRST = 6  # statements of one verdict, before one asks for more
_REACH = {"faster": "pays on", "slower": "slower on", "same": "no difference on", "undecided": "undecided on"}
_OTHER_VERDICTS = {"slower": "Slower on", "same": "No difference on", "undecided": "Undecided on"}
_OTHER_LEVELS = {  # and where the level spoken of does so too
    "faster": ("Pays", "Also pays"),
    "same": ("No difference", "Also no difference"),
    "undecided": ("Undecided", "Also undecided"),
}


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What one technique does in one framework, in plain text.

    ``what`` is the technique at the level where its effect is surest, ``against`` the baseline's level and ``finding``
    what it does there. ``more`` are sentences on where it does something else, or on what would decide it, ``slows``
    names what it slows down most, where it pays elsewhere, and ``recipe`` is the code that a user writes for ``what``.
    """

    verdict: str
    framework: str
    technique: str
    what: str
    against: str
    finding: str
    price: str
    more: tuple[str, ...]
    doubt: str
    slows: str
    recipe: str


@dataclass(frozen=True, kw_only=True)
class VerdictGroup:
    """The statements of one verdict, and the effect that each of them is about.

    ``mixed`` are statements of techniques that pay but slow something down as well.
    """

    verdict: str
    heading: str
    statements: list[Statement]
    effects: list[Row]
    mixed: list[Statement]

    @property
    def first(self) -> list[Statement]:
        """The statements that are shown at once."""
        return self.statements[:_FIRST]

    @property
    def others(self) -> list[Statement]:
        """The statements that unfold on request."""
        return self.statements[_FIRST:]


def state_findings(effects: Sequence[Row], around: Circumstances) -> list[VerdictGroup]:
    """Return one statement per technique and framework, by verdict, what a normal program gains most from first.

    What pays is sorted by the gain that is sure on the average of its workloads; there, what only a loop in Python
    gains comes last, and doubtful effects after it. What slows down is sorted by the surest loss, and what is undecided
    by how few more pairs would decide it.
    """
    techniques = [(rows, *_state(rows, around)) for rows in group_by_technique(effects).values()]
    techniques.sort(key=lambda each: _order(each[0], each[1], around))
    stated = [(chosen, statement) for _, chosen, statement in techniques]
    return [
        VerdictGroup(
            verdict=verdict,
            heading=heading,
            statements=[each for _, each in stated if each.verdict == verdict],
            effects=[row for row, each in stated if each.verdict == verdict],
            mixed=[each for _, each in stated if each.slows and verdict == "slower"],
        )
        for verdict, heading in HEADINGS.items()
    ]


def _order(rows: Sequence[Row], chosen: Row, around: Circumstances) -> tuple[bool, bool, float]:
    """Return the key by which techniques are sorted, given all effects of each and the one that is spoken of."""
    doubtful, strength = _rank(chosen, around)
    if chosen["verdict"] == "faster":
        strength = -_average_gain([row for row in rows if row["level"] == chosen["level"]])
    return doubtful, chosen["group"] == PYTHON_LOOPS, strength


def _average_gain(rows: Sequence[Row]) -> float:
    """Return the logarithm of the speedup that is sure on the average of these effects."""
    sure = [math.log(row["low"]) for row in rows if row["verdict"] == "faster"]
    sure += [math.log(row["high"]) for row in rows if row["verdict"] == "slower"]
    return math.fsum(sure) / len(rows)


def choose_surest(rows: Sequence[Row], around: Circumstances) -> list[Row]:
    """Return the surest effect of each technique in each framework, from effects of one verdict, the surest first."""
    chosen: dict[tuple[str, str], Row] = {}
    for row in _surest_first(rows, around):
        chosen.setdefault((row["framework"], row["switched"]), row)
    return list(chosen.values())


def _surest_first(rows: Sequence[Row], around: Circumstances) -> list[Row]:
    """Return effects of one verdict, the surest first; rungs that add nothing stand after the others."""

    def order(row: Row) -> tuple[bool, bool, float]:
        doubtful, strength = _rank(row, around)
        return doubtful, _adds_nothing(row), strength

    return sorted(rows, key=order)


def _adds_nothing(row: Row) -> bool:
    """Return whether a gain is that of a ladder's rung which is not shown to be faster than the rung below."""
    return row["verdict"] == "faster" and row["step_verdict"] not in (None, "faster")


def _rank(row: Row, around: Circumstances) -> tuple[bool, float]:
    """Return the key by which effects of one verdict are sorted."""
    return bool(_doubts(row)), rank(row["verdict"], row["speedup"], row["low"], row["high"], around.noise)


def _state(rows: Sequence[Row], around: Circumstances) -> tuple[Row, Statement]:
    """Return a technique's surest effect, and the statement on the technique."""
    verdict = next(verdict for verdict in HEADINGS if any(row["verdict"] == verdict for row in rows))
    chosen = _surest_first([row for row in rows if row["verdict"] == verdict], around)[0]
    places = Places.of(rows)
    place = places.name(chosen)
    found = (
        describe_open_verdict(chosen, place, around.noise)
        if verdict == "undecided"
        else _describe_effect(chosen, place)
    )
    return chosen, Statement(
        verdict=verdict,
        framework=chosen["framework"],
        technique=chosen["switched"],
        what=chosen["level"],
        against=format_baseline(chosen["baseline_levels"], named=False),
        finding="; ".join(filter(None, (found, _reach(chosen, rows)))),
        price="" if verdict == "undecided" else describe_price(chosen),
        more=(
            *(explain_undecided(chosen, around) if verdict == "undecided" else ()),
            *_describe_other_verdicts(chosen, rows, places),
            *_other_levels(chosen, rows, places),
        ),
        doubt="; ".join(_doubts(chosen)),
        slows=_slows(rows, places) if verdict == "faster" else "",
        recipe="\n".join(chosen["recipe"]),
    )


def _slows(rows: Sequence[Row], places: Places) -> str:
    slower = [row for row in rows if row["verdict"] == "slower"]
    if not slower:
        return ""
    worst = min(slower, key=lambda row: row["high"])
    return f"{worst['level']} on {places.name(worst, units.speedup(worst['speedup']))}"


def _doubts(row: Row) -> list[str]:
    """Return the doubts about either arm, in a few words each."""
    return list(dict.fromkeys(flag.brief for flag in [*row["baseline_flags"], *row["flags"]]))


def _describe_effect(row: Row, place: str) -> str:
    speedup, within = units.speedup(row["speedup"]), units.interval(row["low"], row["high"])
    if row["verdict"] == "faster":
        return f"makes {place} {speedup} as fast ({within})"
    if row["verdict"] == "slower":
        return f"slows {place} down to {speedup} ({within})"
    return f"makes no difference on {place}: {speedup} ({within})"


def _reach(chosen: Row, rows: Sequence[Row]) -> str:
    """Return in how many cases this level has the verdict of the chosen one."""
    cases = [row for row in rows if row["level"] == chosen["level"]]
    if len(cases) == 1:
        return ""
    alike = sum(row["verdict"] == chosen["verdict"] for row in cases)
    share = f"{alike} of {len(cases)}" if alike < len(cases) else "both" if alike == 2 else f"all {alike}"
    apart = len({row["workload"] for row in cases}) == len(cases)
    return f"{_REACH[chosen['verdict']]} {share} {'workloads' if apart else 'cases'}"


def _describe_other_verdicts(chosen: Row, rows: Sequence[Row], places: Places) -> Iterator[str]:
    """Yield where the same level has another verdict."""
    others = [row for row in rows if row["level"] == chosen["level"]]
    for verdict, words in _OTHER_VERDICTS.items():
        found = _by_speed([row for row in others if row["verdict"] == verdict], places)
        if found and verdict != chosen["verdict"]:
            yield f"{words} {list_names(found, most=1 if verdict in ('slower', 'same') else 2)}"


def _other_levels(chosen: Row, rows: Sequence[Row], places: Places) -> Iterator[str]:
    """Yield what the other levels do: by name for those that slow something down, in brief for the others."""
    levels: dict[str, list[Row]] = {}
    for row in rows:
        if row["level"] != chosen["level"]:
            levels.setdefault(format_own_level(row), []).append(row)
    brief: dict[str, list[str]] = {}
    for level, found in levels.items():
        if slower := [row for row in found if row["verdict"] == "slower"]:
            yield f"{level} is slower on {list_names(_by_speed(slower, places), most=1)}"
        kept = [verdict for verdict in _OTHER_LEVELS if any(row["verdict"] == verdict for row in found)]
        if kept and (not slower or kept[0] == "faster"):
            brief.setdefault(kept[0], []).append(level)
    for verdict in _OTHER_LEVELS:
        if verdict in brief:
            does, also = _OTHER_LEVELS[verdict]
            yield f"{also if verdict == chosen['verdict'] else does}: {list_names(brief[verdict], most=5)}"


def _by_speed(found: Sequence[Row], places: Places) -> list[str]:
    """Return the places of effects, the slowest first, with the speedups that are decided."""
    ordered = sorted(found, key=lambda row: row["speedup"])
    return [places.name(row, "" if row["verdict"] == "undecided" else _format_effect(row)) for row in ordered]


def _format_effect(row: Row) -> str:
    return f"{units.speedup(row['speedup'])}, {units.interval(row['low'], row['high'])}"
