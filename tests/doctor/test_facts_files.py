"""Facts can be judged where they were not gathered."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from machines import WELL, set_up, with_gpu

from harness.cli import main
from harness.doctor import Facts, as_json, to_know, to_mend

RECORDED = Path(__file__).parent.parent / "data" / "doctor_two_cores.json"


def judged(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["doctor", "--facts", str(path), *arguments])


@pytest.fixture
def stored(tmp_path: Path):
    def store(facts: Facts) -> Path:
        path = tmp_path / "machine.json"
        path.write_text(json.dumps(as_json(facts, to_mend(facts), to_know(facts))))
        return path

    return store


def test_a_machine_without_a_gpu_that_was_recorded_once_has_nothing_to_mend() -> None:
    result = judged(RECORDED)
    assert result.exit_code == 0
    assert "  PyTorch     2.13.0+cpu, built for CPU, 2 threads, sees no GPU" in result.stdout
    assert result.stdout.endswith("To mend\n  nothing\n")


def test_nothing_to_mend_ends_with_status_0(stored) -> None:
    assert judged(stored(WELL)).exit_code == 0


def test_something_to_mend_ends_with_status_1_and_stands_last(stored) -> None:
    result = judged(stored(with_gpu(process_ids=(4711,))))
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-2:] == ["To mend", f"  - {to_mend(with_gpu(process_ids=(4711,)))[0].sentence}"]


def test_programs_read_the_findings_and_the_facts(stored) -> None:
    result = judged(stored(set_up(env_OMP_NUM_THREADS="64")), "--json")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert [finding["name"] for finding in told["findings"]] == ["more-threads-than-cores"]
    assert told["facts"]["gpus"][0]["name"] == "NVIDIA H200"


def test_facts_come_back_from_a_file_as_they_were(stored) -> None:
    path = stored(WELL)
    assert json.loads(judged(path, "--json").stdout) == json.loads(path.read_text())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "holds no facts of a machine (Expecting property name"),
        ("[]", "holds no facts of a machine (Expected `object`, got `array`)"),
        ('{"facts": {"visible_cores": 2}}', "missing required field"),
    ],
)
def test_a_file_that_holds_something_else_is_one_line_and_status_2(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "machine.json"
    path.write_text(text)
    result = judged(path)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: {path}: ")
    assert words in line
    assert line.endswith("make one with accelbench doctor --json > FILE")


def test_a_file_that_is_not_there_is_one_line_and_status_2(tmp_path: Path) -> None:
    result = judged(tmp_path / "nowhere.json")
    assert result.exit_code == 2
    assert "cannot be read (No such file or directory)" in result.stderr


def test_hostile_facts_are_shown_as_text(tmp_path: Path) -> None:
    told = json.loads(RECORDED.read_text())
    told["facts"]["identity"]["cpu_model"] = "\x1b[31mred\nTo mend\u202e"
    told["facts"]["configuration"]["cpu.quota_cores"] = "a few"
    told["facts"]["frameworks"][0]["description"]["torch.threads"] = "9" * 4000
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(told))
    result = judged(path)
    assert result.exit_code == 0
    assert r"  processor   \x1b[31mred\nTo mend\u202e, 2 cores" in result.stdout
    assert all(line.isprintable() for line in result.stdout.splitlines())


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("name", "jax", "torch|tensorflow|cupy|numpy"),
        ("installed", float("nan"), "it holds NaN"),
        ("failure", 1, "`int`"),
    ],
)
def test_facts_beyond_the_schema_are_one_line(tmp_path: Path, name: str, value: object, words: str) -> None:
    told = json.loads(RECORDED.read_text())
    told["facts"]["frameworks"][0][name] = value
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(told))
    result = judged(path)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert words in line
