"""One tidy table with a row per arm of every run, and the effects in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from accelbench.certainty import is_disturbed, noise_of
from accelbench.price import MemoryKind, memory_bytes, memory_kind
from accelbench.results.load import Result
from accelbench.schema.result import ArmRecord, Effect, Placement, Price, Rate, Timing, TrialRecord, join_groups
from accelbench.schema.verdict import verdict_of_this_run
from accelbench.text import cross, format_baseline, format_case, format_levels, name_tests
from accelbench.units import plural

Row = dict[str, Any]

_FLOATS = (
    "s_per_iteration", "q1_s_per_iteration", "q3_s_per_iteration", "s_per_item", "items_per_s", "cold_s", "build_s",
    "memory_bytes", "error", "tolerance", "energy_j_per_item", "device_share",
)  # fmt: skip
_COUNTS = ("blocks", "iterations_per_block", "warmup_blocks")
_KINDS: dict[str, Any] = {  # so that a column in which everything is missing is still one of numbers
    **{f"{prefix}{name}": float for prefix in ("", "baseline_") for name in _FLOATS},
    **{f"{prefix}{name}": "Int64" for prefix in ("", "baseline_") for name in _COUNTS},
    **dict.fromkeys(("items", "baseline_items", "share", "speedup", "low", "high"), float),
    **dict.fromkeys(("step", "step_low", "step_high"), float),
    **dict.fromkeys(("pairs", "workers", "builds", "visits"), "Int64"),
}


def tabulate_arms(results: Iterable[Result], *, brief: bool = False) -> pd.DataFrame:
    """Return one row per arm, the runs and their trials in the order given.

    Where a table is to be ``brief``, it says what an arm is, how it ended, its time and its effect, with the verdict
    on what the run shows alone: half of the work.

    ``level`` is what distinguishes the arm from the baseline in words, ``about`` what these techniques are,
    ``levels`` all levels as a mapping. ``memory_bytes`` and ``baseline_memory_bytes`` are peaks of the framework's
    allocator where the arm and its baseline both have one, else rises of resident memory, as ``memory_kind`` says.
    ``energy_j_per_item`` is of the device that ``energy_of`` names. The columns of the effect are empty for a
    baseline and for an arm without a speed. Columns that begin with ``step`` hold the speedup of a ladder's rung
    over the rung below, which is at the levels ``step_over``. ``share`` is the largest share of a ceiling that the
    arm reached, ``ceiling`` which one that is, ``shares`` all of them by their ceilings. What arms observed besides
    time stands in columns named ``observed_``. Half of an arm's samples lie between ``q1_s_per_iteration`` and
    ``q3_s_per_iteration``. ``device_share`` is for what share of the time the device worked, by its own clock.
    ``recipe`` holds the lines of code that a user writes to have the arm, ``aliases`` are what else people call its
    techniques, ``group`` is the heading under which reports show them. ``kinds`` maps the trial's techniques to their
    kinds; ``ablation`` is true of an arm that only takes a part of the work away. ``test_name`` names the test where
    another trial of the run measures the same, and is empty elsewhere.
    """
    rows = _brief_rows if brief else _rows
    frame = pd.DataFrame([row for result in results for row in rows(result)])
    kinds = {name: kind for name, kind in _KINDS.items() if name in frame}
    return frame.astype(kinds | {name: float for name in frame if str(name).startswith("observed_")})


def effects(arms: pd.DataFrame) -> pd.DataFrame:
    """Return one row per candidate that has a speedup; its baseline's figures stand in columns named ``baseline_``."""
    return arms if arms.empty else arms[arms["speedup"].notna()].reset_index(drop=True)


def by_technique(effects: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield framework, technique and effects of each technique that was switched, in the order in which they come."""
    if len(effects):
        for _, found in effects.groupby(["framework", "switched"], sort=False):
            yield found["framework"].iloc[0], found["switched"].iloc[0], found.reset_index(drop=True)


def group_by_technique(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return rows by framework and the technique that was switched, in the order in which they come."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["framework"], row["switched"]), []).append(row)
    return groups


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """Return a table's rows as mappings, with None for what is missing."""
    columns = [
        [None if missing else value for value, missing in zip(frame[name].tolist(), frame[name].isna(), strict=True)]
        for name in frame
    ]
    names = [str(name) for name in frame]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def without(levels: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return levels or options without one of them."""
    return {other: level for other, level in levels.items() if other != name}


def label_case(row: Row | pd.Series[Any], *parts: str, **levels: Any) -> str:
    """Return the label of a row's case, as `format_case` writes it: what tells it from others of its workload.

    Args:
        row: an arm, as in `tabulate_arms`.
        parts: what the label begins with, such as a technique's level.
        levels: the parts of the label that differ from the row's, or that it has as well, such as the ``framework``.
    """
    of_row = {"problem": row["problem"], "fixed": row["fixed"], "test": row["test_name"]}
    return format_case(*parts, **(of_row | levels))


def _rows(result: Result) -> Iterator[dict[str, Any]]:
    names = name_tests(result.run.trials)
    for trial in result.run.trials:
        baseline = trial.arms[0]
        compared: dict[MemoryKind, Row] = {}
        common = {
            "run": result.name,
            "number": result.number,
            "taken": result.taken,
            "machine": result.run.machine,
            **_trial(trial),
            "test_name": names.get(trial.id, ""),
        }
        for position, arm in enumerate(trial.arms):
            kind = memory_kind(arm.price or Price(), baseline.price or Price())
            if kind not in compared:
                compared[kind] = {f"baseline_{name}": value for name, value in _figures(baseline, kind).items()}
            yield {
                **common,
                **_identify(arm, trial, position),
                "items": arm.items,
                "flags": arm.flags,
                "recipe": arm.recipe,
                "aliases": [alias for name in trial.techniques for alias in trial.technique_aliases.get(name, ())],
                "placement": _placement(arm.placement),
                **_share(arm.rates),
                **_figures(arm, kind),
                **_effect(_effect_of(arm, position)),
                **_step(trial.step(arm)),
                **compared[kind],
                "baseline_flags": baseline.flags,
                "baseline_items": baseline.items,
                **{f"observed_{name}": value for name, value in arm.observed.items()},
            }


def _brief_rows(result: Result) -> Iterator[dict[str, Any]]:
    for trial in result.run.trials:
        common, disturbed = _trial(trial), is_disturbed(trial)
        for position, arm in enumerate(trial.arms):
            effect = _effect_of(arm, position)
            yield {
                **common,
                **_identify(arm, trial, position),
                "disturbed": disturbed,
                "s_per_item": _seconds_per_item(arm.timing, arm.items),
                **_effect(effect),
                "verdict": verdict_of_this_run(effect, noise_of(result.run)) if effect else None,
            }


def _effect_of(arm: ArmRecord, position: int) -> Effect | None:
    """Return the effect of a candidate that has a speed."""
    return arm.effect if position and arm.outcome == "measured" else None


def _seconds_per_item(timing: Timing | None, items: float | None) -> float | None:
    return timing.median_s / items if timing and items else None


def _trial(trial: TrialRecord) -> dict[str, Any]:
    return {
        "trial": trial.id,
        "test": trial.id.partition("[")[0],
        "module": trial.module,
        "framework": trial.framework,
        "workload": trial.workload,
        "unit": trial.unit,
        "technique": cross(trial.techniques),
        "kinds": trial.kinds,
        "problem": trial.problem,
        "fixed": trial.fixed,
    }


def _identify(arm: ArmRecord, trial: TrialRecord, position: int) -> dict[str, Any]:
    """Return an arm's levels and outcome; a candidate is named by the levels in which it differs from its baseline."""
    baseline, candidate = trial.arms[0], position > 0
    switched = {name: level for name, level in arm.levels.items() if level != baseline.levels.get(name)}
    named = switched if candidate and switched else arm.levels
    against = {name: baseline.levels[name] for name in named if name in baseline.levels}
    return {
        "baseline": not candidate,
        "levels": arm.levels,
        "level": format_levels(named) if candidate else format_baseline(named),
        "switched": cross(named),
        "about": " ".join(trial.technique_summaries.get(name, "") for name in named).strip(),
        "group": join_groups(trial.technique_groups.get(name, "other") for name in named),
        "ablation": all(trial.kinds.get(name) == "ablation" for name in named),
        "against": format_baseline(against),
        "baseline_levels": against,
        "outcome": arm.outcome,
        "reason": arm.reason,
    }


def _placement(placement: Placement | None) -> str:
    """Return where the work ran, such as ``cuda:0, 12 kernels``."""
    if placement is None:
        return ""
    devices = dict.fromkeys([*placement.parameters, *placement.inputs, *placement.outputs, *placement.allocations])
    counted = [] if placement.kernels is None else [plural(placement.kernels, "kernel")]
    return ", ".join([*devices, *counted])


def _share(rates: Sequence[Rate]) -> dict[str, Any]:
    nearest = max(rates, key=lambda rate: rate.share, default=None)
    return {
        "share": nearest.share if nearest else None,
        "ceiling": nearest.ceiling if nearest else "",
        "shares": {rate.ceiling: rate.share for rate in rates},
    }


def _figures(arm: ArmRecord, kind: MemoryKind) -> dict[str, Any]:
    return {**_timing(arm.timing, arm.items), **_price(arm.price or Price(), kind)}


def _timing(timing: Timing | None, items: float | None) -> dict[str, Any]:
    per_item_s = _seconds_per_item(timing, items)
    sampled = timing if timing and timing.quantiles_s else None
    return {
        "s_per_iteration": timing.median_s if timing else None,
        "q1_s_per_iteration": sampled.quantile(0.25) if sampled else None,
        "q3_s_per_iteration": sampled.quantile(0.75) if sampled else None,
        "s_per_item": per_item_s,
        "items_per_s": 1 / per_item_s if per_item_s else None,
        "cold_s": timing.cold_s if timing else None,
        "build_s": timing.build_s if timing else None,
        "blocks": timing.blocks if timing else None,
        "iterations_per_block": timing.iterations_per_block if timing else None,
        "warmup_blocks": timing.warmup_blocks if timing else None,
        "warmup_settled": timing.warmup_settled if timing else None,
        "device_share": _device_share(timing) if timing else None,
    }


def _device_share(timing: Timing) -> float | None:
    """Return for what share of the time the device was busy, by its own clock, which may differ a little."""
    if timing.device_s is None or timing.median_s <= 0:
        return None
    return min(1.0, timing.device_s / timing.median_s)


def _price(price: Price, kind: MemoryKind) -> dict[str, Any]:
    return {
        "memory_bytes": memory_bytes(price, kind),
        "memory_kind": kind,
        "error": price.error,
        "tolerance": price.tolerance,
        "energy_j_per_item": price.energy_j_per_item,
        "energy_of": price.energy_of,
    }


def _effect(effect: Effect | None) -> dict[str, Any]:
    """Return the effect's columns; an interval that is not bounded above reaches to infinity."""
    return {
        "speedup": effect.speedup if effect and effect.speedup > 0 else None,
        "low": effect.low if effect else None,
        "high": effect.upper if effect else None,
        "verdict": effect.verdict if effect else None,
        "pairs": effect.pairs if effect else None,
        "paired": effect.paired if effect else None,
        "workers": effect.workers if effect else None,
        "builds": effect.builds if effect else None,
        "visits": len(effect.visits) if effect else None,
        "log_ratios": effect.log_ratios_in_order if effect else (),
        "of_this_run": effect.of_this_run if effect else (None, None, None),
    }


def _step(effect: Effect | None) -> dict[str, Any]:
    step = _effect(effect)
    return {
        "step": step["speedup"],
        "step_low": step["low"],
        "step_high": step["high"],
        "step_verdict": step["verdict"],
        "step_over": effect.against if effect else {},
    }
