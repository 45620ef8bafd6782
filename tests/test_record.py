"""The schema of a result file, and files that break it."""

import json
import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from runs import STORED, arm, effect, read_run, run, save, trial

from harness import record
from harness.errors import UnreadableResult
from harness.identity import machine_key
from harness.record import Price
from harness.stored import from_json, to_json


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


def test_the_stored_file_of_schema_version_2_is_read_for_ever():
    stored = read_run(STORED.with_name("run_v2.json"))
    assert stored.schema_version == 2
    assert stored.ceilings[-1].name == "cpu matrix fp32"
    assert stored.spent_s["harness"] == 0.9
    arms = [each for trial in stored.trials for each in trial.arms]
    assert {each.outcome for each in arms} == {"measured", "unavailable", "wrong-work", "misplaced", "impossible"}
    one, both = stored.trials[1].arms
    assert one.flags[0].startswith("the baseline reaches 29 % of cpu matrix fp32")
    assert [(rate.ceiling, rate.share) for rate in both.rates] == [("cpu matrix fp32", 0.44), ("cpu memory", 0.6)]
    assert both.placement is not None
    assert (both.placement.outputs, both.placement.kernels) == (["cpu"], 0)


def test_the_stored_file_of_schema_version_3_is_read_for_ever():
    stored = read_run(STORED.with_name("run_v3.json"))
    assert stored.schema_version == 3
    assert (len(stored.trials), sum(len(each.arms) for each in stored.trials)) == (14, 48)
    by_id = {each.id: each for each in stored.trials}
    one, both = by_id["benchmarks/test_numpy_threads.py::test_numpy_threads[matrix-product-100000]"].arms
    assert one.timing is not None
    assert (len(one.timing.warmup_s), one.timing.warmup_s[0]) == (40, 0.0007039)
    assert both.effect is not None
    assert (len(both.effect.log_ratios_in_order), both.effect.log_ratios_in_order[0]) == (40, 0.6721)


def test_the_stored_file_of_schema_version_4_is_read_for_ever():
    stored = read_run(STORED.with_name("run_v4.json"))
    assert stored.schema_version == 4
    keras, chain, _ = stored.trials
    assert chain.technique_summaries["ladder"].startswith("One technique after another: vectorise array, in-place on")
    start, loop, in_place, *_ = chain.arms
    assert loop.gain == loop.effect
    assert loop.gain_over == start.levels == {"ladder": "start"}
    assert in_place.gain is not None
    assert (in_place.gain.verdict, round(in_place.gain.speedup, 3)) == ("faster", 1.299)
    assert keras.arms[3].gain_over == {"ladder": "+batch-size 4"}  # the rung between was not to be had


def test_the_stored_file_of_schema_version_5_is_read_for_ever():
    stored = read_run(STORED.with_name("run_v5.json"))
    assert stored.schema_version == 5
    many, one = stored.trials[0].arms
    assert many.timing is not None
    assert many.timing.device_s == pytest.approx(50e-6, rel=0.01)
    assert many.flags == ["host-bound: the device was busy for 20 % of the time"]
    assert one.flags == []


def test_the_stored_file_of_schema_version_6_is_read_for_ever():
    stored = read_run(STORED.with_name("run_v6.json"))
    assert stored.schema_version == 6
    assert stored.environment.identity.cpu_signature == "25-1-1"
    assert stored.machine == machine_key(stored.environment.identity)
    assert stored.environment.configuration["cpu.instructions"] == "avx2, f16c, fma"


def test_the_stored_file_of_schema_version_7_is_read_for_ever():
    stored = read_run(STORED.with_name("run_v7.json"))
    assert stored.schema_version == 7
    one, *more = stored.trials[0].arms
    assert one.effect is None
    assert [arm.effect.builds for arm in more if arm.effect] == [8]


def test_a_file_older_than_signatures_has_the_one_that_pytest_benchmark_noted():
    stored = to_json(run(trial(arm({"amp": "fp32"}, 2.0))))
    noted = {"cpu": {"family": 25, "model": 17, "stepping": 1}}
    older, newer = (
        from_json({"accelbench": stored | {"schema_version": version}, "machine_info": noted}, source="a.json")
        for version in (5, 6)
    )
    assert (newer.environment.identity.cpu_signature, newer.machine) == ("", run().machine)
    assert older.environment.identity.cpu_signature == "25-17-1"
    assert older.machine == machine_key(older.environment.identity)


@pytest.mark.parametrize("noted", [None, [], {}, {"cpu": None}, {"cpu": {"family": {}, "model": 17}}])
def test_a_file_older_than_signatures_keeps_its_machine_where_nothing_was_noted(noted):
    document = {"accelbench": to_json(run()) | {"schema_version": 5}, "machine_info": noted}
    assert from_json(document, source="a.json").machine == run().machine


def test_a_number_that_is_not_finite_is_left_out_of_a_file(tmp_path):
    wild = arm({"amp": "fp16"}, price=Price(error=math.inf), observed={"wait_share": math.nan, "rss_bytes": 2.0})
    (read,) = read_run(save(run(trial(wild)), tmp_path / "0001_a.json")).trials[0].arms
    assert read.price == Price()
    assert read.observed == {"rss_bytes": 2.0}


def test_a_run_survives_being_written_and_read(tmp_path):
    original = run(
        trial(arm({"amp": "fp32"}, 2.0), arm({"amp": "bf16"}, 1.0, effect=effect(2.0, 0.0, None, "undecided"))),
        trial(arm({"amp": "fp32"}), problem={"elements": 10, "ratio": 0.5, "name": "x", "flag": True}),
        interrupted=True,
    )
    assert read_run(save(original, tmp_path / "0001_a.json")) == original


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
    assert from_json(document, source="a.json").trials[0].workload == "net"


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
    assert "truncated or damaged" in complaint(path)


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


def test_a_folder_is_not_a_file(tmp_path):
    assert "cannot be read" in complaint(tmp_path)


@pytest.mark.parametrize("kind", [value for value in vars(record).values() if hasattr(value, "__dataclass_fields__")])
def test_every_field_is_documented(kind):
    documented = (Path(__file__).parents[1] / "results" / "README.md").read_text()
    assert [each.name for each in fields(kind) if f"`{each.name}`" not in documented] == []


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
