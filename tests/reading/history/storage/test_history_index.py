"""The one door to a history: what is read again, what is not, and what is left when the index is gone."""

import os
import shutil
import subprocess
import sys

import pytest
from runs import OLDER, arm, effect, run, save, trial

from harness.errors import BadInput
from harness.reading import find_results
from harness.reading.history.observations import observe
from harness.reading.history.storage import index
from harness.reading.history.storage.index import history
from harness.untrusted import read_bytes


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
    monkeypatch.setattr(index, "FEWEST_FILES", 1)
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

    monkeypatch.setattr("harness.reading.history.storage.folders.read_bytes", seen)
    return names


def texts(frame):
    return frame.astype(dict.fromkeys(frame.select_dtypes("category"), "str")).astype(object)


def test_a_history_holds_what_its_files_hold_in_the_order_in_which_they_were_made(results):
    kept = history(results)
    files = [find_results(path).results[0] for path in sorted(results.rglob("*.json"))]
    own = observe(files)
    assert kept.runs["number"].tolist() == [1, 2, 3]
    assert kept.runs["path"].tolist() == [file.path for file in files]
    assert texts(kept.observations)[list(own)].compare(texts(own)).empty
    assert kept.remarks == ()


def test_a_second_reading_opens_no_file_and_says_the_same(results, opened):
    first = history(results)
    assert len(opened) == 3
    again = history(results)
    assert len(opened) == 3
    assert texts(again.observations).compare(texts(first.observations)).empty
    assert texts(again.runs).compare(texts(first.runs)).empty


def test_another_run_costs_reading_that_run(results, opened):
    history(results)
    save(measured(4.0), results / "m" / "0004_run.json", taken=day(4))
    opened.clear()
    assert history(results).runs["number"].tolist() == [1, 2, 3, 4]
    assert opened == ["0004_run.json"]


def test_a_changed_file_is_read_again_and_a_deleted_one_forgotten(results):
    history(results)
    save(measured(7.25), results / "m" / "0001_run.json", taken=day(1))
    (results / "m" / "0002_run.json").unlink()
    kept = history(results)
    assert kept.runs["number"].tolist() == [1, 3]
    assert set(kept.observations["run"].cat.categories) == set(kept.runs["run"])
    baseline = kept.observations[kept.observations["baseline"]]
    assert baseline["log_s"].round(3).tolist() == [1.981, 1.099]


def test_files_that_were_copied_or_restored_are_not_parsed_again(results, monkeypatch):
    history(results)
    for path in results.rglob("*.json"):
        os.utime(path, (1, 1))
    monkeypatch.delattr("harness.reading.history.storage.intake.from_json")
    assert len(history(results).runs) == 3


@pytest.mark.parametrize(
    ("name", "damage"),
    [("files.parquet", "cut"), ("observations.parquet", "cut"), ("files.parquet", "gone"), ("files.parquet", "older")],
)
def test_a_damaged_index_is_made_anew_and_nobody_is_bothered(results, tmp_path, name, damage):
    history(results)
    (kept,) = (tmp_path / "cache" / "history").glob(f"*/{name}")
    before = kept.read_bytes()
    if damage == "older":  # one of the two was written when a process was killed
        save(measured(), results / "m" / "0004_run.json", taken=day(4))
        history(results)
        kept.write_bytes(before)
    elif damage == "cut":
        kept.write_bytes(before[: len(before) // 2])
    else:
        kept.unlink()
    expected = len(list(results.rglob("*.json")))
    assert len(history(results).runs) == expected
    assert len(history(results).observations) == 2 * expected


def test_an_index_of_another_version_is_made_anew(results, monkeypatch, opened):
    history(results)
    opened.clear()
    monkeypatch.setattr("harness.reading.history.storage.kept_index._THIS", b"another")
    history(results)
    assert len(opened) == 3


def test_without_a_cache_that_can_be_written_everything_works(results, tmp_path):
    (tmp_path / "cache").write_text("a file where a folder should be")
    assert len(history(results).runs) == 3


def test_a_few_runs_leave_nothing_in_the_cache(results, tmp_path, monkeypatch):
    monkeypatch.setattr(index, "FEWEST_FILES", 4)
    assert len(history(results).runs) == 3
    assert not (tmp_path / "cache").exists()


def test_a_single_file_is_a_history_of_one_run(results):
    assert history(results / "m" / "0002_run.json").runs["run"].tolist() == ["example-2c-8g/0002_run"]


def test_a_file_that_cannot_be_read_is_one_remark_and_the_others_are_told(results):
    (results / "m" / "0004_bad.json").write_text('{"accelbench"')
    for _ in range(2):
        kept = history(results)
        assert len(kept.runs) == 3
        (remark,) = kept.remarks
        assert remark.startswith(f"{results}/m/0004_bad.json: not complete JSON")


def test_a_file_that_cannot_be_opened_is_tried_again_and_does_not_write_the_index_each_time(results, tmp_path):
    (results / "m" / "0004_gone.json").symlink_to("nowhere")
    kept = tmp_path / "cache" / "history"
    written = []
    for _ in range(2):
        assert "0004_gone.json: cannot be read" in history(results).remarks[0]
        written.append({path: path.stat().st_mtime_ns for path in kept.rglob("*.parquet")})
    assert written[0] == written[1]
    save(measured(), results / "m" / "nowhere", taken=day(4))
    assert history(results).runs["number"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no Parquet at all"])
def test_an_index_that_is_none_is_made_anew(results, tmp_path, content):
    history(results)
    for path in (tmp_path / "cache" / "history").rglob("*.parquet"):
        path.write_bytes(content)
    assert len(history(results).runs) == 3


def test_a_long_build_says_on_a_terminal_how_far_it_is(results, monkeypatch, capsys):
    monkeypatch.setattr("harness.reading.history.storage.intake._LONG_S", 0)
    history(results)
    assert capsys.readouterr().err == ""
    save(measured(), results / "m" / "0004_run.json", taken=day(4))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    history(results)
    told = capsys.readouterr()
    assert "Reading results into the index: 0 of 1 files" in told.err
    assert told.out == ""


def test_a_place_without_a_result_is_one_line(tmp_path):
    with pytest.raises(BadInput, match="no results here; make some with"):
        history(tmp_path)
    with pytest.raises(BadInput, match="no such file or folder"):
        history(tmp_path / "nowhere")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(BadInput, match=r"bad\.json: not complete JSON"):
        history(tmp_path)


def test_the_size_of_the_problems_is_told(tmp_path):
    save(measured(settings={"size": "small"}), tmp_path / "0001_a.json")
    kept = history(tmp_path)
    assert kept.runs["size"].tolist() == ["small"]
    assert set(kept.observations["size"]) == {"small"}


def test_hot_and_cold_caches_share_no_series(tmp_path):
    for number, cache in ((1, "hot"), (2, "cold")):
        made = measured(number, settings={"size": "small", "cache": cache})
        save(made, tmp_path / f"000{number}_a.json", taken=f"2026-01-0{number}T00:00:00+00:00")
    assert history(tmp_path).runs["size"].tolist() == ["small", "small, cold cache"]


def test_many_files_are_read_by_several_processes_in_the_same_order(results):
    for number in range(4, 40):
        save(measured(number), results / "m" / f"{number:04}_run.json", taken=f"2026-02-01T00:00:{number:02}+00:00")
    asked = (
        "from harness.reading.history.storage import index, intake; intake._WORTH_PROCESSES_BYTES = 1000;"
        f"print(*index.history({str(results)!r}).runs['number'])"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == ([str(number) for number in range(1, 40)], "")


def test_the_committed_history_is_read(tmp_path):
    shutil.copytree(OLDER.parent, tmp_path / "m")
    kept = history(tmp_path)
    assert kept.runs["number"].tolist() == sorted(int(path.name[:4]) for path in OLDER.parent.glob("*.json"))
    assert not kept.observations.duplicated(["run", "case"]).any()
    assert any("written in older schema versions (1, " in told for told in kept.formats)
