"""Compiling and recording a model: levels that the workloads know, reasons where the machine cannot."""

import pytest
import torch

import harness.techniques
import harness.workloads  # noqa: F401  fills the catalogue
from harness.errors import Unavailable
from harness.experiment import Setting, find_technique, find_workload
from harness.workloads.torch.compiling import MODES
from harness.workloads.torch.recording import need_recording

CUDA = torch.device("cuda:0")


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
        ({"autocast": "bf16", "compile_mode": "eager"}, "recorded in float32"),
        ({"autocast": "fp32", "compile_mode": "default"}, "by its mode reduce-overhead"),
    ],
)
def test_what_cannot_be_recorded_is_told(options: dict[str, str], reason: str) -> None:
    with pytest.raises(Unavailable, match=reason):
        need_recording(CUDA, **options)
