"""Training with burdens: the same images and the same outcome whichever one is taken off."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, find_technique, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.workloads.torch.data import Photographs

framework = load("torch")
ablation = find_technique("torch", "ablation")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dozen noisy images in twelve classes, more than the models of introductory texts know."""
    tree = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for number in range(12):
        path = tree / f"class{number:02}" / "0.jpg"
        path.parent.mkdir()
        Image.fromarray(rng.integers(0, 256, (60, 80, 3), dtype=np.uint8)).save(path)
    return tree


@pytest.fixture
def built(images: Path) -> Iterator[Any]:
    arms: list[Arm] = []

    def build(level: str = "none", **options: Any) -> Arm:
        def with_more(**more: Any) -> Arm:
            return find_workload("bottleneck-training").build(Setting(data_dir=images), **options, **more)

        arms.append(ablation.apply(with_more, level))
        return arms[-1]

    yield build
    for arm in arms:
        arm.close()


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The images that were decoded, one after another."""
    seen: list[int] = []
    decode = Photographs.__getitem__

    def noted(photographs: Photographs, index: int) -> Any:
        seen.append(index)
        return decode(photographs, index)

    monkeypatch.setattr(Photographs, "__getitem__", noted)
    return seen


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The losses that were read; a whole number is a loader's own seed."""
    seen: list[float] = []
    item = torch.Tensor.item

    def noted(tensor: torch.Tensor) -> float:
        seen.extend([item(tensor)] if tensor.is_floating_point() else [])
        return item(tensor)

    monkeypatch.setattr(torch.Tensor, "item", noted)
    return seen


@pytest.mark.parametrize("level", ablation.same_output)
@pytest.mark.parametrize("model", ["cnn", pytest.param("resnet18", marks=pytest.mark.slow)])
def test_training_comes_to_the_same_without_a_burden(built: Any, model: str, level: str) -> None:
    try:
        relieved = check.output_of(built(level, model=model), framework)
    except Unavailable:
        pytest.skip("there is no accelerator")
    expected = check.output_of(built(model=model), framework)
    assert check.find_invalid_values(expected) is None
    assert relative_error(relieved, expected) == pytest.approx(0, abs=1e-4)


def test_every_epoch_is_the_same_from_the_initial_state(built: Any) -> None:
    arm = built(model="cnn")
    first = check.output_of(arm, framework)
    arm.step()
    assert relative_error(check.output_of(arm, framework), first) == pytest.approx(0, abs=1e-4)


def test_the_baseline_decodes_every_image_and_reads_every_loss(
    built: Any, decoded: list[int], read: list[float]
) -> None:
    arm = built(model="cnn", images=12)
    arm.step()
    assert sorted(decoded) == list(range(12))
    assert len(read) == 12 / 4


def test_decoded_batches_are_decoded_once_for_all_epochs(built: Any, decoded: list[int]) -> None:
    arm = built("decoded", model="cnn", images=12)
    arm.step()
    arm.step()
    assert sorted(decoded) == list(range(12))


def test_a_silent_loop_reads_no_loss(built: Any, read: list[float]) -> None:
    built("silent", model="cnn").step()
    assert read == []


def test_larger_batches_hold_the_same_images_in_fewer_steps(built: Any, decoded: list[int], read: list[float]) -> None:
    arm = built("larger-batch", model="cnn", images=12)
    arm.step()
    assert (arm.items, len(read)) == (12, 1)
    assert sorted(decoded) == list(range(12))
    assert not ablation.compared_at("larger-batch")


def test_a_batch_that_is_not_whole_is_left_out(built: Any) -> None:
    assert built(model="cnn", images=11).items == 8


def test_on_the_cpu_nothing_is_sent_and_that_is_said(built: Any) -> None:
    with pytest.raises(Unavailable, match="a decoded batch is resident already: nothing is sent"):
        built("resident", device="cpu")


def test_it_is_watched_while_it_trains(built: Any) -> None:
    assert built(model="cnn").watched


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"model": "lenet"}, "unknown model 'lenet'; expected one of: resnet18, cnn"),
        ({"data_location": "cloud"}, "unknown data location 'cloud'; expected one of: resident, host, round-trip"),
    ],
)
def test_an_unknown_option_is_named_with_those_that_exist(built: Any, option: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        built(**option)
