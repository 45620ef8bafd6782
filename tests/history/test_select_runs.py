"""What a person may call runs, and what is said where there is no such run."""

import pytest
from runs import arm, effect, run, save, trial

from accelbench.errors import BadInput
from accelbench.history.index import load_history
from accelbench.history.observations import History
from accelbench.history.select_runs import select_runs

ARMS = (arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster")))


def kept(folder, machine: str, number: int, name: str, day: int):
    return save(
        run(trial(*ARMS), machine=machine), folder / machine / f"{number:04}_{name}.json", f"2026-01-{day:02}T00:00:00"
    )


@pytest.fixture
def storage(tmp_path):
    folder = tmp_path / "results"
    for day, (machine, number, name) in enumerate(
        [("old-box", 1, "quick"), ("old-box", 2, "quick"), ("new-box", 1, "full"), ("old-box", 3, "nightly")], start=1
    ):
        kept(folder, machine, number, name, day)
    return folder


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("latest", ["old-box/0003_nightly"]),
        ("latest~1", ["new-box/0001_full"]),
        ("2", ["old-box/0002_quick"]),
        ("0003", ["old-box/0003_nightly"]),
        ("quick", ["old-box/0002_quick"]),
        ("0001_quick", ["old-box/0001_quick"]),
        ("new-box/0001_full", ["new-box/0001_full"]),
        ("quick*", ["old-box/0001_quick", "old-box/0002_quick"]),
        ("old-box/*", ["old-box/0001_quick", "old-box/0002_quick", "old-box/0003_nightly"]),
        ("machine:new", ["new-box/0001_full"]),
        ("machine:old-box", ["old-box/0001_quick", "old-box/0002_quick", "old-box/0003_nightly"]),
        ("latest, quick,2", ["old-box/0002_quick", "old-box/0003_nightly"]),
    ],
)
def test_runs_are_called_by_number_name_pattern_and_place(storage, text, runs):
    known = load_history(storage)
    assert select_runs(text, known) == (known, runs)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("7", "7: no run has this number; the numbers here go from 1 to 3"),
        ("1", "1: 2 runs have this number; give one of old-box/0001_quick, new-box/0001_full"),
        ("latest~4", "latest~4: there are 4 runs; the first is latest~3"),
        ("machine:box", "machine:box: is part of 2 names; there are old-box, new-box"),
        ("machine:gpu", "machine:gpu: no machine here has this name; there are old-box, new-box"),
        ("weekly", "weekly: no such run or file; there are 4 runs, named quick, full, nightly; give a file, a number"),
        ("week*", "week*: no such run or file"),
        ("we\nek\x1b", r"we\nek\x1b: no such run or file"),
        (" ,", "names no run; give a file, a number"),
    ],
)
def test_a_miss_is_one_line_that_says_what_there_is(storage, text, words):
    with pytest.raises(BadInput) as refused:
        select_runs(text, load_history(storage))
    assert words in str(refused.value)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("7", "7: no run has this number; the only number here is 2"),
        ("machine:gpu", "machine:gpu: no machine here has this name; there is old-box"),
    ],
)
def test_where_there_is_one_run_a_miss_says_so_in_the_singular(tmp_path, text, words):
    kept(tmp_path, "old-box", 2, "quick", 1)
    with pytest.raises(BadInput, match=f"^{words}$"):
        select_runs(text, load_history(tmp_path))


def test_a_file_of_the_history_is_its_run(storage):
    known = load_history(storage)
    assert select_runs(str(storage / "old-box" / "0002_quick.json"), known) == (known, ["old-box/0002_quick"])


def test_files_from_elsewhere_join_the_history_under_names_of_their_own(storage, tmp_path):
    elsewhere = kept(tmp_path / "elsewhere", "old-box", 2, "quick", 20)
    kept(tmp_path / "elsewhere", "old-box", 9, "quick", 21)
    joined, runs = select_runs(str(tmp_path / "elsewhere"), load_history(storage))
    assert runs == [str(elsewhere), "old-box/0009_quick"]
    assert joined.runs["run"].tolist()[-2:] == runs
    assert len(joined.observations) == 2 * len(joined.runs) == 12
    assert joined.runs["run"].is_unique


def test_only_known_runs_are_called_latest_or_by_number_and_name_once_a_file_has_joined_them(storage, tmp_path):
    known = load_history(storage)
    joined, _ = select_runs(str(kept(tmp_path / "elsewhere", "far-box", 35, "quick", 20)), known)
    means = {"latest": "old-box/0003_nightly", "latest~1": "new-box/0001_full", "quick": "old-box/0002_quick"}
    for text, name in means.items():
        assert select_runs(text, known, joined) == (joined, [name])
        assert select_runs(f"{tmp_path}/elsewhere,{text}", known)[1] == [name, "far-box/0035_quick"]
    for text in ("35", "machine:far"):
        with pytest.raises(BadInput, match=f"^{text}: no "):
            select_runs(text, known, joined)


def test_files_need_no_history(storage):
    first = load_history(storage / "old-box" / "0001_quick.json")
    empty = History(runs=first.runs.iloc[:0], observations=first.observations.iloc[:0])
    joined, runs = select_runs(f"{storage}/old-box/000[23]*.json", empty)
    assert runs == ["old-box/0002_quick", "old-box/0003_nightly"] == joined.runs["run"].tolist()
    with pytest.raises(BadInput, match="no such run or file; there are no runs"):
        select_runs("latest", empty)


@pytest.mark.parametrize("text", ["7", "0007", "0007_cut", "old-box/0007_cut"])
def test_a_run_whose_file_cannot_be_read_is_not_denied(storage, text):
    (storage / "old-box" / "0007_cut.json").write_text("{")
    with pytest.raises(BadInput) as refused:
        select_runs(text, load_history(storage))
    assert str(refused.value).startswith(f"{text}: its file cannot be used: {storage}/old-box/0007_cut.json: not compl")
    history, _ = select_runs(str(kept(storage.parent, "far-box", 1, "far", 9)), load_history(storage))
    with pytest.raises(BadInput, match=r"0007_cut\.json: not complete JSON"):
        select_runs(text, history)
