"""Results that lie elsewhere: what fsspec reaches is read as a folder is, and one line where it is not reached."""

import json
import os

import fsspec
import pytest
from runs import arm, run, save, trial

from accelbench.errors import BadInput
from accelbench.history import index
from accelbench.history.index import load_history
from accelbench.locations import address_beside, default_results, join_location, open_store, read_if_present

SIMPLE = run(trial(arm({"amp": "fp32"}, 1.0)))


@pytest.fixture
def bucket(tmp_path):
    """A bucket in memory, and a way to put a run into it."""
    system = fsspec.filesystem("memory")

    def put(name, taken="2026-01-01T00:00:00+00:00"):
        system.pipe(f"/bucket/{name}", save(SIMPLE, tmp_path / "draft.json", taken=taken).read_bytes())

    put.system = system
    yield put
    system.rm("/bucket", recursive=True)


def names(storage):
    return [entry.name for entry in storage.entries()]


def test_a_bucket_is_listed_by_the_rules_of_a_folder(bucket, tmp_path):
    kept = ["0002_b.json", "m/0001_a.json", "m/[odd] name?.json", "/".join("d" * 16) + "/deep.json"]
    for name in [*kept, ".draft.json", ".hidden/0001_a.json", "m/notes.txt", "/".join("d" * 17) + "/deeper.json"]:
        bucket(name)
        save(SIMPLE, tmp_path / "folder" / name)
    assert names(open_store("memory://bucket")) == sorted(kept)
    assert names(open_store(tmp_path / "folder")) == sorted(kept)


def test_a_history_in_a_bucket_names_its_files_by_their_address(bucket):
    bucket("m/0001_[a].json")
    bucket("m/0002_b.json", taken="2026-01-02T00:00:00+00:00")
    bucket.system.pipe("/bucket/m/0003_bad.json", b"{")
    kept = load_history("memory://bucket/")
    assert kept.runs["path"].tolist() == ["memory://bucket/m/0001_[a].json", "memory://bucket/m/0002_b.json"]
    assert len(kept.observations) == 2
    (remark,) = kept.irregularities
    assert remark.startswith("memory://bucket/m/0003_bad.json: not complete JSON")


def test_one_file_of_a_bucket_is_a_history(bucket):
    bucket("m/0001_a.json")
    bucket("m/0002_b.json", taken="2026-01-02T00:00:00+00:00")
    assert load_history("memory://bucket/m/0002_b.json").runs["number"].tolist() == [2]


def test_only_what_is_new_in_a_bucket_is_fetched(bucket, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(index, "MIN_FILES_TO_CACHE", 1)
    bucket("0001_a.json")
    load_history("memory://bucket")
    bucket("0002_b.json", taken="2026-01-02T00:00:00+00:00")
    fetched = []
    fetch = type(bucket.system).cat_ranges

    def seen(system, paths, *args, **options):
        fetched.extend(paths)
        return fetch(system, paths, *args, **options)

    monkeypatch.setattr(type(bucket.system), "cat_ranges", seen)
    assert load_history("memory://bucket").runs["number"].tolist() == [1, 2]
    assert fetched == ["/bucket/0002_b.json"]


def test_a_huge_file_in_a_bucket_is_not_fetched(bucket, monkeypatch):
    bucket("0001_a.json")
    bucket("0002_b.json", taken="2026-01-02T00:00:00+00:00")
    bucket.system.pipe("/bucket/0003_c.json", json.dumps(["x" * 100_000]).encode())
    monkeypatch.setattr("accelbench.locations.MOST_BYTES", 50_000)
    (remark,) = load_history("memory://bucket").irregularities
    assert "0003_c.json: cannot be read (it takes 97.7 KiB, at most 48.8 KiB are read)" in remark


def test_what_a_storage_cannot_mark_is_read_again(bucket, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(index, "MIN_FILES_TO_CACHE", 1)
    monkeypatch.setattr("accelbench.locations._VERSION_KEYS", ())
    bucket("0001_a.json")
    assert load_history("memory://bucket").runs["taken"].dt.day.tolist() == [1]
    bucket("0001_a.json", taken="2026-01-02T00:00:00+00:00")
    assert load_history("memory://bucket").runs["taken"].dt.day.tolist() == [2]


@pytest.mark.parametrize(
    ("url", "name", "address"),
    [
        ("s3://bucket", "m/a.json", "s3://bucket/m/a.json"),
        ("s3://bucket/", "a.json", "s3://bucket/a.json"),
        ("memory://", "a.json", "memory://a.json"),
        ("zip://::s3://bucket/runs.zip", "m/a.json", "zip://m/a.json::s3://bucket/runs.zip"),
        ("simplecache::s3://bucket/runs", "a.json", "simplecache::s3://bucket/runs/a.json"),
    ],
)
def test_an_address_below_a_url_leads_there(url, name, address):
    assert join_location(url, name) == address


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("memory://nothing-here", "no results here"),
        ("nosuchthing://bucket", "cannot be reached (Protocol not known: nosuchthing)"),
        ("abfs://bucket/results", "cannot be reached ("),
    ],
)
def test_what_cannot_be_reached_is_one_line(location, words):
    with pytest.raises(BadInput) as refused:
        load_history(location)
    assert str(refused.value).startswith(f"{location}: ")
    assert words in str(refused.value)
    assert str(refused.value).isprintable()


def test_a_file_url_is_the_folder_itself(tmp_path):
    save(SIMPLE, tmp_path / "0001_a.json")
    assert load_history(tmp_path.as_uri()).runs["path"].tolist() == [str(tmp_path / "0001_a.json")]


def test_what_could_not_be_fetched_is_tried_again(bucket, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(index, "MIN_FILES_TO_CACHE", 1)
    bucket("0001_a.json")
    load_history("memory://bucket")
    bucket("0002_b.json", taken="2026-01-02T00:00:00+00:00")
    with monkeypatch.context() as broken:
        broken.setattr(type(bucket.system), "cat_ranges", lambda *_, **__: 1 / 0)
        kept = load_history("memory://bucket")
        assert len(kept.runs) == 1
        assert kept.irregularities[0].startswith("memory://bucket/0002_b.json: cannot be read (division by zero)")
    assert len(load_history("memory://bucket").runs) == 2


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("pyproject.toml", '[tool.pytest.ini_options]\naccelbench_results = "runs"\n'),
        ("pyproject.toml", '[tool.pytest]\naccelbench_results = "runs"\n'),
        ("pytest.toml", '[pytest]\naccelbench_results = "runs"\n'),
        ("tox.ini", "[pytest]\naccelbench_results = runs\n"),
        ("setup.cfg", "[tool:pytest]\naccelbench_results = runs\n"),
    ],
)
def test_results_lie_where_pytests_settings_say_even_below_the_folder_of_the_settings(
    name, settings, tmp_path, monkeypatch
):
    (tmp_path / name).write_text(settings)
    below = tmp_path / "src" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert default_results() == str(tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    assert default_results() == "runs"


def test_without_settings_results_lie_where_the_last_run_was_saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "setup.cfg").write_text("no settings at all")
    assert default_results() == "results"
    save(SIMPLE, tmp_path / ".benchmarks" / "machine" / "0001_unnamed.json")
    save(SIMPLE, tmp_path / "results" / "0001_of_somebody_else.json")
    assert default_results() == ".benchmarks"
    newest = save(SIMPLE, tmp_path / "results" / "machine" / "0001_quick.json")
    os.utime(newest, (2e9, 2e9))
    assert default_results() == "results"


@pytest.mark.parametrize(
    ("address", "beside"),
    [
        ("m/0001_a.json", "m/0001_a.explained"),
        ("s3://bucket/m/0001_a.json", "s3://bucket/m/0001_a.explained"),
        ("zip://0001_a.json::s3://bucket/runs.zip", "zip://0001_a.explained::s3://bucket/runs.zip"),
    ],
)
def test_what_is_kept_beside_a_run_has_its_name(address, beside):
    assert address_beside(address, ".explained") == beside


def test_a_file_is_read_wherever_it_lies_if_it_is_there(bucket, tmp_path):
    bucket("m/0001_a.json")
    (tmp_path / "near.json").write_bytes(b"{}")
    assert read_if_present("memory://bucket/m/0001_a.json").startswith(b"{")
    assert read_if_present("memory://bucket/m/0002_b.json") is None
    assert read_if_present(str(tmp_path / "near.json")) == b"{}"
    assert read_if_present(str(tmp_path / "far.json")) is None
