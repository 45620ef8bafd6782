"""`accelbench show`, and the lists of what was measured."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from runs import arm, effect, run, save, trial

from accelbench.cli import main

FASTER = run(
    trial(
        arm({"amp": "fp32"}, 1.0),
        arm({"amp": "bf16"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster"), recipe=["with autocast():"]),
    )
)
UNDECIDED = run(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.9, effect=effect(1.1, 0.9, 1.3, "undecided"))))


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two runs, as pytest saves them without a name for their folder."""
    save(FASTER, tmp_path / ".benchmarks" / "m" / "0001_quick.json", taken="2026-01-01T10:00:00+00:00")
    save(UNDECIDED, tmp_path / ".benchmarks" / "m" / "0002_unnamed.json", taken="2026-01-02T10:00:00+00:00")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments])


@pytest.mark.usefixtures("runs")
def test_the_newest_run_is_shown_unless_another_is_named() -> None:
    newest = call("show")
    assert newest.exit_code == 0
    assert newest.stdout.startswith(".benchmarks/m/0002_unnamed.json of 2026-01-02 10:00 UTC\n")
    assert "What is undecided, and what would decide it\n? amp bf16  net  1.10×" in newest.stdout
    for name in ("1", "quick", "0001_quick", "latest~1", ".benchmarks/m/0001_quick.json"):
        shown = call("show", name).stdout
        assert "What pays\n▲ amp bf16  net  2.00×  1.90–2.10" in shown
        assert "write: with autocast():" in shown


@pytest.mark.usefixtures("runs")
def test_several_runs_are_shown_one_after_the_other() -> None:
    shown = call("show", "1,2").stdout
    assert shown.index("0001_quick") < shown.index("0002_unnamed")


@pytest.mark.usefixtures("runs")
def test_a_run_that_there_is_not_is_one_line_that_names_those_there_are() -> None:
    result = call("show", "nosuch")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: nosuch: no such run or file; there are 2 runs, named quick, unnamed; give ")
    assert result.stderr.count("\n") == 1


@pytest.mark.usefixtures("runs")
def test_a_name_that_no_file_can_have_is_one_line() -> None:
    result = call("show", "n" * 300)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {'n' * 300}: no such run or file; there are 2 runs")


def test_a_file_needs_no_other_runs(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (runs / "new" / "results").mkdir(parents=True)
    monkeypatch.chdir(runs / "new")
    assert "What pays" in call("show", "../.benchmarks/m/0001_quick.json").stdout


@pytest.mark.usefixtures("runs")
def test_json_has_the_findings() -> None:
    (found,) = json.loads(call("show", "quick", "--json").stdout)["effects"]
    assert found["speedup"] == 2.0


@pytest.mark.usefixtures("runs")
def test_runs_are_listed_with_time_and_size() -> None:
    listed = call("list", "runs").stdout.splitlines()
    assert [line.split()[:3] for line in listed] == [
        ["0001_quick", "2026-01-01", "10:00"],
        ["0002_unnamed", "2026-01-02", "10:00"],
    ]
    assert [line.split()[0] for line in call("list", "runs", "quick").stdout.splitlines()] == ["0001_quick"]


@pytest.mark.usefixtures("runs")
def test_machines_are_listed_with_the_number_of_their_runs() -> None:
    (listed,) = call("list", "machines").stdout.splitlines()
    assert "  2 runs  " in listed
    (machine,) = json.loads(call("list", "machines", "--json").stdout)["machines"]
    assert (machine["runs"], machine["newest"]) == (2, "example-2c-8g/0002_unnamed")


@pytest.mark.usefixtures("runs")
def test_runs_and_machines_are_listed_by_what_was_measured_in_them() -> None:
    other = run(trial(arm({"a": "b"}, 1.0), framework="jax"))
    save(other, Path(".benchmarks/m/0003_other.json"), taken="2026-01-03T10:00:00+00:00")
    assert [line.split()[0] for line in call("list", "runs", "--framework", "jax").stdout.splitlines()] == [
        "0003_other"
    ]
    assert "  2 runs  " in call("list", "machines", "--framework", "torch").stdout
    refused = call("list", "runs", "--framework", "numpy")
    assert refused.exit_code == 2
    assert refused.stderr == "Error: --framework: 'numpy' is in no run here; expected one of: jax, torch\n"


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("kind", "sought", "meant"), [("runs", "quikc", "quick"), ("machines", "exmaple-2c-8g", "example-2c-8g")]
)
def test_a_misspelt_run_or_machine_is_answered_with_its_name(kind: str, sought: str, meant: str) -> None:
    assert call("list", kind, sought).stderr == f"Error: nothing is called '{sought}' here; did you mean '{meant}'?\n"


@pytest.mark.parametrize("command", ["list runs", "show", "show quick"])
def test_where_nothing_was_measured_a_line_says_what_to_do(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = call(*command.split())
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: results: no such file or folder; make results with accelbench run, or pytest on your own benchmarks\n"
    )


def test_a_run_in_which_nothing_was_measured_says_so(runs: Path) -> None:
    save(run(), runs / ".benchmarks" / "m" / "0003_none.json", taken="2026-01-03T10:00:00+00:00")
    assert call("show").stdout.splitlines()[-1].startswith("nothing was measured in this run; measure with ")


def test_an_interrupted_run_says_so(runs: Path) -> None:
    assert "interrupted" not in call("show").stdout
    assert json.loads(call("show", "--json").stdout)["interrupted"] is False
    save(replace(FASTER, interrupted=True), runs / ".benchmarks" / "m" / "0003_cut.json", "2026-01-03T10:00:00+00:00")
    assert "\nThis run was interrupted; what it had measured until then is here.\n" in call("show").stdout
    assert json.loads(call("show", "--json").stdout)["interrupted"] is True


@pytest.mark.parametrize("command", ["list runs", "show", "show quick", "report", "check"])
@pytest.mark.parametrize("folder", ["results", ".benchmarks"])
def test_an_unfinished_run_without_another_is_named_with_the_way_to_continue_it(
    command: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    journal = tmp_path / folder / "m" / "quick-20260101T000000-7.journal"
    journal.parent.mkdir(parents=True)
    journal.touch()
    result = call(*command.split())
    assert result.exit_code == 2
    assert result.stderr == (
        f"Error: {tmp_path / folder}: no results here, but an unfinished run is in {journal}; "
        "repeat its command with --accel-resume to continue it\n"
    )
