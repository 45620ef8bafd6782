"""Training to a test accuracy, on real data: a step is a whole training from the first weights."""

from __future__ import annotations

from typing import Any

from harness.experiment import Arm, Setting, workload


@workload("tensorflow", unit="training")
def digits_training_keras(setting: Setting, *, device: str | None = None, dtype_policy: str = "float32") -> Arm:
    """Training the Keras classifier 64-64-10 on handwritten digits until it recognises 95 % of unseen ones."""
    import tensorflow as tf

    from harness.workloads.data.digits import NETWORK, digits, training_arm
    from harness.workloads.tensorflow import devices, models
    from harness.workloads.tensorflow.trainer import KerasTrainer

    split = digits()
    place = devices.chosen(device)
    with tf.device(place):
        pixels, labels, test_pixels, test_labels = (
            tf.constant(part) for part in (split.pixels, split.labels, split.test_pixels, split.test_labels)
        )
        trainer = KerasTrainer(models.dense(), seed=setting.seed, dtype_policy=dtype_policy)

    def accuracy() -> Any:
        recognised = tf.argmax(trainer.model(test_pixels, training=False), axis=1) == test_labels
        return tf.reduce_mean(tf.cast(recognised, tf.float32))

    in_graph = tf.function(accuracy)

    def learn(batches: Any) -> None:
        for batch in zip(*(tf.unstack(tf.gather(part, batches)) for part in (pixels, labels)), strict=True):
            trainer.train_on(*batch)

    def test() -> float:
        return float(in_graph())  # a training must know whether to go on

    arm = training_arm(
        split,
        seed=setting.seed,
        reset=trainer.reset,
        learn=learn,
        test=test,
        device=devices.label(place),
        parameters=trainer.parameters,
        work=trainer.work(NETWORK, split.epoch, place),
    )
    return arm.inside(tf.device, place)
