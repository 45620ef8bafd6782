"""Which changes a history is said to have, of what kind, since which run and with what."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import signal

from accelbench.history.changes import find_changes
from accelbench.history.observations import History

WORKLOADS = ("resnet-50", "bert", "gpt-2", "unet", "mlp")


@pytest.fixture
def history():
    """Return a history of ``runs`` runs; what is planted in it adds to the logarithms from a run on."""

    def made(
        runs=40, *, machine=None, workload=None, technique=None, drivers=None, spread=0.01, levels=("bf16",), seed=0
    ):
        rng = np.random.default_rng(seed)
        names = [f"machine/{number:04}_night" for number in range(1, runs + 1)]
        common = 0.02 * rng.standard_normal(runs) + _from(runs, machine)
        rows = []
        for name in WORKLOADS:
            base = common + spread * rng.standard_normal(runs)
            base += _from(runs, workload) if name == "resnet-50" else 0.0
            rows.append(_arms(names, name, "", base, None))
            for level in levels:
                effect = np.log(1.8) + spread * rng.standard_normal(runs)
                effect += _from(runs, technique) if (name, level) == ("resnet-50", "bf16") else 0.0
                rows.append(_arms(names, name, f"amp {level}", base - effect, effect))
        return History(runs=_runs(names, drivers or {}), observations=pd.concat(rows, ignore_index=True))

    return made


def _from(runs, planted):
    if planted is None:
        return np.zeros(runs)
    at, size = planted
    return np.where(np.arange(runs) >= at, size, 0.0)


def _arms(names, workload, level, log_s, effect):
    trial = f"benchmarks/test_amp.py::test_amp[{workload}]"
    return pd.DataFrame(
        {
            "run": names, "case": f"{trial}|{level or 'amp fp32'}", "trial": trial, "framework": "torch",
            "workload": workload, "problem": "", "technique": "amp" if level else "", "level": level or "amp fp32",
            "against": "amp fp32" if level else "", "baseline": not level, "log_s": log_s,
            "log_effect": np.nan if effect is None else effect,
        }
    )  # fmt: skip


def _runs(names, drivers):
    changed = [{"driver.nvidia": next((new for at, new in drivers.items() if place >= at), "570.124")}
               for place in range(len(names))]  # fmt: skip
    return pd.DataFrame(
        {
            "run": names, "machine": "machine", "identity": "{}", "size": "full", "settings": "{}",
            "configuration": [json.dumps(each) for each in changed],
        }
    )  # fmt: skip


def test_an_effect_that_falls_is_dated_sized_and_reported_with_the_driver_that_changed_then(history):
    (found,) = find_changes(history(technique=(25, np.log(0.9)), drivers={25: "580.65"}))
    assert (found.kind, found.shape, found.workload, found.since) == (
        "technique", "level shift", "resnet-50", "machine/0026_night",
    )  # fmt: skip
    assert found.low < 0.9 < found.high
    assert (found.before, found.after) == (pytest.approx(1.8, rel=0.01), pytest.approx(1.8 * 0.9, rel=0.01))
    assert "570.124 → 580.65 at that run" in found.environment


def test_a_faster_machine_is_the_machines_change_and_nobody_elses(history):
    (found,) = find_changes(history(machine=(20, np.log(0.6))))
    assert (found.kind, found.since) == ("machine", "machine/0021_night")
    assert found.low < 0.6 < found.high
    assert found.after == pytest.approx(0.6, rel=0.02)


def test_a_workload_that_slows_down_with_all_its_arms_is_the_workloads_change(history):
    (found,) = find_changes(history(workload=(20, np.log(1.1))))
    assert (found.kind, found.workload, found.since) == ("workload", "resnet-50", "machine/0021_night")


def test_a_baseline_that_moves_alone_changes_the_effects_and_not_the_workload(history):
    made = history(levels=("bf16", "fp16"))
    seen = made.observations
    moved = np.where(seen["workload"].eq("resnet-50") & seen["run"].isin(made.runs["run"][20:]), 0.1, 0.0)
    times, effects = seen["log_s"] + moved * seen["baseline"], seen["log_effect"] + moved
    found = find_changes(History(runs=made.runs, observations=seen.assign(log_s=times, log_effect=effects)))
    assert {(change.kind, change.level) for change in found} == {("technique", "amp bf16"), ("technique", "amp fp16")}


def test_a_technique_that_gets_slower_while_the_machine_gets_faster_is_found(history):
    found = find_changes(history(machine=(25, np.log(0.91)), technique=(25, np.log(0.9))))
    assert {(change.kind, change.since) for change in found} == {
        ("machine", "machine/0026_night"), ("technique", "machine/0026_night"),
    }  # fmt: skip


def test_nothing_is_found_in_hundreds_of_series_in_which_nothing_happens(history):
    levels = [f"level {number}" for number in range(30)]
    assert find_changes(history(levels=levels, spread=0.03)) == []


@pytest.mark.slow
def test_effects_that_wander_from_run_to_run_have_not_changed(history):
    made = history(levels=[f"level {number}" for number in range(30)])
    wandering = (
        made.observations["log_effect"]
        .groupby(made.observations["case"])
        .transform(lambda effect: signal.lfilter([0.8], [1, -0.6], effect - effect.mean()))
    )
    assert find_changes(History(runs=made.runs, observations=made.observations.assign(log_effect=wandering))) == []


def test_what_changed_a_run_later_is_reported_as_close_by(history):
    (found,) = find_changes(history(technique=(25, np.log(0.9)), drivers={26: "580.65"}))
    assert "close by, at run 0027_night" in found.environment


def test_what_only_the_first_runs_had_is_reported_where_something_changed_then(history):
    assert find_changes(history(70, technique=(8, np.log(0.9)))) == []
    (found,) = find_changes(history(70, technique=(8, np.log(0.9)), drivers={8: "580.65"}))
    assert found.since == "machine/0009_night"


def test_a_technique_that_paid_less_for_a_while_is_reported_as_over(history):
    made = history(technique=(15, np.log(0.9)))
    back = made.observations["run"].isin(made.runs["run"][25:]) & made.observations["level"].eq("amp bf16")
    back &= made.observations["workload"].eq("resnet-50")
    effects = made.observations["log_effect"] - np.log(0.9) * back
    (found,) = find_changes(History(runs=made.runs, observations=made.observations.assign(log_effect=effects)))
    assert (found.shape, found.since, found.until) == ("transient", "machine/0016_night", "machine/0025_night")
    assert found.ratio == pytest.approx(0.9, rel=0.02)


def test_without_any_known_change_that_is_said(history):
    (found,) = find_changes(history(technique=(25, np.log(0.9))))
    assert found.environment == "nothing known changed at that run"


def test_two_fields_that_changed_together_are_confounded_and_the_runs_that_separate_them_are_named(history):
    made = history(technique=(25, np.log(0.9)))
    before, after = (
        {"driver.nvidia": driver, "torch.version": torch} for driver, torch in (("570", "2.11"), ("580", "2.13"))
    )
    configurations = [json.dumps(before if place < 25 else after) for place in range(40)]
    (found,) = find_changes(
        History(runs=made.runs.assign(configuration=configurations), observations=made.observations)
    )
    assert found.environment.startswith("confounded: ")
    assert found.environment.endswith("; to tell them apart: a run with driver 580 and torch 2.11")


def test_a_case_that_joins_late_and_misses_runs_moves_nothing_else(history):
    made = history(technique=(25, np.log(0.9)))
    late = made.observations["workload"].eq("bert") & ~made.observations["run"].isin(made.runs["run"][15:])
    gaps = made.observations["run"].isin(made.runs["run"][[18, 30]]) & made.observations["workload"].eq("resnet-50")
    (found,) = find_changes(History(runs=made.runs, observations=made.observations[~late & ~gaps]))
    assert found.since == "machine/0026_night"


def test_runs_of_another_machine_in_between_do_not_disturb(history):
    made, other = history(technique=(25, np.log(0.9))), history(seed=1, machine=(0, 1.0))
    there, seen = (
        frame.assign(run=frame["run"].str.replace("machine/", "other/")) for frame in (other.runs, other.observations)
    )
    runs = pd.concat([made.runs, there.assign(machine="other")]).sort_values("run", key=lambda run: run.str[-10:])
    both = History(runs=runs.reset_index(drop=True), observations=pd.concat([made.observations, seen]))
    assert [change.since for change in find_changes(both)] == ["machine/0026_night"]


def test_looking_at_the_newest_runs_alone_finds_what_changed_in_them(history):
    made = history(runs=60, workload=(20, np.log(1.1)), technique=(50, np.log(0.9)))
    assert [change.since for change in find_changes(made, max_runs=30)] == ["machine/0051_night"]


def test_a_short_history_has_no_changes_yet(history):
    assert find_changes(history(runs=8, technique=(4, np.log(0.5)))) == []


def test_an_empty_history_has_none(history):
    made = history(runs=3)
    assert find_changes(History(runs=made.runs[:0], observations=made.observations[:0])) == []
