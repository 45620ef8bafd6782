"""Epochs over image files: the same items however they are loaded, and no process left behind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from PIL import Image

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Plan, Setting, Trial, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput, Unavailable
from accelbench.frameworks import load
from accelbench.measuring.checks import output as check
from accelbench.measuring.workers.process import Worker

# PyTorch forks its loader processes; from Python 3.12 on, forking beside threads warns.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
framework = load("torch")
EPOCHS = [("image-loading", {}), ("image-training", {"model": "cnn"})]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for number in range(10):
        path = tree / f"class{number % 2}" / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (60, 80, 3), dtype=np.uint8)).save(path)
    return tree


@pytest.fixture
def built(images: Path) -> Iterator[Any]:
    arms: list[Arm] = []

    def build(name: str, cores: int = 2, **options: Any) -> Arm:
        arms.append(find_workload(name).build(Setting(data_dir=images, cores=cores), **options))
        return arms[-1]

    yield build
    for arm in arms:
        arm.close()


def children() -> int:
    return len(psutil.Process().children())


@pytest.mark.parametrize(("name", "model"), EPOCHS)
@pytest.mark.parametrize("options", [{"workers": 2}, {"workers": 1, "persistent_workers": False}], ids=["two", "anew"])
def test_loader_processes_bring_the_same_images_in_the_same_order(
    built: Any, name: str, model: dict[str, str], options: dict[str, Any]
) -> None:
    alone, beside = (
        check.output_of(built(name, batch_size=4, **model, **how), framework) for how in ({"workers": 0}, options)
    )
    assert check.find_invalid_values(alone) is None
    assert relative_error(beside, alone) == 0


@pytest.mark.parametrize(("name", "model"), EPOCHS)
def test_every_epoch_is_the_same_from_the_initial_state(built: Any, name: str, model: dict[str, str]) -> None:
    arm = built(name, batch_size=4, workers=1, **model)
    first = check.output_of(arm, framework)
    arm.step()
    assert relative_error(check.output_of(arm, framework), first) == 0


def test_an_epoch_counts_the_images_it_draws(built: Any) -> None:
    assert built("image-loading", workers=0, images=6).items == 6
    assert built("image-loading", workers=0, images=1000).items == 10


def test_closing_an_arm_ends_its_loader_processes(built: Any) -> None:
    before = children()
    arm = built("image-loading", workers=2, batch_size=4)
    arm.step()
    assert children() == before + 2
    arm.close()
    assert children() == before


def test_workers_that_do_not_persist_end_with_the_epoch(built: Any) -> None:
    before = children()
    built("image-loading", workers=1, batch_size=4, persistent_workers=False).step()
    assert children() == before


def test_more_workers_than_cores_are_refused_with_both_numbers(built: Any) -> None:
    with pytest.raises(Unavailable, match="8 workers need as many cores; this process may use 2"):
        built("image-loading", workers=8)


def test_training_says_in_which_share_of_the_time_it_waited_for_data(built: Any) -> None:
    arm = built("image-training", workers=0, batch_size=4, model="cnn")
    assert 0 < arm.observe()["wait_share"] < 1


@pytest.mark.slow
def test_the_small_network_and_resnet_learn_different_things_from_the_same_images(built: Any) -> None:
    small, resnet = (
        check.output_of(built("image-training", workers=0, batch_size=4, model=name), framework)
        for name in ("cnn", "resnet18")
    )
    assert check.find_invalid_values(small) is None
    assert [part.shape for part in small] == [part.shape for part in resnet]
    assert relative_error(small, resnet) > 1e-3


def test_an_unknown_model_is_named_with_those_that_exist(built: Any) -> None:
    with pytest.raises(BadInput, match="'vgg'; expected one of: resnet18, cnn"):
        built("image-training", model="vgg")


@pytest.mark.slow
def test_loader_processes_start_within_a_measuring_worker(images: Path) -> None:
    trial = Trial(
        framework="torch",
        workload="image-loading",
        arms=({"workers": "0"}, {"workers": "1"}),
        setting=Setting(data_dir=images, cores=2),
        plan=Plan(rehearse=True),
    )
    worker = Worker("torch", {})
    try:
        measured = worker.ask("measure", trial, silence_s=60)
    finally:
        worker.close()
    assert [(arm.outcome, arm.reason) for arm in measured.arms] == [("measured", None)] * 2


def test_broken_images_are_left_out(images: Path, tmp_path: Path) -> None:
    for path in images.rglob("*.jpg"):
        target = tmp_path / path.relative_to(images)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(path.read_bytes())
    next(tmp_path.rglob("*.jpg")).write_bytes(b"broken")
    arm = find_workload("image-loading").build(Setting(data_dir=tmp_path), workers=0)
    assert arm.items == 9
    assert check.find_invalid_values(check.output_of(arm, framework)) is None
