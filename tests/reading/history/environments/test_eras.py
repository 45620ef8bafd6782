"""Where machines and their set-up changed, and what links the numbers."""

import json
from random import Random

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from run_rows import CONFIGURATION, IDENTITY, observations, on_hardware, run_row

from harness.reading.history.environments.eras import eras, sub_era, turns
from harness.reading.history.observations import History


def placed(*rows, framework=""):
    found = eras(pd.DataFrame(rows), framework)
    return list(zip(found["era"], found["sub_era"], strict=True))


def reread(random):
    gpus = [{"name": "Example GPU", "memory_gib": 80, "uuid_hash": name} for name in "abc"]
    identity, told = (shuffled(facts, random) for facts in (IDENTITY, CONFIGURATION))
    row = run_row() | {"configuration": json.dumps(told)}
    return row | {"identity": json.dumps(identity | {"gpus": random.sample(gpus, 3)})}


def shuffled(facts, random):
    return dict(random.sample(list(facts.items()), len(facts)))


def history(rows, shifts):
    seen = [observations(row["run"], shift=shift) for row, shift in zip(rows, shifts, strict=True)]
    return History(runs=pd.DataFrame(rows), observations=pd.concat(seen, ignore_index=True))


def test_a_changed_configuration_opens_a_sub_era_and_an_old_one_that_returns_is_the_old_one():
    old, new = run_row(), run_row(driver_nvidia="580.65")
    assert placed(old, old, new, new, old) == [(0, 0), (0, 0), (0, 1), (0, 1), (0, 0)]


def test_a_changed_identity_opens_an_era_and_machines_that_alternate_keep_theirs():
    one, other = run_row(), on_hardware(run_row(machine="other"), cpu_cores=4)
    assert placed(one, other, one, other) == [(0, 0), (1, 0), (0, 0), (1, 0)]
    assert placed(one, on_hardware(one, cpu_cores=4)) == [(0, 0), (1, 0)]


def test_a_torch_upgrade_opens_no_sub_era_for_a_numpy_case():
    rows = run_row(), run_row(torch_version="2.13.0")
    assert placed(*rows, framework="numpy") == [(0, 0), (0, 0)]
    assert placed(*rows, framework="torch") == [(0, 0), (0, 1)]
    assert sub_era(rows[0], "numpy") == sub_era(rows[1], "numpy") != sub_era(rows[1], "torch")


def test_a_run_that_does_not_tell_of_torch_stays_where_it_is_and_hides_no_upgrade():
    without = run_row(2, torch_version=None, torch_threads=None)
    rows = [run_row(1), without, run_row(3, torch_version="2.13.0")]
    assert placed(*rows) == [(0, 0), (0, 0), (0, 1)]
    (turn,) = turns(history(rows, [0, 0, 0]))
    assert turn.words.startswith("run 0003: torch 2.11.0 → 2.13.0;")


def test_a_field_that_is_told_for_the_first_time_opens_nothing_but_a_variable_that_is_set_does():
    assert placed(run_row(), run_row(torch_architectures="sm_90")) == [(0, 0), (0, 0)]
    assert placed(run_row(), run_row(env_OMP_NUM_THREADS="1")) == [(0, 0), (0, 1)]


@given(st.randoms(use_true_random=False), st.floats(0, 100), st.text())
def test_the_order_in_which_a_file_tells_things_and_its_readings_do_not_matter(random, load, clock):
    again = reread(random) | {"readings": json.dumps({"load.1min": load, "cpu.clock_mhz": clock})}
    assert sub_era(again) == sub_era(run_row())
    assert placed(reread(Random(1)), again, reread(Random(2))) == [(0, 0)] * 3


def test_a_thousand_readings_of_one_machine_give_one_key():
    rows = [reread(Random(seed)) for seed in range(1000)]
    assert {sub_era(row) for row in rows} == {sub_era(run_row())}
    assert set(placed(*rows)) == {(0, 0)}


def test_a_turn_says_what_changed_and_how_times_and_effects_go_on():
    rows = [run_row(number, torch_version="2.13.0" if number > 3 else "2.11.0") for number in range(1, 7)]
    (turn,) = turns(history(rows, [0.0, 0.01, -0.01, -0.09, -0.1, -0.11]))
    assert turn.run == "box/0004_nightly"
    assert turn.words.startswith("run 0004: torch 2.11.0 → 2.13.0; times 0.905× (0.8")
    assert turn.words.endswith("over 36 common cases, effects as before on the whole (1.00× (1.00–1.00))")


def test_what_concerns_torch_alone_is_bridged_by_torch_cases():
    rows = [run_row(number, torch_version="2.13.0" if number > 2 else "2.11.0") for number in range(1, 5)]
    made = history(rows, [0, 0, -0.1, -0.1])
    numpy = pd.concat([observations(row["run"], workloads=40, framework="numpy") for row in rows])
    both = History(runs=made.runs, observations=pd.concat([made.observations, numpy], ignore_index=True))
    (turn,) = turns(both)
    assert turn.times.cases == 36
    assert turns(both, "numpy") == []


def test_an_era_that_returns_says_so_and_machines_that_alternate_are_told_once():
    rows = [run_row(number, driver_nvidia=driver) for number, driver in enumerate(("570", "580", "570"), 1)]
    away, back = turns(history(rows, [0, 0, 0]))
    assert not away.returns
    assert "(as once before)" in back.words
    two = [run_row(1), run_row(2, machine="b"), run_row(3), run_row(4, machine="b")]
    (turn,) = turns(history([on_hardware(row, cpu_cores=row["number"] % 2 + 2) for row in two], [0] * 4))
    assert (turn.kind, turn.run) == ("era", "b/0002_nightly")
    assert turn.words.startswith("run 0002: another machine: 3 → 2 cores;")


def test_a_history_without_observations_or_runs_has_no_bridge():
    rows = pd.DataFrame([run_row(1), run_row(2, kernel="6.2")])
    (turn,) = turns(History(runs=rows, observations=pd.DataFrame()))
    assert turn.words == "run 0002: kernel 6.1 → 6.2; no case in common, so that nothing links their times"
    assert turns(History(runs=rows.iloc[:0], observations=pd.DataFrame())) == []
