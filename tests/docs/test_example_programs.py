"""The programs in `examples/` do their work, and leave nothing in the folder in which they run."""

import runpy
import subprocess
import sys
from collections.abc import Iterator
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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which the program runs; the files that it makes lie elsewhere."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def build(name: str) -> Any:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["build"]()


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("name", "steps"), [("vision_transformer", 8), ("trainer", 28), ("lightning_digits", 8)])
def test_a_program_learns_its_first_batch_by_heart(name: str, steps: int, folder: Path) -> None:
    if name == "lightning_digits":
        pytest.importorskip("lightning")
    import torch

    torch.manual_seed(0)
    program = build(name)
    (batch,) = islice(program.loader, 1)
    losses = [float(program.train_step(batch).detach()) for _ in range(steps)]
    assert losses[-1] < 0.8 * losses[0]
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("one_thread")
def test_images_are_cut_and_mirrored_anew_in_every_epoch(folder: Path) -> None:
    loader = build("vision_transformer").loader
    (one,), (other,) = ([loader.dataset[0][0]] for _ in range(2))
    assert one.shape == other.shape == (3, 96, 96)
    assert not one.equal(other)
    assert len(list((folder.parent / "cache").rglob("*.jpg"))) == len(loader.dataset) == 256


def test_a_wave_moves_and_stays_within_its_border() -> None:
    program = build("simulation")
    start, _, _ = program.arrays
    now, before = program.step(np, *program.arrays)
    assert now[0].max() == now[:, -1].max() == 0
    assert 0 < np.abs(now).max() <= np.abs(start).max()
    assert not np.array_equal(now, before)


@pytest.mark.slow
def test_a_keras_model_learns() -> None:
    pytest.importorskip("keras").utils.set_random_seed(0)
    program = build("keras_fit")
    losses = program.model.fit(program.data.take(8), epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


@pytest.mark.slow
def test_advice_is_given_for_an_example(folder: Path) -> None:
    command = [sys.executable, "-m", "accelbench", "advise", str(EXAMPLES / "simulation.py"), "--budget", "10s"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("simulation.py:build (numpy)")
    assert "dtype float32" in done.stdout
