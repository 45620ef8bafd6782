"""`accelbench advise`, as a user types it."""

import itertools
import json
import os
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from accelbench.advise.evaluate import Evaluator
from accelbench.advise.time_limit import TimeLimit
from accelbench.cli import main

# A small training with a way of its own to move channels.
PROGRAM = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from accelbench import Program

def build() -> Program:
    images, labels = torch.linspace(-1, 1, 256 * 64).reshape(256, 1, 8, 8), torch.arange(256) % 10
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 36, 10)
    )
    return Program(
        model=model,
        loader=DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True),
        step=lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
        optimizer=torch.optim.AdamW(model.parameters()),
        batches=4,
        recipes={"memory_format": {"channels-last": "convert(model)"}},
    )
"""


@pytest.fixture
def accelbench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "ceilings").symlink_to(Path(os.environ["ACCELBENCH_CACHE"], "ceilings"))
    monkeypatch.setenv("ACCELBENCH_CACHE", str(cache))  # but for them, nothing here depends on what else is measured
    return lambda *arguments: CliRunner().invoke(main, ["advise", *arguments])


def test_without_a_workload_it_is_one_line(accelbench):
    result = accelbench()
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: Missing argument 'WORKLOAD'; see ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cnn-trian"], "unknown workload 'cnn-trian'; expected one of: "),
        (["heat", "--framework", "tensorflow"], "--framework: heat does not run in 'tensorflow'; expected one of: "),
        (["heat", "--budget", "soon"], "--budget: 'soon' is not a time such as 60s, 5m or 1h"),
        (["heat", "--max-memory", "8 cats"], "--max-memory: '8 cats' is not an amount of memory such as 8GiB or 500MB"),
        (["heat", "--max-error", "none"], "--max-error: 'none' is not a fraction such as 1% or 0.01"),
        (["heat", "--set", "elements"], "--set: 'elements' is not a name and a value; for example --set batch_size=64"),
        (["heat", "--set", "a=1,b=2"], "--set: 'a=1,b=2' is more than one name and value; repeat the option: --set"),
        (
            ["heat", "--framework", "numpy", "--only", "flight"],
            "--only: unknown technique 'flight' for numpy; expected one of: ",
        ),
        (["heat", "--only", " "], "--only: no technique is named; for example --only amp,batch_size"),
        (["heat", "--set", "a=1", "--set", "a=2"], "--set: a cannot be both 1 and 2"),
        (
            ["heat", "--framework", "numpy", "--only", "dtype", "--set", "dtype=float32"],
            "--only: dtype cannot be tried, since --set holds it at float32",
        ),
        (
            ["heat", "--framework", "numpy", "--set", "dtype=float16"],
            "--set: dtype has no level 'float16'; expected some of: float64, float32",
        ),
        (["mlp-train", "--set", "batch_size=abc"], "--set: batch_size must be a whole number from 1, got 'abc'"),
        (["mlp-train", "--set", "batch_size=0"], "--set: batch_size must be a whole number from 1, got '0'"),
        (["heat", "--fast"], "No such option '--fast'"),
    ],
)
def test_what_cannot_be_done_is_one_line(accelbench, arguments, words):
    result = accelbench(*arguments)
    assert result.exit_code == 2
    (line,) = [line for line in result.stderr.splitlines() if "waiting for" not in line]
    assert words in line


@pytest.mark.slow
def test_a_program_of_ones_own_is_advised_with_settings_for_it(accelbench, tmp_path):
    (tmp_path / "my_program.py").write_text(PROGRAM)
    wishes = "--only", "memory_format", "--set", "batch_size=64", "--budget", "15s", "--json"
    result = accelbench("my_program.py:build", *wishes)
    assert result.exit_code == 0, result.output
    advice = json.loads(result.stdout)
    assert (advice["workload"], advice["framework"]) == ("my_program.py:build", "torch")
    assert {each["changes"].get("memory_format") for each in advice["tried"]} == {None, "channels-last"}
    assert [(each["technique"], each["level"]) for each in advice["alone"]] == [("memory_format", "channels-last")]
    assert advice["alone"][0]["judgement"]["low"] > 0
    assert advice["over"] == "your program"
    assert advice["settings"]["batch_size"] == "DataLoader(data, batch_size=64)"
    own_way = {"as-is": None, "channels-last": "convert(model)"}
    assert advice["settings"].get("memory_format") == own_way[advice["levels"]["memory_format"]]


def test_a_budget_that_building_the_program_used_up_is_one_line(accelbench, tmp_path, monkeypatch):
    class Over(TimeLimit):
        def __enter__(self):
            self.is_over = True
            raise KeyboardInterrupt

    monkeypatch.setattr("accelbench.advise.session.TimeLimit", Over)
    (tmp_path / "sum_up.py").write_text(
        "import numpy\nfrom accelbench import ArrayProgram\n\n"
        "def build():\n    return ArrayProgram(step=lambda xp, x: x.sum(), arrays=(numpy.ones(9),))\n"
    )
    result = accelbench("sum_up.py:build", "--budget", "9s")
    assert result.exit_code == 2
    assert "Error: the budget of 9 s was over before there was an answer; give it more time" in result.stderr


def test_a_program_that_is_built_for_longer_than_its_budget_is_not_waited_for(accelbench, tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time, numpy, pathlib\nfrom accelbench import ArrayProgram\n\n"
        "def build() -> ArrayProgram:\n    time.sleep(20)\n    pathlib.Path('built').touch()\n"
        "    return ArrayProgram(step=lambda xp, x: x.sum(), arrays=(numpy.ones(9),))\n"
    )
    result = accelbench("slow.py:build", "--budget", "2s")
    assert result.exit_code == 2
    assert "Error: the budget of 2 s was over before there was an answer; give it more time" in result.stderr
    assert not (tmp_path / "built").exists()


@pytest.mark.slow
def test_ctrl_c_ends_the_search_with_what_it_has_come_to(accelbench, monkeypatch):
    calls = itertools.count()

    def interrupted(self, *arguments):
        if next(calls) == 2:  # after the baseline and a first look
            signal.raise_signal(signal.SIGINT)
        return evaluate(self, *arguments)

    evaluate = Evaluator.__call__
    monkeypatch.setattr(Evaluator, "__call__", interrupted)
    result = accelbench("ladder-chain", "--framework", "numpy", "--budget", "30s")
    assert result.exit_code == 1
    assert "Interrupted before the 30 s of its budget were over" in result.stdout
    assert result.stderr.endswith("Aborted!\n")


def test_help_shows_an_example(accelbench):
    assert "accelbench advise cnn-train --budget 60s" in accelbench("--help").stdout
