"""The machine's part of the page."""

from dataclasses import replace

from runs import arm, run, trial

from accelbench.report.machine import describe_configuration, describe_disturbance, describe_software, describe_time
from accelbench.schema.reasons import reason


def test_where_the_time_went_is_told_in_shares_what_took_most_first() -> None:
    spent = run(spent_s={"overhead": 5.0, "timed blocks": 195.0})
    assert dict(describe_configuration(spent))["Where the time went"] == [
        ("timed blocks", "3 min 15 s, 98 %"),
        ("overhead", "5 s, 2.5 %"),
    ]


def test_a_run_that_does_not_tell_where_its_time_went_has_no_such_part() -> None:
    assert "Where the time went" not in dict(describe_configuration(run()))


def test_the_machine_is_named_in_words(text_of):
    assert "Example CPU, 2 cores, 8 GiB of memory, Example GPU (16 GiB)." in text_of(trial(arm({"amp": "fp32"}, 1.0)))


def test_the_configuration_keeps_versions_and_writes_readings_in_their_units(text_of):
    configuration = {"torch.version": "2.10", "env.OMP_NUM_THREADS": "1", "gpu0.power_limit_w": "700"}
    readings = {"memory.available_bytes": "6871947673", "load.1min": "2.03662"}
    environment = replace(run().environment, configuration=configuration, readings=readings)
    said = text_of(environment=environment, settings={"budget_s": 2.0, "own_images": None})
    assert "PyTorch version 2.10" in said
    assert "OMP_NUM_THREADS 1" in said
    assert "budget 2.00 s" in said
    assert "power limit 700 W" in said
    assert "own images" not in said
    assert "load 1min 2.04 memory available 6.40 GiB" in said


def test_the_software_is_one_sentence_with_the_builds_and_what_cannot_be_used() -> None:
    configuration = {
        "os": "Debian GNU/Linux 12 (bookworm)",
        "kernel": "6.1",
        "python": "CPython 3.11.7",
        "torch.version": "2.13.0+cpu",
        "torch.built_for": "CPU",
        "torch.threads": "2",
        "cupy.version": "14.2.0",
        "cupy.unavailable": "no CUDA device",
        "keras.version": "3.15.1",
    }
    assert describe_software(replace(run().environment, configuration=configuration)) == (
        "Debian GNU/Linux 12 (bookworm), CPython 3.11.7; PyTorch 2.13.0+cpu (built for CPU, 2 threads), "
        "CuPy 14.2.0 (no CUDA device), Keras 3.15.1"
    )


def test_where_the_time_went_is_said_with_what_took_most() -> None:
    spent = run(spent_s={"overhead": 5.0, "timed blocks": 195.0})
    assert describe_time(spent) == "The run took 3 min 20 s: timed blocks 98 %, overhead 2.5 %"
    assert describe_time(run()) == ""


def test_remarks_of_a_kind_are_counted_with_their_least_and_greatest_number() -> None:
    many, few = (reason("waited-for-core", share=share) for share in (0.58, 0.11))
    slower = reason("timing-disturbed", share=0.095, cpu_slowdown=1.3)
    trials = [
        trial(arm({"amp": "fp32"}, 1.0), id=str(place), remarks=remarks)
        for place, remarks in enumerate([[many, slower], [few], []])
    ]
    assert list(describe_disturbance(run(*trials))) == [
        "2 of 3 trials carry a remark on what may have disturbed them",
        "Work waited for a free core during 11–58 % of the time (2 trials)",
        "9.5 % of the timing was disturbed (1 trial)",
    ]


def test_a_warm_up_that_did_not_settle_counts_as_a_disturbance() -> None:
    restless = arm({"amp": "fp32"}, 1.0)
    restless = replace(restless, timing=replace(restless.timing, warmup_settled=False))
    assert list(describe_disturbance(run(trial(restless)))) == [
        "In 1 of 1 trial, times had not settled when an arm’s warm-up ended"
    ]
    assert list(describe_disturbance(run(trial(arm({"amp": "fp32"}, 1.0))))) == []
