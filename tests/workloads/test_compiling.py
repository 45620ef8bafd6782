"""Compiled arms: the same answer, compiled from nothing in every trial and once in it, or a reason why not."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.workloads.torch import compile as compiling

# PyTorch's compiler uses, when it is loaded, what PyTorch advises against.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
framework = load("torch")
FOLDER = "TORCHINDUCTOR_CACHE_DIR"


def built(setting: Setting, mode: str = "default", **options: Any) -> Arm:
    options = {"elements": 1000, "device": "cpu"} | options
    return find_workload("chain-torch").build(setting, compile=mode, **options)


def folder_of(arm: Arm) -> Path:
    with arm.enter():
        return Path(os.environ[FOLDER])


@pytest.fixture
def noobstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled to see that it can be."""
    monkeypatch.setattr(compiling, "obstacle", lambda _: "")


@pytest.mark.slow
def test_every_compiled_arm_compiles_what_it_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config  # here, since its import takes seconds

    monkeypatch.setattr(config.cpp, "vec_isa_ok", True)  # else PyTorch asks the compiler for seconds what it knows
    monkeypatch.setattr(config, "cpp_cache_precompile_headers", False)  # else it compiles its headers for later
    setting = Setting()
    arms = [built(setting) for _ in "ab"]  # as two arms of a trial that differ in something else
    expected = check.output_of(built(setting, "eager"), framework)
    graphs = framework.compilations()
    for number, arm in enumerate(arms, start=1):
        assert relative_error(check.output_of(arm, framework), expected) < 1e-6
        assert framework.compilations() == graphs + number
        assert any(folder_of(arm).iterdir())
    for arm in arms:
        arm.close()


@pytest.mark.usefixtures("noobstacle")
def test_an_arm_finds_what_it_compiled_when_it_is_built_again_in_its_trial() -> None:
    setting = Setting()
    arms = [built(setting) for _ in "ab"]
    folders = [folder_of(arm) for arm in arms]
    assert len({*folders}) == len(arms)
    for arm in arms:
        arm.close()
    assert {folder_of(built(setting)) for _ in "ab"} == {*folders}


@pytest.mark.usefixtures("noobstacle")
def test_another_trial_compiles_from_nothing_although_its_setting_is_equal() -> None:
    setting, other = Setting(), Setting()
    assert setting == other
    arm = built(setting)
    folder = folder_of(arm)
    arm.close()
    assert folder_of(built(other)) != folder
    assert folder.is_dir()
    del arm, setting
    assert not folder.exists()


@pytest.mark.usefixtures("noobstacle")
def test_where_pytorch_keeps_its_own_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, "/mine")
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    assert folder_of(built(Setting())) != Path("/mine")
    assert os.environ[FOLDER] == "/mine"
    assert "TRITON_CACHE_DIR" not in os.environ


@pytest.mark.slow
def test_without_a_compiler_it_is_skipped_with_the_reason() -> None:
    from torch._inductor import config

    compiling.obstacle.cache_clear()
    try:
        with (
            config.patch("cpp.cxx", ("no-such-compiler",)),
            pytest.raises(Unavailable, match=r"cannot compile for cpu here: .+"),
        ):
            built(Setting())
    finally:
        compiling.obstacle.cache_clear()


def test_cuda_graphs_are_not_asked_for_on_a_cpu() -> None:
    with pytest.raises(Unavailable, match="reduce-overhead stands for CUDA graphs, and the model computes on cpu here"):
        built(Setting(), "reduce-overhead")


@pytest.mark.usefixtures("noobstacle")
def test_on_a_cpu_max_autotune_is_for_models_with_products_to_search_for() -> None:
    with pytest.raises(Unavailable, match="compiles this model for a CPU as default does"):
        built(Setting(), "max-autotune")
    find_workload("bert-train").build(Setting(), device="cpu", compile="max-autotune").close()


def test_an_unknown_mode_is_named_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match="unknown compile mode 'fast'; expected one of: eager, default, "):
        built(Setting(), "fast")


def test_a_recording_overwrites_no_batch_of_the_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[torch.Tensor] = []
    monkeypatch.setattr("torch._C._cuda_clearCublasWorkspaces", lambda: None, raising=False)
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", lambda _, inputs: recorded.extend(inputs))
    batch = torch.ones(2, requires_grad=True), torch.arange(3)
    compiling.record(torch.nn.Identity(), batch)
    assert [each.requires_grad for each in recorded] == [True, False]
    with torch.no_grad():
        for static in recorded:  # as a replay does with the batch that it is given
            static.zero_()
    assert [each.tolist() for each in batch] == [[1.0, 1.0], [0, 1, 2]]
