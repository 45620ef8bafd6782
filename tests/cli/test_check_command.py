"""The command `accelbench check`, as a user and a CI service run it."""

import json
import random
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from runs import arm, effect, read_run, run, save, trial

from accelbench.cli import main
from accelbench.history.policy import Subject
from accelbench.history.regression_check import SubjectVerdict
from accelbench.report.check_output import describe_finding
from accelbench.results import load
from accelbench.schema.result import Environment, Gpu, Identity

WORKLOADS = ("mlp", "cnn", "bert", "vit")
HOSTILE = "<b>|a|\n::error::x%0A\x1b[31m@all"


@pytest.fixture
def accelbench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, ["check", *map(str, arguments)])


def accept(*arguments):
    return CliRunner().invoke(main, ["accept", *arguments])


def saved(
    folder, number, *, factor=1.0, broken="", name="run", workloads=WORKLOADS, spread=0.005, time_s=0.01, **fields
):
    """Write a run in which the first workload's speedup is so many times what it was, or has none."""
    chance = random.Random(number)
    trials = []
    for place, workload in enumerate(workloads):
        seconds, speedup = time_s * chance.gauss(1, spread), 2 * chance.gauss(1, spread) * (1 if place else factor)
        found = effect(speedup, speedup * 0.99, speedup * 1.01, "faster")
        lost = {"outcome": "wrong-output", "reason": broken}
        candidate = arm({"amp": "bf16"}, **lost) if broken and not place else None
        trials.append(
            trial(
                arm({"amp": "fp32"}, seconds),
                candidate or arm({"amp": "bf16"}, seconds / speedup, effect=found),
                id=f"benchmarks/test_amp.py::test_amp[{workload}]",
                workload=workload,
            )
        )
    path = folder / "example" / f"{number:04}_{name}.json"
    return save(run(*trials, **fields), path, taken=f"2026-01-01T00:{number:02}:00+00:00")


@pytest.fixture
def results(tmp_path):
    for number in range(1, 13):
        saved(tmp_path / "results", number)
    return tmp_path / "results"


@pytest.mark.usefixtures("results")
def test_an_unchanged_run_passes(accelbench):
    result = accelbench()
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == ("example-2c-8g/0012_run after 11 runs of this machine and size: 8 same\n")


def test_a_technique_that_pays_less_fails_and_says_by_how_much(accelbench, results):
    saved(results, 13, factor=0.8)
    result = accelbench()
    assert result.exit_code == 1
    line = result.stdout.splitlines()[1]
    assert re.match(r"▼ amp bf16 against amp fp32 on mlp \(torch\): speedup 2\.0\d× → 1\.\d\d×, which is 0\.[78]", line)
    assert "in the newest run, against 12 runs" in line


def test_an_answer_that_became_wrong_fails_with_its_reason(accelbench, results):
    saved(results, 13, broken="differs by 7 %")
    result = accelbench()
    assert result.exit_code == 1
    assert "✗ amp bf16 against amp fp32 on mlp (torch): has no speed any more; wrong output: differs by 7 %" in (
        result.stdout
    )


@pytest.mark.parametrize(("arguments", "status"), [([], 0), (["--strict"], 3)])
def test_too_little_history_is_undecided_and_fails_only_where_that_counts(accelbench, tmp_path, arguments, status):
    for number in (1, 2, 3):
        saved(tmp_path / "results", number)
    result = accelbench(*arguments)
    assert result.exit_code == status
    assert "2 earlier runs are too few; about " in result.stdout


def test_one_earlier_run_is_too_few(accelbench, tmp_path):
    for number in (1, 2):
        saved(tmp_path / "results", number)
    assert ": 1 earlier run is too few; about " in accelbench().stdout


def test_none_to_one_earlier_runs_are_too_few(accelbench, tmp_path):
    saved(tmp_path / "results", 1, broken="differs by 7 %")
    saved(tmp_path / "results", 2)
    assert ": 0 to 1 earlier runs are too few; about " in accelbench().stdout


def test_a_baseline_without_the_comparison_is_said_to_lack_it(accelbench, tmp_path):
    for number in range(1, 10):
        saved(tmp_path / "results", number, workloads=WORKLOADS[1:] if number == 1 else WORKLOADS)
    told = accelbench("--baseline", "1").stdout
    assert "0009_run after 1 run of" in told
    why = "none of the runs that it is compared with has a comparable speed; --baseline names others"
    assert f"such as times of mlp (torch): {why}\n" in told
    assert "too few" not in told


def test_few_runs_that_no_others_would_help_are_not_said_to_lack_others():
    subject = Subject(kind="workload", key="torch net", framework="torch", workload="net")
    told = describe_finding(SubjectVerdict(subject=subject, verdict="undecided", margin=0.03, known_runs=2))
    assert told.endswith(
        "2 earlier runs are too few, and such runs spread so much that it takes a larger margin as well as more runs"
    )


def test_runs_that_spread_too_much_say_which_change_would_show(accelbench, tmp_path):
    for number in range(1, 13):
        saved(tmp_path / "results", number, spread=0.05)
    told = accelbench().stdout
    (shown,) = re.findall(r"spread too much to show .* \(one of ([0-9.]+) % would show in half of them\)", told)
    assert 3 < float(shown) < 50
    saved(tmp_path / "results", 13, spread=0.05, factor=0.4)
    assert accelbench().exit_code == 1


@pytest.mark.parametrize("kind", ["text", "json", "markdown", "github", "junit"])
def test_an_interrupted_run_is_called_so_and_is_no_pass_where_that_counts(accelbench, results, kind):
    saved(results, 13, workloads=WORKLOADS[:2], interrupted=True)
    passed, strict = accelbench("--format", kind), accelbench("--format", kind, "--strict")
    assert (passed.exit_code, strict.exit_code) == (0, 3)
    said = "0013_run was interrupted, so what it had not measured by then is not checked"
    assert said in passed.stdout.replace("\\", "")
    if kind == "json":
        assert json.loads(strict.stdout)["status"] == 3
    if kind == "junit":
        suites = [ET.fromstring(each.stdout.encode()) for each in (passed, strict)]
        assert [(each.get("failures"), each.get("skipped")) for each in suites] == [("0", "1"), ("1", "0")]
        assert all(each.get("tests") == str(len(each.findall("testcase"))) for each in suites)


def test_a_regression_in_an_interrupted_run_stays_one(accelbench, results):
    saved(results, 13, factor=0.8, interrupted=True)
    assert accelbench("--strict").exit_code == 1


@pytest.mark.parametrize("command", ["check", "accept"])
def test_a_file_alone_is_refused_with_the_folder_to_give(accelbench, results, command):
    file = saved(results, 13, factor=0.8)
    result = accelbench(file) if command == "check" else accept("mlp", str(file), "--reason", "why")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line == (
        f"Error: {file}: is one file, without earlier runs to compare it with; give its folder, {file.parent}, "
        "or earlier runs with --baseline"
    )
    assert accelbench(file.parent).exit_code == 1


def test_a_file_is_checked_against_the_files_of_a_baseline(accelbench, results):
    file = saved(results, 13, factor=0.8)
    earlier = ",".join(str(results / "example" / f"{number:04}_run.json") for number in range(1, 13))
    assert accelbench(file, "--baseline", earlier).exit_code == 1


SMALL = {"size": "small", "cache": "hot", "noise": 0.01}


def on_gpu(name):
    identity = Identity(cpu_model="Example CPU", cpu_cores=2, memory_gib=8, gpus=[Gpu(name=name, memory_gib=16)])
    return Environment(identity=identity, configuration={"torch.version": "2.9.0"})


@pytest.mark.parametrize("kind", ["text", "json", "markdown", "github", "junit"])
@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ({}, {"settings": SMALL | {"size": "full"}}, "the run's size small → full"),
        ({}, {"settings": SMALL | {"cache": "cold"}}, "the run's cache hot → cold"),
        ({}, {"settings": {}}, "the run's size small (recorded only before)"),
        ({"environment": on_gpu("A100")}, {"environment": on_gpu("H100")}, "GPU A100 (16 GiB) → H100 (16 GiB)"),
    ],
)
def test_runs_that_cannot_be_compared_are_counted_with_what_differs(accelbench, tmp_path, kind, before, after, why):
    given = {"settings": SMALL}
    for number in range(1, 8):
        saved(tmp_path / "results", number, **given | before)
    saved(tmp_path / "results", 8, **given | after)
    told = accelbench("--format", kind).stdout
    told = " ".join(json.loads(told)["remarks"]) if kind == "json" else told.replace("\\", "")
    (sentence,) = re.findall(r"7 earlier runs of this machine are not compared, since they differ: .*", told)
    assert why in sentence


def test_enough_runs_to_compare_with_are_no_reason_to_count_others(accelbench, results):
    saved(results, 13, settings=SMALL)
    for number in range(14, 20):
        saved(results, number)
    assert "not compared" not in accelbench().stdout


def configured(version):
    return replace(on_gpu("A100"), configuration={"torch.version": version})


def test_what_differs_from_a_baseline_is_that_of_the_runs_compared(accelbench, tmp_path):
    for number in range(1, 10):
        saved(tmp_path / "results", number, environment=configured("2.9.0"))
    saved(tmp_path / "results", 10, environment=configured("2.10.0"), factor=0.7)
    told = accelbench("--baseline", "1,2").stdout
    assert "against 2 runs; what differs: torch 2.9.0 → 2.10.0\n" in told


def test_a_baseline_of_several_versions_is_said_to_have_them(accelbench, tmp_path):
    for number, version in enumerate(["2.8.0", *["2.9.0"] * 8], start=1):
        saved(tmp_path / "results", number, environment=configured(version))
    saved(tmp_path / "results", 10, environment=configured("2.10.0"), factor=0.7)
    told = accelbench("--baseline", "1,2").stdout
    assert "against 2 runs; what differs: torch 2.8.0 and 2.9.0 before, 2.10.0 after\n" in told


@pytest.mark.parametrize("lost", [{"outcome": "wrong-output"}, {"outcome": "unavailable"}])
def test_a_lost_baseline_is_said_once_and_not_again_for_each_candidate(accelbench, results, lost):
    file = saved(results, 13)
    arms = [arm({"amp": "fp32"}, outcome="wrong-output", reason="NaN")]
    arms += [arm({"amp": level}, reason="NaN", **lost) for level in ("bf16", "fp16")]
    gone = trial(*arms, id="benchmarks/test_amp.py::test_amp[mlp]", workload="mlp")
    measured = read_run(file)
    save(replace(measured, trials=[gone, *measured.trials[1:]]), file, taken="2026-01-01T00:13:00+00:00")
    result = accelbench()
    assert result.exit_code == 1
    headline, *lines = result.stdout.splitlines()
    assert headline.endswith(": 1 lost, 6 same")
    assert lines == ["✗ amp fp32 on mlp (torch): the baseline has no speed any more; wrong output: NaN"]
    assert accept("amp fp32 on mlp", "--reason", "being mended").exit_code == 0
    assert accelbench().exit_code == 0


@pytest.mark.parametrize(
    "content", [b"", b'{"accelbench": {"schema_version": 1, ', b'{"accelbench": {"schema_version": 99}}']
)
@pytest.mark.parametrize("command", ["check", "accept"])
def test_a_newest_run_that_cannot_be_read_is_not_passed_over(results, accelbench, command, content):
    (results / "example" / "0013_run.json").write_bytes(content)
    result = accelbench() if command == "check" else accept("amp", "--reason", "why")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: the newest run cannot be checked: results/example/0013_run.json: ")


@pytest.mark.parametrize("name", ["example/0001_cut", "example/cut", "other/0014_cut", "example/0014_theirs"])
def test_a_file_that_is_no_newer_run_is_only_a_remark(results, accelbench, name):
    path = results / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"benchmarks": []}' if "theirs" in name else "{")
    result = accelbench()
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].startswith(f"results/{name}.json: not ")


def test_an_unreadable_run_no_longer_matters_once_a_later_one_was_made(results, accelbench):
    (results / "example" / "0013_run.json").write_text("{")
    saved(results, 14)
    assert accelbench().exit_code == 0


def test_a_baseline_is_named_as_compare_names_runs(accelbench, results):
    saved(results, 13, factor=0.8)
    assert accelbench("--baseline", "3,4,5,6,7").exit_code == 1
    assert accelbench("--baseline", results / "example" / "0004_run.json").exit_code == 1


def test_programs_read_json(accelbench, results):
    saved(results, 13, factor=0.8)
    told = json.loads(accelbench("--format", "json").stdout)
    assert told == json.loads(accelbench("--json").stdout)
    worst = told["findings"][0]
    assert (told["status"], worst["verdict"], worst["kind"]) == (1, "slower", "technique")
    assert worst["low"] < 0.8 < worst["high"]


@pytest.fixture
def hostile(results):
    for number in range(1, 14):
        saved(results, number, workloads=(HOSTILE, "cnn", "bert"), factor=0.8 if number == 13 else 1.0)
    return results


@pytest.mark.usefixtures("hostile")
def test_nothing_in_a_run_becomes_a_workflow_command(accelbench):
    result = accelbench("--format", "github")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("::error file=results/example/0013_run.json,title=Regression::amp bf16 against")
    assert all(re.match(r"::(error|notice|warning) file=[^:]*::", line) for line in lines)
    assert "%250A" in lines[0]
    assert "\x1b" not in result.stdout


@pytest.mark.usefixtures("hostile")
def test_nothing_in_a_run_becomes_xml(accelbench):
    suite = ET.fromstring(accelbench("--format", "junit").stdout.encode())
    cases = suite.findall("testcase")
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == [str(len(cases)), "1", "0"]
    (failed,) = [case for case in cases if case.find("failure") is not None]
    assert "<b>" in failed.get("name")
    assert failed.get("classname") == "accelbench.technique"


@pytest.mark.usefixtures("hostile")
def test_nothing_in_a_run_becomes_markdown(accelbench):
    text = accelbench("--format", "markdown").stdout
    assert text.startswith("# 1 regression\n")
    (row,) = [line for line in text.splitlines() if line.startswith("| ▼")]
    assert r"\<b\>\|a\|" in row
    assert "@all" not in row


@pytest.mark.slow
def test_what_is_accepted_with_a_reason_passes_from_then_on(accelbench, results):
    saved(results, 13, factor=0.8)
    result = accept("on mlp", "--reason", "float32 accumulation")
    assert (result.exit_code, result.stderr) == (0, "")
    assert 'reason = "float32 accumulation"' in (results / "accepted-changes.toml").read_text()
    assert accelbench().exit_code == 0
    for number in (13, 14):
        saved(results, number, factor=0.8)
        told = accelbench()
        assert told.exit_code == 0
        assert ": 1 accepted, 7 same" in told.stdout.splitlines()[0]
    saved(results, 15, factor=0.5)
    assert accelbench().exit_code == 1


@pytest.mark.parametrize(
    "change",
    [
        "amp bf16 against amp fp32 on mlp (torch)",
        "amp fp32 on mlp",
        "benchmarks/test_amp.py::test_amp[mlp]|amp bf16",
        "test_amp[mlp]",
        "amp bf16 on mlp",
    ],
)
def test_a_change_is_called_what_check_calls_it(accelbench, results, change):
    saved(results, 13, factor=0.8)
    assert "▼ amp bf16 against amp fp32 on mlp (torch): " in accelbench().stdout
    assert accept(change, "--reason", "why").exit_code == 0


@pytest.mark.usefixtures("accelbench")
def test_the_times_of_a_workload_are_called_what_check_calls_them(tmp_path):
    for number in range(1, 14):
        saved(tmp_path / "results", number, workloads=("mlp",), time_s=0.01 if number < 13 else 0.02)
    refused = accept("cnn", "--reason", "why")
    assert refused.stderr == "Error: 'cnn': it is no reported change; give one of: times of mlp (torch)\n"
    assert accept("times of mlp", "--reason", "why").exit_code == 0


def twice(folder, number, factor=1.0):
    """Write a run in which two tests measure the same, and one of them changed."""
    chance = random.Random(number)
    trials = []
    for name, changed in (("first", factor), ("second", 1.0)):
        speedup = 2 * chance.gauss(1, 0.005) * changed
        found = effect(speedup, speedup * 0.99, speedup * 1.01, "faster")
        arms = arm({"amp": "fp32"}, 0.01), arm({"amp": "bf16"}, 0.01 / speedup, effect=found)
        trials.append(trial(*arms, id=f"test_it.py::test_{name}"))
    save(run(*trials), folder / f"{number:04}_run.json", taken=f"2026-01-01T00:{number:02}:00+00:00")


@pytest.mark.parametrize("kind", ["text", "markdown", "github", "junit"])
def test_tests_that_measure_the_same_are_told_apart(accelbench, tmp_path, kind):
    for number in range(1, 14):
        twice(tmp_path / "results", number, factor=0.8 if number == 13 else 1.0)
    told = accelbench("--format", kind).stdout.replace("\\", "")
    assert "amp bf16 against amp fp32 on net (torch, test_first)" in told
    assert ("amp bf16 against amp fp32 on net (torch, test_second)" in told) == (kind == "junit")


def test_a_size_that_would_show_is_told_from_the_one_that_matters():
    subject = Subject(kind="workload", key="torch net", framework="torch", workload="net")
    close = SubjectVerdict(subject=subject, verdict="undecided", margin=0.03, visible=0.03026, more_runs=1)
    assert "(one of 3.1 % would show)" in describe_finding(close)
    assert "(one of 3.3 % would show)" in describe_finding(replace(close, visible=0.0321))
    assert "(one of 3.1 % would show)" in describe_finding(replace(close, visible=0.030001))


def test_an_answer_that_may_be_wrong_is_accepted_too(accelbench, results):
    saved(results, 13, broken="differs by 7 %")
    assert accept("amp bf16", "--reason", "being mended").exit_code == 0
    told = accelbench()
    assert told.exit_code == 0
    what = "amp bf16 against amp fp32 on mlp (torch)"
    line = f"✓ {what}: accepted (being mended): has no speed any more; wrong output: differs by 7 %"
    assert line in told.stdout.splitlines()


@pytest.mark.parametrize("kind", ["text", "markdown", "github", "json", "junit"])
def test_an_accepted_change_among_runs_that_spread_is_told_as_accepted_and_not_as_undecided(accelbench, results, kind):
    for number in range(1, 13):
        saved(results, number, spread=0.05)
    saved(results, 13, spread=0.05, factor=0.3)
    assert accept("on mlp", "--reason", "on purpose").exit_code == 0
    lines = accelbench("--format", kind).stdout.splitlines()
    about = [line for line in lines if "amp bf16 against amp fp32 on mlp" in line]
    assert not any("undecided" in line for line in about)
    if kind in ("text", "markdown", "github"):
        assert any("accepted (on purpose" in line.replace("\\", "") and "speedup 2." in line for line in about)
        assert any(": 1 accepted, " in line for line in lines)


def test_margins_of_the_project_count(accelbench, results, tmp_path):
    saved(results, 13, factor=0.8)
    (tmp_path / "pyproject.toml").write_text("[tool.accelbench.check]\ntechniques = { amp = 0.5 }\n")
    assert accelbench().exit_code == 0


def test_a_first_change_is_accepted_into_a_new_file(accelbench, results, tmp_path):
    saved(results, 13, factor=0.8)
    assert accept("on mlp", "--reason", "why", "--accepted", "changes.toml").exit_code == 0
    assert (tmp_path / "changes.toml").exists()
    assert accelbench("--accepted", "changes.toml").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "nowhere: no such file or folder"),
        (["n" * 300], f"{'n' * 300}: cannot be read (File name too long)"),
        (["--accepted", "n" * 300], f"--accepted: {'n' * 300}: no such file"),
        (["--baseline", "77"], "77: no run has this number"),
        (["--baseline", "latest"], "cannot be its own baseline"),
        (["--baseline", ""], "'' names no run"),
        (["--format", "html"], "'html' is not one of"),
        (["--accepted", "nosuch.toml"], "--accepted: nosuch.toml: no such file"),
        (["--limits", "nosuch.toml"], "'nosuch.toml' does not exist"),
    ],
)
@pytest.mark.usefixtures("results")
def test_what_cannot_be_used_is_one_line(accelbench, arguments, words):
    result = accelbench(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert words in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["amp"], "Missing option '--reason'"),
        (["amp", "--reason", "why"], "'amp': no change is reported, so there is none to accept"),
        (["", "--reason", "why"], "the name of the change is empty"),
    ],
)
@pytest.mark.usefixtures("results", "accelbench")
def test_what_cannot_be_accepted_is_one_line(arguments, words):
    result = accept(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert words in line


@pytest.mark.parametrize("command", ["check", "report"])
@pytest.mark.usefixtures("results", "accelbench")
def test_no_file_is_parsed_twice(command, monkeypatch):
    monkeypatch.setattr("accelbench.report.page.render", lambda *_: [])  # figures take a second each
    parsed = []

    original = load.run_in

    def counted(data, *, source):
        parsed.append(source)
        return original(data, source=source)

    monkeypatch.setattr(load, "run_in", counted)
    CliRunner().invoke(main, [command])
    assert len(parsed) == len(set(parsed)) == 12
