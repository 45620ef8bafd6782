"""Compiling and recording a model: levels that the workloads know, reasons where the machine cannot."""

from typing import Any

import pytest
import torch

import harness.techniques
import harness.workloads  # noqa: F401  fills the catalogue
from harness.errors import Unavailable
from harness.experiment import Setting, find_technique, find_workload
from harness.workloads.torch import recording
from harness.workloads.torch.compiling import MODES
from harness.workloads.torch.recording import need_recording, need_whole_batches

CUDA = torch.device("cuda:0")
PLAIN = {"autocast": "fp32", "compile_mode": "eager", "activation_checkpointing": False}


def test_compile_offers_every_mode_and_begins_without_compiling() -> None:
    assert find_technique("torch", "compile").levels == MODES
    assert MODES[0] == "eager"


@pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")
@pytest.mark.parametrize("level", ["off", "on"])
def test_without_an_accelerator_there_is_nothing_to_record(level: str) -> None:
    with pytest.raises(Unavailable, match=r"torch .* sees no accelerator"):
        find_technique("torch", "cuda_graphs").apply(lambda **options: pytest.fail(f"built with {options}"), level)


def test_graphs_are_recorded_on_cuda_alone() -> None:
    with pytest.raises(Unavailable, match="CUDA graphs need a CUDA device, and the model computes on cpu here"):
        find_workload("mlp-train").build(Setting(), device="cpu", cuda_graphs=True)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"autocast": "bf16"}, "recorded in float32"),
        ({"compile_mode": "default"}, "by its mode reduce-overhead"),
        ({"activation_checkpointing": True}, "reads the state of the random numbers"),
    ],
)
def test_what_cannot_be_recorded_is_told(options: dict[str, Any], reason: str) -> None:
    need_recording(CUDA, **PLAIN)
    with pytest.raises(Unavailable, match=reason):
        need_recording(CUDA, **PLAIN | options)


@pytest.mark.parametrize(("graphs", "mode"), [(True, "eager"), (False, "reduce-overhead"), (False, "max-autotune")])
def test_graphs_do_not_add_up_the_gradients_of_parts(graphs: bool, mode: str) -> None:
    need_whole_batches(CUDA, 1, cuda_graphs=graphs, compile_mode=mode)
    with pytest.raises(Unavailable, match="write the gradients of every part of a batch to the same place"):
        need_whole_batches(CUDA, 4, cuda_graphs=graphs, compile_mode=mode)


def test_parts_are_learnt_where_no_graph_computes_gradients() -> None:
    need_whole_batches(CUDA, 4, cuda_graphs=False, compile_mode="default")
    need_whole_batches(torch.device("cpu"), 4, cuda_graphs=False, compile_mode="max-autotune")
    with pytest.raises(Unavailable, match="to the same place"):
        find_workload("mlp-train").build(Setting(), device="cpu", cuda_graphs=True, accumulation=4)


def test_every_graph_is_recorded_with_a_workspace_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr("torch._C._cuda_clearCublasWorkspaces", lambda: done.append("cleared"), raising=False)
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", lambda *_: done.append("recorded"))
    recording.record(torch.nn.Linear(2, 2), torch.ones(1, 2))
    assert done == ["cleared", "recorded"]


@pytest.mark.parametrize(("attention", "flash"), [("math", False), ("sdpa", True)])
def test_a_graph_is_recorded_with_the_attention_that_it_replays(
    monkeypatch: pytest.MonkeyPatch, attention: str, flash: bool
) -> None:
    seen: list[bool] = []
    monkeypatch.setattr(recording, "need_recording", lambda *_, **__: None)
    monkeypatch.setattr(recording, "record", lambda *_: seen.append(torch.backends.cuda.flash_sdp_enabled()))
    find_workload("bert-train").build(Setting(), device="cpu", cuda_graphs=True, attention=attention)
    assert seen == [flash]
