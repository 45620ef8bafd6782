"""Where machines and their set-up changed."""

import json
from random import Random

import pandas as pd
from histories import CONFIGURATION, IDENTITY, on_hardware, run_row
from hypothesis import given
from hypothesis import strategies as st

from accelbench.history.epochs import assign_epochs, find_epoch_changes


def placed(*rows, framework=""):
    return list(assign_epochs(pd.DataFrame(rows), framework).itertuples(index=False, name=None))


def reread(random):
    gpus = [{"name": "Example GPU", "memory_gib": 80, "uuid_hash": name} for name in "abc"]
    identity, told = (shuffled(facts, random) for facts in (IDENTITY, CONFIGURATION))
    row = run_row() | {"configuration": json.dumps(told)}
    return row | {"identity": json.dumps(identity | {"gpus": random.sample(gpus, 3)})}


def shuffled(facts, random):
    return dict(random.sample(list(facts.items()), len(facts)))


def changes(rows):
    return find_epoch_changes(pd.DataFrame(rows))


def test_a_changed_configuration_opens_a_configuration_epoch_and_an_old_one_that_returns_is_the_old_one():
    old, new = run_row(), run_row(driver_nvidia="580.65")
    assert placed(old, old, new, new, old) == [(0, 0), (0, 0), (0, 1), (0, 1), (0, 0)]


def test_a_changed_identity_opens_a_machine_epoch_and_machines_that_alternate_keep_theirs():
    one, other = run_row(), on_hardware(run_row(machine="other"), cpu_cores=4)
    assert placed(one, other, one, other) == [(0, 0), (1, 0), (0, 0), (1, 0)]
    assert placed(one, on_hardware(one, cpu_cores=4)) == [(0, 0), (1, 0)]


def test_a_torch_upgrade_opens_no_epoch_for_a_numpy_case():
    rows = run_row(), run_row(torch_version="2.13.0")
    assert placed(*rows, framework="numpy") == [(0, 0), (0, 0)]
    assert placed(*rows, framework="torch") == [(0, 0), (0, 1)]


def test_a_run_that_does_not_tell_of_torch_stays_where_it_is_and_hides_no_upgrade():
    without = run_row(2, torch_version=None, torch_threads=None)
    rows = [run_row(1), without, run_row(3, torch_version="2.13.0")]
    assert placed(*rows) == [(0, 0), (0, 0), (0, 1)]
    (change,) = changes(rows)
    assert str(change) == "run 0003: torch 2.11.0 → 2.13.0"


def test_a_field_that_is_reported_for_the_first_time_opens_nothing_but_a_variable_that_is_set_does():
    assert placed(run_row(), run_row(torch_architectures="sm_90")) == [(0, 0), (0, 0)]
    assert placed(run_row(), run_row(env_OMP_NUM_THREADS="1")) == [(0, 0), (0, 1)]


@given(st.randoms(use_true_random=False), st.floats(0, 100), st.text())
def test_the_order_in_which_a_file_tells_things_and_its_readings_do_not_matter(random, load, clock):
    again = reread(random) | {"readings": json.dumps({"load.1min": load, "cpu.clock_mhz": clock})}
    assert placed(reread(Random(1)), again, reread(Random(2))) == [(0, 0)] * 3


def test_a_thousand_readings_of_one_machine_give_one_key():
    rows = [reread(Random(seed)) for seed in range(1000)]
    assert set(placed(*rows)) == {(0, 0)}


def test_an_epoch_that_returns_says_so_and_machines_that_alternate_are_reported_once():
    rows = [run_row(number, driver_nvidia=driver) for number, driver in enumerate(("570", "580", "570"), 1)]
    away, back = changes(rows)
    assert not away.returns
    assert "(as once before)" in str(back)
    two = [run_row(1), run_row(2, machine="b"), run_row(3), run_row(4, machine="b")]
    (change,) = changes([on_hardware(row, cpu_cores=row["number"] % 2 + 2) for row in two])
    assert (change.kind, change.run) == ("machine", "b/0002_nightly")
    assert str(change) == "run 0002: another machine: 3 → 2 cores"


def test_no_runs_have_no_epochs():
    assert find_epoch_changes(pd.DataFrame([run_row(1)]).iloc[:0]) == []
