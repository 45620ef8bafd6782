"""Training in Keras on random data: single steps, whole epochs, and runs whose loss is read on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.errors import Unavailable
from harness.experiment import Arm, Setting, workload
from harness.workloads.data.rotation import VARIANTS, Rotation

ProblemOf = Callable[[Setting], tuple[Any, int]]  # a problem, and the usual size of its batches
LOGGED_STEPS = 100
LOGGED_ROWS = 32  # so few that a step stays well below a millisecond


def _step(
    problem_of: ProblemOf,
    setting: Setting,
    *,
    batch_size: int | None = None,
    device: str | None = None,
    dtype_policy: str = "float32",
    loop: str = "function",
    data_location: str = "resident",
) -> Arm:
    """Return the arm that trains on a problem one step at a time."""
    problem, usual_size = problem_of(setting)
    size = batch_size or usual_size
    return _step_arm(setting, problem, size, device, data_location, dtype_policy=dtype_policy, loop=loop)


@workload("tensorflow", unit="row", family=_step)
def dense_train_keras(setting: Setting) -> tuple[Any, int]:
    """Training step of the Keras classifier 64-64-10 with Adam."""
    from harness.workloads.tensorflow import models

    return models.dense(), setting.choose(small=256, full=1024)


@workload("tensorflow", unit="row", family=_step)
def mish_train_keras(setting: Setting) -> tuple[Any, int]:
    """Training step of four normalised Keras layers of 64 units, activated by Mish: mostly elementwise operations."""
    from harness.workloads.tensorflow import models

    return models.mish(), setting.choose(small=1024, full=16384)


@workload("tensorflow", unit="image", family=_step)
def cnn_train_keras(setting: Setting) -> tuple[Any, int]:
    """Training step of a small Keras CNN, convolutions 3-16-32 and two linear layers, on 32×32 images."""
    from harness.workloads.tensorflow import models

    return models.cnn(), setting.choose(small=32, full=256)


@workload("tensorflow", unit="image")
def resnet50_train_keras(
    setting: Setting,
    *,
    batch_size: int | None = None,
    side: int | None = None,
    device: str | None = None,
    dtype_policy: str = "float32",
    loop: str = "function",
    data_location: str = "resident",
) -> Arm:
    """Training step of ResNet-50 as in keras.applications, on 64×64 images, 224×224 at full size."""
    from harness.workloads.tensorflow import models

    problem = models.resnet50(side=side or setting.choose(small=64, full=224), classes=1000)
    size = batch_size or setting.choose(small=4, full=128)
    return _step_arm(setting, problem, size, device, data_location, dtype_policy=dtype_policy, loop=loop)


@workload("tensorflow", unit="row")
def dense_epoch_keras(
    setting: Setting,
    *,
    batch_size: int | None = None,
    steps: int | None = None,
    device: str | None = None,
    loop: str = "function",
) -> Arm:
    """An epoch of training the Keras classifier 64-64-10 with Adam: 10 steps, 100 at full size, over data in memory."""
    from harness.workloads.tensorflow import models

    size = batch_size or setting.choose(small=32, full=256)
    count = steps or setting.choose(small=10, full=100)  # few, since without a graph a step takes twenty times as long
    return _epoch_arm(setting, models.dense(), size, count, device, loop=loop)


@workload("tensorflow", unit="image")
def cnn_epoch_keras(
    setting: Setting,
    *,
    batch_size: int | None = None,
    steps: int | None = None,
    device: str | None = None,
    loop: str = "function",
) -> Arm:
    """An epoch of training the small Keras CNN: 4 steps, 100 at full size, over data in memory."""
    from harness.workloads.tensorflow import models

    size = batch_size or setting.choose(small=32, full=256)
    count = steps or setting.choose(small=4, full=100)
    return _epoch_arm(setting, models.cnn(), size, count, device, loop=loop)


@workload("tensorflow", unit="step")
def logged_training_keras(setting: Setting, *, device: str | None = None, log_interval: int | None = 1) -> Arm:
    """A run of 100 small training steps of the Keras classifier 64-64-10 on resident data, whose loss is read.

    Each step is one traced graph. The loss is read by ``float(loss)`` in every ``log_interval``-th step, or in none.
    """
    from harness.workloads.tensorflow import models

    problem = models.dense()
    trainer, rotation, place = _prepared(setting, problem, LOGGED_ROWS, device)

    def run() -> Any:
        for number in range(1, LOGGED_STEPS + 1):
            loss = trainer.train_on(*rotation.take())
            if log_interval and number % log_interval == 0:
                float(loss)
        return loss, *trainer.learnt

    return _arm(run, trainer, rotation, place, problem.network, LOGGED_STEPS * LOGGED_ROWS, items=LOGGED_STEPS)


def _step_arm(
    setting: Setting, problem: Any, batch_size: int, device: str | None, data_location: str, **options: str
) -> Arm:
    """Return the arm that trains on a few batches in turn, resident on the device or sent there and back."""
    if options["loop"] == "fit":
        raise Unavailable(
            "Model.fit runs whole epochs, never a single step: measure dense-epoch-keras or cnn-epoch-keras"
        )
    from harness.workloads.tensorflow import devices

    resident = devices.stays(data_location)
    trainer, rotation, place = _prepared(setting, problem, batch_size, device, resident=resident, **options)

    def step() -> Any:
        loss = trainer.train_on(*rotation.take())
        return (loss if resident else loss.numpy()), *trainer.learnt

    batch_bytes = batch_size * problem.item_bytes
    return _arm(
        step,
        trainer,
        rotation,
        place,
        problem.network,
        batch_size,
        read_bytes=batch_bytes,
        sent_bytes=0 if resident else batch_bytes,
        checked_steps=2,  # the second step's output shows what the first one learnt
    )


def _epoch_arm(setting: Setting, problem: Any, batch_size: int, steps: int, device: str | None, **options: str) -> Arm:
    """Return the arm each of whose steps is an epoch over a ``tf.data.Dataset``, which Model.fit needs anyway."""
    import tensorflow as tf

    trainer, rotation, place = _prepared(setting, problem, batch_size, device, resident=False, **options)
    dataset: Any

    def feed(batches: Sequence[Any]) -> None:
        nonlocal dataset
        rotation.feed(batches)
        with tf.device("CPU:0"):
            dataset = tf.data.Dataset.from_tensor_slices(tuple(map(np.stack, zip(*batches, strict=True))))
            dataset = dataset.repeat().take(steps)

    def step() -> Any:
        return trainer.epoch(dataset), *trainer.learnt

    feed(rotation.shown()[:steps])
    items = steps * batch_size
    sent_bytes = items * problem.item_bytes
    return _arm(step, trainer, rotation, place, problem.network, items, sent_bytes=sent_bytes, feed=feed)


def _prepared(
    setting: Setting, problem: Any, batch_size: int, device: str | None, *, resident: bool = True, **options: str
) -> tuple[Any, Rotation[Any], str]:
    """Return a trainer on the device, batches in turn, there too where they are ``resident``, and the device."""
    import tensorflow as tf

    from harness.workloads.tensorflow import devices
    from harness.workloads.tensorflow.trainer import KerasTrainer

    place = devices.chosen(device)
    rng = np.random.default_rng(setting.seed)
    batches = [problem.batch(batch_size, rng) for _ in range(VARIANTS)]
    with tf.device(place):
        trainer = KerasTrainer(problem, seed=setting.seed, **options)
        if resident:
            batches = [tuple(map(tf.constant, batch)) for batch in batches]
    return trainer, Rotation(batches), place


def _arm(
    step: Callable[[], Any], trainer: Any, rotation: Rotation[Any], place: str, network: Any, learnt: int, **facts: Any
) -> Arm:
    """Return the arm of a step that learns from batches in turn."""

    def reset() -> None:
        trainer.reset()
        rotation.restart()

    shown = {"reset": reset, "inputs": rotation.shown, "feed": rotation.feed}
    return trainer.arm(step, network, learnt, place, **shown | facts)  # type: ignore[no-any-return]
