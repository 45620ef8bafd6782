"""`accelbench doctor` judges the facts of this machine, or those that it wrote elsewhere."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from machines import HEALTHY, with_configuration, with_gpu

from accelbench.cli import main
from accelbench.doctor import Facts, as_json, find_notes, find_problems

RECORDED = Path(__file__).parent.parent / "data" / "doctor_two_cores.json"


def run_doctor(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["doctor", "--facts", str(path), *arguments])


@pytest.fixture
def stored(tmp_path: Path):
    def store(facts: Facts) -> Path:
        path = tmp_path / "machine.json"
        path.write_text(json.dumps(as_json(facts, find_problems(facts), find_notes(facts))))
        return path

    return store


def test_a_recorded_machine_without_a_gpu_has_nothing_to_fix() -> None:
    result = run_doctor(RECORDED)
    assert result.exit_code == 0
    assert "  PyTorch     2.13.0+cpu, built for CPU, 2 threads, sees no GPU" in result.stdout
    assert result.stdout.endswith("To fix\n  nothing\n")


def test_nothing_to_fix_ends_with_status_0(stored) -> None:
    assert run_doctor(stored(HEALTHY)).exit_code == 0


def test_a_problem_ends_with_status_1_and_comes_last(stored) -> None:
    result = run_doctor(stored(with_gpu(process_ids=(4711,))))
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-2:] == [
        "To fix",
        f"  - {find_problems(with_gpu(process_ids=(4711,)))[0].sentence}",
    ]


@pytest.mark.parametrize("option", ["--format=json", "--json"])
def test_programs_read_the_problems_and_the_facts(stored, option: str) -> None:
    result = run_doctor(stored(with_configuration(env_OMP_NUM_THREADS="64")), option)
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert [problem["name"] for problem in document["problems"]] == ["more-threads-than-cores"]
    assert document["facts"]["gpus"][0]["name"] == "NVIDIA H200"


def test_facts_come_back_from_a_file_as_they_were(stored) -> None:
    path = stored(HEALTHY)
    assert json.loads(run_doctor(path, "--json").stdout) == json.loads(path.read_text())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "contains no facts about a machine (Input data was truncated)"),
        ("[]", "contains no facts about a machine (Expected `object`, got `array`)"),
        ('{"facts": {"visible_cores": 2}}', "missing required field"),
    ],
)
def test_a_file_that_holds_something_else_is_one_line_and_status_2(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "machine.json"
    path.write_text(text)
    result = run_doctor(path)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: {path}: ")
    assert words in line
    assert line.endswith("make one with accelbench doctor --format json > FILE")


def test_a_file_that_is_not_there_is_one_line_and_status_2(tmp_path: Path) -> None:
    result = run_doctor(tmp_path / "nowhere.json")
    assert result.exit_code == 2
    assert "cannot be read (No such file or directory)" in result.stderr


def test_hostile_facts_are_shown_as_text(tmp_path: Path) -> None:
    document = json.loads(RECORDED.read_text())
    document["facts"]["identity"]["cpu_model"] = "\x1b[31mred\nTo fix\u202e"
    document["facts"]["configuration"]["cpu.quota_cores"] = "a few"
    document["facts"]["frameworks"][0]["description"]["torch.threads"] = "9" * 4000
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(document))
    result = run_doctor(path)
    assert result.exit_code == 0
    assert r"  processor   \x1b[31mred\nTo fix\u202e, 2 cores" in result.stdout
    assert all(line.isprintable() for line in result.stdout.splitlines())


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("name", "jax", "torch|tensorflow|numpy|cupy"),
        ("installed", float("nan"), "JSON is malformed"),
        ("failure", 1, "`int`"),
    ],
)
def test_facts_beyond_the_schema_are_one_line(tmp_path: Path, name: str, value: object, words: str) -> None:
    document = json.loads(RECORDED.read_text())
    document["facts"]["frameworks"][0][name] = value
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(document))
    result = run_doctor(path)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert words in line
