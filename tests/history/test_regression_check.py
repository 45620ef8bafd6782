"""The check of the newest run against made-up histories in which every change is known."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from histories import history
from scipy import signal
from scipy.stats import false_discovery_control

from accelbench.errors import BadInput
from accelbench.history.observations import History
from accelbench.history.policy import Thresholds, Waiver
from accelbench.history.regression_check import RunRoles, check_regressions, measure_deviations
from accelbench.report.check_output import describe_finding
from accelbench.units import speedup


def raised(found):
    return [(each.subject.kind, each.subject.workload, each.verdict) for each in found.of("lost", "slower", "faster")]


def undecided(found):
    return [each.more_runs for each in found.of("undecided")]


@pytest.mark.parametrize("seed", range(2))
def test_of_three_hundred_unchanged_effects_none_is_raised(seed):
    assert raised(check_regressions(history(cases=300, runs=30, seed=seed, machine_spread=0.04))) == []


@pytest.mark.parametrize("seed", range(2))
def test_an_effect_that_fell_by_five_per_cent_is_found_within_three_runs(seed):
    found = check_regressions(history(cases=100, runs=30, step={7: 0.95}, at=-3, seed=seed))
    assert raised(found) == [("technique", "net-7", "slower")]
    (slower,) = found.regressions
    assert slower.low < 0.95 < slower.high
    assert slower.before == pytest.approx(1.5, rel=0.01)
    assert slower.now == pytest.approx(slower.before * slower.ratio)
    assert found.status() == 1


@pytest.mark.parametrize(("factor", "verdict"), [(1.4, "faster"), (0.85, "slower")])
def test_another_speed_of_the_machine_is_the_machines_alone(factor, verdict):
    found = check_regressions(history(cases=100, machine_step=factor, machine_spread=0.02))
    assert raised(found) == [("machine", "", verdict)]


@pytest.mark.parametrize("seed", range(3))
def test_a_technique_that_lost_what_the_machine_gained_is_found(seed):
    found = check_regressions(
        history(cases=50, machine_step=1.09, machine_spread=0.04, step={3: 0.9}, at=-2, seed=seed)
    )
    assert [each for each in raised(found) if each[0] != "machine"] == [("technique", "net-3", "slower")]


def test_a_workload_that_takes_longer_with_and_without_the_technique_is_the_workloads():
    assert raised(check_regressions(history(cases=50, workload_step={3: 0.9}))) == [("workload", "net-3", "slower")]


def test_what_pays_more_than_before_is_reported_and_no_failure():
    found = check_regressions(history(cases=20, step={3: 1.2}))
    assert raised(found) == [("technique", "net-3", "faster")]
    assert found.status(strict=True) == 0


def test_three_earlier_runs_are_too_few_and_two_to_four_more_would_decide():
    found = check_regressions(history(cases=20, runs=4, step={3: 0.5}))
    assert {each.verdict for each in found.findings} == {"undecided"}
    assert set(undecided(found)) == {2, 3, 4}
    assert (found.status(), found.status(strict=True)) == (0, 3)


@pytest.mark.parametrize("spread", [0.012, 0.018])
def test_the_number_of_runs_that_is_named_do_decide(spread):
    found = check_regressions(history(cases=30, runs=7, spread=spread))
    needed = max(more for more in undecided(found) if more)
    later = check_regressions(history(cases=30, runs=7 + needed, spread=spread, seed=1))
    assert len(later.of("same")) > 0.9 * len(later.findings)


def test_runs_too_far_apart_for_any_number_of_them_are_undecided_without_one():
    assert set(undecided(check_regressions(history(cases=20, spread=0.08)))) == {None}


def test_an_outlier_such_as_the_past_has_seen_is_not_raised():
    known = history(cases=100)
    odd = known.observations["run"].isin(["example/0010_run", "example/0020_run", "example/0030_run"])
    odd &= known.observations["workload"].isin([f"net-{case}" for case in range(30)])
    known.observations.loc[odd, "log_effect"] -= 0.15
    assert raised(check_regressions(known)) == []


def test_a_loss_beyond_the_outliers_of_the_past_is_found_after_five_runs():
    known = history(cases=60, spread=0.005, step=dict.fromkeys(range(3), 0.95), at=-5)
    chance = np.random.default_rng(0)
    odd = chance.random(len(known.observations)) < 0.05
    known.observations.loc[odd, "log_effect"] -= 0.04
    assert {workload for _, workload, _ in raised(check_regressions(known))} == {"net-0", "net-1", "net-2"}


@pytest.mark.parametrize("slow", [1, 2, 4])
def test_a_run_that_is_as_fast_as_ever_is_not_blamed_for_slow_ones_before_it(slow):
    known = history(cases=5)
    passed = known.observations["run"].isin([f"example/{number:04}_run" for number in range(30 - slow, 30)])
    known.observations.loc[passed & (known.observations["workload"] == "net-3"), "log_effect"] -= 0.4
    assert raised(check_regressions(known)) == []


def only(workload, run, known):
    """Return a history in which a run measured one workload alone."""
    others = (known.observations["run"] == run) & (known.observations["workload"] != workload)
    return History(runs=known.runs, observations=known.observations[~others].reset_index(drop=True))


@pytest.mark.slow
@pytest.mark.parametrize("cases", [3, 5])
def test_unchanged_runs_of_few_workloads_hardly_ever_raise_anything(cases):
    found = [check_regressions(history(cases=cases, runs=12, spread=0.03, seed=seed)) for seed in range(100)]
    assert sum(bool(raised(each)) for each in found) <= 5


def test_a_run_of_one_workload_blames_that_and_not_the_machine():
    known = history(cases=5, workload_step={3: 0.8})
    assert raised(check_regressions(only("net-3", "example/0030_run", known))) == [("workload", "net-3", "slower")]


def test_a_whole_run_after_a_run_of_one_slow_workload_is_at_its_usual_speed():
    known = history(cases=5)
    slow = (known.observations["run"] == "example/0029_run") & (known.observations["workload"] == "net-3")
    known.observations.loc[slow, "log_s"] += 0.3
    assert raised(check_regressions(only("net-3", "example/0029_run", known))) == []


def test_times_of_a_disturbed_trial_raise_nothing_and_the_check_says_so():
    known = history(cases=20, workload_step={3: 0.6})
    assert raised(check_regressions(known)) == [("workload", "net-3", "slower")]
    last = (known.observations["run"] == "example/0030_run") & (known.observations["workload"] == "net-3")
    known.observations.loc[last, "disturbed"] = True
    found = check_regressions(known)
    assert raised(found) == []
    assert (
        "1 trial of example/0030_run: the times are not compared, since other work ran beside, or every visit found "
        "the machine in an unusual state"
    ) in found.remarks


def test_a_run_that_doubts_its_own_effect_raises_nothing():
    known = history(cases=20, step={3: 0.9})
    last = known.observations["run"] == "example/0030_run"
    known.observations.loc[last, ["log_low", "log_high"]] = [-float("inf"), float("inf")]
    assert raised(check_regressions(known)) == []


def test_a_change_that_matters_to_nobody_is_not_raised():
    known = history(cases=20, spread=0.002, step={3: 0.95})
    assert raised(check_regressions(known)) == [("technique", "net-3", "slower")]
    assert raised(check_regressions(known, Thresholds(margin=0.1))) == []
    assert raised(check_regressions(known, Thresholds(techniques={"amp": 0.1}))) == []
    assert raised(check_regressions(known, Thresholds(workloads={"net-4": 0.1}))) == [("technique", "net-3", "slower")]


@pytest.mark.parametrize("spread", [0.013, 0.016, 0.019])
def test_what_is_called_the_same_shows_no_change_that_matters(spread):
    found = check_regressions(history(cases=50, spread=spread, step=dict.fromkeys(range(50), 0.95)))
    same = [each for each in found.of("same") if each.subject.kind == "technique"]
    assert [each.ratio for each in same if not 1 - each.margin < each.ratio < 1 / (1 - each.margin)] == []
    assert len(same) < 50 / 4


def test_right_after_an_upgrade_the_runs_before_it_are_compared_with_and_it_is_named():
    found = check_regressions(
        history(cases=20, runs=20, configurations={18: {"torch.version": "2.13.0"}}, step={3: 0.9}, at=-2)
    )
    (slower,) = found.regressions
    assert slower.subject.changed == "torch 2.11.0 → 2.13.0"
    assert (slower.since, slower.runs) == ("example/0019_run", 18)


def test_long_after_an_upgrade_its_own_runs_are_what_counts():
    found = check_regressions(
        history(cases=20, runs=30, configurations={15: {"torch.version": "2.13.0"}}, step={3: 0.9}, at=15)
    )
    assert raised(found) == []


def test_other_machines_and_other_sizes_are_not_compared_with():
    mine, other = history(cases=20, runs=6), history(cases=20, runs=6, machine="other", machine_step=2.0, at=0)
    other.runs["identity"] = json.dumps({"cpu_model": "Other CPU"})
    both = History(
        runs=pd.concat([other.runs, mine.runs], ignore_index=True),
        observations=pd.concat([other.observations, mine.observations], ignore_index=True),
    )
    found = check_regressions(both)
    assert (found.compared_with, raised(found)) == (5, [])
    with pytest.raises(BadInput, match="is of another machine or size"):
        check_regressions(both, baseline=["other/0001_run"])


def test_a_baseline_of_runs_stands_for_the_history():
    known = history(cases=20, runs=20, step={3: 0.9}, at=5)
    assert raised(check_regressions(known)) == []
    assert raised(check_regressions(known, baseline=["example/0004_run", "example/0005_run"])) == [
        ("technique", "net-3", "slower")
    ]
    with pytest.raises(BadInput, match="cannot be its own baseline"):
        check_regressions(known, baseline=["example/0020_run"])


def test_what_was_accepted_is_raised_again_only_when_it_changes_further():
    known = history(cases=20, step={3: 0.9}, at=-4)
    entry = Waiver(technique="amp", workload="net-3", since="example/0027_run", ratio=0.9, reason="more exact")
    assert raised(check_regressions(known)) == [("technique", "net-3", "slower")]
    assert raised(check_regressions(known, waivers=[entry])) == []
    further = history(cases=20, step={3: 0.75}, at=-4)
    assert raised(check_regressions(further, waivers=[entry])) == [("technique", "net-3", "slower")]


def test_an_accepted_change_among_runs_that_spread_is_accepted_and_not_undecided():
    known = history(cases=5, spread=0.06, step={3: 0.4})
    (slower,) = check_regressions(known).regressions
    entry = Waiver(case=slower.subject.key, since=slower.since, ratio=slower.ratio, reason="on purpose")
    found = check_regressions(known, waivers=[entry])
    (accepted,) = found.of("accepted")
    assert (accepted.subject, accepted.accepted, accepted.ratio) == (slower.subject, "on purpose", slower.ratio)
    assert slower.subject not in [each.subject for each in found.of("undecided", "same")]
    assert replace(found, findings=[accepted]).status(strict=True) == 0
    with pytest.raises(BadInput, match="no change is reported"):
        found.find_change("net-3")


def test_a_subject_that_moved_on_its_own_is_not_called_accepted():
    entry = Waiver(technique="amp", workload="net-3", since="example/0027_run", ratio=0.9, reason="more exact")
    assert check_regressions(history(cases=20), waivers=[entry]).of("accepted") == []
    assert check_regressions(history(cases=20, step={4: 0.9}), waivers=[entry]).of("accepted") == []


@pytest.mark.parametrize("ratio", [0.7, 0.55])
def test_of_several_cases_that_an_entry_names_only_those_that_changed_are_accepted(ratio):
    known = history(cases=20, step={3: 0.7, 5: 0.7})
    entry = Waiver(technique="amp", since="example/0030_run", ratio=ratio, reason="more exact")
    found = check_regressions(known, waivers=[entry])
    measured = {each.subject: each.before for each in check_regressions(known).findings}
    accepted = [each.subject.workload for each in found.of("accepted")] if ratio == 0.7 else ["net-3", "net-5"]
    assert sorted(accepted) == ["net-3", "net-5"]
    assert {name for _, name, _ in raised(found)} <= {"net-3", "net-5"}
    for each in found.findings:
        if each.subject.kind == "technique":
            assert each.before == pytest.approx(measured[each.subject])
            assert (each.accepted_ratio == pytest.approx(0.55)) == (each.subject.workload in accepted and ratio == 0.55)


def test_an_entry_by_which_nothing_changed_is_reported():
    entry = Waiver(technique="amp", since="example/0027_run", ratio=0.9, reason="more exact")
    known = check_regressions(history(cases=5))
    found = check_regressions(history(cases=5), waivers=[entry])
    assert found.findings == known.findings
    (remark,) = found.remarks
    said, _, way_out = remark.partition("; ")
    assert said == "accepted change of amp: nothing that it names became about 0.900× as fast in example/0027_run"
    assert way_out == "correct or delete it"


def test_a_speed_before_is_one_that_was_measured_also_where_a_part_of_the_change_is_accepted():
    known = history(cases=20, step={3: 0.5})
    entry = Waiver(technique="amp", workload="net-3", since="example/0030_run", ratio=0.8, reason="more exact")
    (measured,), (further,) = (check_regressions(known, waivers=each).regressions for each in ([], [entry]))
    assert (further.before, further.now) == (pytest.approx(measured.before), pytest.approx(measured.now))
    assert further.accepted_ratio == pytest.approx(0.8)
    assert further.ratio == pytest.approx(further.now / (0.8 * further.before))
    assert describe_finding(further).startswith(
        f"{further.subject.name}: speedup {speedup(further.before)} → {speedup(further.now)}, "
        f"which is {speedup(further.ratio)} "
    )
    assert f" of the {speedup(0.8 * further.before)} that is accepted, in " in describe_finding(further)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (Waiver(case="gone", since="example/0027_run", reason="why"), "change of gone: nothing of that name"),
        (
            Waiver(workload="net-1", since="example/0001_old", reason="why", ratio=0.9),
            "net-1: example/0001_old is no",
        ),
    ],
)
def test_an_entry_that_fits_nothing_any_more_is_reported(entry, words):
    (remark,) = check_regressions(history(cases=5), waivers=[entry]).remarks
    assert re.search(words, remark)


def test_a_margin_of_an_unknown_name_is_reported():
    thresholds = Thresholds(techniques={"amp": 0.1, "anp": 0.1}, workloads={"net-1": 0.1, "nett": 0.1})
    unknown = "nothing of that name was measured lately; correct or delete it"
    remarks = check_regressions(history(cases=5), thresholds).remarks
    assert remarks == [f"margin of anp: {unknown}", f"margin of nett: {unknown}"]


def test_a_history_without_runs_is_one_line():
    with pytest.raises(BadInput, match="no run to check"):
        check_regressions(History(runs=pd.DataFrame(), observations=pd.DataFrame()))


def test_times_without_effects_are_checked_as_times():
    known = history(cases=20, workload_step={3: 0.8})
    alone = known.observations[known.observations["baseline"]].reset_index(drop=True)
    found = check_regressions(History(runs=known.runs, observations=alone))
    assert raised(found) == [("workload", "net-3", "slower")]


def test_effects_that_the_newest_run_left_out_are_reported():
    known = history(cases=5)
    left_out = (known.observations["run"] == "example/0030_run") & (known.observations["workload"] != "net-0")
    found = check_regressions(History(runs=known.runs, observations=known.observations[~left_out]))
    assert [each.subject.workload for each in found.findings if each.subject.kind == "technique"] == ["net-0"]
    assert found.remarks[-1].startswith("8 arms of the run before are missing, such as benchmarks/test_amp.py::")


CASES = 200


def chances(values):
    every = np.ones(values.shape, dtype=bool)
    roles = RunRoles(new=every, reference=every, states=np.zeros(values.shape, dtype=int))
    return measure_deviations(values, roles)["p"]


def resembling(seed, runs=30, memory=0.6):
    noise = np.random.default_rng(seed).standard_normal((runs + 50, CASES))
    return signal.lfilter([np.sqrt(1 - memory**2)], [1.0, -memory], noise, axis=0)[50:]


def test_several_slow_runs_are_nothing_rare_where_runs_resemble_their_neighbours():
    assert min(false_discovery_control(chances(resembling(seed))).min() for seed in range(10)) > 0.01


def busy_at_times(seed, runs=30, lasts=7):
    rng = np.random.default_rng(seed)
    begins = rng.random((runs + lasts, CASES)) < 0.01
    busy = np.array([begins[run : run + lasts].any(axis=0) for run in range(runs)])
    return rng.standard_normal((runs, CASES)) + 6.0 * busy


def test_a_slow_time_that_goes_on_is_compared_with_how_those_before_began():
    assert min(false_discovery_control(chances(busy_at_times(seed))).min() for seed in range(10)) > 0.01


def test_what_deviates_far_is_found_there_all_the_same():
    values = resembling(0)
    values[-1, :5] -= 7.0
    assert (false_discovery_control(chances(values))[:5] < 0.01).all()
