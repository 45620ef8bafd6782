"""Every technique of a training applies to every PyTorch training, or is refused for a reason that the loop states."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import fields
from functools import cache
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench import Program, program
from accelbench.core import (
    Arm,
    Host,
    Setting,
    Technique,
    apply_all,
    declared_for,
    declared_workloads,
    find_technique,
)
from accelbench.core.verification import relative_error
from accelbench.errors import Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.workloads.data import tables
from accelbench.workloads.torch import compile as compiling
from accelbench.workloads.torch import models
from accelbench.workloads.torch.training_loop import TrainOptions

# PyTorch forks its loader processes; from Python 3.12 on, forking beside threads warns.
pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
]
framework = load("torch")
HOST = Host(cores=2, max_batch=4, max_workers=1)


def build_program() -> Program:
    """Learn to tell noise from noise."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))
    data = TensorDataset(torch.randn(16, 3, 8, 8), torch.randint(3, (16,)))
    return Program(
        model=model,
        loader=DataLoader(data, batch_size=4),
        step=lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
        optimizer=torch.optim.AdamW(model.parameters()),
    )


SMALL: dict[str, dict[str, Any]] = {
    "bert-train": {"batch_size": 2},
    "cnn-train": {"batch_size": 4},
    "house-prices-train": {"rows": 128},
    "inception-train": {"batch_size": 1},
    "logged-training": {"batch_size": 4},
    "mlp-train": {"batch_size": 16},
    "narrow-mlp-train": {"batch_size": 4},
    "regnet-train": {"batch_size": 2},
    "bottleneck-training": {"model": "cnn"},
    "image-training": {"model": "cnn", "images": 8},
    "ladder-training": {"model": "bert", "batch_size": 4},
    "loader-train": {"batch_size": 16},
}
LARGE = {
    "bert-large-train",
    "long-bert-train",
    "resnet18-train",
    "resnet50-train",
    "ladder-training-resnet50",
}  # as smaller ones are
# A CPU has no instructions for float16: these would take seconds.
SLOW_IN_FLOAT16 = {"bert-train", "inception-train", "ladder-training", "regnet-train"}
# Larger networks in the loop of cnn-train: how it loads batches and reads the loss does not depend on the network.
SAME_LOOP = {"bert-train", "regnet-train"}
# What is done with a batch does not depend on the process that loaded it.
OF_THE_STEP = {
    "accumulation",
    "activation_checkpointing",
    "amp",
    "attention",
    "compile",
    "cuda_graphs",
    "learning_rate_scaling",
    "log_by",
    "log_interval",
    "memory_format",
    "optimizer",
}
WITH_LOADER_PROCESSES = {"image-training", "loader-train"}
CATALOGUE = {each.name: each for each in declared_workloads() if each.shared is TrainOptions}
WORKLOADS = {name: each for name, each in CATALOGUE.items() if name not in LARGE}
WORKLOADS["my-program"] = program(build_program)
OPTIONS = {each.name for each in fields(TrainOptions)}
# Sets an option of trainings under another name.
RENAMED = {"transfers"}
TECHNIQUES = [each for each in declared_for("torch") if each.name in OPTIONS | RENAMED]
# Compiled in tests of their own, since it takes seconds each.
COMPILED = {"compile"}
# Says which option it needs beside it.
BESIDE = {
    name: {"data_location": "round-trip"}
    for name in ("workers", "persistent_workers", "prefetch_factor", "pin_memory", "non_blocking", "loading")
}
OF_THE_LOOP = {"log_interval", "log_by", *BESIDE}
read_digits = cache(tables.split_digits)
REASONS = (
    "sees no accelerator",
    "needs CUDA streams",
    "need a CUDA device",
    "no convolutions of images",
    "no attention of transformers",
    "not a mean over items",
    "batch normalisation would normalise",
    "no image files are decoded here",
    "lie in memory already",
    "training runs on the CPU",
    "are resident on the device already",
    "this training reads no loss",
    "cannot be learnt in 4 equal parts",
    "makes its batches anew in every epoch",
    "loads in its own process",
    "the batch has its usual size",
    "sets its learning rate itself",
)


def options_at(name: str, technique: Technique, level: str) -> dict[str, Any]:
    """Return the options of a workload's small problem with a technique at a level."""
    options = {"device": "cpu", **SMALL.get(name, {})}
    if technique.name == "accumulation":
        options |= {"batch_size": 4}
    options |= BESIDE.get(technique.name, {})
    if technique.name in OF_THE_STEP and name in WITH_LOADER_PROCESSES:
        options["workers"] = 0

    def note(**given: Any) -> Arm:
        options.update(given)
        return Arm(step=dict)

    apply_all([(technique, level)], note)
    return options


def output_with(name: str, options: dict[str, Any]) -> Any:
    """Return the output of a workload, which equal options compute once."""
    shared = TrainOptions(**{name: value for name, value in options.items() if name in OPTIONS})
    return computed(name, shared, tuple((name, value) for name, value in options.items() if name not in OPTIONS))


@cache
def computed(name: str, shared: TrainOptions, own: tuple[tuple[str, Any], ...]) -> Any:
    given = {each.name: value for each in fields(shared) if (value := getattr(shared, each.name)) != each.default}
    arm = WORKLOADS[name].build(Setting(cores=2), **given, **dict(own))
    try:
        with arm.enter():
            output = check.output_of(arm, framework)
        assert arm.verify(output) is None
        return output
    finally:
        arm.close()


@pytest.fixture
def small_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks of transformers with a small vocabulary and few layers, and digits that are read once."""
    bert, regnet = models.bert, models.regnet
    few = {"layers": 2, "hidden": 128, "vocabulary": 100, "tokens": 16}
    monkeypatch.setattr(models, "bert", lambda **options: bert(**options | few))
    monkeypatch.setattr(models, "regnet", lambda **options: regnet(**options | {"depths": [1, 1, 1, 1]}))
    monkeypatch.setattr(tables, "split_digits", lambda: deepcopy(read_digits()))


def pairs() -> Iterator[Any]:
    for technique in TECHNIQUES:
        for name in WORKLOADS:
            if not (name in SAME_LOOP and technique.name in OF_THE_LOOP):
                yield pytest.param(name, technique.name, id=f"{name}-{technique.name}")


def test_a_training_accepts_every_option_and_no_other() -> None:
    for each in WORKLOADS.values():
        assert each.options >= OPTIONS
    with pytest.raises(Unavailable, match="has no option 'colour'"):
        CATALOGUE["mlp-train"].build(Setting(), colour="red")


def test_the_techniques_of_a_training_are_its_options() -> None:
    assert {each.name for each in TECHNIQUES} == OPTIONS | RENAMED


@pytest.mark.slow
@pytest.mark.usefixtures("small_networks")
@pytest.mark.parametrize(("name", "switched"), list(pairs()))
def test_a_level_computes_what_the_baseline_does_or_is_refused_for_a_stated_reason(
    name: str, switched: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if switched in COMPILED:
        monkeypatch.setattr(compiling, "obstacle", lambda _: "")
        monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    monkeypatch.setattr(tables, "TARGET", 0.01)  # which one epoch reaches: its accuracy is compared
    technique = find_technique("torch", switched)
    baseline, *candidates = technique.levels_on(HOST)
    if name in SLOW_IN_FLOAT16 and "fp16" in candidates:
        candidates.remove("fp16")
    refused: list[str] = []
    outputs: dict[str, Any] = {}
    for level in (baseline, *candidates):
        try:
            outputs[level] = output_with(name, options_at(name, technique, level))
        except Unavailable as reason:
            refused.append(str(reason))
    known = (*REASONS, "stands for CUDA graphs", "no products to search for")
    assert all(any(reason in each for reason in known) for each in refused), refused
    for level, output in outputs.items():
        assert check.find_invalid_values(output) is None
        if level != baseline and technique.compared_at(level) and baseline in outputs:
            error = relative_error(output, outputs[baseline])
            assert error <= technique.tolerance_at(level), (level, error)
