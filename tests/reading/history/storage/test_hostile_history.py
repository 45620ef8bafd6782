"""A history of files that anybody may have written: each is read, or one line, and the others beside it are read."""

import json
import os

from hostile import NUMBERS, OTHERS, TEXTS, damaged, mutated, places
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runs import STORED, arm, run, save, trial

from harness.reading.history.storage.index import history

FUZZED = settings(
    max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
GOOD = run(trial(arm({"amp": "fp32"}, 1.0)))


def told_beside_a_good_one(folder, data):
    save(GOOD, folder / "0002_good.json", taken="2031-01-01T00:00:00+00:00")
    (folder / "0001_strange.json").write_bytes(data)
    kept = history(folder)
    assert kept.runs["name"].iloc[-1] == "good"
    texts = [*kept.remarks, *kept.runs["run"], *kept.observations["case"], *kept.runs["configuration"]]
    assert all(text.isprintable() for text in texts)
    assert not kept.observations["log_s"].isna().any()


@FUZZED
@given(mutated())
def test_strange_values(tmp_path_factory, document):
    told_beside_a_good_one(tmp_path_factory.mktemp("strange"), json.dumps(document).encode())


@FUZZED
@given(st.data())
def test_strange_values_in_a_file_of_pytest_benchmark(tmp_path_factory, data):
    stored = json.loads(STORED.read_text())
    foreign = {name: stored[name] for name in ("machine_info", "datetime")} | {"benchmarks": stored["benchmarks"][:2]}
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(list(places(foreign))))
        holder[key] = data.draw(st.sampled_from([*TEXTS, *NUMBERS, *OTHERS]))
    told_beside_a_good_one(tmp_path_factory.mktemp("foreign"), json.dumps(foreign).encode())


@FUZZED
@given(damaged())
def test_damaged_files(tmp_path_factory, data):
    told_beside_a_good_one(tmp_path_factory.mktemp("damaged"), data)


def test_names_that_are_no_text_or_no_number(tmp_path):
    save(GOOD, tmp_path / f"{'9' * 40}_a.json", taken="2026-01-01T00:00:00+00:00")
    save(GOOD, tmp_path / "0001_a\x1b[2J.json", taken="2026-01-02T00:00:00+00:00")
    save(GOOD, tmp_path / os.fsdecode(b"\xff.json"), taken="2026-01-03T00:00:00+00:00")
    kept = history(tmp_path)
    assert kept.runs["number"].tolist() == [0, 1, 0]
    assert all(text.isprintable() for text in [*kept.runs["run"], *kept.remarks])


def test_a_link_to_what_never_ends_is_one_line(tmp_path):
    (tmp_path / "0001_strange.json").symlink_to("/dev/zero")
    save(GOOD, tmp_path / "0002_good.json")
    (remark,) = history(tmp_path).remarks
    assert "it is no regular file" in remark
