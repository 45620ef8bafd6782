"""The schema of a result file, and files that break it."""

import json
import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from runs import EVERY_FIELD, STORED, arm, effect, read_run, run, save, trial

from accelbench.errors import UnreadableResult
from accelbench.schema import result as record
from accelbench.schema.machine_id import machine_key
from accelbench.schema.reasons import reason
from accelbench.schema.result import Price
from accelbench.schema.result_json import from_bytes, to_json


def test_the_stored_file_of_schema_version_1_is_read_for_ever():
    stored = read_run(STORED)
    assert stored.schema_version == 1
    assert (len(stored.trials), sum(len(each.arms) for each in stored.trials)) == (22, 63)
    by_id = {each.id: each for each in stored.trials}
    fp32, bf16, fp16 = by_id["benchmarks/test_mixed_precision.py::test_mixed_precision[resnet18-train]"].arms
    assert (fp32.outcome, fp32.effect, fp16.outcome) == ("measured", None, "given-up")
    assert bf16.effect is not None
    assert (bf16.effect.verdict, bf16.effect.speedup, bf16.effect.pairs) == ("faster", 1.83, 30)
    assert bf16.price is not None
    assert bf16.price.error == 0.0042
    assert stored.environment.identity.cpu_cores == 2


def test_every_field_of_schema_version_1_is_read_for_ever():
    stored = read_run(EVERY_FIELD)
    assert stored.environment.identity.cpu_signature == "25-1-1"
    assert stored.machine == machine_key(stored.environment.identity)
    assert stored.environment.configuration["cpu.instructions"] == "avx2, f16c, fma"
    assert stored.ceilings[-1].name == "cpu matrix fp32"
    assert stored.spent_s["overhead"] == 0.9
    arms = [each for trial in stored.trials for each in trial.arms]
    outcomes = {"measured", "unavailable", "given-up", "wrong-work", "misplaced", "impossible"}
    assert {each.outcome for each in arms} <= outcomes
    one, both = stored.trials[1].arms
    assert str(one.flags[0]).startswith("the baseline reaches 29 % of cpu matrix fp32")
    assert [(rate.ceiling, rate.share) for rate in both.rates] == [("cpu matrix fp32", 0.44), ("cpu memory", 0.6)]
    assert both.placement is not None
    assert (both.placement.outputs, both.placement.kernels) == (["cpu"], 0)


def test_visits_of_schema_version_1_are_read_for_ever():
    threads = trial_of("test_numpy_threads[matrix-product-100000]")
    first, far, _, faulty, again = threads.visits
    assert (first.core_latency_s, first.slowdown, first.span_s, first.odd) == (2.15e-7, 1.04, 1.1, [])
    assert [cause.code for cause in [*far.odd, *faulty.odd]] == [
        "cores-far-apart", "slower-than-ever", "many-page-faults",
    ]  # fmt: skip
    assert (faulty.core_latency_s, again.is_repetition) == (None, True)
    assert threads.arms[1].effect is not None
    shown = threads.arms[1].effect.visits[1]
    assert (shown.visit, shown.log_speedup, shown.pairs, shown.in_interval) == (1, 0.333848, 105, False)


def test_courses_in_time_and_device_times_of_schema_version_1_are_read_for_ever():
    one, both = trial_of("test_numpy_threads[matrix-product-100000]").arms
    assert one.timing is not None
    assert (len(one.timing.warmup_s), one.timing.warmup_s[0]) == (40, 0.0007039)
    assert both.effect is not None
    assert (len(both.effect.log_ratios_in_order), both.effect.log_ratios_in_order[0]) == (40, 0.6721)
    many, one = trial_of("test_pieces").arms
    assert many.timing is not None
    assert many.timing.device_s == pytest.approx(50e-6, rel=0.01)
    assert (many.flags, one.flags) == ([reason("host-bound", device_busy=0.2)], [])
    built_often = trial_of("test_numpy_threads[matrix-product-10000]").arms
    assert [arm.effect.builds for arm in built_often if arm.effect] == [8]


def test_the_effects_of_a_ladder_of_schema_version_1_are_read_for_ever():
    chain = trial_of("test_ladder_numpy")
    assert chain.technique_summaries["ladder"].startswith("One technique after another: vectorise array, in-place on")
    start, loop, in_place, *_ = chain.arms
    assert [each.against for each in loop.effects] == [start.levels]
    assert chain.step(loop) == loop.effect == loop.effect_over(start.levels)
    assert [each.against for each in in_place.effects] == [start.levels, loop.levels]
    step = chain.step(in_place)
    assert step is not None
    assert (step.verdict, round(step.speedup, 3)) == ("faster", 1.299)
    keras = trial_of("test_ladder_keras")
    over_next_rung_but_one = keras.step(keras.arms[3])  # the rung between was not to be had
    assert over_next_rung_but_one is not None
    assert over_next_rung_but_one.against == {"ladder": "+batch-size 4"}


def test_a_number_that_is_not_finite_is_left_out_of_a_file(tmp_path):
    wild = arm({"amp": "fp16"}, price=Price(error=math.inf), observed={"wait_share": math.nan, "rss_bytes": 2.0})
    (read,) = read_run(save(run(trial(wild)), tmp_path / "0001_a.json")).trials[0].arms
    assert read.price == Price()
    assert read.observed == {"rss_bytes": 2.0}


def test_a_run_survives_being_written_and_read(tmp_path):
    original = run(
        trial(
            arm({"amp": "fp32"}, 2.0),
            arm({"amp": "bf16"}, 1.0, effect=effect(2.0, 0.0, None, "undecided")),
            kinds={"amp": "switch"},
        ),
        trial(
            arm({"load": "1"}),
            kinds={"load": "sweep"},
            problem={"elements": 10, "ratio": 0.5, "name": "x", "flag": True},
        ),
        interrupted=True,
    )
    assert read_run(save(original, tmp_path / "0001_a.json")) == original


def test_a_reason_for_another_reason_survives_being_written_and_read(tmp_path):
    why = reason("no-baseline", cause=reason("worker-exited", status=3, when="during 'build'", stderr="no room"))
    original = run(
        trial(arm({"amp": "fp32"}, outcome="crashed", reason=why), remarks=[reason("waited-for-core", share=0.3)])
    )
    (read,) = read_run(save(original, tmp_path / "0001_a.json")).trials
    assert (read.arms[0].reason, read.remarks) == (why, [reason("waited-for-core", share=0.3)])


def test_scalars_of_frameworks_are_kept_as_plain_values(tmp_path):
    class Version(str):
        __slots__ = ()

    configured = {"torch.version": Version("2.9.0")}
    environment = replace(run().environment, configuration=configured)
    observed = {"wait_share": np.float64(0.25), "steps": np.int64(3)}
    original = run(trial(arm({"workers": "0"}, 1.0, observed=observed)), environment=environment)
    read = read_run(save(original, tmp_path / "0001_a.json"))
    assert read.environment.configuration == {"torch.version": "2.9.0"}
    assert read.trials[0].arms[0].observed == {"wait_share": 0.25, "steps": 3}


def test_fields_that_a_later_version_may_add_are_ignored():
    document = {"accelbench": to_json(run(trial(arm({"amp": "fp32"}, 2.0)))) | {"colour": "blue"}}
    assert from_bytes(json.dumps(document).encode(), source="a.json").trials[0].workload == "net"


@pytest.mark.parametrize("length", [0, 1, 1000, -2])
def test_a_truncated_file_is_named_in_one_line(tmp_path, length):
    path = tmp_path / "0001_cut.json"
    path.write_bytes(STORED.read_bytes()[:length])
    said = complaint(path)
    assert str(path) in said
    assert "truncated" in said


def test_bytes_that_are_not_text_are_named_in_one_line(tmp_path):
    path = tmp_path / "0001_binary.json"
    path.write_bytes(b"\xff\xfe\x00\x01" * 100)
    assert "not complete JSON" in complaint(path)


def test_a_file_of_another_kind_is_not_to_be_deleted(tmp_path):
    path = tmp_path / "test_mine.py"
    path.write_text("import accelbench\n")
    said = complaint(path)
    assert said.endswith("; give a file that accelbench wrote, or run again if this one was cut off")
    assert "delete" not in said


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "0001_marked.json"
    path.write_bytes(b"\xef\xbb\xbf" + STORED.read_bytes())
    assert read_run(path) == read_run(STORED)


def test_a_newer_schema_says_to_upgrade(tmp_path):
    newest = record.SCHEMA_VERSION
    path = edited(tmp_path, schema_version=newest + 1)
    said = f"{path}: schema version {newest + 1}, this accelbench reads up to {newest}; upgrade accelbench"
    assert complaint(path) == said


@pytest.mark.parametrize("document", ['{"benchmarks": []}', "[]", "3", '{"accelbench": []}', "null"])
def test_a_file_of_somebody_else_is_not_ours(tmp_path, document):
    path = tmp_path / "0001_theirs.json"
    path.write_text(document)
    assert "not a result of accelbench" in complaint(path)


@pytest.mark.parametrize(
    "change",
    [{"schema_version": 0}, {"schema_version": "1"}, {"trials": {}}, {"trials": [{"id": "x"}]}, {"environment": None}],
)
def test_a_file_that_breaks_the_schema_is_named_in_one_line(tmp_path, change):
    path = edited(tmp_path, **change)
    said = complaint(path)
    assert str(path) in said
    assert "does not follow schema" in said


def test_a_trial_without_arms_breaks_the_schema(tmp_path):
    stored = to_json(run(trial(arm({"amp": "fp32"}, 2.0))))
    stored["trials"][0]["arms"] = []
    path = tmp_path / "0001_empty.json"
    path.write_text(json.dumps({"accelbench": stored}))
    assert "$.trials[0].arms" in complaint(path)


def test_an_interval_that_ends_before_it_begins_breaks_the_schema(tmp_path):
    stored = to_json(
        run(trial(arm({"amp": "fp32"}, 2.0), arm({"amp": "bf16"}, 1.0, effect=effect(2.0, 1.0, 3.0, "faster"))))
    )
    stored["trials"][0]["arms"][1]["effects"][0] |= {"low": 9.0, "high": 2.0}
    path = tmp_path / "0001_turned.json"
    path.write_text(json.dumps({"accelbench": stored}))
    assert "low 9 is above high 2 - at `$.trials[0].arms[1].effects[0]`" in complaint(path)


def test_a_folder_is_not_a_file(tmp_path):
    assert "cannot be read" in complaint(tmp_path)


@pytest.mark.parametrize("kind", [value for value in vars(record).values() if hasattr(value, "__dataclass_fields__")])
def test_every_field_is_documented(kind):
    documented = (Path(__file__).parents[2] / "results" / "README.md").read_text()
    assert [each.name for each in fields(kind) if f"`{each.name}`" not in documented] == []


def trial_of(test):
    return next(each for each in read_run(EVERY_FIELD).trials if each.id.endswith(test))


def edited(folder, **change):
    document = json.loads(STORED.read_text())
    document["accelbench"] |= change
    path = folder / "0001_edited.json"
    path.write_text(json.dumps(document))
    return path


def complaint(path):
    with pytest.raises(UnreadableResult) as raised:
        read_run(path)
    said = str(raised.value)
    assert "\n" not in said
    return said
