"""What a shell is offered at a press of the Tab key."""

import os
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from runs import arm, run, save, trial

from accelbench.cli import main


def offered(*words: str) -> list[str]:
    """Return what is offered for the last of these words."""
    *arguments, start = words
    completion = ShellComplete(main, {}, "accelbench", "_ACCELBENCH_COMPLETE")
    return [each.value for each in completion.get_completions(arguments, start) if each.type == "plain"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ad",), ["advise"]),
        (("advise", "cnn-tr"), ["cnn-train", "cnn-train-keras"]),
        (("advise", "cnn-train", "--framework", "t"), ["tensorflow", "torch"]),
        (("advise", "cnn-train", "--only", "amp,pin"), ["amp,pin-memory"]),
        (("list", "m"), ["machines"]),
        (("list", "num_w"), ["num_workers"]),
        (("run", "q"), ["quick"]),
    ],
)
def test_commands_workloads_techniques_and_frameworks_are_completed(
    words: tuple[str, ...], expected: list[str]
) -> None:
    assert [each for each in expected if each in offered(*words)] == expected
    assert all(each.startswith(words[-1]) for each in offered(*words))


def test_the_newest_runs_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("0001_quick", "0002_all"):
        save(run(trial(arm({"amp": "fp32"}, 1.0))), tmp_path / "results" / "machine" / f"{name}.json")
    monkeypatch.chdir(tmp_path)
    assert offered("show", "") == ["latest", "0002_all", "0001_quick"]
    assert offered("compare", "latest", "0001") == ["0001_quick"]
    os.chdir("results")
    assert offered("show", "") == ["latest"]


def test_files_are_offered_where_a_file_may_be_named() -> None:
    completion = ShellComplete(main, {}, "accelbench", "_ACCELBENCH_COMPLETE")
    for command in ("advise", "show"):
        assert "file" in [each.type for each in completion.get_completions([command], "")]
