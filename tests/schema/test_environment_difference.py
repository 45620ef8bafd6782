"""What two environments differ in, in words."""

import json

import pytest
from histories import on_hardware, run_row
from hypothesis import given
from hypothesis import strategies as st

from accelbench.schema.environment_difference import (
    compare_environments,
    differing_facts,
    facts_of_row,
    group_by_kind,
    name_cause,
    runs_to_separate,
    summarize,
)
from accelbench.schema.safe_json import printable

BEFORE = run_row()


def differences(before, after, framework=""):
    sides = (side if isinstance(side, list) else [side] for side in (before, after))
    return compare_environments(*([facts_of_row(row) for row in side] for side in sides), framework)


CAPPED, OWN_IMAGES = run_row(gpu0_power_limit_w="700"), run_row(settings={"own_images": None})
OWN_PYTHON = run_row(torch_python="CPython 3.11.7")
UPGRADED = run_row(driver_nvidia="580.65", torch_version="2.13.0")


@pytest.mark.parametrize(
    ("before", "after", "group", "words"),
    [
        (BEFORE, run_row(driver_nvidia="580.65"), "driver", "NVIDIA driver 570.124 → 580.65"),
        (BEFORE, run_row(torch_version="2.13.0"), "framework", "torch 2.11.0 → 2.13.0"),
        (
            OWN_PYTHON,
            run_row(torch_python="CPython 3.12.3"),
            "framework",
            "torch python CPython 3.11.7 → CPython 3.12.3",
        ),
        (BEFORE, on_hardware(BEFORE, cpu_cores=4), "hardware", "2 → 4 cores"),
        (BEFORE, on_hardware(BEFORE, memory_gib=48), "hardware", "24 → 48 GiB of memory"),
        (BEFORE, run_row(env_OMP_NUM_THREADS="4"), "settings", "OMP_NUM_THREADS unset → 4"),
        (CAPPED, run_row(gpu0_power_limit_w="230"), "settings", "GPU 0 power limit 700 W → 230 W"),
        (OWN_IMAGES, run_row(settings={"own_images": 40}), "settings", "the run's own images none → 40"),
    ],
)
def test_a_difference_is_one_line_under_what_it_belongs_to(before, after, group, words):
    assert words in group_by_kind(differences(before, after))[group]


def test_gpus_are_counted_and_another_one_of_the_same_model_is_noticed():
    gpu = {"name": "Example GPU", "memory_gib": 80, "uuid_hash": "aa"}
    one, other, two = (
        on_hardware(BEFORE, gpus=gpus)
        for gpus in ([gpu], [gpu | {"uuid_hash": "bb"}], [gpu, gpu | {"uuid_hash": "bb"}])
    )
    assert summarize(differences(one, other)) == "GPU with the id aa → bb"
    assert summarize(differences(one, two)) == "GPU Example GPU (80 GiB) → 2 × Example GPU (80 GiB)"


def test_another_slice_of_a_gpu_is_told_by_its_memory_and_multiprocessors():
    gpu = {"name": "Example GPU MIG", "memory_gib": 18, "multiprocessors": 16, "uuid_hash": "aa"}
    small, large = (on_hardware(BEFORE, gpus=[each]) for each in (gpu, gpu | {"memory_gib": 35, "multiprocessors": 32}))
    assert summarize(differences(small, large)) == (
        "GPU Example GPU MIG (18 GiB, 16 multiprocessors) → Example GPU MIG (35 GiB, 32 multiprocessors)"
    )


def test_what_a_run_does_not_tell_is_no_difference():
    without_torch = run_row(torch_version=None, torch_threads=None, transformers_version=None)
    assert differences(BEFORE, without_torch) == ()
    assert differences(run_row(tensorflow_version="2.21.0", keras_version="3.15"), BEFORE) == ()


def test_a_variable_is_unknown_where_a_run_tells_nothing_of_its_configuration():
    foreign = BEFORE | {"configuration": "{}", "settings": "{}"}
    assert differences(foreign, foreign | {"configuration": '{"env.OMP_NUM_THREADS": "1"}'})[0].kind == "added"


def test_a_field_that_only_one_of_two_torch_runs_tells_is_said_but_blamed_for_nothing():
    found = differences(BEFORE, run_row(torch_architectures="sm_90"))
    assert group_by_kind(found) == {"framework": ["torch GPU architectures sm_90 (recorded only after)"]}
    assert name_cause(found) == summarize(found) == "nothing known changed"


def test_exactly_one_changed_field_is_named():
    assert name_cause(differences(BEFORE, BEFORE)) == "nothing known changed"
    assert name_cause(differences(BEFORE, run_row(driver_nvidia="580.65"))) == "since driver 580.65"
    assert name_cause(differences(BEFORE, on_hardware(BEFORE, cpu_cores=4))) == "since 4 cores"
    assert name_cause(differences(run_row(os="Debian 12"), run_row(os="Debian 13"))) == "since Debian 13"
    assert name_cause(differences(BEFORE, UPGRADED)) == "confounded: driver and torch changed together"


def test_what_comes_in_one_wheel_or_follows_from_a_setting_is_one_change():
    before = run_row(torch_cudnn="90100", driver_cuda="12.8")
    wheel = run_row(torch_cudnn="91000", driver_cuda="12.8", torch_version="2.13.0")
    assert name_cause(differences(before, wheel)) == "since torch 2.13.0"
    assert (
        name_cause(differences(before, run_row(torch_cudnn="91000", driver_cuda="12.8"))) == "since torch cuDNN 91000"
    )
    threads = run_row(torch_cudnn="90100", driver_cuda="12.8", env_OMP_NUM_THREADS="1", torch_threads="1")
    assert name_cause(differences(before, threads)) == "since OMP_NUM_THREADS 1"


def test_how_long_was_measured_is_said_but_blamed_for_nothing():
    found = differences(BEFORE, run_row(settings={"budget_s": 0.7}))
    assert group_by_kind(found) == {"settings": ["the run's budget 1.00 s → 700 ms"]}
    assert name_cause(found) == "nothing known changed"


def test_the_runs_that_would_separate_confounded_changes_change_one_thing_at_a_time():
    assert runs_to_separate(differences(BEFORE, run_row(driver_nvidia="580.65"))) == ""
    assert runs_to_separate(differences(BEFORE, UPGRADED)) == "a run with driver 580.65 and torch 2.11.0"
    three = on_hardware(UPGRADED, cpu_cores=4, memory_gib=48)
    assert runs_to_separate(differences(BEFORE, three)) == (
        "a run with the hardware of after, driver 570.124 and torch 2.11.0, "
        "a run with the hardware of after, driver 580.65 and torch 2.11.0"
    )


def test_a_value_that_the_runs_of_a_side_do_not_share_is_said_and_not_named():
    both, new = [BEFORE, UPGRADED], [UPGRADED, UPGRADED]
    found = differences(both, new)
    assert group_by_kind(found)["framework"] == ["torch 2.11.0 and 2.13.0 before, 2.13.0 after"]
    assert name_cause(differences(both, [UPGRADED | {"configuration": BEFORE["configuration"]}] * 2)).startswith(
        "confounded"
    )
    assert name_cause(differences(both, both)) == "nothing known changed"
    assert group_by_kind(differences(both, both))["framework"] == ["torch 2.11.0 and 2.13.0 on both sides"]


def test_another_frameworks_fields_do_not_concern_a_case():
    assert name_cause(differences(BEFORE, UPGRADED, "numpy")) == "since driver 580.65"
    assert name_cause(differences(BEFORE, run_row(env_PYTORCH_ALLOC_CONF="x"), "tensorflow")) == "nothing known changed"
    assert name_cause(differences(BEFORE, run_row(numpy_version="2.5.0"), "torch")) == "since numpy 2.5.0"


@given(st.dictionaries(st.text(), st.text()), st.dictionaries(st.text(), st.text()))
def test_whatever_a_file_says_every_difference_is_one_bounded_line(before, after):
    sides = [BEFORE | {"configuration": json.dumps(told)} for told in (before, after)]
    found = differences(*sides)
    said = [*(str(each) for each in found), summarize(found), name_cause(found), runs_to_separate(found)]
    assert all(line == printable(line) and len(line) < 3000 for line in said)
    assert differences(sides[0], sides[0]) == ()


def test_facts_of_any_number_of_sides_are_compared_where_they_are_recorded():
    sides = [{"a": "1", "b": "1"}, {"a": "2", "b": "1", "c": "x"}, {"a": "2"}]
    assert differing_facts(sides) == {"a": ["1", "2", "2"]}
    assert differing_facts(sides, missing=True) == {"a": ["1", "2", "2"], "b": ["1", "1", None], "c": [None, "x", None]}
