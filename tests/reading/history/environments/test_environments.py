"""What two environments differ in, in words."""

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_rows import on_hardware, run_row

from harness.reading.history.environments.differences import differences, grouped, in_words, named, what_would_separate
from harness.untrusted import shown

BEFORE = run_row()
CAPPED, OWN_IMAGES = run_row(gpu0_power_limit_w="700"), run_row(settings={"own_images": None})
UPGRADED = run_row(driver_nvidia="580.65", torch_version="2.13.0")


@pytest.mark.parametrize(
    ("before", "after", "group", "words"),
    [
        (BEFORE, run_row(driver_nvidia="580.65"), "driver", "NVIDIA driver 570.124 → 580.65"),
        (BEFORE, run_row(torch_version="2.13.0"), "framework", "torch 2.11.0 → 2.13.0"),
        (BEFORE, on_hardware(BEFORE, cpu_cores=4), "hardware", "2 → 4 cores"),
        (BEFORE, on_hardware(BEFORE, memory_gib=48), "hardware", "24 → 48 GiB of memory"),
        (BEFORE, run_row(env_OMP_NUM_THREADS="4"), "settings", "OMP_NUM_THREADS unset → 4"),
        (CAPPED, run_row(gpu0_power_limit_w="230"), "settings", "GPU 0 power limit 700 W → 230 W"),
        (OWN_IMAGES, run_row(settings={"own_images": 40}), "settings", "the run's own images none → 40"),
    ],
)
def test_a_difference_is_one_line_under_what_it_belongs_to(before, after, group, words):
    assert words in grouped(differences(before, after))[group]


def test_gpus_are_counted_and_another_one_of_the_same_model_is_noticed():
    gpu = {"name": "Example GPU", "memory_gib": 80, "uuid_hash": "aa"}
    one, other, two = (
        on_hardware(BEFORE, gpus=gpus)
        for gpus in ([gpu], [gpu | {"uuid_hash": "bb"}], [gpu, gpu | {"uuid_hash": "bb"}])
    )
    assert in_words(differences(one, other)) == "GPU with the id aa → bb"
    assert in_words(differences(one, two)) == "GPU Example GPU (80 GiB) → 2 × Example GPU (80 GiB)"


def test_what_a_run_does_not_tell_is_no_difference():
    without_torch = run_row(torch_version=None, torch_threads=None, transformers_version=None)
    assert differences(BEFORE, without_torch) == ()
    assert differences(run_row(tensorflow_version="2.21.0", keras_version="3.15"), BEFORE) == ()


def test_a_variable_is_unknown_where_a_run_tells_nothing_of_its_configuration():
    foreign = BEFORE | {"configuration": "{}", "settings": "{}"}
    assert differences(foreign, foreign | {"configuration": '{"env.OMP_NUM_THREADS": "1"}'})[0].kind == "added"


def test_a_field_that_only_one_of_two_torch_runs_tells_is_said_but_blamed_for_nothing():
    found = differences(BEFORE, run_row(torch_architectures="sm_90"))
    assert grouped(found) == {"framework": ["torch GPU architectures sm_90 (told only after)"]}
    assert named(found) == in_words(found) == "nothing known changed"


def test_exactly_one_changed_field_is_named():
    assert named(differences(BEFORE, BEFORE)) == "nothing known changed"
    assert named(differences(BEFORE, run_row(driver_nvidia="580.65"))) == "since driver 580.65"
    assert named(differences(BEFORE, on_hardware(BEFORE, cpu_cores=4))) == "since 4 cores"
    assert named(differences(run_row(os="Debian 12"), run_row(os="Debian 13"))) == "since Debian 13"
    assert named(differences(BEFORE, UPGRADED)) == "confounded: driver and torch changed together"


def test_what_comes_in_one_wheel_or_follows_from_a_setting_is_one_change():
    before = run_row(torch_cudnn="90100", driver_cuda="12.8")
    wheel = run_row(torch_cudnn="91000", driver_cuda="12.8", torch_version="2.13.0")
    assert named(differences(before, wheel)) == "since torch 2.13.0"
    assert named(differences(before, run_row(torch_cudnn="91000", driver_cuda="12.8"))) == "since torch cuDNN 91000"
    threads = run_row(torch_cudnn="90100", driver_cuda="12.8", env_OMP_NUM_THREADS="1", torch_threads="1")
    assert named(differences(before, threads)) == "since OMP_NUM_THREADS 1"


def test_how_long_was_measured_is_said_but_blamed_for_nothing():
    found = differences(BEFORE, run_row(settings={"budget_s": 0.7}))
    assert grouped(found) == {"settings": ["the run's budget 1.00 s → 700 ms"]}
    assert named(found) == "nothing known changed"


def test_the_runs_that_would_separate_confounded_changes_change_one_thing_at_a_time():
    assert what_would_separate(BEFORE, run_row(driver_nvidia="580.65")) == ""
    assert what_would_separate(BEFORE, UPGRADED) == "a run with driver 580.65 and torch 2.11.0"
    three = on_hardware(UPGRADED, cpu_cores=4, memory_gib=48)
    assert what_would_separate(BEFORE, three) == (
        "a run with the hardware of after, driver 570.124 and torch 2.11.0, "
        "a run with the hardware of after, driver 580.65 and torch 2.11.0"
    )


def test_a_value_that_the_runs_of_a_side_do_not_share_is_said_and_not_named():
    both, new = pd.DataFrame([BEFORE, UPGRADED]), pd.DataFrame([UPGRADED, UPGRADED])
    found = differences(both, new)
    assert grouped(found)["framework"] == ["torch 2.11.0 and 2.13.0 before, 2.13.0 after"]
    assert named(differences(both, new.assign(configuration=both["configuration"].iloc[0]))).startswith("confounded")
    assert named(differences(both, both)) == "nothing known changed"
    assert grouped(differences(both, both))["framework"] == ["torch 2.11.0 and 2.13.0 on both sides"]


def test_another_frameworks_fields_do_not_concern_a_case():
    assert named(differences(BEFORE, UPGRADED, "numpy")) == "since driver 580.65"
    assert named(differences(BEFORE, run_row(env_PYTORCH_ALLOC_CONF="x"), "tensorflow")) == "nothing known changed"
    assert named(differences(BEFORE, run_row(numpy_version="2.5.0"), "torch")) == "since numpy 2.5.0"


@given(st.dictionaries(st.text(), st.text()), st.dictionaries(st.text(), st.text()))
def test_whatever_a_file_says_every_difference_is_one_bounded_line(before, after):
    sides = [BEFORE | {"configuration": json.dumps(told)} for told in (before, after)]
    found = differences(*sides)
    said = [*(each.words for each in found), in_words(found), named(found), what_would_separate(*sides)]
    assert all(line == shown(line) and len(line) < 3000 for line in said)
    assert differences(sides[0], sides[0]) == ()
