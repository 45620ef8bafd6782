"""Epochs through tf.data: the same images whatever is switched, as many at once as a level says, nothing left behind.

They run in a worker, since this process holds another framework.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tf_planted import OBSERVED, TAMPERED, counting, observing, peeking, plant, tampering

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Host, Plan, Setting, Technique, Trial, find_technique
from accelbench.measuring.trial_result import TrialResult
from accelbench.measuring.workers.process import Worker, send_by_value

pytestmark = pytest.mark.slow
Measure = Callable[..., TrialResult]
IMAGES = 10


def fill(tree: Path, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    for number in range(IMAGES):
        path = tree / f"class{number % 2}" / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (60, 80, 3), dtype=np.uint8)).save(path)
    return tree


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("images"))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def measure(images: Path, cache: Path) -> Iterator[Measure]:
    worker = Worker("tensorflow", {"ACCELBENCH_CACHE": str(cache)})

    def measure(workload: str, *arms: dict[str, str], planted: Technique | None = None, **options: Any) -> TrialResult:
        folder = options.pop("folder", images)
        fixed = {name: options.pop(name) for name in ("source", "cache") if name in options}
        trial = Trial(
            framework="tensorflow",
            workload=workload,
            arms=arms,
            fixed=fixed,
            problem={"batch_size": 4} | options,
            techniques=(planted,) if planted else (),
            setting=Setting(data_dir=folder, cores=2),
            plan=Plan(rehearse=True, keep_outputs=True),
        )
        send_by_value(trial)
        measured: TrialResult = worker.ask("measure", trial)
        return measured

    yield measure
    worker.close()


def levels_of(name: str) -> list[dict[str, str]]:
    return [{name: level} for level in find_technique("tensorflow", name).levels_on(Host())]


def outcomes(measured: TrialResult) -> list[tuple[str, str]]:
    return [(arm.outcome, str(arm.reason or "")) for arm in measured.arms]


@pytest.mark.parametrize(
    ("technique", "fixed"),
    [
        ("source", {}),
        ("parallel_map", {}),
        ("prefetch", {}),
        ("cache", {}),
        ("default_optimizations", {}),
        ("interleave", {"source": "tfrecord"}),
        ("vectorised_map", {"cache": "memory"}),
        ("shuffle_buffer", {"source": "tfrecord"}),
        ("shuffle_buffer", {"cache": "memory"}),
    ],
)
def test_every_level_brings_every_image_once_and_unchanged(
    measure: Measure, technique: str, fixed: dict[str, str]
) -> None:
    measured = measure("tf-image-loading", *levels_of(technique), **fixed)
    assert outcomes(measured) == [("measured", "")] * len(measured.arms)
    assert max(arm.price.error for arm in measured.arms[1:]) < 1e-6


@pytest.mark.parametrize("workload", ["tf-image-loading", "tf-image-training"])
def test_dropped_doubled_mislabelled_and_altered_images_are_refused(measure: Measure, workload: str) -> None:
    planted = plant(tampering, *TAMPERED)
    measured = measure(workload, *({"planted": level} for level in TAMPERED), planted=planted, batch_size=5)
    assert [arm.outcome for arm in measured.arms] == ["measured"] + ["wrong-output"] * (len(TAMPERED) - 1)


def test_training_learns_the_same_at_every_level_of_the_stack(measure: Measure) -> None:
    measured = measure("tf-image-training", *levels_of("pipeline"), source="tfrecord")
    assert outcomes(measured) == [("measured", "")] * len(measured.arms)


@pytest.mark.parametrize(
    ("options", "at_once"),
    [
        ({}, 1),
        ({"prefetch": "autotune"}, 1),
        ({"source": "tfrecord", "interleave": "parallel"}, 1),
        ({"parallel_calls": 2}, 2),
        ({"parallel_calls": "cores", "prefetch": 1}, 2),
        ({"parallel_calls": "autotune"}, 2),
        ({"default_optimizations": True}, 2),
    ],
    ids=["sequential", "prefetch", "interleave", "two", "cores", "autotune", "unasked"],
)
def test_as_many_images_are_decoded_at_once_as_a_level_says_and_none_after_the_step(
    measure: Measure, options: dict[str, Any], at_once: int
) -> None:
    measured = measure("tf-image-loading", {"planted": "on"}, planted=plant(counting, "on"), **options)
    assert outcomes(measured) == [("measured", "")]
    assert [array.tolist() for array in measured.outputs] == [at_once, IMAGES, 0]


@pytest.mark.parametrize(
    ("options", "images_decoded"),
    [({}, 4), ({"parallel_calls": 2}, 4 + 2), ({"prefetch": 1}, 4 + 4)],
    ids=["sequential", "two", "prefetch"],
)
def test_beyond_the_batch_that_was_asked_for_a_level_decodes_what_it_says(
    measure: Measure, options: dict[str, Any], images_decoded: int
) -> None:
    measured = measure("tf-image-loading", {"planted": "on"}, planted=plant(peeking, "on"), **options)
    assert outcomes(measured) == [("measured", "")]
    assert measured.outputs[0] == images_decoded


@pytest.mark.parametrize(
    ("workload", "limits"),
    [
        ("tf-image-loading", {"first_epoch_s": (0, 60), "iterator_start_share": (0, 1), "wait_share": (-2, 0)}),
        ("tf-image-training", {"wait_share": (0, 1)}),
    ],
)
def test_an_arm_observes_where_an_epochs_time_goes(
    measure: Measure, workload: str, limits: dict[str, tuple[float, float]]
) -> None:
    measured = measure(workload, {"planted": "on"}, planted=plant(observing, "on"), cache="file")
    assert outcomes(measured) == [("measured", "")]
    observed = dict(zip(OBSERVED, map(float, measured.outputs), strict=True))
    for fact, (low, high) in limits.items():
        assert low < observed[fact] < high, fact


def test_shards_hold_the_files_bytes_and_other_images_never_pass_for_them(
    measure: Measure, images: Path, cache: Path, tmp_path: Path
) -> None:
    def shard_folders() -> set[Path]:
        return set(cache.glob("tfrecords-*"))

    measure("tf-image-loading", {"source": "tfrecord"})
    (folder,) = shard_folders()
    written = b"".join(path.read_bytes() for path in folder.iterdir())
    assert len(list(folder.iterdir())) == 4
    assert all(path.read_bytes() in written for path in images.rglob("*.jpg"))
    measure("tf-image-loading", {"source": "tfrecord"})
    assert shard_folders() == {folder}
    measure("tf-image-loading", {"source": "tfrecord"}, folder=fill(tmp_path, seed=1))
    assert len(shard_folders()) == 2


def test_a_closed_arm_leaves_no_cached_epoch_behind(measure: Measure, cache: Path) -> None:
    measure("tf-image-loading", {"cache": "file"})
    assert [path.name for path in cache.iterdir() if not path.name.startswith("tfrecords-")] == []


def test_images_that_tensorflow_cannot_decode_are_left_out(measure: Measure, tmp_path: Path) -> None:
    path = next(fill(tmp_path).rglob("*.jpg"))
    Image.open(path).save(path.with_suffix(".tiff"))
    path.write_bytes(b"broken")
    measured = measure("tf-image-loading", {"source": "jpeg"}, folder=tmp_path)
    assert measured.arms[0].items == IMAGES - 1


@pytest.mark.parametrize(
    ("workload", "level", "reason"),
    [
        ("tf-image-loading", {"interleave": "parallel"}, "from TFRecord shards only"),
        ("tf-image-training", {"interleave": "off"}, "training depends on the order"),
        ("tf-image-training", {"shuffle_buffer": "32"}, "training depends on the order"),
    ],
)
def test_what_cannot_be_compared_says_why(measure: Measure, workload: str, level: dict[str, str], reason: str) -> None:
    ((outcome, said),) = outcomes(measure(workload, level))
    assert outcome == "unavailable"
    assert reason in said
