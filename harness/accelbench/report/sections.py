"""The page's sections: one for each technique, for each workload and for each trial."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from accelbench import units
from accelbench.report.figures.drawing import RenderedFigure
from accelbench.report.labels import Anchors
from accelbench.report.render import Content
from accelbench.report.sparklines import arm_strips
from accelbench.report.statements import (
    Circumstances,
    Places,
    Statement,
    VerdictGroup,
    choose_surest,
    describe_open_verdict,
    explain_break_even,
    explain_undecided,
    group_unmeasured,
)
from accelbench.report.tables import tabulate_effects, tabulate_trial
from accelbench.report.verdicts import count_comparisons
from accelbench.results import Findings, LevelSweep, SizeSweep
from accelbench.results.arm_table import Row, group_by_technique, label_case
from accelbench.schema.result import Effect, Run, TrialRecord, rank_spending
from accelbench.text import cross, format_levels, format_place, format_test_id, hyphenate, name_tests

_BEST = 3  # techniques that pay on a workload; all of its effects stand in its trials


def technique_sections(
    arms: Sequence[Row],
    figures: Sequence[RenderedFigure],
    anchors: Anchors,
    *,
    findings: Sequence[VerdictGroup],
    thresholds: Sequence[Threshold],
    around: Circumstances,
) -> list[Content]:
    """Return a section for each technique that was asked for, framework by framework.

    ``reasons`` say why some of its arms have no speed. ``summary`` is what it is, ``names`` are what else it is called,
    and ``recipes`` are what a user writes for its levels, apart from what the statement shows. ``statement`` is None
    for a technique that only explains or has no speed; ``open_questions`` say of each undecided effect what would
    decide it.
    """
    stated = {(each.framework, each.technique): each for part in findings for each in part.statements}
    return [
        Content(
            anchor=anchors.technique(framework, technique),
            framework=framework,
            technique=technique,
            summary=candidates[0]["about"],
            reasons=group_unmeasured(candidates),
            counted=_count_verdicts(found),
            statement=stated.get((framework, technique)),
            thresholds=[each.sentence for each in thresholds if each.about == (framework, technique)],
            open_questions=_open_questions(found, around),
            names=_names(candidates, technique),
            recipes=_recipes(candidates, stated.get((framework, technique))),
            figures=[figure for figure in figures if figure.about == (framework, technique)],
            effects=tabulate_effects(found),
        )
        for (framework, technique), candidates in group_by_technique(arms).items()
        for found in [[row for row in candidates if row["speedup"] is not None]]
    ]


def _names(rows: Sequence[Row], technique: str) -> str:
    """Return by what else a technique is searched for: its aliases and its levels."""
    aliases = [alias for row in rows for alias in row["aliases"]]
    return ", ".join(dict.fromkeys([*aliases, technique.replace("-", "_"), *(row["level"] for row in rows)]))


def _recipes(rows: Sequence[Row], statement: Statement | None) -> list[tuple[str, str]]:
    """Return what a user writes for each level, without the one that the statement shows."""
    written = {row["level"]: "\n".join(row["recipe"]) for row in rows if row["recipe"]}
    shown = statement.what if statement and statement.verdict == "faster" else ""
    return [(level, recipe) for level, recipe in written.items() if level != shown]


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """The level or size from which a technique pays on one workload; ``about`` is its framework and technique."""

    about: tuple[str, str]
    sentence: str


def thresholds(findings: Findings) -> Iterator[Threshold]:
    """Yield the knee of every sweep over numeric levels, and the crossover of every sweep over sizes."""
    swept: list[tuple[LevelSweep | SizeSweep, str]]
    swept = [(sweep, hyphenate(sweep.technique)) for sweep in findings.level_sweeps]
    swept += [(sweep, sweep.arms["switched"].iloc[0]) for sweep in findings.size_sweeps]
    for sweep, technique in swept:
        place = format_place(sweep.workload, sweep.framework, sweep.held)
        yield Threshold(about=(sweep.framework, technique), sentence=f"{place}: {sweep.sentence}")


def workload_sections(
    effects: Sequence[Row], trials: Sequence[TrialRecord], anchors: Anchors, around: Circumstances
) -> list[Content]:
    """Return a section for each workload, in the order in which they were measured, with what pays most surely."""
    together: dict[str, list[TrialRecord]] = {}
    for trial in trials:
        together.setdefault(trial.workload, []).append(trial)
    found: dict[str, list[Row]] = {}
    for row in effects:
        found.setdefault(row["workload"], []).append(row)
    return [
        Content(
            anchor=anchors.workload(workload),
            workload=workload,
            frameworks=", ".join(dict.fromkeys(trial.framework for trial in alike)),
            summary=alike[0].summary,
            counted=_count_verdicts(found.get(workload, [])),
            best=_best(found.get(workload, []), anchors, around),
            trials=_link_trials(alike, anchors),
        )
        for workload, alike in together.items()
    ]


def _count_verdicts(effects: Sequence[Row]) -> str:
    return count_comparisons(units.plural(len(effects), "comparison"), (row["verdict"] for row in effects))


def _open_questions(rows: Sequence[Row], around: Circumstances) -> list[str]:
    places = Places.of(rows)
    return [
        ". ".join(
            [
                f"{row['level']} {describe_open_verdict(row, places.name(row), around.noise)}",
                *explain_undecided(row, around),
            ]
        )
        for row in rows
        if row["verdict"] == "undecided"
    ]


def _best(rows: Sequence[Row], anchors: Anchors, around: Circumstances) -> list[Content]:
    """Return the surest effect of each technique that pays, the surest of them first."""
    faster = [row for row in rows if row["verdict"] == "faster"]
    return [
        Content(
            what=row["level"],
            speedup=units.ratio(row["speedup"], row["low"], row["high"]),
            anchor=anchors.technique(row["framework"], row["switched"]),
        )
        for row in choose_surest(faster, around)[:_BEST]
    ]


def _link_trials(trials: Sequence[TrialRecord], anchors: Anchors) -> list[tuple[str, str]]:
    """Return the anchors and names of trials; trials of one technique are named by the options in which they differ."""
    names = name_tests(trials)
    rows = [
        {
            "workload": cross(trial.techniques),
            "problem": trial.problem,
            "fixed": trial.fixed,
            "test_name": names.get(trial.id, ""),
        }
        for trial in trials
    ]
    places = Places.of(rows)
    return [(anchors.trial(trial.id), places.name(row)) for trial, row in zip(trials, rows, strict=True)]


_BEST_FIRST = ("faster", "same", "undecided", "slower")


def trial_sections(run: Run, arms: Sequence[Row], anchors: Anchors, noise: float) -> list[Content]:
    """Return a section for each trial, in the order in which they were measured.

    ``verdict`` and ``best`` are those of its best candidate, empty without one.
    """
    rows: dict[str, list[Row]] = {}
    for row in arms:
        rows.setdefault(row["trial"], []).append(row)
    return [_section(trial, rows[trial.id], run, anchors, noise) for trial in run.trials]


def _section(trial: TrialRecord, arms: list[Row], run: Run, anchors: Anchors, noise: float) -> Content:
    verdict, best = _best_candidate(trial)
    strips = arm_strips(trial, noise)
    return Content(
        anchor=anchors.trial(trial.id),
        record=trial,
        title=f"{cross(trial.techniques)} on {trial.workload}",
        held=label_case(arms[0], trial.framework),
        verdict=verdict,
        best=best,
        measured=tabulate_trial(arms),
        strips=strips,
        has_courses=any(each.ratios or each.warmup for each in strips),
        paying=list(filter(None, map(explain_break_even, arms))),
        around=[(name, said) for name, said in _around(trial, run) if said],
        command=rerun(trial, run.settings),
    )


def _best_candidate(trial: TrialRecord) -> tuple[str, str]:
    """Return the verdict on a trial's best candidate, and the candidate with its speedup."""
    found = [(arm.effect, arm) for arm in trial.arms[1:] if arm.effect and arm.outcome == "measured"]
    if not found:
        return "", ""
    effect, arm = min(found, key=lambda each: _rank(each[0]))
    return effect.verdict, f"{format_levels(arm.levels)} {units.ratio(effect.speedup, effect.low, effect.upper)}"


def _rank(effect: Effect) -> tuple[int, float]:
    return _BEST_FIRST.index(effect.verdict), -effect.speedup


def _around(trial: TrialRecord, run: Run) -> Iterator[tuple[str, str]]:
    """Yield what the trial was measured with, how long that took, and what the machine did meanwhile."""
    spent = [f"{kind} {units.seconds(spent_s)}" for kind, spent_s, _ in rank_spending(trial.spent_s)]
    seen = sorted(trial.disturbance.items())
    yield "measured with", ", ".join(_software(trial.framework, run.environment.configuration))
    yield "measuring took", units.seconds(trial.span_s)
    yield "the time went to", ", ".join(spent)
    yield "meanwhile", ", ".join(f"{units.without_unit(name)} {units.with_unit(name, value)}" for name, value in seen)


def _software(framework: str, configuration: Mapping[str, str]) -> Iterator[str]:
    """Yield the framework's version and its threads, and Python's version."""
    if version := configuration.get(f"{framework}.version"):
        yield f"{framework} {version}"
    for key, value in configuration.items():
        group, _, name = key.partition(".")
        if group == framework and name.endswith("threads"):
            yield f"{name.replace('_', ' ')} {value}"
    if python := configuration.get("python"):
        yield python


Settings = Mapping[str, str | int | float | bool | None]

_OPTIONS = {  # setting: the plugin's option, and the option's default
    "size": ("--accel-size", None),
    "budget_s": ("--accel-budget", 2.0),
    "visits": ("--accel-visits", 4),
    "noise": ("--accel-noise", 0.01),
    "max_batch": ("--accel-max-batch", {"small": 64, "full": 16384}),  # at full, a machine without a GPU tries fewer
    "max_workers": ("--accel-max-workers", "cores"),
    "seed": ("--accel-seed", 0),
}
_KEYWORD = re.compile(r"[\w:+\-.\[\]\\/]+")  # what pytest takes as one word of -k


def rerun(trial: TrialRecord, settings: Settings) -> str:
    """Return the command that measures a trial again, quoted for a shell whatever names the file holds."""
    return shlex.join(["pytest", *_selection(trial), "--benchmark-save=again", *_options(settings)])


def _selection(trial: TrialRecord) -> list[str]:
    """Return what selects the trial's tests and no others.

    A trial's id is its tests' without the levels, which stand last in theirs: ``test_amp[net]`` is run as
    ``test_amp[net-amp-fp32]`` and ``test_amp[net-amp-bf16]``.
    """
    path, separator, name = trial.id.partition("::")
    function, bracket, rest = name.partition("[")
    test = path + separator + function
    if not re.match(r"\w", test):
        test = f"./{test}"  # a file, and neither an option nor a file of options
    if not bracket:
        return [test]
    keyword = f"[{rest.removesuffix(']')}-{format_test_id({trial.techniques[0]: ''})}" if trial.techniques else ""
    if _KEYWORD.fullmatch(keyword):
        return [test, "-k", keyword]
    return [f"{test}[{rest.removesuffix(']')}-{format_test_id(arm.levels)}]" for arm in trial.arms]


def _options(settings: Settings) -> Iterator[str]:
    """Yield the options that differ from their defaults; the name of a folder of images is not recorded."""
    for name, (option, default) in _OPTIONS.items():
        if isinstance(default, dict):
            default = default.get(str(settings.get("size")))
        elif default == "cores":
            default = settings.get("cores")
        value = settings.get(name)
        if value is not None and value != default:
            yield f"{option}={value}"
    if settings.get("cache") == "cold":
        yield "--accel-cold-cache"
    if settings.get("own_images") is not None:
        yield "--accel-data-dir=FOLDER"
