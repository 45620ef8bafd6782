"""Finding and opening result files."""

import pytest
from explanations import explanation
from pytest_benchmark.logger import Logger
from pytest_benchmark.storage.file import FileStorage
from runs import STORED, arm, effect, run, save, trial

from accelbench.errors import BadInput, UnreadableResult
from accelbench.history.index import load_history
from accelbench.results import find_explanation, find_newest, find_results
from accelbench.schema.run_explanation import to_bytes

SIMPLE = run(trial(arm({"amp": "fp32"}, 1.0)))


def test_a_file_is_one_result_named_without_its_number(tmp_path):
    path = save(SIMPLE, tmp_path / "0012_my_quick_run.json")
    (result,) = find_results(path).results
    assert (result.name, result.number, result.path) == ("my_quick_run", 12, str(path))


def test_a_file_without_a_number_keeps_its_whole_name(tmp_path):
    (result,) = find_results(save(SIMPLE, tmp_path / "output.json")).results
    assert (result.name, result.number) == ("output", 0)


def test_the_newest_run_comes_first_whatever_machine_and_number(tmp_path):
    save(SIMPLE, tmp_path / "a" / "0009_old.json", taken="2026-01-01T10:00:00+00:00")
    save(SIMPLE, tmp_path / "b" / "0001_new.json", taken="2026-01-01T12:30:00+02:00")
    save(SIMPLE, tmp_path / "b" / "0002_newer.json", taken="2026-01-01T11:00:00")
    save(SIMPLE, tmp_path / "b" / "0003_timeless.json", taken=None)
    save(SIMPLE, tmp_path / "b" / "0004_timeless.json", taken="yesterday")
    found = find_results(tmp_path)
    assert [result.number for result in found.results] == [4, 3, 2, 1, 9]
    assert found.unreadable == []


def test_an_effect_against_an_arm_that_is_not_there_costs_one_line(tmp_path):
    stray = arm({"amp": "bf16"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster", against={"amp": "fp8"}))
    path = save(run(trial(arm({"amp": "fp32"}, 1.0), stray)), tmp_path / "0001_a.json")
    with pytest.raises(UnreadableResult, match=r"is against amp fp8, which is no arm of it; delete it or run again$"):
        find_results(path)


def test_bad_files_beside_good_ones_are_told_apart(tmp_path):
    save(SIMPLE, tmp_path / "0001_good.json")
    (tmp_path / "0002_cut.json").write_text('{"accelbench":')
    (tmp_path / "README.md").write_text("no result")
    found = find_results(str(tmp_path))
    assert [result.name for result in found.results] == ["good"]
    assert ["0002_cut.json" in str(error) for error in found.unreadable] == [True]


def test_one_bad_file_alone_says_what_is_wrong_with_it(tmp_path):
    (tmp_path / "0001_theirs.json").write_text("{}")
    with pytest.raises(UnreadableResult, match="not a result of accelbench"):
        find_results(tmp_path)


def test_bad_files_alone_are_counted(tmp_path):
    (tmp_path / "0001_theirs.json").write_text("{}")
    (tmp_path / "0002_cut.json").write_text("{")
    with pytest.raises(BadInput, match=r"none of its 2 JSON files can be read; the first: .*0001_theirs"):
        find_results(tmp_path)


def test_a_folder_without_results_says_how_to_make_some(tmp_path):
    with pytest.raises(BadInput, match="no results here; make some with pytest benchmarks/"):
        find_results(tmp_path)


def test_a_path_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadInput, match="nowhere: no such file or folder"):
        find_results(tmp_path / "nowhere")


def test_the_stored_samples_are_found():
    names = [result.name for result in find_results(STORED.parent).results]
    assert names == ["run_whole_suite", "run_v1", "run_every_field"]


@pytest.fixture
def explained(tmp_path, monkeypatch):
    """A run with its explanation beside it."""
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path / "cache"))
    path = save(SIMPLE, tmp_path / "results" / "m" / "0002_a.json")
    path.with_suffix(".explained").write_bytes(to_bytes(explanation()))
    return path


def test_an_explanation_is_found_beside_its_run(explained):
    assert find_explanation(str(explained)) == explanation()
    assert find_explanation(str(explained.with_name("0001_b.json"))) is None


def test_nothing_reads_an_explanation_as_a_run(explained):
    folder = explained.parents[1]
    for found in (find_results(folder), find_newest(folder)):
        assert ([each.path for each in found.results], found.unreadable) == ([str(explained)], [])
    assert list(load_history(folder).runs["number"]) == [2]
    assert FileStorage(str(folder), Logger(), default_machine_id="m").query() == [explained]
