"""The programs in `examples/` do their work, and leave nothing in the folder in which they run."""

import runpy
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore:.*LeafSpec:FutureWarning")  # of the libraries


@pytest.fixture
def one_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs keep the files that they make."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def folder(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which the program runs; the files that it makes lie elsewhere."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def build(name: str) -> Any:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["build"]()


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread", "folder")
def test_the_vision_transformer_learns_its_first_batch_by_heart() -> None:
    import torch

    torch.manual_seed(0)
    program = build("vision_transformer")
    ((images, labels),) = islice(program.loader, 1)
    losses = [float(program.train_step((images[:8], labels[:8])).detach()) for _ in range(8)]
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.usefixtures("one_thread", "folder")
def test_images_are_cut_and_mirrored_anew_in_every_epoch(cache: Path) -> None:
    loader = build("vision_transformer").loader
    (one,), (other,) = ([loader.dataset[0][0]] for _ in range(2))
    assert one.shape == other.shape == (3, 96, 96)
    assert not one.equal(other)
    assert len(list(cache.rglob("*.jpg"))) == len(loader.dataset) == 256


def test_a_wave_moves_and_stays_within_its_border() -> None:
    program = build("simulation")
    start, _, _ = program.arrays
    now, before = program.step(np, *program.arrays)
    assert now[0].max() == now[:, -1].max() == 0
    assert 0 < np.abs(now).max() <= np.abs(start).max()
    assert not np.array_equal(now, before)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "framework", "technique", "level", "budget"),
    [
        ("vision_transformer", "torch", "amp", "bf16", "20s"),
        ("trainer", "torch", "amp", "bf16", "20s"),
        ("lightning_digits", "torch", "amp", "bf16", "20s"),
        ("keras_fit", "tensorflow", "steps-per-execution", "8", "20s"),
        ("simulation", "numpy", "dtype", "float32", "7s"),
    ],
)
def test_advice_is_given_for_every_example(
    name: str, framework: str, technique: str, level: str, budget: str, folder: Path
) -> None:
    if name == "lightning_digits" and find_spec("lightning") is None:
        pytest.skip("lightning is not installed")
    wish = "--only", technique, "--budget", budget
    command = [sys.executable, "-m", "accelbench", "advise", str(EXAMPLES / f"{name}.py"), *wish]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{name}.py:build ({framework}): ")
    answer, already_has, _ = done.stdout.partition("Your program already has ")
    assert f"{technique} {level}" in answer  # its effect, or that the time of a busy machine was too short for it
    assert already_has
    assert list(folder.iterdir()) == []
