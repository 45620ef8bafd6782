"""Training in Keras with everything that is stacked on a ladder left out until it is asked for."""

from __future__ import annotations

from typing import Any

from harness.errors import Unavailable
from harness.experiment import Arm, Setting, workload


@workload("tensorflow", unit="image")
def stacked_training_keras(
    setting: Setting,
    *,
    batch_size: int = 1,
    loop: str = "eager",
    log_interval: int | None = 1,
    dtype_policy: str = "float32",
    device: str | None = None,
) -> Arm:
    """An epoch of training the small Keras CNN on images that lie on the device.

    The loss is read by ``float(loss)`` in every ``log_interval``-th step, or in none.
    """
    from harness.workloads.tensorflow import devices, models

    if loop == "fit":
        raise Unavailable("Model.fit reads the loss by itself, so log_interval could not change it")
    images = setting.choose(small=8, full=256)
    if batch_size > images:
        raise Unavailable(f"an epoch has {images} images here, too few for a batch of {batch_size}")
    place = devices.chosen(device)
    problem = models.cnn()
    count = images // batch_size
    trainer, batches = _prepared(setting, problem, place, batch_size, count, dtype_policy=dtype_policy, loop=loop)

    def step() -> Any:
        trainer.model.reset_metrics()
        for number, batch in enumerate(batches, start=1):
            loss = trainer.train_on(*batch)
            if log_interval and number % log_interval == 0:
                float(loss)  # what the host waits for, and what is measured
        return loss, *trainer.learnt

    def feed(changed: Any) -> None:
        batches[:] = changed

    read_bytes = images * problem.item_bytes
    shown: dict[str, Any] = {"inputs": lambda: list(batches), "feed": feed}
    return trainer.arm(  # type: ignore[no-any-return]  # the trainer is imported with TensorFlow
        step, problem.network, batch_size * count, place, read_bytes=read_bytes, **shown
    )


def _prepared(
    setting: Setting, problem: Any, place: str, batch_size: int, count: int, **options: str
) -> tuple[Any, list[Any]]:
    """Return a trainer and so many batches, on the device."""
    import numpy as np
    import tensorflow as tf

    from harness.workloads.tensorflow.trainer import KerasTrainer

    rng = np.random.default_rng(setting.seed)
    with tf.device(place):
        trainer = KerasTrainer(problem, seed=setting.seed, **options)
        return trainer, [tuple(map(tf.constant, problem.batch(batch_size, rng))) for _ in range(count)]
