"""A model that went through a file is the same model, and one that is not is refused."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Plan, Setting, Trial, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema.result import ArmRecord
from accelbench.workloads.torch import checkpoints
from accelbench.workloads.torch.checkpoints import FORMATS, Format

framework = load("torch")
NAMES = ("checkpoint-save", "checkpoint-load")
State = dict[str, Any]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def built() -> Iterator[Callable[..., Arm]]:
    arms: list[Arm] = []

    def build(name: str, **options: Any) -> Arm:
        arms.append(find_workload(name).build(Setting(), device="cpu", **options))
        return arms[-1]

    yield build
    for arm in arms:
        arm.close()


def tried(name: str, *levels: str, technique: str = "checkpoint_format") -> list[ArmRecord]:
    arms = tuple({technique: level} for level in levels)
    trial = Trial(framework="torch", workload=name, arms=arms, problem={"device": "cpu"}, plan=Plan(rehearse=True))
    return TrialRun(trial, framework).run().arms


@pytest.mark.parametrize(
    ("name", "model"),
    [*((name, "cnn") for name in NAMES), pytest.param("checkpoint-load", "resnet18", marks=pytest.mark.slow)],
)
def test_every_format_brings_the_same_model_back(name: str, model: str, built: Callable[..., Arm]) -> None:
    outputs = []
    for checkpoint_format in FORMATS:
        arm = built(name, model=model, checkpoint_format=checkpoint_format)
        outputs.append(check.output_of(arm, framework))
        assert check.find_invalid_values(outputs[-1]) is None
        assert arm.verify(outputs[-1]) is None
    assert relative_error(outputs[1], outputs[0]) == 0
    assert len(outputs[0]) == (9 if model == "cnn" else 123)  # parameters, statistics and an answer


def test_a_mapped_checkpoint_is_the_same_model(built: Callable[..., Arm]) -> None:
    read, mapped = (check.output_of(built("checkpoint-load", mmap=how), framework) for how in (False, True))
    assert relative_error(mapped, read) == 0


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda state: state | {"3.weight": state["3.weight"] + 1e-6}, "differs from the saved one in 3.weight"),
        (lambda state: {key: value.half() for key, value in state.items()}, "differs from the saved one in 0.weight"),
        (lambda state: {key: value for key, value in state.items() if key != "9.bias"}, "RuntimeError"),
    ],
    ids=["one-tensor", "half-precision", "one-missing"],
)
@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_with_something_changed_is_refused(
    name: str, spoil: Callable[[State], State], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = FORMATS["state-dict"]
    spoilt = Format(save=lambda state, path: torch.save(spoil(state), path), load=sound.load)
    monkeypatch.setitem(FORMATS, "spoilt", spoilt)
    baseline, candidate = tried(name, "state-dict", "spoilt")
    assert (baseline.outcome, baseline.reason) == ("measured", None)
    assert candidate.outcome == ("failed" if reason == "RuntimeError" else "wrong-output")
    assert reason in str(candidate.reason)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_that_does_nothing_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints.Checkpoints, "save" if name == NAMES[0] else "restore", lambda *_, **__: None)
    (arm,) = tried(name, "state-dict")
    assert arm.outcome in ("wrong-output", "failed")


def test_what_is_saved_takes_turns_and_what_is_loaded_too(built: Callable[..., Arm]) -> None:
    for name in NAMES:
        arm = built(name)
        arm.reset()
        first, second, third = (framework.to_host(arm.step()) for _ in range(3))
        assert relative_error(second, first) > 0.1
        assert relative_error(third, first) == 0


def test_a_checkpoint_is_as_large_as_its_tensors_and_a_little_more(built: Callable[..., Arm]) -> None:
    for name in NAMES:
        for checkpoint_format in FORMATS:
            arm = built(name, checkpoint_format=checkpoint_format)
            check.output_of(arm, framework)
            assert arm.observe is not None
            assert arm.items < arm.observe()["file_bytes"] < 1.01 * arm.items


def test_closing_an_arm_removes_its_files(folder: Path, built: Callable[..., Arm]) -> None:
    arm = built("checkpoint-load")
    assert [path for path in folder.rglob("*") if path.is_file()]
    arm.close()
    assert list(folder.iterdir()) == []


def test_safetensors_cannot_but_map(built: Callable[..., Arm]) -> None:
    arm = built("checkpoint-load", checkpoint_format="safetensors", mmap=True)
    with pytest.raises(Unavailable, match="maps the file in any case"):
        arm.step()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "vgg"}, "unknown model 'vgg'; expected one of: cnn, resnet18"),
        ({"checkpoint_format": "onnx"}, "unknown format 'onnx'; expected one of: state-dict, safetensors"),
    ],
)
def test_what_does_not_exist_is_named_with_what_does(
    options: dict[str, str], message: str, built: Callable[..., Arm]
) -> None:
    with pytest.raises(BadInput, match=message):
        built("checkpoint-save", **options)
