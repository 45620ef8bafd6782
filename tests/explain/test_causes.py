"""Causes are named where the intervals say so, and nowhere else."""

import math
from dataclasses import replace

import pytest

from accelbench.core import is_technique
from accelbench.explain.causes import (
    BOUND,
    LEFT_ADVICE,
    find_causes,
    find_nearest_ceiling,
    may_be_memory_bound,
    plan_remedies,
    withdraw_slower,
)
from accelbench.explain.parts import baseline_of, plan_parts, read_part
from accelbench.explain.profile import CallSite, Compilation, OperatorTime, Profile, StepShare
from accelbench.schema.result import ArmRecord, Ceiling, Effect

CEILINGS = [
    Ceiling(name="cpu memory", per_s=1e10, unit="byte", working_set_bytes=0),
    Ceiling(name="cpu matrix fp32", per_s=1e11, unit="operation", working_set_bytes=0),
]


def a_profile(**facts):
    usual = {"framework": "torch", "device": "cpu", "seconds": 0.1, "items": 256.0, "batches": 8, "batch_size": 32}
    return Profile(**usual | {"most": 4096, "threads": 2, "cores": 2, "loads": True} | facts)


def a_part(name, speedup, low, high, **levels):
    effect = Effect(against={}, speedup=speedup, low=low, high=high, verdict="undecided", pairs=9)
    return read_part(name, levels or {"taken_off": name}, ArmRecord(levels={}, outcome="measured", effects=[effect]))


def codes_of(*parts, **facts):
    return [cause.code for cause in find_causes(a_profile(**facts), parts, CEILINGS)]


@pytest.mark.parametrize(
    ("part", "code"),
    [
        (a_part("input", 2.0, 1.8, 2.2), "input-bound"),
        (a_part("readings-twice", 0.8, 0.78, 0.82), "synchronisation-bound"),
        (a_part("copies-twice", 0.7, 0.68, 0.72), "copies"),
        (a_part("anomaly", 1.5, 1.4, 1.6), "anomaly-mode"),
        (a_part("float64", 1.9, 1.8, 2.0), "float64"),
        (a_part("threads", 1.8, 1.7, 1.9, threads="all"), "one-thread"),
        (a_part("loop", 1.3, 1.2, 1.4, optimizer="foreach"), "optimizer-loop"),
        (a_part("batch", 3.0, 2.8, 3.3, batch_size="128"), "small-batch"),
    ],
)
def test_a_part_that_surely_takes_time_is_a_cause(part, code):
    assert codes_of(part) == [code]


@pytest.mark.parametrize(
    "part",
    [
        a_part("input", 1.3, 0.9, 1.9),  # the interval includes no gain at all
        a_part("input", 1.02, 1.01, 1.03),  # sure, and too little to matter
        a_part("threads", 0.6, 0.5, 0.7, threads="all"),
        a_part("batch", 1.15, 1.1, 1.2, batch_size="128"),  # as any larger batch gains a little
        a_part("copies-twice", 0.99, 0.9, 1.05),
        a_part("update", 5.0, 4.9, 5.1),  # a phase of every training is no cause
    ],
)
def test_what_the_interval_does_not_say_is_no_cause(part):
    assert codes_of(part) == []


@pytest.mark.parametrize(
    ("part", "is_named"),
    [
        (a_part("anomaly", 1.5, 0.9, 1.9), True),  # the pairs leave open what it takes
        (None, True),  # there was no time for pairs
        (a_part("anomaly", 1.02, 1.01, 1.03), False),
    ],
)
def test_anomaly_mode_is_named_by_itself_unless_it_takes_next_to_nothing(part, is_named):
    causes = find_causes(a_profile(anomaly=True), [part] if part else [], CEILINGS)
    assert [(cause.code, cause.share) for cause in causes] == [("anomaly-mode", None)] * is_named


@pytest.mark.parametrize(
    ("device_s", "loading", "codes"),
    [
        (0.012, StepShare(share=0.1, low=0.0, high=0.3), ["launch-bound"]),
        (0.012, StepShare(share=0.1, low=0.0, high=1.0), []),  # it may wait for the loader
        (0.012, StepShare(share=0.75, low=0.7, high=0.8), []),
        (0.012, None, []),
        (0.08, StepShare(share=0.0, low=0.0, high=0.0), []),
        (None, StepShare(share=0.0, low=0.0, high=0.0), []),  # no accelerator
    ],
)
def test_an_accelerator_that_waits_for_neither_loader_nor_itself_is_started_too_slowly(device_s, loading, codes):
    assert codes_of(device="cuda:0", device_s=device_s, kernels=1250, loading=loading) == codes


def test_against_the_slow_start_of_kernels_a_compiler_is_tried():
    loading = StepShare(share=0.0, low=0.0, high=0.0)
    profile = a_profile(device="cuda:0", device_s=0.012, kernels=1250, loading=loading)
    (cause,) = find_causes(profile, [], CEILINGS)
    assert "waits for 88 % of the time, by profile" in cause.what
    assert "of 1,250 per iteration" in cause.what
    assert plan_remedies(profile, [], [cause]) == [("compile default", {"compile": "default"})]


def test_a_part_that_was_not_measured_is_no_cause_and_keeps_its_reason():
    part = read_part("input", {"taken_off": "input"}, ArmRecord(levels={}, outcome="unavailable"))
    assert part.share is None
    assert part.reason
    assert codes_of(part) == []


def test_the_share_of_what_was_done_twice_is_the_time_that_was_added():
    part = a_part("copies-twice", 0.8, 0.75, 0.85)
    assert part.name == "copies"
    assert part.share.share == pytest.approx(0.25)
    assert part.share.low < 0.25 < part.share.high


def test_workers_that_start_anew_are_named_beside_the_input_that_waits_for_them():
    parts = a_part("input", 5.0, 4.5, 5.5), a_part("restarts", 4.0, 3.8, 4.2, persistent_workers="on")
    found = find_causes(a_profile(workers=2, is_epoch=True), parts, CEILINGS)
    assert [cause.code for cause in found] == ["input-bound", "worker-restarts"]
    assert "persistent_workers=True" in found[1].recipe


@pytest.mark.parametrize(("draws", "tried"), [(False, ["workers 2", "loading thread"]), (True, ["workers 2"])])
def test_no_thread_is_to_load_data_that_draw_random_numbers(draws, tried):
    profile, parts = a_profile(draws=draws), [a_part("input", 2.0, 1.8, 2.2)]
    assert [name for name, _ in plan_remedies(profile, parts, find_causes(profile, parts, CEILINGS))] == tried


def test_a_cause_names_the_lines_of_the_program():
    lines = (CallSite(file="train.py", line=17, call="item()", times=512),)
    (cause,) = find_causes(a_profile(readings=lines), [a_part("readings-twice", 0.8, 0.78, 0.82)], CEILINGS)
    assert "item() in train.py:17" in cause.what


def test_one_recompilation_is_what_a_last_smaller_batch_costs():
    assert codes_of(compilation=Compilation(recompilations=("forward (net.py:3)",))) == []
    assert codes_of(compilation=Compilation(recompilations=("a", "b", "c"))) == ["recompilation"]
    assert codes_of(compilation=Compilation(breaks=("net.py:8: a branch",))) == ["graph-breaks"]


def an_operator(name, share, *, operations=0.0, moved_bytes=0.0):
    sure = StepShare(share=share, low=share - 0.02, high=share + 0.02)
    return OperatorTime(
        name=name, calls=1, seconds=0.1 * share, share=sure, operations=operations, moved_bytes=moved_bytes
    )


def test_operators_near_the_rate_of_the_memory_bind_by_memory():
    moving = an_operator("add", 0.8, operations=2e7, moved_bytes=6e8)
    assert find_nearest_ceiling(moving, a_profile(operators=(moving,)), CEILINGS).bound == "memory"
    assert codes_of(operators=(moving,)) == ["memory-bound"]


@pytest.mark.parametrize(
    ("moved_bytes", "operations", "may_be"),
    [(1.5e8, 0.0, True), (5e7, 0.0, False), (1.5e8, 2e9, True), (1.5e8, 7e9, False)],
)
def test_memory_may_bind_operators_that_use_an_eighth_of_its_highest_bandwidth(moved_bytes, operations, may_be):
    moving = an_operator("add", 0.8, operations=operations, moved_bytes=moved_bytes)
    assert may_be_memory_bound(a_profile(operators=(moving,)), CEILINGS) == may_be


@pytest.mark.parametrize(("others_bytes", "bound"), [(0.0, "neither"), (1e9, "memory")])
def test_what_a_batch_moves_tells_whether_an_operator_finds_its_numbers_in_a_cache(others_bytes, bound):
    caches = [
        Ceiling(name="cpu memory", per_s=per_s, unit="byte", working_set_bytes=size)
        for per_s, size in ((2e11, 0), (5e10, 3e7))
    ]
    one, others = an_operator("add", 0.4, moved_bytes=1.6e6), an_operator("mul", 0.4, moved_bytes=others_bytes)
    one = replace(one, seconds=4e-5)
    assert find_nearest_ceiling(one, a_profile(operators=(one, others)), caches).bound == bound


def test_operators_near_the_peak_of_products_bind_by_arithmetic():
    product = an_operator("mm", 0.8, operations=6e9, moved_bytes=1e6)
    assert find_nearest_ceiling(product, a_profile(operators=(product,)), CEILINGS).bound == "arithmetic"
    assert codes_of(operators=(product,)) == ["compute-bound"]


def test_products_in_float32_that_may_use_tf32_are_held_against_its_rate():
    product = an_operator("mm", 0.8, operations=6e9, moved_bytes=1e6)
    faster = [*CEILINGS, Ceiling(name="cpu matrix tf32", per_s=1e12, unit="operation", working_set_bytes=0)]
    assert find_nearest_ceiling(product, a_profile(operators=(product,)), faster).bound == "neither"


def test_a_ceiling_that_takes_less_than_most_of_the_time_binds_nothing_and_is_still_worth_a_try():
    profile = a_profile(operators=(an_operator("mm", 0.4, operations=3e9, moved_bytes=1e6),))
    assert find_causes(profile, [], CEILINGS) == []
    near = find_causes(profile, [], CEILINGS, least=BOUND)
    assert dict(plan_remedies(profile, [], near)) == {"amp bf16": {"amp": "bf16"}}


def test_operators_far_from_every_ceiling_bind_by_neither():
    small = an_operator("add", 0.8, operations=1e3, moved_bytes=1e4)
    assert find_nearest_ceiling(small, a_profile(operators=(small,)), CEILINGS).bound == "neither"
    assert codes_of(operators=(small,)) == []


def an_array_program(outside):
    function = OperatorTime(name="step (waves.py:3)", calls=1, seconds=0.01, share=StepShare(share=0.1, low=0, high=1))
    return a_profile(framework="numpy", outside=StepShare(share=outside, low=outside, high=1), operators=(function,))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([], ["70 % (70 % to 100 %) of the time lies outside of array operations, by profile"]),
        ([a_part("interpreter", 2.0, 1.8, 2.5)], ["Python takes 50 % (44 % to 60 %) of the time"]),
        ([a_part("interpreter", 1.01, 0.99, 1.03)], []),  # the pairs know better than the profile
    ],
)
def test_what_python_costs_an_array_program_is_said_by_pairs_and_by_profile_only_without_them(parts, expected):
    causes = find_causes(an_array_program(0.7), parts, CEILINGS)
    assert [cause.code for cause in causes] == ["interpreter-bound"] * len(expected)
    for cause, beginning in zip(causes, expected, strict=True):
        assert cause.what.startswith(beginning)
        assert "step (waves.py:3)" in cause.what


def test_python_is_no_cause_where_array_operations_that_nothing_records_may_take_the_time():
    unseen = replace(an_array_program(0.7), outside_is_python=False)
    assert find_causes(unseen, [], CEILINGS) == []
    assert find_causes(unseen, [a_part("interpreter", 2.0, 1.8, 2.5)], CEILINGS) == []


@pytest.mark.parametrize(
    ("pipeline", "advice", "tried", "recipe"),
    [
        (("map",), "map in parallel, prefetch, decode less, or cache what is decoded", ["prefetch"], ".cache().map("),
        (("parallel map", "prefetch"), "decode less, or cache what is decoded", [], "dataset.cache()"),
        (("parallel map", "cache", "prefetch"), "decode less", [], ""),
        (("map", "cache"), "map in parallel, prefetch, or decode less", ["prefetch"], "num_parallel_calls"),
        ((), "prefetch, or do less for each item", ["prefetch"], ""),
        (("prefetch",), "do less for each item", [], ""),
        (None, "return a tf.data.Dataset of batches, whose pipeline can be changed", [], ""),
    ],
)
def test_advice_on_a_data_set_leaves_out_what_it_does_already(pipeline, advice, tried, recipe):
    profile = a_profile(framework="tensorflow", pipeline=pipeline)
    parts = [a_part("input", 2.0, 1.8, 2.2)]
    (cause,) = causes = find_causes(profile, parts, CEILINGS)
    assert cause.advice == advice
    assert recipe in cause.recipe
    assert bool(cause.recipe) is bool(recipe)
    assert [name for _, levels in plan_remedies(profile, parts, causes) for name in levels] == tried


@pytest.mark.parametrize(
    ("name", "calls", "expected"),
    [
        ("multiply", 100_000, ["launch-bound"]),
        ("multiply", 1_000, []),
        ("assignment", 100_000, []),
        ("step (waves.py:3)", 100_000, []),  # a function of the program's own
    ],
)
def test_array_operations_that_are_so_small_that_starting_them_takes_much_of_the_time_are_named(name, calls, expected):
    operators = (OperatorTime(name=name, calls=calls, seconds=0.06, share=StepShare(share=0.6, low=0.5, high=0.7)),)
    causes = find_causes(a_profile(framework="numpy", launch_s=5e-7, operators=operators), [], [])
    assert [cause.code for cause in causes] == expected
    for cause in causes:
        assert cause.what.startswith("starting 100,000 array operations takes at least 50 % of the time, by profile")


@pytest.mark.parametrize(("outside", "expected"), [(0.01, []), (0.3, ["interpreter"])])
def test_python_is_taken_off_an_array_program_in_which_it_may_matter(outside, expected):
    names = [name for name, _ in plan_parts(an_array_program(outside))]
    assert [name for name in names if name == "interpreter"] == expected
    assert "input" not in names


def test_only_what_a_program_does_is_taken_off():
    assert [name for name, _ in plan_parts(a_profile())] == ["input", "batch"]
    names = [
        name
        for name, _ in plan_parts(
            a_profile(
                optimizer="for-loop",
                tensors=200,
                update=StepShare(share=0.3, low=0.2, high=0.4),
                threads=1,
                anomaly=True,
                workers=2,
                is_epoch=True,
            )
        )
    ]
    assert names == ["input", "anomaly", "threads", "restarts", "loop", "batch", "backward+update", "update"]


def test_an_epoch_of_few_items_has_no_larger_batch():
    assert "batch" not in dict(plan_parts(a_profile(most=32)))
    assert dict(plan_parts(a_profile(most=100)))["batch"] == {"batch_size": "100"}


def test_the_baseline_is_the_program_as_it_stands():
    assert baseline_of(plan_parts(a_profile())) == {"taken_off": "none", "batch_size": "as-is"}


def test_two_burdens_are_also_taken_off_at_once():
    parts = [a_part("input", 1.5, 1.4, 1.6), a_part("batch", 1.6, 1.5, 1.7, batch_size="128")]
    causes = find_causes(a_profile(), parts, CEILINGS)
    tried = dict(plan_remedies(a_profile(), parts, causes))
    assert tried["together"] == {"taken_off": "input", "batch_size": "128"}


def test_an_interval_without_an_end_is_no_evidence():
    part = a_part("input", 3.0, 0.0, None)
    assert math.isinf(part.share.low)
    assert codes_of(part) == []


@pytest.mark.parametrize(
    ("tried", "advice", "techniques"),
    [
        ([], "load in processes of their own, decode less, or store what is decoded", ["workers", "loading"]),
        ([("workers", 1.2, 0.9, 1.5)], "load in processes of their own, decode less, or", ["workers", "loading"]),
        ([("workers", 0.36, 0.35, 0.37)], "decode less, or store what is decoded", ["loading"]),
        ([("workers", 0.36, 0.35, 0.37), ("loading", 0.9, 0.8, 0.99)], "decode less, or store what is decoded", []),
    ],
)
def test_no_cause_advises_what_was_measured_to_be_slower(tried, advice, techniques):
    profile = a_profile()
    causes = find_causes(profile, [a_part("input", 2.0, 1.8, 2.2)], CEILINGS)
    levels = {"workers": "2", "loading": "thread"}
    remedies = [a_part(f"{name} {levels[name]}", *speed, **{name: levels[name]}) for name, *speed in tried]
    (cause,) = withdraw_slower(causes, remedies, profile)
    assert cause.advice.startswith(advice)
    assert [name for name, _ in cause.techniques] == techniques


@pytest.mark.parametrize(
    ("facts", "advice"),
    [
        ({}, "load in processes of their own, decode less, or store what is decoded"),
        ({"workers": 1}, "load in more processes, decode less, or store what is decoded"),
        ({"workers": 2}, "decode less, or store what is decoded"),
        ({"workers": 2, "cores": 8}, "load in more processes, decode less, or store what is decoded"),
        ({"pool": 2, "loads": False}, "decode less, or store what is decoded"),
        ({"pool": 1, "loads": False}, "load in more processes, decode less, or store what is decoded"),
    ],
)
def test_a_program_with_loader_processes_is_told_at_most_to_use_more_of_them(facts, advice):
    (cause,) = find_causes(a_profile(**facts), [a_part("input", 2.0, 1.8, 2.2)], CEILINGS)
    assert cause.advice == advice


def test_no_cause_advises_a_pipeline_to_prefetch_where_that_is_slower():
    profile = a_profile(framework="tensorflow", pipeline=("parallel map",))
    causes = find_causes(profile, [a_part("input", 2.0, 1.8, 2.2)], CEILINGS)
    assert "prefetch" in causes[0].advice
    slower = a_part("prefetch autotune", 0.8, 0.7, 0.9, prefetch="autotune")
    (cause,) = withdraw_slower(causes, [slower], profile)
    assert (cause.advice, cause.techniques) == ("decode less, or cache what is decoded", ())


def test_a_compiler_that_makes_the_program_slower_is_no_longer_advised_against_the_slow_start_of_kernels():
    idle = StepShare(share=0.0, low=0.0, high=0.0)
    profile = a_profile(device="cuda:0", device_s=0.012, kernels=1250, loading=idle)
    slower = a_part("compile default", 0.8, 0.7, 0.9, compile="default")
    (cause,) = withdraw_slower(find_causes(profile, [], CEILINGS), [slower], profile)
    assert cause.advice == "take larger batches, if the model still learns as well"


def test_advice_is_left_for_names_of_techniques_that_there_are():
    names = {name for left in LEFT_ADVICE.values() for names in left for name in names}
    frameworks = ("torch", "tensorflow", "numpy")
    assert {name for name in names if any(is_technique(framework, name) for framework in frameworks)} == names
