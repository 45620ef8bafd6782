"""Compiling and recording a model: levels that the workloads know, reasons where the machine cannot."""

from typing import Any

import pytest
import torch

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Setting, find_technique, find_workload
from accelbench.errors import Unavailable
from accelbench.workloads.torch import compile as compiling
from accelbench.workloads.torch.compile import MODES, check_recording, records

CUDA = torch.device("cuda:0")
PLAIN = {"amp": "fp32", "compile": "eager", "activation_checkpointing": False}


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
        ({"amp": "bf16"}, "recorded in float32"),
        ({"compile": "default"}, "by its mode reduce-overhead"),
        ({"activation_checkpointing": True}, "reads the state of the random numbers"),
    ],
)
def test_what_cannot_be_recorded_is_refused(options: dict[str, Any], reason: str) -> None:
    check_recording(CUDA, **PLAIN)
    with pytest.raises(Unavailable, match=reason):
        check_recording(CUDA, **PLAIN | options)


@pytest.mark.parametrize(
    ("device", "graphs", "mode", "recorded"),
    [
        ("cuda:0", True, "eager", True),
        ("cuda:0", False, "reduce-overhead", True),
        ("cuda:0", False, "max-autotune", True),
        ("cuda:0", False, "default", False),
        ("cpu", False, "max-autotune", False),
    ],
)
def test_graphs_compute_gradients_where_they_are_asked_for_or_compiled_on_cuda(
    device: str, graphs: bool, mode: str, recorded: bool
) -> None:
    assert records(torch.device(device), cuda_graphs=graphs, compile=mode) == recorded


def test_graphs_do_not_add_up_the_gradients_of_parts() -> None:
    with pytest.raises(Unavailable, match="write the gradients of every part of a batch to one place"):
        find_workload("mlp-train").build(Setting(), device="cpu", cuda_graphs=True, accumulation=4)


def test_every_graph_is_recorded_with_a_workspace_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr("torch._C._cuda_clearCublasWorkspaces", lambda: done.append("cleared"), raising=False)
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", lambda *_: done.append("recorded"))
    compiling.record(torch.nn.Linear(2, 2), (torch.ones(1, 2),))
    assert done == ["cleared", "recorded"]


@pytest.mark.parametrize(("attention", "flash"), [("math", False), ("sdpa", True)])
def test_a_graph_is_recorded_with_the_attention_that_it_replays(
    monkeypatch: pytest.MonkeyPatch, attention: str, flash: bool
) -> None:
    seen: list[bool] = []
    monkeypatch.setattr(compiling, "check_recording", lambda *_, **__: None)
    monkeypatch.setattr(compiling, "record", lambda *_: seen.append(torch.backends.cuda.flash_sdp_enabled()))
    find_workload("bert-train").build(Setting(), device="cpu", cuda_graphs=True, attention=attention)
    assert seen == [flash]
