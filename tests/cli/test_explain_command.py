"""`accelbench explain`, as a user types it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from explanations import explained_run, explanation
from runs import save

from accelbench.cli import main
from accelbench.explain.explanation import Explanation
from accelbench.explain.prediction import Prediction
from accelbench.explain.profile import Profile, StepShare

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def accelbench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path / "cache"))  # nothing here depends on what else is measured
    return lambda *arguments: CliRunner().invoke(main, ["explain", *arguments])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Missing argument 'PROGRAM'"),
        (["nowhere.py:build"], "there is no file 'nowhere.py'; expected FILE.py:FUNCTION"),
        (["ladder-chain", "--predict"], "no array operation of ladder-chain can be recorded: it makes its arrays by"),
        (["heat", "--predict", "--figure", "roof.svg"], "--figure draws the whole program; leave out --technique and"),
        (["cnn-trian"], "unknown workload 'cnn-trian'"),
        (["n" * 300], f"unknown workload '{'n' * 300}'"),
        ([f"{EXAMPLES}/my_train.py:build", "--budget", "soon"], "--budget: 'soon' is not a time such as 60s, 5m or 1h"),
        (["heat", "--budget", ""], "--budget: '' is not a time such as 60s, 5m or 1h"),
        (["heat", "--predict", "--technique", "threads=1"], "leave out one of both"),
        (["heat", "--predict", "--budget", "1m"], "--predict takes one profile and no budget; leave out --budget"),
        (["heat", "--predict", "--price", "3"], "--predict says nothing of money; leave out --price"),
        (["heat", "--predict", "--format", "markdown"], "--predict has no Markdown; choose --format text or json"),
        (["heat", "--technique", "threads=1", "--price", "3"], "--technique says nothing of money; leave out --price"),
        (["heat", "--technique", "threads=1", "--format", "markdown"], "--technique has no Markdown"),
        (["heat", "--technique", "dtype"], "'dtype' is not a name and a value; for example --technique amp=bf16"),
        (["heat", "--technique", "dtype=float46"], "--technique: dtype has no level 'float46'; expected some"),
        ([f"{EXAMPLES}/my_train.py:build", "--price", "-1"], "Invalid value for '--price'"),
    ],
)
def test_what_cannot_be_done_is_one_line(accelbench, arguments, words):
    result = accelbench(*arguments)
    assert result.exit_code == 2
    (line,) = [line for line in result.stderr.splitlines() if "waiting for" not in line]
    assert words in line


def test_help_shows_an_example(accelbench):
    assert "accelbench explain my_train.py:build" in accelbench("--help").stdout


RAISING = """
import sys
import numpy
from accelbench import ArrayProgram

def missing(xp, array):
    return {}["labels"]

def ending(xp, array):
    sys.exit("no data")

def build_missing():
    return ArrayProgram(step=missing, arrays=(numpy.ones(3),))

def build_ending():
    return ArrayProgram(step=ending, arrays=(numpy.ones(3),))
"""


@pytest.mark.parametrize("more", [[], ["--predict"], ["--technique", "dtype=float32"]])
@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("build_missing", "failed: KeyError: 'labels' (raising.py, line 7)"),
        ("build_ending", "failed: SystemExit: no data (raising.py, line 10)"),
    ],
)
def test_a_step_that_raises_is_one_line_with_its_place(accelbench, tmp_path, function, words, more):
    (tmp_path / "raising.py").write_text(RAISING)
    result = accelbench(f"raising.py:{function}", *more)
    assert result.exit_code == 2
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Error")]
    assert line == f"Error: your program cannot be profiled: {words}"


SLOW_LOADER = """
import time, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from accelbench import Program

class Slow(Dataset):
    def __len__(self):
        return 16
    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.ones(8), index % 2

def build():
    model = nn.Linear(8, 2)
    return Program(
        model=model,
        loader=DataLoader(Slow(), batch_size=8),
        step=lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
    )
"""


@pytest.mark.slow
def test_a_program_that_waits_for_its_data_is_told_to_load_in_other_processes(accelbench, tmp_path, monkeypatch):
    # seconds of an arm: a busy machine uses more of the budget
    monkeypatch.setattr(
        "accelbench.explain.paired_measurement.MOST_S", 1.0
    )  # of an arm: a busy machine uses more of the budget
    monkeypatch.setattr("accelbench.roofline.ceilings.Ceilings.get", lambda *_: [])  # they take a while
    (tmp_path / "slow_loader.py").write_text(SLOW_LOADER)
    for _ in range(3):  # where other processes disturb nearly all pairs, they rightly decide nothing
        result = accelbench("slow_loader.py:build", "--budget", "5m", "--price", "3.20", "--json")
        assert result.exit_code == 0, result.output
        explanation = json.loads(result.stdout)
        if explanation["causes"]:
            break
    assert explanation["causes"][0]["code"] == "input-bound"
    assert explanation["causes"][0]["share"]["low"] > 0.5
    assert "workers 2" in {each["name"] for each in explanation["remedies"]}
    assert explanation["epoch_s"] > 16 * 0.002


@pytest.mark.slow
def test_a_prediction_ranks_techniques_from_the_profile_alone(accelbench, tmp_path):
    (tmp_path / "slow_loader.py").write_text(SLOW_LOADER)
    result = accelbench("slow_loader.py:build", "--predict")
    assert result.exit_code == 0, result.output
    first = result.stdout.splitlines()[2]
    assert first.startswith("workers, loading")
    assert "waiting for the loader" in first


def test_a_prediction_without_a_bound_is_null_in_json(accelbench, monkeypatch):
    share = StepShare(share=0.5, low=0.1, high=1.0)
    unbounded = Prediction(techniques=("amp",), touches="products", share=share, present={"workers": ("0", "2")})
    monkeypatch.setattr("accelbench.explain.predict_speedups", lambda _: [unbounded])
    (found,) = json.loads(accelbench("heat", "--predict", "--format", "json").stdout, parse_constant=pytest.fail)
    assert found["at_most"] is None
    assert found["present"] == {"workers": "0, 2"}


def test_an_interrupted_explanation_is_printed_and_ends_as_aborted(accelbench, monkeypatch):
    found = Explanation(
        workload="heat",
        unit="cell",
        profile=Profile(framework="numpy", device="cpu", seconds=1e-3, items=32.0),
        parts=(),
        remedies=(),
        causes=(),
        ceilings=(),
        item_s=None,
        price_per_hour=None,
        spent_s=3.0,
        interrupted=True,
    )
    monkeypatch.setattr("accelbench.explain.explain", lambda *_, **__: found)
    result = accelbench("heat")
    assert result.exit_code == 1
    assert "Interrupted: what was not measured by then is left out." in result.stdout
    assert "Aborted!" in result.stderr


@pytest.fixture
def a_run(tmp_path, monkeypatch) -> Path:
    """A run, of which profiles show the same at once."""

    def explain_run(run, budget_s, *, report, on_start):
        on_start()
        report(f"profiling {len(run.trials)} trials")
        return explanation(spent_s=budget_s)

    monkeypatch.setattr("accelbench.explain.explain_run", explain_run)
    return save(explained_run(), tmp_path / "results" / "m" / "0007_quick.json")


@pytest.mark.parametrize("name", ["results/m/0007_quick.json", "results", "7", "latest"])
def test_a_run_is_explained_and_the_answer_is_kept_beside_it(accelbench, a_run, name):
    result = accelbench(name)
    assert result.exit_code == 0, result.output
    assert "amp fp16 on mlp-train (torch): 0.107× (0.101–0.112), slower" in result.stdout
    assert "explained in 10 min 00 s" in result.stdout
    assert "0007_quick.explained; accelbench report shows it" in result.stderr
    assert a_run.with_suffix(".explained").is_file()


def test_what_is_kept_is_on_the_page_of_the_run(accelbench, a_run):
    accelbench(str(a_run))
    report = CliRunner().invoke(main, ["report", str(a_run), "--format", "markdown"])
    assert "amp fp16 on mlp-train (torch): 0.107× (0.101–0.112), slower" in report.stdout


def test_a_run_is_explained_for_a_program_and_for_a_page(accelbench, a_run):
    assert json.loads(accelbench(str(a_run), "--json").stdout)["reasons"][0]["workload"] == "mlp-train"
    assert "**amp fp16 on mlp-train" in accelbench(str(a_run), "--format", "markdown").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--predict"], "is a run, of which everything is explained; leave out all options but --budget"),
        (["--technique", "amp=bf16"], "leave out all options but --budget"),
        (["--budget", "soon"], "--budget: 'soon' is not a time such as 60s, 5m or 1h"),
        (["--budget", ""], "--budget: '' is not a time such as 60s, 5m or 1h"),
    ],
)
def test_options_that_mean_nothing_for_a_run_are_one_line(accelbench, a_run, arguments, words):
    result = accelbench(str(a_run), *arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert words in line


def test_a_run_of_another_machine_is_one_line(accelbench, tmp_path):
    result = accelbench(str(save(explained_run(), tmp_path / "results" / "0001_a.json")))
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "the run was made on example-2c-8g, and this machine is" in line


@pytest.mark.usefixtures("accelbench")
def test_an_explanation_that_cannot_be_read_costs_a_report_one_line(a_run):
    a_run.with_suffix(".explained").write_text("{")
    report = CliRunner().invoke(main, ["report", str(a_run), "--format", "markdown"])
    assert report.exit_code == 0
    (line,) = report.stderr.splitlines()
    assert "0007_quick.explained: not complete JSON" in line
