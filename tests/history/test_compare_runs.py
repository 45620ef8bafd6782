"""Two sets of runs, with known changes: the machine, a workload or a technique."""

import json
from collections.abc import Iterator
from math import exp, log

import numpy as np
import pandas as pd
import pytest

from accelbench.errors import BadInput
from accelbench.history.compare_runs import RunComparison, compare_runs
from accelbench.history.observations import History

SPREAD = 0.01


def made(
    runs: dict[str, dict], *, cases: int = 40, spread: float = SPREAD, seed: int = 0, size: str = "small"
) -> History:
    """Return runs, by name, with a number of effects: workloads with a baseline and two candidates.

    Told of a run is what differs from the others: ``on`` which machine it was made; how many times as fast the
    ``machine`` is, ``workload`` 0, both levels there by ``candidates``, or its baseline, and level a there by its
    ``technique``; and the speedup of level a on workload 1, ``second``. What a run shares moves by 4 %, each arm by the
    spread.
    """
    chance = np.random.default_rng(seed)
    facts = []
    for number, (run, moved) in enumerate(runs.items(), start=1):
        machine = str(moved.get("on", "machine"))
        facts.append({
            "run": run, "path": f"{run}.json", "number": number, "name": run, "machine": machine,
            "taken": pd.Timestamp(number, unit="D", tz="UTC"), "identity": f'{{"cpu_model": "{machine}"}}',
            "configuration": "{}", "settings": json.dumps({"alpha": 0.01}), "size": size, "interrupted": False,
        })  # fmt: skip
    rows = [row for run, moved in runs.items() for row in _arms(run, moved, cases // 2, spread, chance)]
    return History(runs=pd.DataFrame(facts), observations=pd.DataFrame(rows))


def _arms(run: str, moved: dict, workloads: int, spread: float, chance: np.random.Generator) -> Iterator[dict]:
    common = chance.normal(0, 0.04) - log(moved.get("machine", 1))
    for place in range(workloads):
        shared = common - (log(moved.get("workload", 1)) if place == 0 else 0)
        first = {0: 1.8 * moved.get("technique", 1), 1: moved.get("second", 1.8)}.get(place, 1.8)
        both = log(moved.get("candidates", 1)) if place == 0 else 0
        slower = log(moved.get("baseline", 1)) if place == 0 else 0
        for level, effect in {"off": 0.0, "a": log(first) + both + slower, "b": -0.2 + both + slower}.items():
            baseline, seen = level == "off", np.nan if level == "off" else effect + chance.normal(0, spread)
            yield {
                "run": run, "case": f"t{place}|{level}", "trial": f"t{place}", "module": "m", "framework": "numpy",
                "workload": f"w{place}", "problem": "", "fixed": "", "technique": "" if baseline else "toggle",
                "level": level, "against": "off", "baseline": baseline, "unit": "item", "disturbed": False,
                "log_s": shared + slower - effect + chance.normal(0, spread),
                "log_effect": seen, "log_low": seen - 2.6 * spread, "log_high": seen + 2.6 * spread,
            }  # fmt: skip


def sides(number: int = 5, **moved) -> tuple[dict[str, dict], list[str], list[str]]:
    """Return a number of runs before, as many after, and the names of both."""
    before, after = ([f"{side}{each}" for each in range(number)] for side in "ab")
    return {run: {} for run in before} | dict.fromkeys(after, moved), before, after


def compare_sides(number: int = 5, *, seed: int = 0, cases: int = 40, spread: float = SPREAD, **moved) -> RunComparison:
    runs, before, after = sides(number, **moved)
    return compare_runs(made(runs, cases=cases, seed=seed, spread=spread), before, after)


def called(found: pd.DataFrame) -> dict[str, str]:
    names = found["case"] if "case" in found else found.index.get_level_values(-1)
    decided = found["verdict"].isin(["faster", "slower"])
    return dict(zip(names[decided], found.loc[decided, "verdict"], strict=True))


def test_a_run_and_its_copy_show_no_shift():
    runs = {f"r{number}": {} for number in range(6)}
    history = made(runs)
    copy = history.observations[history.observations["run"] == "r5"].assign(run="r4")
    rest = history.observations[history.observations["run"] != "r4"]
    found = compare_runs(History(runs=history.runs, observations=pd.concat([rest, copy])), ["r4"], ["r5"])
    assert found.machine["shift"].abs().max() < 1e-9
    assert found.techniques["shift"].abs().max() < 1e-9
    assert called(found.techniques) == {}


def test_a_faster_machine_is_no_faster_technique():
    found = compare_sides(machine=1.4)
    machine = found.machine.iloc[0]
    assert machine["verdict"] == "faster"
    assert exp(machine["low"]) < 1.4 < exp(machine["high"])
    assert (called(found.workloads), called(found.techniques)) == ({}, {})
    assert (found.techniques["verdict"] == "same").mean() > 0.8


def test_a_technique_that_loses_while_the_machine_gains_is_found():
    found = compare_sides(machine=1.09, technique=0.9)
    assert called(found.techniques) == {"t0|a": "slower"}
    row = found.techniques.iloc[0]
    assert exp(row["low"]) < 0.9 < exp(row["high"])
    assert abs(row["baseline_shift"]) < 0.02
    assert row["own_shift"] < -0.05
    assert called(found.workloads) == {}


def test_a_workload_that_slows_down_is_no_slower_technique():
    found = compare_sides(workload=0.85)
    assert called(found.workloads) == {"w0": "slower"}
    assert called(found.techniques) == {}


@pytest.mark.parametrize("moved", [{"candidates": 0.85}, {"baseline": 1.2}])
def test_what_all_candidates_or_their_baseline_alone_do_is_a_change_of_effects_and_no_workloads(moved):
    found = compare_sides(**moved)
    expected = "slower" if "candidates" in moved else "faster"
    assert called(found.techniques) == {"t0|a": expected, "t0|b": expected}
    assert called(found.workloads) == {}


def test_on_one_machine_what_fewer_than_five_workloads_do_counts_as_their_own():
    found = compare_sides(cases=8, machine=0.5)
    assert found.machine.empty
    assert called(found.workloads) == dict.fromkeys(["w0", "w1", "w2", "w3"], "slower")
    assert np.exp(found.techniques["own_shift"]).tolist() == pytest.approx([0.5] * 8, rel=0.1)
    assert np.exp(found.techniques["baseline_shift"]).tolist() == pytest.approx([0.5] * 8, rel=0.1)
    own = "With fewer than 5 workloads nothing is known of the machine, so what changed counts as the workloads' own"
    assert found.remarks[1] == own


def test_of_another_machine_fewer_than_five_workloads_say_how_fast_it_is():
    runs, before, after = sides(on="other", machine=3.0)
    found = compare_runs(made(runs, cases=4), before, after)
    assert exp(found.machine["shift"].iloc[0]) == pytest.approx(3.0, rel=0.1)
    assert found.remarks[1].startswith("With fewer than 5 workloads, what they have in common may be theirs")


def test_a_run_of_few_workloads_among_others_leaves_every_shift_known():
    runs, before, after = sides()
    history = made(runs)
    few = (history.observations["run"] == before[0]) & ~history.observations["workload"].isin(["w0", "w1"])
    found = compare_runs(History(runs=history.runs, observations=history.observations[~few]), before, after)
    assert len(found.machine) == 1
    assert found.techniques[["own_shift", "baseline_shift"]].notna().all(axis=None)


def test_times_of_disturbed_trials_are_not_compared():
    runs, before, after = sides(workload=0.7)
    history = made(runs)
    assert called(compare_runs(history, before, after).workloads) == {"w0": "slower"}
    is_first = history.observations["run"].isin(after) & (history.observations["workload"] == "w0")
    history.observations.loc[is_first, "disturbed"] = True
    found = compare_runs(history, before, after)
    assert called(found.workloads) == {}
    assert found.remarks[0] == "60 arms on both sides"
    assert "1 trial of b0: the times are not compared" in found.remarks[1]


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_called_among_300_unchanged_effects(seed):
    found = compare_sides(seed=seed, cases=300)
    assert len(found.techniques) == 300
    assert called(found.techniques) == {}


def test_a_single_run_a_side_is_judged_by_how_much_others_of_its_machine_spread():
    runs = {f"r{number}": {} for number in range(6)} | {"last": {"technique": 0.85}}
    found = compare_runs(made(runs), ["r5"], ["last"])
    assert found.is_spread_known
    assert called(found.techniques) == {"t0|a": "slower"}
    assert len(called(compare_runs(made(runs, spread=0.06), ["r5"], ["last"]).techniques)) == 0


def test_as_many_runs_as_advised_decide():
    few = compare_sides(3, technique=0.9, spread=0.04).techniques.set_index("case").loc["t0|a"]
    assert few["verdict"] == "undecided"
    assert 3 < few["runs"] < 20
    many = compare_sides(int(1.5 * few["runs"]), technique=0.9, spread=0.04)
    assert called(many.techniques) == {"t0|a": "slower"}


def test_two_runs_alone_decide_no_small_shift_and_say_how_many_would():
    found = compare_runs(made({"a": {}, "b": {"technique": 0.85, "machine": 1.1}}), ["a"], ["b"])
    assert not found.is_spread_known
    assert set(found.techniques["verdict"]) == set(found.machine["verdict"]) == {"undecided"}
    assert set(found.techniques["runs"]) == {3}


def test_two_runs_alone_decide_what_lies_far_apart():
    found = compare_runs(made({"a": {}, "b": {"technique": 0.5, "machine": 2.5}}), ["a"], ["b"])
    assert called(found.techniques) == {"t0|a": "slower"}
    assert found.machine["verdict"].tolist() == ["faster"]


def test_across_machines_effects_carry_over_shrink_and_flip():
    runs, before, after = sides(on="other", machine=3.0, technique=0.7, second=0.6)
    found = compare_runs(made(runs), before, after)
    standings = found.techniques.set_index("case")["standing"]
    assert (standings["t0|a"], standings["t1|a"]) == ("shrinks", "flips")
    assert (standings.drop(["t0|a", "t1|a"]) == "carries over").mean() > 0.8
    assert set(standings.drop(["t0|a", "t1|a"])) <= {"carries over", "unclear"}
    assert (found.before.machine, found.after.machine) == ("machine", "other")


def test_effects_against_different_baselines_are_not_compared():
    runs, before, after = sides()
    history = made(runs)
    moved = (history.observations["run"].isin(after)) & (history.observations["trial"] == "t0")
    history.observations.loc[moved, "against"] = "auto"
    found = compare_runs(history, before, after)
    assert "t0" not in set(found.techniques["trial"])
    assert found.remarks == ("57 arms on both sides, 3 arms only before, 3 arms only after",)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (["a", "b"], ["b"], "b stands on both sides"),
        (["a", "c"], ["b"], "one side holds runs of 2 machines (machine, other)"),
        (["a"], ["large"], "sizes small and large; compare runs of one size"),
        (["a"], ["cold"], "the runs were made with warm and cold caches; compare runs with caches of one kind"),
        (["large"], ["cold"], "sizes large and small and with warm and cold caches; compare"),
        (["a"], ["unknown"], "unknown does not say at which size it was made"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(before, after, words):
    small = made({"a": {}, "b": {}, "c": {"on": "other"}})
    sizes = {"large": "large", "cold": "small, cold cache", "unknown": ""}
    each = [small, *(made({run: {}}, size=size) for run, size in sizes.items())]
    both = History(
        runs=pd.concat([one.runs for one in each]), observations=pd.concat([one.observations for one in each])
    )
    with pytest.raises(BadInput) as refused:
        compare_runs(both, before, after)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
