"""What an explanation says to a person, from measurements that are known."""

import dataclasses
import json
import re

import pytest

from accelbench.explain import as_json, as_markdown, as_text
from accelbench.explain.causes import find_causes
from accelbench.explain.explanation import Explanation
from accelbench.explain.parts import TOO_LATE, plan_parts, read_part, skip_part
from accelbench.explain.prediction import Prediction, leave_out, predict, prediction_table
from accelbench.explain.profile import CallSite, OperatorTime, Profile, StepShare
from accelbench.measuring.applicable import Applicable
from accelbench.schema.result import AS_IS, ArmRecord, Ceiling, Effect

PROFILE = Profile(
    framework="torch",
    device="cpu",
    seconds=0.1,
    items=256,
    batches=8,
    batch_size=32,
    most=2560,
    loads=True,
    threads=2,
    cores=2,
    operators=(OperatorTime(name="mm", calls=24, seconds=0.03, share=StepShare(share=0.3, low=0.28, high=0.32)),),
    loading=StepShare(share=0.6, low=0.55, high=0.65),
    outside=StepShare(share=0.1, low=0.08, high=0.12),
)


def measured(name, speedup, low, high, verdict="undecided", **levels):
    effect = Effect(against={}, speedup=speedup, low=low, high=high, verdict=verdict, pairs=9)
    return read_part(name, levels or {"taken_off": name}, ArmRecord(levels={}, outcome="measured", effects=[effect]))


def explained(*parts, remedies=(), price_per_hour=None, profile=PROFILE):
    return Explanation(
        workload="train.py:build",
        unit="item",
        profile=profile,
        parts=parts,
        remedies=tuple(remedies),
        causes=tuple(find_causes(profile, parts, [])),
        ceilings=(),
        item_s=0.1 / 256,
        price_per_hour=price_per_hour,
        spent_s=90.0,
    )


WAITS = measured("input", 2.5, 2.4, 2.6)


def test_energy_is_named_where_it_was_counted():
    helps = measured("workers 2", 2.0, 1.9, 2.1, workers="2")
    text = as_text(
        dataclasses.replace(explained(WAITS, remedies=[dataclasses.replace(helps, item_j=2e-3)]), item_j=3e-3)
    )
    assert "; 3.00 mJ of energy per item, 7.68 J per epoch." in text
    assert "Workers 2 takes 2.00 mJ of energy per item, in place of 3.00 mJ." in text
    assert "energy" not in as_text(explained(WAITS, remedies=[helps]))


def test_a_person_reads_what_binds_what_to_write_and_what_it_saves():
    helps = measured("workers 2", 2.0, 1.9, 2.1, workers="2")
    text = as_text(explained(WAITS, remedies=[helps], price_per_hour=3.6))
    assert "an epoch of 2,560 takes 1.00 s and costs 0.00100" in text
    assert "Waiting for the loader takes 60 % (58 % to 62 %) of the time" in text
    assert "Workers 2 makes it 2.00× (1.90–2.10) as fast, which saves 500 ms per epoch" in text
    assert "DataLoader(data, num_workers=2)" in text


@pytest.mark.parametrize(
    ("name", "levels", "speedup", "words"),
    [
        (
            "batch",
            {"batch_size": "128"},
            (0.8, 0.75, 0.85),
            "Batch-size will not help: with larger batches, the program takes 25 % (18 % to 33 %) longer per item.",
        ),
        (
            "input",
            {"taken_off": "input"},
            (0.8, 0.75, 0.85),
            "loading will not help: without loading a batch, the program takes 25 % (18 % to 33 %) longer per item.",
        ),
        (
            "batch",
            {"batch_size": "128"},
            (0.043, 0.04, 0.77),
            "were disturbed: with larger batches, the program seemed to take 23 times as long per item. The pairs ",
        ),
        (
            "update",
            {"taken_off": "update"},
            (0.4, 0.3, 0.5),
            "disturbed: without updating the weights, the program seemed to take 2.5 times as long per item.",
        ),
    ],
)
def test_what_makes_the_program_slower_as_it_is_taken_off_takes_more_time_than_none(name, levels, speedup, words):
    text = as_text(explained(WAITS, measured(name, *speedup, **levels)))
    assert words in text
    assert "no time that the pairs can tell" not in text


def test_a_part_in_whose_place_something_slower_works_is_not_called_disturbed():
    text = as_text(explained(WAITS, measured("compiled", 0.2, 0.19, 0.21)))
    assert "disturbed" not in text
    assert not measured("compiled", 0.2, 0.19, 0.21).is_open


def test_an_explanation_that_was_interrupted_says_so():
    found = dataclasses.replace(explained(WAITS, skip_part("update", {})), interrupted=True)
    assert "Interrupted: what was not measured by then is left out." in as_text(found)
    assert as_json(found)["interrupted"] is True
    assert "nterrupted" not in as_text(explained(WAITS))


def test_what_cannot_be_switched_is_left_out_of_the_ranking_and_said_below_it():
    present = Applicable(technique="amp", levels=(AS_IS,), refused={"fp16": "no scaler"}, present=("bf16",))
    present = dataclasses.replace(present, refused={**present.refused, "bf32": "no scaler"})
    refused = Applicable(technique="prefetch_factor", levels=(AS_IS,), refused={"*": "it does it"})
    can = Applicable(technique="compile", levels=(AS_IS, "default"), present=("eager",))
    unlike = Applicable(technique="memory_format", levels=(AS_IS,), refused={"*": "it has no images"}, present=())
    ranked = leave_out(predict(PROFILE), [present, refused, can, unlike])
    names = [each.techniques for each in ranked]
    assert names[:2] == [("workers", "loading"), ("compile",)]
    assert not {"amp", "memory_format"} & {name for each in names for name in each}
    table, said = prediction_table(ranked).split("\n\n")
    assert table.splitlines()[2].startswith("workers, loading ")
    assert "amp" not in table
    assert said.splitlines() == [
        "Your program already has amp bf16.",
        "Left out: prefetch-factor (it does it), amp fp16, amp bf32 (no scaler), memory-format (it has no images).",
    ]
    assert "Left out" not in prediction_table(predict(PROFILE))
    every = [dataclasses.replace(present, technique=name) for each in predict(PROFILE) for name in each.techniques]
    assert prediction_table(leave_out(predict(PROFILE), every)).startswith("No technique is left to rank.\n\nYour")


def test_what_takes_nothing_is_named_as_what_will_not_help():
    text = as_text(explained(measured("input", 1.01, 0.99, 1.02)))
    assert "will not help: loading a batch takes at most 2.0 % of the time" in text


def test_what_the_pairs_do_not_tell_is_said_and_nothing_else_is_claimed():
    text = as_text(explained(measured("input", 30.0, 0.0, None)))
    assert "The pairs do not tell what binds" in text
    assert re.search(r"loading a batch +97 % +not known", text)
    assert "will not help" not in text


def test_an_interval_of_what_was_done_twice_may_have_no_end_either():
    text = as_text(explained(measured("copies-twice", 0.8, 0.0, None)))
    assert re.search(r"copying tensors +25 % +not known", text)
    assert "inf" not in text


@pytest.mark.parametrize(
    ("device_s", "words"),
    [
        (8e-3, "busy for 8.0 % of the time, with 1,250 kernels per iteration, and waits for the host otherwise."),
        (92e-3, "busy for 92 % of the time, with 1,250 kernels per iteration."),
        (150e-3, "busy for 100 % of the time, with 1,250 kernels per iteration."),  # on several streams
    ],
)
def test_an_accelerator_that_waits_for_the_host_is_named_even_where_the_pairs_tell_nothing(device_s, words):
    profile = dataclasses.replace(PROFILE, device="cuda:0", device_s=device_s, kernels=1250)
    assert f"By profile, the accelerator is {words}" in as_text(
        explained(measured("input", 30.0, 0.0, None), profile=profile)
    )
    assert "accelerator" not in as_text(explained(WAITS))


def test_an_accelerator_is_said_to_wait_once():
    idle = StepShare(share=0.0, low=0.0, high=0.0)
    text = as_text(
        explained(profile=dataclasses.replace(PROFILE, device="cuda:0", device_s=8e-3, kernels=1250, loading=idle))
    )
    assert text.count("the accelerator") + text.count("The accelerator") == 1
    assert "The accelerator waits for 92 % of the time, by profile, until the host has started its next kernel" in text


def test_time_that_no_array_records_is_said_to_be_unknown():
    outside = StepShare(share=0.96, low=0.9, high=1.0)
    profile = dataclasses.replace(PROFILE, framework="numpy", loading=None, outside=outside, outside_is_python=False)
    for parts in ([], [skip_part("interpreter", {"taken_off": "interpreter"})]):
        text = as_text(explained(*parts, profile=profile))
        assert "96 % (90 % to 100 %) of the time lies outside of the array operations that were recorded" in text
        assert "most of the time lies in the operators below" not in text
        assert "Numba" not in text


@pytest.mark.parametrize(
    ("parts", "words"), [((), "By profile"), ((measured("input", 1.0, 0.99, 1.01),), "worth naming; by profile")]
)
def test_a_program_whose_time_passes_outside_of_operators_is_not_said_to_compute(parts, words):
    share, outside = StepShare(share=0.11, low=0.1, high=0.12), StepShare(share=0.67, low=0.63, high=0.7)
    small = OperatorTime(name="addmm", calls=64, seconds=0.011, share=share, moved_bytes=1e5)
    profile = dataclasses.replace(PROFILE, operators=(small,), loading=None, outside=outside)
    memory = Ceiling(name="cpu memory", per_s=1e10, unit="byte", working_set_bytes=0)
    found = dataclasses.replace(explained(*parts, profile=profile), ceilings=(memory,))
    text = as_text(found)
    assert f"{words}, 67 % (63 % to 70 %) of the time passes outside of operators: in Python, or in what" in text
    assert "lies in the operators below" not in text
    assert "addmm takes 11 % of the time" not in text
    within = dataclasses.replace(profile, outside=StepShare(share=0.05, low=0.0, high=0.1))
    without_python = (*parts, measured("interpreter", 1.0, 0.99, 1.01))  # the pairs know better than the profile
    for otherwise in ({"profile": within}, {"parts": without_python}):
        text = as_text(dataclasses.replace(found, **otherwise))
        assert "lies in the operators below" in text
        assert "addmm takes 11 % of the time" in text


@pytest.mark.parametrize(("launch_s", "is_named"), [(1e-7, True), (3e-7, False)])
def test_operations_that_are_small_are_not_said_to_be_far_from_a_ceiling_as_well(launch_s, is_named):
    share = StepShare(share=0.6, low=0.55, high=0.65)
    small = OperatorTime(name="add", calls=200_000, seconds=0.06, share=share, moved_bytes=1e5)
    profile = dataclasses.replace(PROFILE, framework="numpy", operators=(small,), loading=None, launch_s=launch_s)
    memory = Ceiling(name="cpu memory", per_s=1e10, unit="byte", working_set_bytes=0)
    text = as_text(dataclasses.replace(explained(profile=profile), ceilings=(memory,)))
    assert ("look at what calls it" in text) is is_named
    assert ("Starting 200,000 array operations takes" in text) is not is_named


def test_a_comment_that_ends_a_recipe_takes_up_that_it_was_not_tried():
    tries = [skip_part("workers 2", {"workers": "2"}), skip_part("loading thread", {"loading": "thread"})]
    text = as_text(explained(WAITS, remedies=tries))
    assert "num_workers=2)  # may help, but the time did not suffice to try it\n" in text
    assert "is computed with; may help, but the time did not suffice to try it\n" in text


def test_without_time_for_the_pairs_nothing_is_claimed_of_them():
    text = as_text(explained(*(skip_part(*part) for part in plan_parts(PROFILE))))
    assert "Nothing could be taken off the program" in text
    assert "the budget is too short for it: raise --budget" in text
    assert "will not help: " not in text


@pytest.mark.parametrize(
    ("reason", "way_out"),
    [(TOO_LATE, "; a longer --budget takes off the rest."), ("failed: no data", ", for the reasons below.")],
)
def test_where_parts_were_not_taken_off_what_binds_is_said_to_be_open(reason, way_out):
    harmless = measured("input", 1.0, 0.99, 1.01)
    others = [skip_part(name, {"taken_off": name}, reason) for name in ("readings", "copies")]
    text = as_text(explained(harmless, *others))
    open_ = f"Only loading a batch was taken off, and it takes no share worth naming: what binds is open{way_out}"
    assert open_ in text
    assert "the program computes" not in text
    phases = [skip_part(name, {"taken_off": name}) for name in ("backward+update", "update")]
    assert "the program computes" in as_text(explained(harmless, *phases))  # no phase is a cause


def test_a_remedy_that_makes_it_slower_is_said_to():
    slower = measured("workers 2", 0.5, 0.4, 0.6, "slower", workers="2")
    not_faster = measured("loading thread", 0.976, 0.962, 0.984, loading="thread")
    text = as_text(explained(WAITS, remedies=[slower, not_faster]))
    assert "Workers 2 is slower: 0.500× (0.400–0.600) as fast" in text
    assert "Loading thread is not faster: 0.976× (0.962–0.984) as fast" in text
    assert re.search(r"^loading thread .* not faster$", text, re.MULTILINE)
    assert "num_workers" not in text


def test_json_is_valid_where_an_interval_has_no_end():
    written = json.dumps(as_json(explained(measured("input", 30.0, 0.0, None))), allow_nan=False)
    assert json.loads(written)["parts"][0]["share"]["low"] is None


def test_a_program_without_a_loader_has_no_row_for_loading():
    without = dataclasses.replace(PROFILE, loading=StepShare(share=0.0, low=0.0, high=0.0))
    assert "(loading)" in as_text(explained())
    assert "(loading)" not in as_text(explained(profile=without))


def test_markdown_fences_the_tables():
    assert as_markdown(explained(WAITS)).count("```") % 2 == 0
    assert "**What a part of it takes" in as_markdown(explained(WAITS))


def test_every_part_has_a_name_for_people():
    everything = dataclasses.replace(
        PROFILE,
        optimizer="for-loop",
        tensors=200,
        update=StepShare(share=0.3, low=0.2, high=0.4),
        float64=StepShare(share=0.3, low=0.2, high=0.4),
        threads=1,
        anomaly=True,
        workers=2,
        is_epoch=True,
        readings=(CallSite(file="train.py", line=3, call="item()", times=1),),
        copies=(CallSite(file="train.py", line=4, call="clone()", times=1),),
    )
    parts = [read_part(name, levels, ArmRecord(levels={}, outcome="failed")) for name, levels in plan_parts(everything)]
    assert len(parts) == 11
    assert as_text(explained(*parts, profile=everything)).count("not measured") == len(parts)


def test_a_technique_brings_at_most_what_it_touches():
    first, *others = predict(PROFILE)
    assert first.touches == "waiting for the loader"
    assert first.at_most == pytest.approx(1 / 0.35)
    amp = next(each for each in others if "amp" in each.techniques)
    assert amp.at_most == pytest.approx(1 / 0.68)


def test_a_share_that_may_be_all_of_the_time_bounds_no_speedup():
    unknown = Prediction(techniques=("compile",), touches="much", share=StepShare(share=0.45, low=0.0, high=1.0))
    known = Prediction(techniques=("amp",), touches="products", share=StepShare(share=0.45, low=0.4, high=0.5))
    *_, first, second = prediction_table([unknown, known]).splitlines()
    assert re.fullmatch(r"compile +much +45 % \(0 % to 100 %\) +not bounded *", first)
    assert re.fullmatch(r"amp +products +45 % \(40 % to 50 %\) +at most 2\.00× *", second)
