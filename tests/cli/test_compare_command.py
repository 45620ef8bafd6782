"""`accelbench compare`, as a user types it."""

import json
import re
from collections import Counter
from random import Random

import pytest
from click.testing import CliRunner
from runs import arm, effect, run, save, trial

from accelbench import units
from accelbench.cli import main
from accelbench.report.verdicts import format_verdict_counts
from accelbench.schema.result import Environment, Identity


@pytest.fixture
def accelbench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, list(arguments), prog_name="accelbench")


def keep(
    folder, number: int, *, bf16: float = 1.8, speed: float = 1.0, machine: str = "box", workloads: int = 12, **told
):
    """Save a run of a dozen workloads; of the first one bf16 is so many times as fast."""
    chance = Random(number)
    trials = []
    for place in range(workloads):
        seconds = chance.gauss(1.0, 0.01) / speed
        gained = (bf16 if place == 0 else 1.8) * chance.gauss(1.0, 0.005)
        found = effect(gained, gained * 0.98, gained * 1.02, "faster")
        arms = (arm({"amp": "fp32"}, seconds), arm({"amp": "bf16"}, seconds / gained, effect=found))
        trials.append(trial(*arms, id=f"benchmarks/test_amp.py::test_amp[{place}]", workload=f"net-{place}"))
    identity = Identity(cpu_model=f"{machine} CPU", cpu_cores=2, memory_gib=8)
    environment = Environment(identity=identity, configuration={"torch.version": told.get("torch", "2.11.0")})
    measured = run(*trials, machine=machine, environment=environment, settings={"alpha": 0.01, "size": "small"})
    return save(measured, folder / machine / f"{number:04}_nightly.json", f"2026-01-{number:02}T00:00:00")


@pytest.fixture
def results(tmp_path):
    """Three runs, and three on a faster machine setup whose newer torch costs bf16 a tenth on one workload."""
    folder = tmp_path / "results"
    for number in (1, 2, 3):
        keep(folder, number)
        keep(folder, number + 3, bf16=1.62, speed=1.09, torch="2.13.0")
    return folder


@pytest.mark.slow
def test_a_report_of_both_runs_says_the_same_as_the_comparison(accelbench, results):
    before, after = (results / "box" / f"000{number}_nightly.json" for number in (3, 6))
    compared = json.loads(accelbench("compare", str(before), str(after), "--format", "json").stdout)
    report = accelbench("report", str(before), str(after), "--format", "markdown").stdout
    (line,) = (line for line in report.splitlines() if line.startswith("- nightly 0006 against nightly 0003: "))
    ratio = compared["machine"]["ratio"]
    assert f"the machine is {units.speedup(ratio)} " in line
    verdicts = Counter(row["verdict"] for row in compared["techniques"])
    assert format_verdict_counts(verdicts.elements()) in line
    assert set(verdicts) > {"undecided"}


@pytest.mark.usefixtures("results")
def test_the_machine_and_the_technique_are_distinguished_below_what_changed(accelbench):
    result = accelbench("compare", "1,2,3", "4,5,6")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("before      0001_nightly, 0002_nightly, 0003_nightly on box, 2026-01-01 to 2026-01-03")
    assert "framework: torch 2.11.0 → 2.13.0" in lines
    assert "The likely cause: torch 2.11.0 → 2.13.0." in lines
    assert any(line.startswith("machine     1.09× (1.0") and line.endswith("), faster") for line in lines)
    (row,) = (line for line in lines if "net-" in line)
    assert all(said in row for said in ("amp bf16", "net-0", "1.8", "1.6", "0.9", "slower"))


def test_a_change_of_a_single_workload_is_not_blamed_on_the_machine(accelbench, tmp_path):
    folder = tmp_path / "few"
    paths = [str(keep(folder, number, workloads=1, speed=0.5 if number == 8 else 1.0)) for number in range(1, 9)]
    sides = (",".join(map(str, range(1, 8))), "8", "--storage", str(folder))
    told = accelbench("compare", *sides).stdout
    assert "machine  " not in told
    assert "workloads   ▼ 1 slower" in told
    assert "counts as the workloads' own." in " ".join(told.splitlines())
    found = json.loads(accelbench("compare", *sides, "--json").stdout)
    assert found["machine"] is None
    assert [(row["workload"], row["verdict"]) for row in found["workloads"]] == [("net-0", "slower")]
    beside = accelbench("report", paths[0], paths[7], "--format", "markdown").stdout
    (line,) = (line for line in beside.splitlines() if line.startswith("- nightly 0008 against nightly 0001: "))
    assert "nightly 0001: of 1 workload, " in line
    assert "; of 1 effect, " in line
    assert "the machine" not in line


@pytest.mark.usefixtures("results")
def test_every_row_is_shown_where_asked_for(accelbench):
    everything = accelbench("compare", "1,2,3", "4,5,6", "--all").stdout
    assert all(f"net-{place} " in everything for place in range(12))


@pytest.mark.usefixtures("results")
def test_json_holds_every_shift_as_ratios(accelbench):
    found = json.loads(accelbench("compare", "1,2,3", "4,5,6", "--json").stdout)
    assert found["before"]["runs"] == ["box/0001_nightly", "box/0002_nightly", "box/0003_nightly"]
    assert found["environment"]["cause"] == "since torch 2.13.0"
    assert found["machine"]["verdict"] == "faster"
    assert len(found["techniques"]) == len(found["workloads"]) == 12
    first = found["techniques"][0]
    assert (first["workload"], first["verdict"], first["standing"]) == ("net-0", "slower", "shrinks")
    assert first["ratio"] == pytest.approx(first["effect_after"] / first["effect_before"])
    assert first["low"] < first["ratio"] < first["high"]
    assert accelbench("compare", "1,2,3", "4,5,6", "--format", "json").stdout == json.dumps(found, indent=2) + "\n"


def test_machines_are_compared_by_what_carries_over(accelbench, results):
    for number in (7, 8, 9):
        keep(results, number, bf16=0.7, speed=3.0, machine="other", torch="2.11.0")
    result = accelbench("compare", "1,2,3", "machine:other", "--format", "markdown")
    assert "- hardware: CPU box CPU → other CPU" in result.stdout
    assert "- **effects**: 1 flips, 11 carry over" in result.stdout
    assert "| amp bf16 | amp fp32 | net-0 | torch | 1.8" in result.stdout
    assert "| flips |" in result.stdout
    assert "flips where the technique is faster on one machine and slower on the other" in result.stdout


def lone_runs(folder, *, visits: tuple[int, int] = (2, 2), commits: tuple[str, str] = ("", "")) -> list[str]:
    """Save two runs with these numbers of visits and these commits, and return their paths."""
    paths = [keep(folder, 1), keep(folder, 2)]
    for path, number, commit in zip(paths, visits, commits, strict=True):
        document = json.loads(path.read_text())
        document["commit_info"] = {"id": commit} if commit else {}
        document["accelbench"]["settings"]["visits"] = number
        path.write_text(json.dumps(document))
    return [str(path) for path in paths]


def test_settings_that_move_no_number_are_no_cause_but_are_not_denied(accelbench, tmp_path):
    paths = lone_runs(tmp_path / "lone", visits=(2, 1))
    said = accelbench("compare", *paths, "--storage", str(tmp_path / "lone")).stdout.splitlines()
    told = said.index("settings: the run's visits 2 → 1")
    assert said[told + 1] == "None of these differences is known to change a number."


def test_the_commits_of_two_runs_are_told_where_they_differ(accelbench, tmp_path):
    where = ("--storage", str(tmp_path / "lone"))
    told = accelbench("compare", *lone_runs(tmp_path / "lone", commits=("a" * 40, "b" * 40)), *where).stdout
    assert "Nothing known changed but the commit: aaaaaaaa → bbbbbbbb." in told.splitlines()
    told = accelbench("compare", *lone_runs(tmp_path / "lone", commits=("a" * 40, "a" * 40)), *where).stdout
    assert "Nothing known changed in the environment." in told.splitlines()
    both = lone_runs(tmp_path / "lone", visits=(2, 1), commits=("a" * 40, "b" * 40))
    told = accelbench("compare", *both, *where).stdout
    assert "is known to change a number. The commit changed, too: aaaaaaaa → bbbbbbbb." in told
    found = json.loads(accelbench("compare", *both, *where, "--json").stdout)
    assert (found["before"]["commits"], found["after"]["commits"]) == (["aaaaaaaa"], ["bbbbbbbb"])


@pytest.mark.parametrize(
    ("commits", "said"),
    [
        ("aab", "Nothing known changed but the commit: aaaaaaaa → bbbbbbbb."),
        ("acb", "Nothing known changed but the commits: aaaaaaaa and cccccccc → bbbbbbbb."),
        ("aba", "Nothing known changed but the commits: aaaaaaaa and bbbbbbbb → aaaaaaaa."),
        ("aaa", "Nothing known changed in the environment."),
        ("a b", "Nothing known changed in the environment."),
    ],
)
def test_the_commits_of_several_runs_are_told_where_the_sides_differ(accelbench, tmp_path, commits, said):
    for number, commit in enumerate(commits, start=1):
        path = keep(tmp_path / "runs", number)
        document = json.loads(path.read_text())
        document["commit_info"] = {"id": 40 * commit} if commit != " " else {}
        path.write_text(json.dumps(document))
    assert said in accelbench("compare", "1,2", "3", "--storage", str(tmp_path / "runs")).stdout.splitlines()


def test_a_cause_is_only_possible_where_the_commit_changed_too(accelbench, tmp_path):
    paths = [keep(tmp_path / "runs", number, torch=version) for number, version in ((1, "2.11.0"), (2, "2.13.0"))]
    for path, commit in zip(paths, "ab", strict=True):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"commit_info": {"id": 40 * commit}}))
    said = accelbench("compare", *map(str, paths)).stdout.splitlines()
    expected = "A possible cause: torch 2.11.0 → 2.13.0. The commit changed, too: aaaaaaaa → bbbbbbbb."
    assert expected in said


def test_what_would_tell_confounded_changes_apart_is_a_sentence(accelbench, tmp_path):
    paths = [keep(tmp_path / "runs", number) for number in (1, 2)]
    for path, python, numpy in zip(paths, ("CPython 3.11", "CPython 3.12"), ("2.1", "2.2"), strict=True):
        document = json.loads(path.read_text())
        document["accelbench"]["environment"]["configuration"] |= {"python": python, "numpy.version": numpy}
        path.write_text(json.dumps(document))
    (line,) = (each for each in accelbench("compare", *map(str, paths)).stdout.splitlines() if "onfounded" in each)
    apart = "To tell them apart, add a run with numpy 2.2 and CPython 3.11."
    assert line == f"Confounded: numpy and Python changed together. {apart}"


def test_an_undecided_shift_of_the_machine_is_told_after_its_number(accelbench, tmp_path):
    paths = lone_runs(tmp_path / "lone")
    told = accelbench("report", *paths, "--format", "markdown").stdout
    assert re.search(r"the machine is [0-9.]+× \([^)]*\) as fast, undecided;", told)


def test_two_lone_runs_say_that_three_a_side_would_decide(accelbench, tmp_path):
    elsewhere = [str(keep(tmp_path / "lone", number)) for number in (1, 2)]
    result = accelbench("compare", *elsewhere, "--storage", str(tmp_path / "lone"))
    assert "techniques  ? 12 undecided; about 3 runs a side would decide half of them" in result.stdout
    assert "It is not known how much unchanged runs differ here" in result.stdout


def test_what_would_decide_the_only_undecided_shift_is_told_of_it(accelbench, tmp_path):
    elsewhere = [str(keep(tmp_path / "lone", number, workloads=1)) for number in (1, 2)]
    told = accelbench("compare", *elsewhere).stdout.splitlines()
    assert "techniques  ? 1 undecided; about 3 runs a side would decide it" in told


def one_sided(folder, *, candidates: int = 2) -> list[str]:
    """Save two runs with an arm that crashes in the second one, one that is out of reach, and others that are gone.

    Return how both are named.
    """
    net = {"id": "test_it.py::test_net", "workload": "net"}
    other = {"id": "test_it.py::test_other", "workload": "other", "problem": {"elements": 1000}}
    faster = effect(2.0, 1.9, 2.1, "faster")
    baseline = arm({"amp": "fp32"}, 1.0)
    levels = [{"amp": f"level-{number}"} for number in range(candidates)]
    gone = trial(baseline, *(arm(level, 0.5, effect=faster) for level in levels), **other)
    measured = [arm({"amp": level}, 0.5, effect=faster) for level in ("bf16", "fp16")]
    lost = [
        arm({"amp": "bf16"}),
        arm({"amp": "fp16"}, outcome="crashed", reason="the worker died of SIGSEGV"),
    ]
    runs = run(trial(baseline, *measured, **net), gone), run(trial(baseline, *lost, **net))
    for number, each in enumerate(runs, start=1):
        save(each, folder / "results" / f"{number:04}_a.json", f"2026-01-{number:02}T00:00:00")
    return ["latest~1", "latest"]


@pytest.mark.parametrize("swapped", [False, True])
def test_arms_with_a_speed_on_one_side_only_are_named_with_the_reason(accelbench, tmp_path, swapped):
    sides = one_sided(tmp_path)
    when = "only after" if swapped else "only before"
    told = accelbench("compare", *(reversed(sides) if swapped else sides)).stdout.splitlines()
    rows = [re.split("  +", line) for line in told if when in line and "arms" not in line]
    assert rows == [
        ["amp fp16", "amp fp32", "net", "torch", when, "crashed", "the worker died of SIGSEGV"],
        ["amp bf16", "amp fp32", "net", "torch", when, "unavailable", "not on this machine"],
        ["amp fp32", "other", "elements 1,000, torch", when, "no counterpart"],
        ["amp level-0", "amp fp32", "other", "elements 1,000, torch", when, "no counterpart"],
        ["amp level-1", "amp fp32", "other", "elements 1,000, torch", when, "no counterpart"],
    ]
    assert f"1 arm on both sides, 5 arms {when}." in told


def test_runs_given_as_files_have_the_reasons_too(accelbench, tmp_path):
    one_sided(tmp_path / "elsewhere")
    files = [str(tmp_path / "elsewhere" / "results" / f"{number:04}_a.json") for number in (1, 2)]
    assert "the worker died of SIGSEGV" in accelbench("compare", *files).stdout


@pytest.mark.parametrize("kind", ["markdown", "html"])
def test_markdown_and_the_page_name_the_arms_of_one_side(accelbench, tmp_path, kind):
    said = accelbench("compare", *one_sided(tmp_path), "--format", kind).stdout
    assert "Speed on one side only" in said
    cells = ["amp fp16", "amp fp32", "net", "torch", "only before", "crashed", "the worker died of SIGSEGV"]
    if kind == "markdown":
        assert f"| {' | '.join(cells)} |" in said
    else:
        assert "".join(f"<td>{cell}</td>" for cell in cells) in said


def test_json_holds_the_arms_of_one_side(accelbench, tmp_path):
    first, *rest = json.loads(accelbench("compare", *one_sided(tmp_path), "--json").stdout)["one_sided"]
    expected = {
        "case": "test_it.py::test_net|amp fp16", "level": "amp fp16", "workload": "net", "side": "before",
        "outcome": "crashed", "reason": "the worker died of SIGSEGV",
    }  # fmt: skip
    assert first.items() >= expected.items()
    assert [each["outcome"] for each in rest] == ["unavailable", None, None, None]


def test_of_many_arms_of_one_side_a_few_are_listed_unless_all_are_asked_for(accelbench, tmp_path):
    sides = one_sided(tmp_path, candidates=20)
    listed, everything = (accelbench("compare", *sides, *more).stdout for more in ([], ["--all"]))
    shown = [text.count("only before  ") for text in (listed, everything)]
    assert (shown[0] < shown[1], shown[1]) == (True, 23)
    assert "crashed" in listed
    assert f"And {23 - shown[0]} more arms with a speed on one side only; --all lists them." in listed
    assert "more arms" not in everything
    page = accelbench("compare", *sides, "--format", "html").stdout
    assert page.count("<td>only before</td>") == 23
    assert "more arms" not in page


@pytest.mark.slow
def test_runs_without_an_arm_in_common_say_so(accelbench, tmp_path):
    paths = []
    for number, name in enumerate(("a", "b"), start=1):
        measured = run(trial(arm({"amp": "fp32"}, 1.0), id=name, workload=name))
        paths.append(str(save(measured, tmp_path / f"{number:04}_{name}.json")))
    for kind in ("text", "markdown", "html", "json"):
        result = accelbench("compare", *paths, "--format", kind)
        assert (result.exit_code, result.stderr) == (0, "")
        assert "0 arms on both sides, 1 arm only before, 1 arm only after" in result.stdout
        assert kind == "json" or "Nothing was measured on both sides." in result.stdout


@pytest.mark.parametrize(("kind", "inert"), [("markdown", r"\<b\>x\|y"), ("html", "&lt;b&gt;x|y")])
def test_text_of_a_run_stays_text(accelbench, tmp_path, kind, inert):
    paths = []
    for number, gained in enumerate((8.0, 2.0), start=1):
        arms = (
            arm({"amp": "fp32"}, 1.0),
            arm({"amp": "<b>x|y"}, 1 / gained, effect=effect(gained, gained * 0.9, gained * 1.1, "faster")),
        )
        paths.append(str(save(run(trial(*arms)), tmp_path / f"{number:04}_a.json")))
    text = accelbench("compare", *paths, "--format", kind).stdout
    assert inert in text
    assert "<b>x" not in text.replace(r"\<b\>x", "")


@pytest.mark.usefixtures("results")
def test_the_page_is_written_where_asked_for(accelbench, tmp_path):
    result = accelbench("compare", "1,2,3", "4,5,6", "--format", "html", "--output", "changed.html")
    assert (result.exit_code, result.stdout) == (0, "")
    page = (tmp_path / "changed.html").read_text()
    assert page.count('<tr data-verdict="') == 24
    assert "torch 2.11.0 → 2.13.0" in page


@pytest.mark.usefixtures("results")
def test_the_page_draws_what_shifted_and_says_it_in_a_sentence(accelbench):
    page = accelbench("compare", "1,2,3", "4,5,6", "--format", "html").stdout
    assert page.count("<figure ") == 1
    (described,) = re.findall(r'aria-label="(The machine is [^"]*)"', page)
    assert re.match(r"The machine is 1\.0\S+ \(.*\) as fast; of 12 effects, .*▼ 1 slower", described)
    assert "furthest, amp bf16 on net-0: 1.8" in described
    assert "amp bf16 · net-0 · torch: 0." in described


@pytest.mark.usefixtures("results")
def test_a_column_in_which_nothing_stands_is_left_out(accelbench):
    decided, everything = (accelbench("compare", "1,2,3", "4,5,6", *more).stdout for more in ([], ["--all"]))
    assert "its own speed" in decided
    assert "to decide" not in decided
    assert ("to decide" in everything) == ("undecided" in everything)


def test_a_file_that_cannot_be_read_is_named_and_left_out(accelbench, results):
    broken = results / "box" / "0004_nightly.json"
    broken.write_text("{")
    result = accelbench("compare", "1,2,3", "5,6")
    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: results/box/0004_nightly.json: not complete JSON")
    assert result.stderr.endswith("; skipped\n")
    assert result.stderr.count("\n") == 1


def test_latest_is_of_the_storage_and_not_the_file_compared_with_it(accelbench, tmp_path):
    for number in (1, 2):
        keep(tmp_path / "storage", number)
    newer = keep(tmp_path / "elsewhere", 9)
    for text, number in (("latest", 2), ("latest~1", 1)):
        result = accelbench("compare", str(newer), text, "--storage", "storage", "--json")
        assert json.loads(result.stdout)["after"]["runs"] == [f"box/{number:04}_nightly"]


def test_files_need_no_other_runs(accelbench, tmp_path):
    before, after = keep(tmp_path / "elsewhere", 1), keep(tmp_path / "elsewhere", 2)
    (tmp_path / "results").mkdir()
    result = accelbench("compare", str(before), str(after))
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["latest", "weekly"], "weekly: no such run or file; there are 6 runs, named nightly; give a file, a number"),
        (["latest", "6"], "box/0006_nightly stands on both sides; compare it with another run"),
        (["latest", "1", "--storage", "nowhere"], "nowhere: no such file or folder"),
        (["1", "2", "--output", "no/such/folder.txt"], "cannot be written (No such file or directory)"),
        (["latest"], "Missing argument 'AFTER'; see accelbench compare --help"),
    ],
)
def test_what_cannot_be_done_is_one_line(accelbench, arguments, words):
    result = accelbench("compare", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_help_shows_how_runs_are_named(accelbench):
    shown = accelbench("compare", "--help").stdout
    assert "Example:\n    accelbench compare latest~1 latest" in shown


def test_tests_that_measure_the_same_are_told_apart(accelbench, tmp_path):
    paths = []
    for number, gain in ((1, 9), (2, 2)):
        found = effect(gain, 0.98 * gain, 1.02 * gain, "faster")
        arms = arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 1 / gain, effect=found)
        trials = [
            trial(*arms, id=f"test_it.py::test_{name}", workload=workload)
            for name, workload in (("first", "net"), ("second", "net"), ("third", "other"))
        ]
        paths.append(str(save(run(*trials), tmp_path / f"{number:04}_a.json", f"2026-01-{number:02}T00:00:00")))
    told = accelbench("compare", *paths, "--all").stdout
    assert ["torch, test_first" in told, "torch, test_second" in told, "third" in told] == [True, True, False]
    page = accelbench("compare", *paths, "--format", "html").stdout
    assert "bf16 · net · torch · test_first" in page
