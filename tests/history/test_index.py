"""A history as it is loaded: what is read again, the order of the runs, and files that anybody may have written."""

import json
import os
import random
import shutil
import sys
from datetime import UTC, datetime, timedelta

import pytest
from hostile import damaged, mutated
from hypothesis import HealthCheck, given, settings
from runs import STORED, WHOLE_SUITE, arm, effect, run, save, trial

from accelbench.errors import BadInput
from accelbench.history import index
from accelbench.history.index import load_history
from accelbench.history.observations import observe
from accelbench.results import find_newest, find_results
from accelbench.results.load import longest_ascending
from accelbench.schema.safe_json import read_bytes


def day(number):
    return f"2026-01-{number:02}T00:00:00+00:00"


def measured(time_s=1.0, speedup=2.0, **fields):
    return run(
        trial(
            arm({"amp": "fp32"}, time_s),
            arm({"amp": "bf16"}, time_s / speedup, effect=effect(speedup, 1.9, 2.1, "faster")),
        ),
        **fields,
    )


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder of three runs, with an index although they are few."""
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(index, "MIN_FILES_TO_CACHE", 1)
    for number in (1, 2, 3):
        save(measured(number), tmp_path / "results" / "m" / f"{number:04}_run.json", taken=day(number))
    return tmp_path / "results"


@pytest.fixture
def opened(monkeypatch):
    """The names of the files that are read from here on."""
    names = []

    def seen(path):
        names.append(path.name)
        return read_bytes(path)

    monkeypatch.setattr("accelbench.locations.read_bytes", seen)
    return names


def texts(frame):
    return frame.astype(dict.fromkeys(frame.select_dtypes("category"), "str")).astype(object)


def test_a_history_holds_what_its_files_hold_in_the_order_in_which_they_were_made(results):
    kept = load_history(results)
    files = [find_results(path).results[0] for path in sorted(results.rglob("*.json"))]
    own = observe(files)
    assert kept.runs["number"].tolist() == [1, 2, 3]
    assert kept.runs["path"].tolist() == [file.path for file in files]
    assert texts(kept.observations)[list(own)].compare(texts(own)).empty
    assert kept.irregularities == []


def test_a_second_reading_opens_no_file_and_says_the_same(results, opened):
    first = load_history(results)
    assert len(opened) == 3
    again = load_history(results)
    assert len(opened) == 3
    assert texts(again.observations).compare(texts(first.observations)).empty
    assert texts(again.runs).compare(texts(first.runs)).empty


def test_another_run_costs_reading_that_run(results, opened):
    load_history(results)
    save(measured(4.0), results / "m" / "0004_run.json", taken=day(4))
    opened.clear()
    assert load_history(results).runs["number"].tolist() == [1, 2, 3, 4]
    assert opened == ["0004_run.json"]


@pytest.mark.parametrize("kept", [1, 3])
def test_a_run_without_any_effect_joins_runs_with_effects_and_they_join_it(results, kept):
    lost = run(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, outcome="wrong-output", reason="wrong")))
    save(lost, results / "m" / f"{kept:04}_run.json", taken=day(kept))
    for number in {1, 2, 3} - {kept}:
        (results / "m" / f"{number:04}_run.json").rename(results.parent / f"{number}")
    load_history(results)
    for number in {1, 2, 3} - {kept}:
        (results.parent / f"{number}").rename(results / "m" / f"{number:04}_run.json")
    joined = load_history(results)
    assert joined.runs["number"].tolist() == [1, 2, 3]
    assert joined.unmeasured["run"].str[-8:].tolist() == [f"{kept:04}_run"]
    assert joined.observations["verdict"].dropna().tolist() == ["faster", "faster"]


def test_a_changed_file_is_read_again_and_a_deleted_one_forgotten(results):
    load_history(results)
    save(measured(7.25), results / "m" / "0001_run.json", taken=day(1))
    (results / "m" / "0002_run.json").unlink()
    kept = load_history(results)
    assert kept.runs["number"].tolist() == [1, 3]
    assert set(kept.observations["run"].cat.categories) == set(kept.runs["run"])
    baseline = kept.observations[kept.observations["baseline"]]
    assert baseline["log_s"].round(3).tolist() == [1.981, 1.099]


def test_a_file_that_only_looks_newer_is_not_parsed_again_as_in_a_fresh_checkout(results, opened, monkeypatch):
    first = load_history(results)
    for path in results.rglob("*.json"):
        os.utime(path, ns=(1, 1))
    with monkeypatch.context() as context:
        context.delattr("accelbench.history.index.result_in")
        assert texts(load_history(results).observations).equals(texts(first.observations))
    opened.clear()
    load_history(results)
    assert not opened


def test_the_runs_of_one_machine_are_the_same_whether_or_not_others_were_read_before(results, monkeypatch):
    for number in (1, 2):
        save(measured(number, machine="other-4c"), results / "other" / f"{number:04}_run.json", taken=day(4 + number))
    parsed = []
    parse = index.result_in
    monkeypatch.setattr(index, "result_in", lambda *file: parsed.append(file[1]) or parse(*file))
    first = load_history(results, machine="other-4c")
    assert first.runs["run"].tolist() == ["other-4c/0001_run", "other-4c/0002_run"]
    assert parsed == ["other/0001_run.json", "other/0002_run.json"], "the files of others are not parsed"
    assert len(load_history(results).runs) == 5
    again = load_history(results, machine="other-4c")
    assert texts(again.runs).equals(texts(first.runs))
    assert texts(again.observations).equals(texts(first.observations))


def test_a_file_that_says_no_machine_is_reported_also_where_one_is_named(results):
    path = results / "m" / "0001_run.json"
    document = json.loads(path.read_text())
    machine = document["accelbench"].pop("machine")
    path.write_text(json.dumps(document))
    kept = load_history(results, machine=machine)
    assert len(kept.runs) == 2
    (remark,) = kept.irregularities
    assert "0001_run.json: does not follow schema version" in remark


def test_times_that_nobody_can_read_are_unknown_and_the_numbers_order_the_runs(results):
    for number in (1, 2, 3):
        save(measured(number), results / "m" / f"{number:04}_run.json", taken="yesterday")
    for _ in ("read", "from the index"):
        runs = load_history(results).runs
        assert runs["number"].tolist() == [1, 2, 3]
        assert runs["taken"].isna().all()


def test_an_index_of_another_version_is_made_anew(results, monkeypatch, opened):
    load_history(results)
    opened.clear()
    monkeypatch.setattr("accelbench.history.index._CACHE_VERSION", "another")
    load_history(results)
    assert len(opened) == 3


def test_without_a_cache_that_can_be_written_everything_works(results, tmp_path):
    (tmp_path / "cache").write_text("a file where a folder should be")
    assert len(load_history(results).runs) == 3


def test_a_few_runs_leave_nothing_in_the_cache(results, tmp_path, monkeypatch):
    monkeypatch.setattr(index, "MIN_FILES_TO_CACHE", 4)
    assert len(load_history(results).runs) == 3
    assert not (tmp_path / "cache").exists()


def test_a_single_file_is_a_history_of_one_run(results):
    assert load_history(results / "m" / "0002_run.json").runs["run"].tolist() == ["example-2c-8g/0002_run"]


def test_a_file_that_cannot_be_read_is_one_remark_and_the_others_are_reported(results):
    (results / "m" / "0004_bad.json").write_text('{"accelbench"')
    for _ in range(2):
        kept = load_history(results)
        assert len(kept.runs) == 3
        (remark,) = kept.irregularities
        assert remark.startswith(f"{results}/m/0004_bad.json: not complete JSON")


def test_a_file_that_cannot_be_opened_is_tried_again_and_does_not_write_the_index_each_time(results, tmp_path):
    (results / "m" / "0004_gone.json").symlink_to("nowhere")
    kept = tmp_path / "cache" / "history"
    written = []
    for _ in range(2):
        assert "0004_gone.json: cannot be read" in load_history(results).irregularities[0]
        written.append({path: path.stat().st_mtime_ns for path in kept.rglob("*.arrow")})
    assert written[0] == written[1]
    save(measured(), results / "m" / "nowhere", taken=day(4))
    assert load_history(results).runs["number"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("content", [b"", b"ARROW1\0\0", b"no Arrow at all", None])
def test_an_index_that_is_none_is_made_anew(results, tmp_path, content):
    load_history(results)
    for path in (tmp_path / "cache" / "history").rglob("*.arrow"):
        path.write_bytes(path.read_bytes()[:-40] if content is None else content)
    assert len(load_history(results).runs) == 3


def test_a_long_build_says_on_a_terminal_how_far_it_is(results, monkeypatch, capsys):
    monkeypatch.setattr("accelbench.history.index._SLOW_S", 0)
    load_history(results)
    assert capsys.readouterr().err == ""
    save(measured(), results / "m" / "0004_run.json", taken=day(4))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    load_history(results)
    printed = capsys.readouterr()
    assert "Reading results: 0 of 1 files" in printed.err
    assert printed.out == ""


def test_a_place_without_a_result_is_one_line(tmp_path):
    with pytest.raises(BadInput, match="no results here; make some with"):
        load_history(tmp_path)
    with pytest.raises(BadInput, match="no such file or folder"):
        load_history(tmp_path / "nowhere")
    save(measured(), tmp_path / "0001_a.json", taken=day(1))
    with pytest.raises(BadInput, match="no results here; make some with"):
        load_history(tmp_path, machine="other-4c")
    (tmp_path / "0001_a.json").unlink()
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(BadInput, match=r"bad\.json: not complete JSON"):
        load_history(tmp_path)


def test_the_size_of_the_problems_is_reported(tmp_path):
    save(measured(settings={"size": "small"}), tmp_path / "0001_a.json")
    kept = load_history(tmp_path)
    assert kept.runs["size"].tolist() == ["small"]
    assert set(kept.observations["size"]) == {"small"}


def test_hot_and_cold_caches_share_no_series(tmp_path):
    for number, cache in ((1, "hot"), (2, "cold")):
        made = measured(number, settings={"size": "small", "cache": cache})
        save(made, tmp_path / f"000{number}_a.json", taken=f"2026-01-0{number}T00:00:00+00:00")
    assert load_history(tmp_path).runs["size"].tolist() == ["small", "small, cold cache"]


def test_real_runs_give_one_observation_per_run_and_case(tmp_path):
    (tmp_path / "m").mkdir()
    for number, path in enumerate((STORED, WHOLE_SUITE), start=1):
        shutil.copyfile(path, tmp_path / "m" / f"{number:04}_a.json")
    kept = load_history(tmp_path)
    assert kept.runs["number"].tolist() == [1, 2]
    assert not kept.observations.duplicated(["run", "case"]).any()


FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def hour(number):
    return (FIRST + timedelta(hours=number)).isoformat()


def compared(name="net", technique="amp", **fields):
    pair = (arm({technique: "off"}, 1.0), arm({technique: "on"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster")))
    return trial(*pair, id=f"benchmarks/test_it.py::test_it[{name}]", **fields)


ONE = (compared(),)


def keep(folder, *numbers, trials=ONE, hours=lambda number: number, **fields):
    for number in numbers:
        save(run(*trials, **fields), folder / f"{number:04}_run.json", taken=hour(hours(number)))


def loaded(folder):
    kept = load_history(folder)
    return kept.runs["run"].str.rpartition("/")[2].tolist(), [
        each.replace(f"{folder}/", "") for each in kept.irregularities
    ]


def test_a_plain_history_has_nothing_odd(tmp_path):
    keep(tmp_path, 1, 2, 3)
    assert loaded(tmp_path) == (["0001_run", "0002_run", "0003_run"], [])


def test_runs_beyond_the_last_number_of_four_digits_come_after_it(tmp_path):
    keep(tmp_path, 9998, 9999, 10000, 10001)
    assert loaded(tmp_path) == (["9998_run", "9999_run", "10000_run", "10001_run"], [])


@pytest.mark.parametrize("wrong", [-50_000, 50_000])
def test_a_clock_that_is_wrong_for_some_runs_does_not_change_their_order(tmp_path, wrong):
    keep(tmp_path, *range(1, 9), hours=lambda number: number + (wrong if number in (5, 6) else 0))
    names, remarks = loaded(tmp_path)
    assert names == [f"{number:04}_run" for number in range(1, 9)]
    (remark,) = remarks
    assert remark == (
        "example-2c-8g: the clock and the numbers disagree on when 2 runs of 8 were made, and the numbers decide: "
        "example-2c-8g/0005_run, example-2c-8g/0006_run"
    )


def test_runs_that_do_not_say_when_they_were_made_stand_where_their_number_puts_them(tmp_path):
    keep(tmp_path, 1, 3)
    save(run(compared()), tmp_path / "0002_run.json", taken=None)
    assert loaded(tmp_path) == (
        ["0001_run", "0002_run", "0003_run"],
        [],
    )


def test_a_single_run_with_a_wrong_clock_is_told_in_the_singular(tmp_path):
    keep(tmp_path, *range(1, 7), hours=lambda number: number + 50_000 * (number == 3))
    assert " disagree on when 1 run of 6 was made, and " in loaded(tmp_path)[1][0]


@pytest.mark.parametrize(
    "hours",
    [
        {"a": {1: 1, 2: 5, 3: None}, "b": {1: 4}},
        {"a": {1: None, 2: None}, "b": {1: 4}},
        {"a": {1: 1, 2: 8, 3: 9, 4: 0}, "b": {1: 4}},
        {"a": {1: 1, 2: 8, 3: 9, 4: 0, 5: 2}, "b": {1: 10}},
        {"a": {1: 1, 2: 2, 3: 3, 4: 99, 5: None, 6: 4}, "b": {1: 5}},
        {"a": {1: 1, 2: 2, 3: 99}, "b": {1: 5, 2: 6}},
        {"a": {1: None, 2: 3, 3: 1}, "b": {1: 2, 2: None}},
        {"a": {1: 1, 2: 5, 3: 6, 4: 7, 5: 2, 6: 3}, "b": {1: 5, 2: 6}},
    ],
)
def test_every_reader_takes_the_same_run_for_the_newest(tmp_path, hours):
    for folder, runs in hours.items():
        for number, at in runs.items():
            path = tmp_path / folder / f"{number:04}_run.json"
            save(run(compared(), machine=folder), path, taken=None if at is None else hour(at))
    known = load_history(tmp_path).runs["path"].tolist()
    assert [each.path for each in find_results(tmp_path).results] == known[::-1]
    assert find_newest(tmp_path).results[0].path == known[-1]


def test_two_machines_in_one_folder_are_two_histories(tmp_path):
    keep(tmp_path / "all", 1, 3, 5)
    keep(tmp_path / "all", 2, 4, machine="other-4c", hours=lambda number: number - 3)
    names, remarks = loaded(tmp_path)
    assert names == ["0002_run", "0001_run", "0004_run", "0003_run", "0005_run"]
    assert remarks == []


def test_a_run_that_lies_there_twice_counts_once(tmp_path):
    keep(tmp_path / "a", 1, 2)
    keep(tmp_path / "b", 1)
    save(run(compared(), compared("other")), tmp_path / "c" / "output.json", taken=hour(2))
    names, remarks = loaded(tmp_path)
    assert names == ["0001_run", "0002_run"]
    (remark,) = remarks
    assert remark == (
        "2 files left out, since another one holds the same run: b/0001_run.json as a/0001_run.json, "
        "c/output.json as a/0002_run.json"
    )


def test_different_runs_of_one_name_are_distinguished(tmp_path):
    keep(tmp_path / "a", 1)
    keep(tmp_path / "b", 1, hours=lambda number: number + 6)
    assert loaded(tmp_path) == (["0001_run", "0001_run (2)"], [])


def test_of_runs_with_one_number_their_times_decide(tmp_path):
    keep(tmp_path, 1, 2)
    save(run(compared()), tmp_path / "0001_again.json", taken=hour(1.5))
    names, remarks = loaded(tmp_path)
    assert names == ["0001_run", "0001_again", "0002_run"]
    assert remarks == []


def test_texts_of_a_file_that_could_move_a_cursor_stay_one_line(tmp_path):
    keep(tmp_path, *range(1, 9), machine="a\x1b[2J\nb", hours=lambda number: number + 50 * (number in (5, 6)))
    (remark,) = load_history(tmp_path).remarks
    assert remark.startswith(r"a\x1b[2J\nb: the clock and the numbers disagree")
    assert remark.isprintable()


def test_the_longest_ascending_subsequence_is_as_long_as_any():
    chance = random.Random(0)
    for _ in range(50):
        values = [chance.randrange(8) for _ in range(9)]
        found = [values[place] for place in longest_ascending(values)]
        assert found == sorted(found)
        longest = max(
            chosen.bit_count()
            for chosen in range(2**9)
            if (kept := [value for place, value in enumerate(values) if chosen >> place & 1]) == sorted(kept)
        )
        assert len(found) == longest


FUZZED = settings(max_examples=12, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
GOOD = run(trial(arm({"amp": "fp32"}, 1.0)))


def load_beside_a_good_one(folder, data):
    save(GOOD, folder / "0002_good.json", taken="2031-01-01T00:00:00+00:00")
    (folder / "0001_strange.json").write_bytes(data)
    kept = load_history(folder)
    assert kept.runs["name"].iloc[-1] == "good"
    texts = [*kept.irregularities, *kept.runs["run"], *kept.observations["case"], *kept.runs["configuration"]]
    assert all(text.isprintable() for text in texts)
    assert not kept.observations["log_s"].isna().any()


@pytest.mark.slow
@FUZZED
@given(mutated())
def test_strange_values(tmp_path_factory, document):
    load_beside_a_good_one(tmp_path_factory.mktemp("strange"), json.dumps(document).encode())


@pytest.mark.slow
@FUZZED
@given(damaged())
def test_damaged_files(tmp_path_factory, data):
    load_beside_a_good_one(tmp_path_factory.mktemp("damaged"), data)


def test_names_that_are_no_text_or_no_number(tmp_path):
    save(GOOD, tmp_path / f"{'9' * 40}_a.json", taken="2026-01-01T00:00:00+00:00")
    save(GOOD, tmp_path / "0001_a\x1b[2J.json", taken="2026-01-02T00:00:00+00:00")
    save(GOOD, tmp_path / os.fsdecode(b"\xff.json"), taken="2026-01-03T00:00:00+00:00")
    kept = load_history(tmp_path)
    assert kept.runs["number"].tolist() == [0, 1, 0]
    assert all(text.isprintable() for text in [*kept.runs["run"], *kept.irregularities])


def test_a_link_to_what_never_ends_is_one_line(tmp_path):
    (tmp_path / "0001_strange.json").symlink_to("/dev/zero")
    save(GOOD, tmp_path / "0002_good.json")
    (remark,) = load_history(tmp_path).irregularities
    assert "it is not a regular file" in remark
